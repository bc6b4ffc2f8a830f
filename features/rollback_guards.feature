Feature: What a rollback refuses
  A refusal names its rule and the next command to try, and changes nothing.

  Background:
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And a plan "other"
      """
      steps:
        - {name: only, tool: write_file, args: {path: a.txt, content: other}, checkpoint: of the other}
      """
    And the plan was executed
    And the checkpoint "of the other" is remembered
    And a plan "guarded"
      """
      steps:
        - {name: one, tool: write_file, args: {path: a.txt, content: "1"}, checkpoint: twice}
        - {name: two, tool: write_file, args: {path: a.txt, content: "2"}, checkpoint: twice}
      """

  Scenario: a target that is unknown, ambiguous or another plan's, and a question nobody can answer
    Given the plan was executed
    And how everything stands is remembered
    When the plan is rolled back to "nowhere"
    Then it is refused with "checkpoint_not_found"
    When the plan is rolled back to "twise"
    Then it is refused with "checkpoint_not_found"
    And the hint says "did you mean 'twice'?"
    When the plan is rolled back to a prefix that many ids have
    Then it is refused with "ambiguous"
    When the plan is rolled back to "twice"
    Then it is refused with "ambiguous"
    And the error names both groups labelled "twice"
    When the plan is rolled back to the remembered checkpoint "of the other"
    Then it is refused with "checkpoint_foreign"
    When the user types "plan rollback --yes nobody first"
    Then it is refused with "plan_not_found"
    When the user types "plan rollback guarded first"
    Then it is refused with "confirmation_missing"
    And the hint says "--yes"
    When the user types "plan rollback --yes guarded"
    Then it is a usage error, "usage_wrong"
    When the user types "plan rollback --yes"
    Then it is a usage error, "usage_wrong"
    And nothing has changed

  Scenario: a plan that another process works on
    Given a plan "busy"
      """
      steps:
        - {name: hold, tool: shell, args: {command: "echo mess > mess; hold"}}
      """
    And the plan is being executed and holds
    And its checkpoints are remembered
    When the user types "plan rollback --yes busy first"
    Then it is refused with "plan_busy"
    And the error names the process and since when
    When the user types "plan rollback --dry-run busy first"
    Then it is refused with "plan_busy"
    When the user types "plan execute busy"
    Then it is refused with "plan_busy"
    And its checkpoints are as remembered
    And in the sandbox "mess" reads "mess\n"
    When it goes on to its end
    Then it succeeds
    And the plan is "execute/complete"

  Scenario: a plan that was cancelled
    Given the plan was executed
    When the plan is cancelled
    Then it succeeds
    And the plan is "execute/cancelled"
    When how everything stands is remembered
    And the plan is rolled back to "first"
    Then it is refused with "plan_cancelled"
    When the plan is executed on
    Then it is refused with "plan_cancelled"
    When the plan is cancelled
    Then it is refused with "plan_cancelled"
    And nothing has changed
    And the log tells "not needed"

  Scenario: a sandbox that is missing
    Given the plan was executed
    And its checkpoints are remembered
    When someone takes the sandbox away
    And the plan is rolled back to "first"
    Then it is refused with "sandbox_missing"
    And the hint says "checkpoint restore"
    And its checkpoints are as remembered
    And the sandbox is gone
    And the plan is "execute/complete"

  Scenario: a snapshot that is damaged
    Given the plan was executed
    And how everything stands is remembered
    When the bytes in the snapshot store are damaged
    And the plan is rolled back to "first"
    Then it fails with "snapshot_damaged"
    And the hint says "checkpoint verify"
    And the sandbox is as remembered
    And its checkpoints are as remembered
    When the user types "plan status guarded"
    Then it succeeds
    And the plan is "execute/complete"
    And a message says "damaged"
    When the user types "checkpoint verify"
    Then it fails with "snapshot_damaged"
    And it names every checkpoint of "guarded" as damaged

  Scenario: what the real resources were before an apply is no target, nor what words mean
    Given the plan was executed
    When someone makes the real file "a.txt" read "another's\n"
    And the plan is applied
    Then it ends with a conflict in "workspace/a.txt"
    And the plan is "apply/constrained"
    When how everything stands is remembered
    And the plan is rolled back to its newest pre_apply group
    Then it is refused with "checkpoint_not_a_target"
    And the last checkpoint is the newest post_execute group
    And nothing has changed
    When the plan is rolled back to "first"
    Then it succeeds
    And in the sandbox "a.txt" reads "one\n"
    And in the real folder "a.txt" reads "another's\n"
