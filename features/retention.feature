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

  Scenario: the first stays, however many come after it, and the plan can start anew from it
    Given a project folder
      | path | content |
      | f    | old     |
    And a plan "long"
      """
      config: {max_checkpoints_per_plan: 2}
      steps:
        - {name: one, tool: write_file, args: {path: f, content: "1"}, checkpoint: one}
        - {name: two, tool: write_file, args: {path: f, content: "2"}, checkpoint: two}
        - {name: three, tool: write_file, args: {path: f, content: "3"}, checkpoint: three}
      """
    When the plan is executed
    Then the live groups are pre_execute, post_execute
    And the files of "first" hold "f" reading "old"
    When the plan is rolled back to "first"
    Then it succeeds
    And in the sandbox "f" reads "old"
    When the plan is executed on
    Then it succeeds
    And in the sandbox "f" reads "3"

  Scenario: the most recent and the newest live one between two steps stay, even above the limit
    Given a project folder
    And a plan "failing"
      """
      config: {max_checkpoints_per_plan: 2}
      steps:
        - {name: one, tool: write_file, args: {path: f, content: "1"}}
        - {name: two, tool: write_file, args: {path: f, content: "2"}}
        - {name: bad, tool: shell, args: {command: "tally bad; echo mess > mess; [ -e ok ]"}}
      """
    When the plan is executed
    Then it fails with "step_failed"
    And all groups are pre_execute, before_step, on_error
    When the user types "checkpoint prune failing --keep 1 --dry-run"
    Then the groups that stay are
      | checkpoint_type | step_index | reason                                |
      | pre_execute     | 0          | the first                             |
      | before_step     | 2          | the newest live one between two steps |
      | on_error        | 2          | the most recent                       |
    And the files of the on_error group hold
      | path | content |
      | mess | mess\n  |
      | f    | 2       |
    And in the sandbox "f" reads "2"
    And there is no "mess" in the sandbox
    When the plan is rolled back to its newest on_error group
    Then it succeeds
    And in the sandbox "mess" reads "mess\n"

  Scenario: a step that takes many checkpoints does not push out the one it started from
    Given a project folder
    And the real file "agent.py"
      """
      def work(context):
          place = context.path("workspace") / "f"
          for number in range(6):
              place.write_text(f"half done {number}")
              context.checkpoint(f"mark {number}")
          raise ValueError("not good enough")
      """
    And a plan "busy"
      """
      config: {max_checkpoints_per_plan: 4}
      steps:
        - {name: one, tool: write_file, args: {path: f, content: "1"}}
        - {name: agent, tool: python, args: {function: "agent:work"}}
      """
    When the plan is executed
    Then it fails with "step_failed"
    And all groups are pre_execute, before_step, (manual), on_error
    And in the sandbox "f" reads "1"
    And the files of the manual group hold
      | path | content     |
      | f    | half done 5 |
    And every checkpoint can be restored

  Scenario: labelled ones stay while any unlabelled one can go instead, and come back
    Given a project folder
    And a plan "marked"
      """
      config: {max_checkpoints_per_plan: 6}
      steps:
        - {name: one, tool: shell, args: {command: "echo 1 > f; record one"}, checkpoint: one}
        - {name: two, tool: shell, args: {command: "echo 2 > f; record two"}, checkpoint: two}
        - {name: three, tool: shell, args: {command: "echo 3 > f"}}
        - {name: four, tool: shell, args: {command: "echo 4 > f"}}
        - {name: five, tool: shell, args: {command: "echo 5 > f"}}
      """
    When the plan is executed
    Then all groups are pre_execute, manual, manual, before_step, before_step, post_execute
    And "one" comes back exactly as recorded "one"
    And "two" comes back exactly as recorded "two"
    When the plan is rolled back to "one"
    Then it succeeds
    And the sandbox is exactly as recorded "one"

  Scenario: superseded groups go before live ones, also before older ones
    Given a project folder
    And a plan "forked"
      """
      config: {max_checkpoints_per_plan: 7, sandbox.checkpoint.auto-create-on: [after_step]}
      steps:
        - {name: one, tool: write_file, args: {path: f, content: "1"}}
        - {name: two, tool: write_file, args: {path: f, content: "2"}, checkpoint: two}
        - {name: three, tool: write_file, args: {path: f, content: "3"}}
      """
    And the plan was executed
    And the plan was rolled back to "two"
    Then all groups are pre_execute, after_step, manual, (after_step), (after_step), (post_execute), (pre_rollback)
    When the plan is executed on
    Then it succeeds
    And all groups are pre_execute, after_step, manual, (post_execute), (pre_rollback), after_step, post_execute
    And each group is the child of the one before it
    And every checkpoint can be restored
    When the plan is rolled back to its newest pre_rollback group
    Then it succeeds
    And in the sandbox "f" reads "3"
    When the plan is rolled back to "two"
    Then in the sandbox "f" reads "2"

  Scenario: taking the pre_rollback group does not push out where the rollback goes
    Given a project folder
    And a plan "forward"
      """
      config: {max_checkpoints_per_plan: 4, sandbox.checkpoint.auto-create-on: [after_step]}
      steps:
        - {name: one, tool: write_file, args: {path: f, content: "1"}, checkpoint: one}
        - {name: two, tool: write_file, args: {path: f, content: "2"}}
      """
    And the plan was executed
    And the plan was rolled back to "one"
    Then all groups are pre_execute, manual, (post_execute), (pre_rollback)
    When the plan is rolled back to its newest post_execute group
    Then it succeeds
    And in the sandbox "f" reads "2"
    And all groups are pre_execute, manual, post_execute, (pre_rollback)
    And every checkpoint can be restored

  Scenario: what a rollback that was cut off stands on stays until it is finished
    Given a project folder
    And a plan "large"
      """
      steps:
        - {name: many, tool: shell, args: {command: "mkdir many; cd many; seq 300 | xargs touch; cd ..; record full"}, checkpoint: full}
        - {name: none, tool: shell, args: {command: rm -r many}}
      """
    And the plan was executed
    When the rollback to "full" is killed while it restores the 300 files of "many"
    And the user types "checkpoint prune large --keep 1 --dry-run"
    Then it succeeds
    And the groups that stay are
      | checkpoint_type | label | reason                                |
      | pre_execute     | None  | the first                             |
      | manual          | full  | an unfinished operation depends on it |
      | post_execute    | None  | the newest live one between two steps |
      | pre_rollback    | None  | the most recent                       |
    When the user types "checkpoint prune large --keep 1"
    Then it succeeds
    And the sandbox is exactly as recorded "full"
    And "full" comes back exactly as recorded "full"
    When the plan is executed on
    Then it succeeds
    And there is no "many" in the sandbox

  Scenario: the last of each attempt stays while another can go instead, so that attempts can be compared
    Given a project folder
    And a plan "attempts"
      """
      config: {sandbox.checkpoint.auto-create-on: [], max_checkpoints_per_plan: 50}
      steps:
        - {name: choose, decision: {question: Which?, chosen: this, alternatives: [that]}}
        - {name: write, tool: write_file, args: {path: f, content: "${{ steps.choose.output }}"}}
      """
    And the plan was executed
    And the decision "Which?" was corrected with "not this" and "--choose that"
    When the user types "checkpoint prune attempts --keep 4 --dry-run"
    Then it succeeds
    And the groups that stay are
      | checkpoint_type | step_index | superseded | reason                  |
      | pre_execute     | 0          | False      | the first               |
      | pre_rollback    | 2          | True       | the last of its attempt |
      | decision        | 1          | False      | within the limit        |
      | post_execute    | 2          | False      | the most recent         |
    When the user types "checkpoint prune attempts --keep 4"
    Then it succeeds
    And all groups are pre_execute, (pre_rollback), decision, post_execute
    When the attempts before and after the correction are compared
    Then it succeeds
    And the difference is
      | path | status   |
      | f    | modified |
    When the user types "checkpoint prune attempts --keep 2"
    Then all groups are pre_execute, post_execute
    And every checkpoint can be restored

  Scenario: a dry run of a rollback counts what the limit will take for the group that keeps what was there
    Given a project folder
    And a plan "full"
      """
      config: {max_checkpoints_per_plan: 4, sandbox.checkpoint.auto-create-on: [after_step]}
      steps:
        - {name: one, tool: write_file, args: {path: f, content: "1"}}
        - {name: two, tool: write_file, args: {path: f, content: "2"}}
        - {name: three, tool: write_file, args: {path: f, content: "3"}}
        - {name: four, tool: write_file, args: {path: f, content: "4"}}
      """
    And the plan was executed
    Then all groups are pre_execute, after_step, after_step, post_execute
    When a rollback to "latest" is tried without doing it
    And the plan is rolled back to "latest"
    Then it succeeds
    And it does to the path what was shown
    And afterwards the plan is complete, at step 4 with 3 live groups
    And every checkpoint can be restored

  Scenario: fifty groups are kept unless told otherwise
    Given a project folder
      | path | content |
      | kept | kept    |
    And a plan "long" of 55 steps
    When the plan is executed
    Then it succeeds
    And the counts of the execution are
      | count of    | is |
      | checkpoints | 50 |
      | tool_calls  | 55 |
    And every checkpoint can be restored
    When the plan is rolled back to "first"
    Then it succeeds
    And the sandbox holds "kept"
