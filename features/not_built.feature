Feature: What this version does not have
  It is refused by name, before anything runs, rather than ignored.

  Scenario: kinds of resources, strategies, tools and subplans
    Given a project folder
      | path | content  |
      | repo | (folder) |
      | x.db |          |
    Then each of these plans is refused by name, and none is recorded
      | plan                                                                                                   | names            |
      | {resources: {a: {type: git-checkout, location: repo}}, steps: [{name: s, checkpoint: c}]}              | git-checkout     |
      | {resources: {a: {type: sqlite, location: x.db}}, steps: [{name: s, checkpoint: c}]}                    | sqlite           |
      | {steps: [{name: s, subplans: {plans: [{name: child, steps: [{name: t, checkpoint: c}]}]}}]}            | subplans         |
      | {resources: {r: {type: fs-directory, location: repo}, a: {type: sqlite, location: x.db}}, steps: [{name: s, tool: sql, resource: a, args: {statements: ["select 1"]}}]} | sql |
