Feature: What this version does not have
  It is refused by name, before anything runs, rather than ignored.

  Scenario: subplans
    Given a project folder
    Then each of these plans is refused by name, and none is recorded
      | plan                                                                                                   | names            |
      | {steps: [{name: s, subplans: {plans: [{name: child, steps: [{name: t, checkpoint: c}]}]}}]}            | subplans         |
