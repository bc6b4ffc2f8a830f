Feature: Checkpoints that are taken by themselves
  Which groups are taken is told by the triggers; some are taken always.

  Scenario Outline: each trigger fires exactly when it should: <triggers>
    Given a project folder
    And a plan "triggers"
      """
      config: {sandbox.checkpoint.auto-create-on: <triggers>}
      rollback_policy: {on_failure: keep}
      steps:
        - {name: write, tool: write_file, args: {path: a, content: a}}
        - {name: choose, decision: {question: Q, chosen: x}}
        - {name: mark, checkpoint: here}
        - {name: fail, tool: shell, args: {command: "echo > b; false"}}
      """
    When the plan is executed
    Then it fails with "step_failed"
    And the live groups are <groups>

    Examples:
      | triggers                  | groups |
      | []                        | pre_execute, decision, manual |
      | [before_step]             | pre_execute, before_step, before_step, decision, before_step, manual, before_step |
      | [after_step]              | pre_execute, after_step, decision, after_step, manual, after_step |
      | [on_error]                | pre_execute, decision, manual, on_error |
      | [on_tool_write]           | pre_execute, on_tool_write, decision, manual, on_tool_write |
      | [before_tool_execute]     | pre_execute, on_tool_write, decision, manual, on_tool_write |
      | [on_tool_write_complete]  | pre_execute, on_tool_write_complete, decision, manual |
      | [after_tool_execute]      | pre_execute, on_tool_write_complete, decision, manual |
      | [on_quiet, on_interval]   | pre_execute, decision, manual |
      | [after_subplan, on_subplan_spawn] | pre_execute, decision, manual |

  Scenario: where triggers fall together each takes its group
    Given a project folder
    And the environment says MULLIGAN_SANDBOX_CHECKPOINT_AUTO_CREATE_ON="on_error,after_step,on_tool_write_complete,on_tool_write,before_step"
    And a plan "together"
      """
      steps:
        - {name: write, tool: write_file, args: {path: a, content: a}, checkpoint: wrote}
        - {name: fail, tool: shell, args: {command: "echo > b; false"}}
      """
    When the plan is executed
    Then it fails with "step_failed"
    And the live groups are
      | checkpoint_type        | label | step_index | modified |
      | pre_execute            | None  | 0          | True     |
      | before_step            | None  | 0          | False    |
      | on_tool_write          | None  | 0          | False    |
      | on_tool_write_complete | None  | 1          | True     |
      | manual                 | wrote | 1          | False    |
      | after_step             | None  | 1          | False    |
      | before_step            | None  | 1          | False    |
      | on_error               | None  | 1          | True     |
    And all groups are pre_execute, before_step, on_tool_write, on_tool_write_complete, manual, after_step, before_step, (on_tool_write), on_error

  Scenario: a plan that switched checkpoints off takes none, and can neither be rolled back nor go on
    Given a project folder
      | path  | content |
      | a.txt | old\n   |
    And a plan "bare"
      """
      rollback_policy: {enabled: false}
      steps:
        - {name: write, tool: write_file, args: {path: a.txt, content: "new\n"}}
        - {name: choose, decision: {question: Q, chosen: x}}
        - {name: fail, tool: shell, args: {command: "echo mess > mess; false"}}
      """
    When the plan is executed
    Then it fails with "step_failed"
    And no checkpoint was taken
    And the plan is "execute/errored"
    And the steps are done, done, failed
    And in the sandbox "mess" reads "mess\n"
    When the sandbox is remembered
    And the plan is executed on
    Then it is refused with "rollback_disabled"
    And the sandbox is as remembered
    And the plan is "execute/errored"
    When the user types "plan rollback --yes bare first"
    Then it is refused with "rollback_disabled"
    When the user types "checkpoint create bare --label here"
    Then it is refused with "rollback_disabled"
    And no checkpoint was taken
    And the sandbox is as remembered

  Scenario: a plan without checkpoints whose first step failed is not started anew
    Given a project folder
    And a plan "bare"
      """
      rollback_policy: {enabled: false}
      steps:
        - {name: fail, tool: shell, args: {command: "tally fail; echo mess > mess; false"}}
      """
    When the plan is executed
    And the sandbox is remembered
    And the plan is executed on
    Then it is refused with "rollback_disabled"
    And the steps ran: fail
    And the sandbox is as remembered

  Scenario: taking a checkpoint by hand
    Given a project folder
    And a plan "manual"
      """
      steps:
        - {name: write, tool: write_file, args: {path: a, content: "plan's\n"}}
      """
    And the plan was executed
    When someone writes "mine" to "a" in the sandbox
    And the user types "checkpoint create manual --label 'by hand'"
    Then it succeeds
    And the live groups are
      | checkpoint_type | label   | step_index | modified |
      | pre_execute     | None    | 0          | True     |
      | before_step     | None    | 0          | False    |
      | post_execute    | None    | 1          | True     |
      | manual          | by hand | 1          | True     |
    And the last checkpoint is "by hand"
    And each group is the child of the one before it
    And the files of "by hand" hold "a" reading "mine"

  Scenario: a quiet moment inside a long step is kept, and a resume from it runs the step again
    Given a project folder
      | path  | content |
      | a.txt | old\n   |
    And a plan "long"
      """
      config:
        sandbox.checkpoint.auto-create-on: [before_step, on_quiet]
        sandbox.checkpoint.quiet-seconds: 200ms
      steps:
        - name: work
          run: tally work; test -e half || { echo half > half; await-group 1; }; echo done > a.txt
        - {name: end, run: "tally end"}
      """
    When the plan is executed
    Then it succeeds
    And the live groups are pre_execute, before_step, on_quiet, before_step, post_execute
    When the user types "plan rollback --yes long @3"
    Then it succeeds
    And in the sandbox "half" reads "half\n"
    And in the sandbox "a.txt" reads "old\n"
    And the steps are pending, pending
    When the plan is executed on
    Then it succeeds
    And in the sandbox "a.txt" reads "done\n"
    And the steps ran: work, end, work, end

  Scenario: what a step that failed had done at an interval can be taken
    Given a project folder
      | path  | content |
      | a.txt | old\n   |
    And a plan "long"
      """
      config:
        sandbox.checkpoint.auto-create-on: [on_interval]
        sandbox.checkpoint.interval-seconds: 0.2
      steps:
        - {name: work, run: "echo one > a.txt; await-group 1; echo two > a.txt; await-group 2; false"}
      """
    When the plan is executed
    Then it fails with "step_failed"
    And in the sandbox "a.txt" reads "old\n"
    And all groups are pre_execute, (on_interval), (on_interval)
    When the user types "accept long --at @2"
    Then it succeeds
    And in the sandbox "a.txt" reads "one\n"
    And the plan is "execute/complete"
