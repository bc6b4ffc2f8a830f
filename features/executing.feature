Feature: Executing a plan
  A plan runs its steps one after the other, in sandboxes; the real resources stay as they are.

  Scenario: a plan runs to its end in a sandbox
    Given a project folder
      | path     | content |
      | a.txt    | one\n   |
      | docs/b.txt | two\n |
    And the real folder is remembered
    And a plan "tour"
      """
      steps:
        - {name: write, tool: write_file, args: {path: new.txt, content: "new\n"}}
        - {name: choose, decision: {question: Which?, chosen: this, alternatives: [that], rationale: why not}}
        - {name: shorten, tool: shell, args: {command: "rm docs/b.txt && tally shorten"}}
        - {name: keep, checkpoint: the end}
      """
    When the plan is executed
    Then it succeeds
    And the folder has become a project
    And the plan is "execute/complete"
    And the answer is that of plan status
    And the steps are done, done, done, done
    And the steps ran: shorten
    And the counts of the execution are
      | count of       | is |
      | tool_calls     | 2  |
      | files_modified | 2  |
      | decisions      | 1  |
      | child_plans    | 0  |
      | checkpoints    | 8  |
    And the last checkpoint is of the newest group
    And the sandbox holds "a.txt docs new.txt"
    And the log is in order
    And the real folder is untouched, to modes and times
    When the plan is executed on
    Then it is refused with "plan_already_complete"

  Scenario: a plan is created first and executed later, by name
    Given a project folder
    And a plan "later"
      """
      steps:
        - {name: only, tool: shell, args: {command: tally only}}
      """
    When the plan is created
    Then it succeeds
    And the plan is "strategize/complete"
    And the steps are pending
    And no step ran
    And no checkpoint was taken
    When the plan is executed on
    Then it succeeds
    And the plan is "execute/complete"
    And the steps ran: only

  Scenario: each resource has a sandbox of its own
    Given a project folder
      | path       | content |
      | app/x      | app\n   |
      | site/x     | site\n  |
      | other/x    | other\n |
    And a plan "two"
      """
      resources:
        app: {type: fs-directory, location: app}
        site: {type: fs-directory, location: site}
      steps:
        - {name: first is the default, tool: write_file, args: {path: x, content: "changed\n"}}
        - {name: the other by name, tool: shell, resource: site, args: {command: "cat x > y"}}
      """
    And the real folder is remembered
    When the plan is executed
    Then it succeeds
    And in the sandbox of "app" "x" reads "changed\n"
    And in the sandbox of "site" "x" reads "site\n"
    And in the sandbox of "site" "y" reads "site\n"
    And the last checkpoint is of the newest group, and of the first resource
    And the checkpoints are
      | checkpoint_type | resource | step_index | modified |
      | pre_execute     | app      | 0          | True     |
      | pre_execute     | site     | 0          | True     |
      | before_step     | app      | 0          | False    |
      | before_step     | site     | 0          | False    |
      | before_step     | app      | 1          | True     |
      | before_step     | site     | 1          | False    |
      | post_execute    | app      | 2          | False    |
      | post_execute    | site     | 2          | True     |
    And the real folder is untouched, to modes and times
    When the plan is rolled back to "first"
    Then it succeeds
    And the rollback reverted
      | file | action   |
      | x    | restored |
      | y    | removed  |
    And in the sandbox of "app" "x" reads "app\n"

  Scenario Outline: a plan file with a fault is refused before anything runs: <fault>
    Given a project folder
    And a plan "faulty"
      """
      <more>
      steps:
        - {name: run, tool: shell, args: {command: tally run}}
        - <step>
      """
    When the plan is executed
    Then it is a usage error, "plan_file_invalid"
    And its facts are
      | fact    | value     |
      | line    | <line>    |
      | path    | <path>    |
      | nearest | <nearest> |
    And no step ran
    And no plan is recorded

    Examples:
      | fault            | line | path              | nearest    | more                                          | step |
      | unknown key      | 5    | steps[1].retrys   | retries    |                                               | {name: x, tool: shell, args: {command: ls}, retrys: 1} |
      | wrong type       | 5    | steps[1].timeout  | None       |                                               | {name: x, tool: shell, args: {command: ls}, timeout: soon} |
      | same name twice  | 5    | steps[1].name     | None       |                                               | {name: run, checkpoint: label} |
      | unknown tool     | 5    | steps[1].tool     | write_file |                                               | {name: x, tool: write_fil, args: {path: a, content: b}} |
      | leaves sandbox   | 5    | steps[1].args.path | None      |                                               | {name: x, tool: delete_file, args: {path: ../a}} |
      | leaves project   | 2    | resources.a.location | None    | resources: {a: {type: fs-directory, location: ../b}} | {name: x, checkpoint: label} |
      | unfit strategy   | 2    | resources.a.strategy | None    | resources: {a: {type: git-checkout, location: ., strategy: filesystem_copy}} | {name: x, checkpoint: label} |
      | unknown trigger  | 2    | config.sandbox.checkpoint.auto-create-on[0] | before_step | config: {sandbox.checkpoint.auto-create-on: [before_stap]} | {name: x, checkpoint: label} |
      | unknown variable | 5    | steps[1].args.content | None   |                                               | {name: x, tool: write_file, args: {path: a, content: "${{ nobody }}"}} |

  Scenario: resources that no plan may work on are refused before anything runs
    Given a project folder
      | path    | content        |
      | a/x     | x              |
      | b       | -> a           |
      | out     | -> ../plans    |
      | homely  | -> ../home     |
      | own     | -> .mulligan   |
      | file    | x              |
    And the setting core.format is "None" by default, once there is a project
    Then each of these resources is refused
      | resources                                                                           | because              |
      | {r: {type: fs-directory, location: nothing}}                                        | does not exist       |
      | {r: {type: fs-directory, location: file}}                                           | folder               |
      | {r: {type: fs-directory, location: a}, s: {type: fs-directory, location: b}}        | same location        |
      | {r: {type: fs-directory, location: .}, s: {type: fs-directory, location: b}}        | lies inside          |
      | {r: {type: fs-directory, location: out}}                                            | out of the project   |
      | {r: {type: fs-directory, location: homely}}                                         | home folder          |
      | {r: {type: fs-directory, location: own}}                                            | project home         |
