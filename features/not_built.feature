Feature: What this version does not have
  It is refused by name, before anything runs, rather than ignored.

  Scenario: kinds of resources, strategies, subplans and isolation
    Given a project folder
      | path | content  |
      | repo | (folder) |
    Then each of these plans is refused by name, and none is recorded
      | plan                                                                                                   | names            |
      | {steps: [{name: s, subplans: {plans: [{name: child, steps: [{name: t, checkpoint: c}]}]}}]}            | subplans         |
