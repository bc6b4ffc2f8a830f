Feature: Runs that are cut off
  After a kill, a signal or a power cut the plan goes on where it was; no completed step runs twice.

  Scenario: a killed run goes on, and what the interrupted step left is kept
    Given a project folder
      | path  | content |
      | a.txt | old\n   |
    And the real folder is remembered
    And a plan "cut"
      """
      steps:
        - {name: one, tool: shell, args: {command: "tally one; echo 1 > one"}}
        - {name: two, tool: shell, args: {command: "tally two; echo half >> a.txt; echo mess > mess; hold; rm mess"}}
        - {name: three, tool: shell, args: {command: tally three}}
      """
    And the plan is being executed and holds
    When its process is killed
    Then the plan is "execute/processing"
    And the status says that its process is gone and the plan can go on
    When the plan is executed on
    Then it succeeds
    And the process noted as "held" is ended
    And it went on from step 1 and discarded something
    And what was discarded holds
      | path  | content     |
      | a.txt | old\nhalf\n |
      | mess  | mess\n      |
      | one   | 1\n         |
    And the steps ran: one, two, two, three
    And in the sandbox "a.txt" reads "old\nhalf\n"
    And the plan is "execute/complete"
    And the status says nothing of an error
    And all groups are pre_execute, before_step, before_step, (pre_rollback), before_step, before_step, post_execute
    And the real folder is untouched, to modes and times

  Scenario: a killed run can be rolled back, and everything it had started is ended
    Given a project folder
    And a plan "cut"
      """
      steps:
        - {name: one, tool: write_file, args: {path: one, content: "1"}}
        - {name: two, tool: shell, args: {command: "setsid sh -c 'echo $$ > $NOTES/far; while :; do echo x >> junk; sleep 0.05; done' & while ! [ -s junk ]; do sleep 0.01; done; hold"}}
      """
    And the plan is being executed and holds
    And its process was killed
    When the plan is rolled back to "first"
    Then it succeeds
    And the process noted as "far" is ended
    And the process noted as "held" is ended
    And the sandbox is empty
    And the plan is "execute/queued"
    When that rollback is itself rolled back
    Then it succeeds
    And the sandbox holds "one junk"

  Scenario: a kill before the first checkpoint of a step without triggers repeats what was not recorded
    Given a project folder
    And a plan "sparse"
      """
      config: {sandbox.checkpoint.auto-create-on: []}
      steps:
        - {name: one, tool: shell, args: {command: "tally one; echo 1 >> one"}}
        - {name: two, tool: shell, args: {command: "tally two; hold"}}
      """
    And the plan is being executed and holds
    And its process was killed
    When the plan is executed on
    Then it succeeds
    And it went on from step 0 and discarded something
    And in the sandbox "one" reads "1\n"
    And the steps ran: one, two, one, two

  Scenario Outline: <signal> stops the plan so that it can go on
    Given a project folder
    And a plan "stopped"
      """
      steps:
        - {name: one, tool: shell, args: {command: tally one}}
        - {name: two, tool: shell, args: {command: "echo mess > mess; hold; tally two"}}
      """
    And the plan is being executed and holds
    When its process gets <signal>
    Then it is interrupted
    And the hint says "mulligan resume"
    And the process noted as "held" is ended
    And the plan is "execute/queued"
    And the steps are done, pending
    And the status says that it was interrupted and the plan can go on
    When the plan is executed on
    Then it succeeds
    And it went on from step 1 and discarded something
    And the steps ran: one, two
    And the plan is "execute/complete"

    Examples:
      | signal  |
      | SIGINT  |
      | SIGTERM |

  Scenario: cancelling a plan that another process works on asks it to stop first
    Given a project folder
    And a plan "unwanted"
      """
      config: {sandbox.cleanup: on_terminal}
      steps:
        - {name: one, tool: shell, args: {command: "echo x > x; hold"}}
      """
    And the plan is being executed and holds
    And the sandbox is remembered
    When the plan is cancelled
    Then it succeeds
    And the plan is "execute/cancelled"
    And the process noted as "held" is ended
    And the sandbox is gone
    When its process has ended
    Then it is interrupted

  Scenario: a plan without checkpoints that was killed cannot go on
    Given a project folder
    And a plan "bare"
      """
      rollback_policy: {enabled: false}
      steps:
        - {name: one, tool: shell, args: {command: "tally one; echo half > half; hold"}}
      """
    And the plan is being executed and holds
    And its process was killed
    When the plan is executed on
    Then it is refused with "rollback_disabled"
    And the steps ran: one
    And in the sandbox "half" reads "half\n"
