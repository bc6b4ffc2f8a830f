Feature: Forgetting
  A plan, or a path of all checkpoints, is gone for good when the user says so; real files stay.

  Background:
    Given a project folder
      | path  | content         | mode |
      | .env  | password: 12345 | 600  |
      | a.txt | one             | 644  |
    And a plan "tune"
      """
      steps:
        - {name: change, tool: shell, args: {command: "echo two > a.txt"}}
      """
    And the plan was executed

  Scenario: a plan is forgotten with its checkpoints and its sandbox
    Given the real folder is remembered
    When the user types "rm --yes tune"
    Then it succeeds
    And the real folder is untouched, to modes and times
    When the user types "list"
    Then there are no plans
    When the user types "gc"
    Then it freed nothing
    When the user types "doctor"
    Then it succeeds

  Scenario: forgetting a plan asks
    When the user types "rm tune"
    Then it is refused with "confirmation_missing"
    When the user types "status tune"
    Then it succeeds

  Scenario: gc names the sandboxes that stay, and what frees them
    When the user types "plan cancel tune"
    And the user types "gc"
    Then it succeeds
    And the sandbox of "tune" stays, and "mulligan rm tune" frees it

  Scenario: a path is purged from all checkpoints and from the store
    When the user types "forget --yes .env"
    Then it succeeds
    And the store nowhere holds "password: 12345"
    When the user types "checkpoint verify"
    Then it succeeds
    When the user types "show tune@1 .env"
    Then it is refused with "path_forgotten"
    And in the real folder ".env" reads "password: 12345"

  Scenario: a rollback leaves a forgotten file alone
    When the user types "forget --yes .env"
    And the user types "rollback --yes tune first"
    Then it succeeds
    And in the sandbox "a.txt" reads "one"
    And in the sandbox ".env" reads "password: 12345"
    When the user types "resume tune"
    And the user types "apply --yes tune"
    Then it succeeds
    And in the real folder ".env" reads "password: 12345"
    And in the real folder "a.txt" reads "two\n"
    And the store nowhere holds "password: 12345"

  Scenario: a purge that is killed is completed by the same command
    When the command "forget --yes .env" is killed after "forget.record"
    And the user types "forget --yes .env"
    Then it succeeds
    And the store nowhere holds "password: 12345"
