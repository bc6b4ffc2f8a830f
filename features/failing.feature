Feature: Steps that fail
  What a failed step left behind is kept in an on_error group; then the rollback policy decides.

  Scenario Outline: after a failed step the sandboxes go where the policy says: <on_failure>
    Given a project folder
      | path  | content |
      | a.txt | old\n   |
    And the real folder is remembered
    And a plan "failing"
      """
      rollback_policy: {on_failure: <on_failure>}
      steps:
        - {name: good, tool: write_file, args: {path: a.txt, content: "good\n"}}
        - {name: bad, tool: shell, args: {command: "tally bad; echo half > a.txt; echo mess > mess; exit 7"}}
        - {name: never, tool: shell, args: {command: tally never}}
      """
    When the plan is executed
    Then it fails with "step_failed"
    And its facts are
      | fact        | value |
      | step        | bad   |
      | tool        | shell |
      | exit_status | 7     |
    And the answer is that of plan status
    And the plan is "execute/errored"
    And the steps are <steps>
    And the steps ran: bad
    And the status says that step "bad" failed and the plan can go on
    And in the sandbox "a.txt" reads "<a>"
    And all groups are <groups>
    And the last checkpoint is the newest <last> group
    And the files of the on_error group hold
      | path  | content |
      | a.txt | half\n  |
      | mess  | mess\n  |
    And the files of "latest" hold "a.txt" reading "<latest>"
    And the real folder is untouched, to modes and times

    Examples:
      | on_failure       | steps                 | a      | last        | latest | groups |
      | last_checkpoint  | done, failed, pending | good\n | before_step | good\n | pre_execute, before_step, before_step, on_error |
      | first_checkpoint | pending, failed, pending | old\n | pre_execute | old\n | pre_execute, (before_step), (before_step), on_error |
      | keep             | done, failed, pending | half\n | on_error    | good\n | pre_execute, before_step, before_step, on_error |

  Scenario: a failed plan goes on with the step that failed
    Given a project folder
    And a plan "mended"
      """
      steps:
        - {name: one, tool: shell, args: {command: "tally one; echo 1 > one"}}
        - {name: two, tool: shell, args: {command: "tally two; echo 2 >> two; test -e $NOTES/mended"}}
        - {name: three, tool: shell, args: {command: tally three}}
      """
    When the plan is executed
    Then it fails with "step_failed"
    When the plan is executed on
    Then it fails with "step_failed"
    And it went on from step 1 and discarded nothing
    When someone mends the cause
    And the plan is executed on
    Then it succeeds
    And the plan is "execute/complete"
    And the status says nothing of an error
    And the steps ran: one, two, two, two, three
    And in the sandbox "two" reads "2\n"
    And all groups are pre_execute, before_step, before_step, (on_error), before_step, on_error, before_step, before_step, post_execute

  Scenario: going on after keep starts from before the step, and what it had left is kept
    Given a project folder
    And a plan "kept"
      """
      rollback_policy: {on_failure: keep}
      steps:
        - {name: append, tool: shell, args: {command: "echo line >> f; test -e $NOTES/mended"}}
      """
    When the plan is executed
    Then it fails with "step_failed"
    When someone mends the cause
    And the plan is executed on
    Then it succeeds
    And it went on from step 0 and discarded something
    And in the sandbox "f" reads "line\n"

  Scenario: a step with retries tries again from the state before it
    Given a project folder
    And a plan "retrying"
      """
      config: {sandbox.checkpoint.auto-create-on: [on_error, on_tool_write]}
      steps:
        - {name: first, tool: write_file, args: {path: f, content: "start\n"}}
        - {name: flaky, retries: 2, tool: shell, args: {command: "tally try; echo line >> f; test $(grep -c try $NOTES/tally) -ge 3"}}
        - {name: hopeless, retries: 1, tool: shell, args: {command: "tally hopeless; echo mess > mess; false"}}
      """
    When the plan is executed
    Then it fails with "step_failed"
    And the steps are done, done, failed
    And the steps ran: try, try, try, hopeless, hopeless
    And in the sandbox "f" reads "start\nline\n"
    And there is no "mess" in the sandbox
    And all groups are pre_execute, on_tool_write, before_step, (on_tool_write), (on_tool_write), on_tool_write, before_step, (on_tool_write), (on_tool_write), on_error
    And the counts of the execution are
      | count of   | is |
      | tool_calls | 2  |

  Scenario: without triggers a failed step goes back to the newest group there is
    Given a project folder
    And a plan "sparse"
      """
      config: {sandbox.checkpoint.auto-create-on: []}
      steps:
        - {name: one, tool: shell, args: {command: "tally one; echo 1 > one"}, checkpoint: marked}
        - {name: two, tool: shell, args: {command: "tally two; echo 2 > two"}}
        - {name: three, tool: shell, args: {command: "test -e $NOTES/mended"}}
      """
    When the plan is executed
    Then it fails with "step_failed"
    And the sandbox holds "one"
    And the steps are done, pending, failed
    And the last checkpoint is "marked"
    When someone mends the cause
    And the plan is executed on
    Then it succeeds
    And the steps ran: one, two, two
    And the sandbox holds "one two"

  Scenario Outline: a checkpoint that cannot be taken stops the plan, which goes on once the cause is mended: <type>
    Given a project folder
    And a plan "stopped"
      """
      config: {sandbox.isolate: off, sandbox.at: own-path, sandbox.checkpoint.auto-create-on: <triggers>}
      steps:
        - {name: one, tool: write_file, args: {path: one, content: "1"}}
        - name: break
          tool: shell
          args:
            command: |
              tally break; echo 2 >> two
              [ -e $NOTES/mended ] || { mv ../../../store/packs $NOTES/packs; echo > ../../../store/packs; }
        - {name: choose, decision: {question: Q, chosen: x}}
        - {name: three, tool: shell, args: {command: "tally three; echo 3 > three"}}
      """
    When the plan is executed
    Then it fails with "checkpoint_failed"
    And its facts are
      | fact            | value  |
      | checkpoint_type | <type> |
    And the error says "store/packs: Not a directory"
    And the plan is "execute/errored"
    And the status says that the plan can go on
    And the counts of the execution are
      | count of  | is |
      | decisions | 0  |
    And the steps ran: break
    When the plan is executed on
    Then the error says "store/packs: Not a directory"
    And the steps ran: break
    When someone puts the store back
    And the plan is executed on
    Then it succeeds
    And the steps ran: break, break, three
    And in the sandbox "two" reads "2\n"
    And the counts of the execution are
      | count of  | is |
      | decisions | 1  |
    And every checkpoint can be restored

    Examples:
      | triggers                 | type                   |
      | [before_step]            | before_step            |
      | [after_step]             | after_step             |
      | [on_tool_write_complete] | on_tool_write_complete |
      | []                       | decision               |
