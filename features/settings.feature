Feature: Settings
  The strongest place wins: command line, plan file, environment, project, user, default.

  Scenario: each place is stronger than the next
    Given a project folder
    And the setting sandbox.checkpoint.max-checkpoints-per-plan is "50" by default, once there is a project
    And the user file says "[sandbox.checkpoint]\nmax-checkpoints-per-plan = 8\n"
    Then the setting sandbox.checkpoint.max-checkpoints-per-plan is "8" by user file
    Given the project sets max_checkpoints_per_plan to "7"
    Then the setting sandbox.checkpoint.max-checkpoints-per-plan is "7" by project file
    Given the environment says MULLIGAN_SANDBOX_CHECKPOINT_MAX_CHECKPOINTS_PER_PLAN="6"
    Then the setting max_checkpoints_per_plan is "6" by environment
    Given a plan "five"
      """
      config: {sandbox.checkpoint.max-checkpoints-per-plan: 5}
      steps:
        - {name: a, checkpoint: a}
        - {name: b, checkpoint: b}
        - {name: c, checkpoint: c}
        - {name: d, checkpoint: d}
      """
    When the plan is executed
    Then the counts of the execution are
      | count of    | is |
      | checkpoints | 5  |
    Given the command line says -c max_checkpoints_per_plan=4
    Then the setting max_checkpoints_per_plan is "4" by command line
    Given a plan "four"
      """
      config: {sandbox.checkpoint.max-checkpoints-per-plan: 5}
      steps:
        - {name: a, checkpoint: a}
        - {name: b, checkpoint: b}
        - {name: c, checkpoint: c}
        - {name: d, checkpoint: d}
      """
    When the plan is executed
    Then the counts of the execution are
      | count of    | is |
      | checkpoints | 4  |

  Scenario: unknown keys and bad values are refused at once, and nothing is stored
    Given a project folder
    And the project sets sandbox.strategy to "filesystem_copy"
    And the project's own settings are remembered
    When the user types "config set sandbox.strategie auto"
    Then it is a usage error, "setting_unknown"
    And its facts are
      | fact    | value            |
      | nearest | sandbox.strategy |
    When the user types "config set sandbox.strategy copy"
    Then it is a usage error, "setting_invalid"
    And its facts are
      | fact    | value                                                   |
      | key     | sandbox.strategy                                        |
      | allowed | ['auto', 'git_worktree', 'filesystem_copy', 'in_place'] |
    When the user types "config set sandbox.checkpoint.auto-create-on before_step,on_eror"
    Then it is a usage error, "setting_invalid"
    And its facts are
      | fact    | value    |
      | nearest | on_error |
    When the user types "config set max_checkpoints_per_plan 1"
    Then it is a usage error, "setting_invalid"
    When the user types "config get nothing.like.this"
    Then it is a usage error, "setting_unknown"
    When the user types "-c sandbox.isolate=maybe config list"
    Then it is a usage error, "setting_invalid"
    And the project's own settings are as remembered
    When the user types "config unset sandbox.strategy"
    Then it succeeds
    And the setting sandbox.strategy is "auto" by default
    Given the environment says MULLIGAN_SANDBOX_CLEANUP="someday"
    When the user types "config list"
    Then it is a usage error, "setting_invalid"
    And its facts are
      | fact   | value                                |
      | key    | sandbox.cleanup                      |
      | origin | environment MULLIGAN_SANDBOX_CLEANUP |
