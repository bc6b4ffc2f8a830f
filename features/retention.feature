Feature: Retention
  A plan keeps no more groups than the limit, and never loses a way back that matters.

  Scenario: the oldest unlabelled groups go first; the first, the newest and labelled ones stay
    Given a project folder
    And a plan "short"
      """
      config: {max_checkpoints_per_plan: 4}
      steps:
        - {name: one, tool: write_file, args: {path: f, content: "1"}, checkpoint: labelled}
        - {name: two, tool: write_file, args: {path: f, content: "2"}}
        - {name: three, tool: write_file, args: {path: f, content: "3"}}
        - {name: four, tool: write_file, args: {path: f, content: "4"}}
      """
    When the plan is executed
    Then it succeeds
    And the live groups are
      | checkpoint_type | label    | step_index |
      | pre_execute     | None     | 0          |
      | manual          | labelled | 1          |
      | before_step     | None     | 3          |
      | post_execute    | None     | 4          |
    And each group is the child of the one before it
    And every checkpoint can be restored
    And the counts of the execution are
      | count of    | is |
      | checkpoints | 4  |
    When the plan is rolled back to "labelled"
    Then it succeeds
    And in the sandbox "f" reads "1"
    And all groups are pre_execute, manual, (post_execute), (pre_rollback)
    When the plan is executed on
    Then it succeeds
    And all groups are pre_execute, manual, before_step, post_execute
    And in the sandbox "f" reads "4"

  Scenario: when only labelled groups are left, the oldest of them go
    Given a project folder
    And a plan "labels"
      """
      config: {sandbox.checkpoint.max-checkpoints-per-plan: 3, sandbox.checkpoint.auto-create-on: []}
      steps:
        - {name: one, tool: write_file, args: {path: f, content: "1"}, checkpoint: one}
        - {name: two, tool: write_file, args: {path: f, content: "2"}, checkpoint: two}
        - {name: three, tool: write_file, args: {path: f, content: "3"}, checkpoint: three}
      """
    When the plan is executed
    Then it succeeds
    And the live groups are
      | checkpoint_type | label |
      | pre_execute     | None  |
      | manual          | three |
      | post_execute    | None  |
    When the user types "checkpoint create labels --label four"
    Then the live groups are
      | checkpoint_type | label |
      | pre_execute     | None  |
      | manual          | three |
      | manual          | four  |
    When the plan is rolled back to "first"
    Then it succeeds
    And there is no "f" in the sandbox
