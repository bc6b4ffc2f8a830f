Feature: One command with a way back
  Any command runs as a plan of one step, without a file, and the last step of any plan can be undone.

  Scenario: a command works on a copy, and is applied or undone
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And the real folder is remembered
    When the user types "run --name quick -- sh -c 'echo two >> a.txt; echo $1 > b.txt' - '${{ x }}'"
    Then it succeeds
    And the command ended with exit status 0
    And the folder has become a project
    And the plan run last is "execute/complete"
    And in the sandbox "a.txt" reads "one\ntwo\n"
    And in the sandbox "b.txt" reads "${{ x }}\n"
    And in the real folder "a.txt" reads "one\n"
    When the user types "undo --yes"
    Then it succeeds
    And in the sandbox "a.txt" reads "one\n"
    And the plan run last is "execute/queued"
    When the user types "undo --yes"
    Then it is refused with "nothing_to_undo"
    When the user types "plan resume quick"
    And the user types "plan apply --yes quick"
    Then it succeeds
    And in the real folder "a.txt" reads "one\ntwo\n"
    When the user types "undo --yes"
    Then it succeeds
    And in the real folder "a.txt" reads "one\n"

  Scenario: a command that fails says how, and leaves nothing but a checkpoint
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    When the user types "run --apply -- sh -c 'echo mess > a.txt; exit 5'"
    Then it ends with 5 and "step_failed"
    And the command ended with exit status 5
    And its facts are
      | fact        | value |
      | exit_status | 5     |
    And the hint says "mulligan diff"
    And in the sandbox "a.txt" reads "one\n"
    And in the real folder "a.txt" reads "one\n"

  Scenario: what a command printed stays with the plan
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    When the user types "run -- sh -c 'echo said; echo why >&2; exit 5'"
    Then it ends with 5 and "step_failed"
    When the user types "show sh --output"
    Then it succeeds
    And step 0 printed "said\n" and complained "why\n"

  Scenario: a command in place changes the real folder, and undo brings it back
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    When the user types "run --in-place -- sh -c 'echo two > a.txt; touch new'"
    Then it succeeds
    And in the real folder "a.txt" reads "two\n"
    When the user types "undo --yes"
    Then it succeeds
    And in the real folder "a.txt" reads "one\n"
    And nothing called "new" is in the real folder

  Scenario: a command that is interrupted can be run again or undone
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And the command "echo half > a.txt; tally once; hold" runs and holds
    When its process gets SIGINT
    Then it is interrupted
    And the plan run last is "execute/queued"
    When the user types "undo --yes"
    Then it succeeds
    And in the sandbox "a.txt" reads "one\n"
    When the run is released and the user types "plan resume latest"
    Then it succeeds
    And the steps ran: once, once
    And in the sandbox "a.txt" reads "half\n"

  Scenario: undo goes back one step at a time
    Given a project folder
    And a plan "several"
      """
      steps:
        - {name: one, tool: write_file, args: {path: one, content: "1"}}
        - {name: choose, decision: {question: Which?, chosen: this}}
        - {name: two, tool: write_file, args: {path: two, content: "2"}}
      """
    And the plan was executed
    When the user types "undo --yes"
    Then the sandbox holds "one"
    When the user types "undo --yes"
    Then its impact is 1 decisions and 0 tool calls
    And the sandbox holds "one"
    When the user types "undo --yes"
    Then the sandbox is empty
    When the plan is executed on
    Then it succeeds
    And the sandbox holds "one two"

  Scenario Outline: a command that is refused makes no project: <command>
    Given a project folder
      | path     | content                       |
      | bad.yaml | name: bad\nsteps: [{rnu: ls}]\n |
    When the user types "<command>"
    Then the folder has not become a project

    Examples:
      | command                         |
      | plan execute bad.yaml           |
      | plan execute missing.yaml       |
      | run --resource missing -- true  |
      | run --bogus -- true             |
      | apply                           |
      | undo --yes                      |
      | status                          |
