Feature: Looking a project over
  The doctor checks everything, mends what is safe, and says what is left and what to do.

  Background:
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And a plan "patient"
      """
      steps:
        - {name: one, tool: write_file, args: {path: b.txt, content: "b\n"}}
      """

  Scenario: a healthy project
    Given the plan was executed
    When the user types "doctor"
    Then it succeeds
    And the doctor finds nothing

  Scenario: a plan whose process was killed waits, and what it had started is ended
    Given a plan "cut"
      """
      steps:
        - {name: two, tool: shell, args: {command: "setsid sh -c 'echo $$ > $NOTES/far; sleep 300' & while ! [ -s $NOTES/far ]; do sleep 0.01; done; hold"}}
      """
    And the plan is being executed and holds
    And its process was killed
    When the user types "doctor"
    Then it succeeds
    And the process noted as "far" is ended
    And the doctor says that "cut" waits

  Scenario: folders that no plan has are removed
    Given the plan was executed
    And a folder is left over among the sandboxes
    When the user types "doctor"
    Then it succeeds
    And the doctor repaired "leftovers"
    When the user types "doctor"
    Then the doctor finds nothing

  Scenario: a sandbox that someone removed is made anew from the last checkpoint
    Given the plan was executed
    When someone takes the sandbox away
    And the plan is rolled back to "first"
    Then it is refused with "sandbox_missing"
    And the hint says "mulligan doctor"
    When the user types "doctor"
    Then it succeeds
    And the doctor repaired "sandboxes"
    And the sandbox holds "a.txt b.txt"
    When the user types "doctor"
    Then the doctor finds nothing
    When the plan is rolled back to "first"
    Then it succeeds
    And the sandbox holds "a.txt"

  Scenario: commits of checkpoints whose repository someone removed are made anew
    Given it is a git checkout with one commit
    When the plan is executed
    Then each checkpoint is a commit
    When someone takes the repository of the checkpoints away
    And the user types "doctor"
    Then it succeeds
    And the doctor repaired "sandboxes"
    And each checkpoint is a commit
    When the user types "doctor"
    Then the doctor finds nothing

  Scenario: a sandbox with something else in its place, and a damaged store
    Given the plan was executed
    When someone takes the sandbox away and puts a symlink in its place
    And the user types "doctor"
    Then it fails with "project_unwell"
    And the doctor left "sandboxes" wrong, and says what to do
    When the bytes in the snapshot store are damaged
    And the user types "doctor"
    Then it fails with "project_unwell"
    And the doctor left "store" wrong, and says what to do

  Scenario: a database that cannot be read
    Given the plan was executed
    When the database is overwritten with nonsense
    And the user types "doctor"
    Then it fails with "project_unwell"
    And the doctor left "database" wrong, and says what to do

  Scenario: what plans record in every kind of row is sound
    Given the real file "agent.py"
      """
      def work(context):
          context.state["list"] = [1, "2", None]
          return ["x" * 70000]
      """
    And a plan "recording"
      """
      steps:
        - {name: much, tool: shell, args: {command: "head -c 70000 /dev/zero | tr '\\0' x"}}
        - {name: list, tool: python, args: {function: "agent:work"}}
        - {name: choose, decision: {question: Which?, chosen: this, alternatives: [that]}}
        - {name: write, tool: write_file, args: {path: f, content: f}}
      """
    And the plan was executed
    And the decision "Which?" was corrected with "not this" and "--choose that"
    When the user types "doctor"
    Then it succeeds
    And the doctor finds nothing
