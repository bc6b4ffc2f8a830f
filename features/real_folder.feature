Feature: The real folder
  Nothing touches it before apply; and what a sandbox cannot hold is named, never dropped silently.

  Scenario: executing, failing, rolling back and cancelling leave the real folder alone
    Given a project folder
      | path       | content   | mode |
      | a.txt      | one\n     | 640  |
      | run.sh     | echo      | 755  |
      | docs/b.txt | two\n     |      |
      | empty      | (folder)  | 700  |
      | link       | -> docs   |      |
    And the real folder is remembered
    And a plan "busy"
      """
      steps:
        - {name: delete, tool: shell, args: {command: "rm -r docs empty; echo changed > a.txt; chmod 777 run.sh"}}
        - {name: write, tool: write_file, args: {path: new, content: new}}
        - {name: fail, tool: shell, args: {command: "echo more > more; false"}}
      """
    When the plan is executed
    Then it fails with "step_failed"
    When the plan is rolled back to "first"
    Then it succeeds
    When the plan is executed on
    Then it fails with "step_failed"
    When the plan is cancelled
    Then it succeeds
    And the real folder is untouched, to modes and times

  Scenario: what a sandbox cannot hold is named and never deleted
    Given a project folder
      | path      | content  |
      | a.txt     | one\n    |
      | run/pipe  | (fifo)   |
      | run/sock  | (socket) |
    And the real folder is remembered
    And a plan "special"
      """
      steps:
        - {name: write, tool: write_file, args: {path: a.txt, content: "two\n"}}
        - {name: make, tool: shell, args: {command: "mkfifo own; echo x > run/x"}}
      """
    When the plan is executed
    Then it succeeds
    And a message says "run/pipe"
    And a message says "run/sock"
    And the log names "run/pipe" before the first step
    And the sandbox holds "a.txt own run run/x"
    When the plan is rolled back to "first"
    Then it succeeds
    And in the sandbox "a.txt" reads "one\n"
    And the real folder is untouched, to modes and times
