Feature: What this version does not have
  It is refused by name, before anything runs, rather than ignored.

  Scenario: kinds of resources, strategies and subplans
    Given a project folder
      | path | content  |
      | repo | (folder) |
    Then each of these plans is refused by name, and none is recorded
      | plan                                                                                                   | names            |
      | {resources: {a: {type: git-checkout, location: repo}}, steps: [{name: s, checkpoint: c}]}              | git-checkout     |
      | {steps: [{name: s, subplans: {plans: [{name: child, steps: [{name: t, checkpoint: c}]}]}}]}            | subplans         |
