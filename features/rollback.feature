Feature: Rollback
  Everything after a checkpoint is reverted, nothing is deleted, and a rollback can itself be rolled back.

  Background:
    Given a project folder
      | path         | content     | mode |
      | a.txt        | one\n       | 644  |
      | run.sh       | echo run    | 755  |
      | secret       | key\n       | 600  |
      | docs/b.txt   | two\n       |      |
      | empty        | (folder)    | 750  |
      | link         | -> a.txt    |      |
      | dangling     | -> nowhere  |      |
      | name with é  | accents\n   |      |
    And the real folder is remembered

  Scenario: files, modes, symlinks, empty folders, deleted and renamed paths come back exactly
    Given a plan "tree"
      """
      steps:
        - {name: look, tool: shell, args: {command: record start}, checkpoint: start}
        - name: upset
          tool: shell
          args:
            command: |
              echo changed > a.txt; chmod 600 run.sh; chmod 644 secret; rm -r docs; rmdir empty; mkdir -p new/deep/er
              ln -sf run.sh link; rm dangling; echo now a file > dangling; mv "name with é" renamed; mkdir -m 700 private
              echo x > new/x; rm -f $(printf 'odd\nname'); echo odd > "$(printf 'odd\nname')"; mkfifo pipe
              record upset
        - {name: replace, tool: shell, args: {command: "rm a.txt; mkdir a.txt; echo in > a.txt/in; rm pipe; record end"}}
      """
    When the plan is executed
    Then it succeeds
    When a rollback to "start" is tried without doing it
    Then it succeeds
    And the sandbox is exactly as recorded "end"
    When the plan is rolled back to "start"
    Then it succeeds
    And it does to the path what was shown
    And the sandbox is exactly as recorded "start"
    And afterwards the plan is at step 1 with 3 live groups
    And its impact is 0 decisions and 2 tool calls
    When that rollback is itself rolled back
    Then it succeeds
    And the sandbox is exactly as recorded "end"
    When the plan is rolled back to "first"
    Then the sandbox is exactly as recorded "start"
    And every checkpoint can be restored
    And the real folder is untouched, to modes and times

  Scenario: only what differs is touched, and it is told to the path
    Given a plan "told"
      """
      steps:
        - {name: change, tool: write_file, args: {path: a.txt, content: "changed\n"}}
        - {name: add, tool: write_file, args: {path: deep/new.txt, content: new}}
        - {name: delete, tool: delete_file, args: {path: docs/b.txt}}
        - {name: rename, tool: move_file, args: {path: secret, to: open}}
      """
    And the plan was executed
    When the plan is rolled back to "first"
    Then it succeeds
    And the rollback reverted
      | file         | action   |
      | a.txt        | restored |
      | docs/b.txt   | restored |
      | secret       | restored |
      | open         | removed  |
      | deep         | removed  |
      | deep/new.txt | removed  |

  Scenario: plan state, outputs and the tool's memory come back, and the plan runs on from there
    Given the real file "agent.py"
      """
      def think(context, thought):
          seen = context.state.setdefault("seen", [])
          seen.append(thought)
          (context.path() / "memory").write_text(" ".join(seen))
          context.record_decision("What now?", chosen=thought)
          return {"seen": len(seen), "outputs": sorted(context.outputs)}
      """
    And a plan "agent"
      """
      steps:
        - {name: one, tool: python, args: {function: "agent:think", kwargs: {thought: one}}, checkpoint: thought once}
        - {name: two, tool: python, args: {function: "agent:think", kwargs: {thought: two}}}
        - {name: three, tool: python, args: {function: "agent:think", kwargs: {thought: three}}, checkpoint: thought thrice}
        - {name: tell, tool: write_file, args: {path: told, content: "${{ steps.three.output }}"}}
      """
    And the plan was executed
    And the checkpoint "thought thrice" is remembered
    When the plan is rolled back to "thought once"
    Then it succeeds
    And its impact is 2 decisions and 3 tool calls
    And the counts of the execution are
      | count of   | is |
      | tool_calls | 1  |
      | decisions  | 1  |
    And the steps are done, pending, pending, pending
    And in the sandbox "memory" reads "one"
    When the plan is executed on
    Then it succeeds
    And it went on from step 1 and discarded nothing
    And in the sandbox "memory" reads "one two three"
    And in the sandbox "told" reads "{"outputs":["one","two"],"seen":3}"
    And the counts of the execution are
      | count of   | is |
      | tool_calls | 4  |
      | decisions  | 3  |
    When the plan is rolled back to the remembered checkpoint "thought thrice"
    Then it succeeds
    And the steps are done, done, done, pending
    And in the sandbox "memory" reads "one two three"

  Scenario: going forward again to what was left behind
    Given a plan "forth"
      """
      steps:
        - {name: one, tool: shell, args: {command: "tally one; echo 1 > f"}, checkpoint: one}
        - {name: two, tool: shell, args: {command: "tally two; echo 2 > f"}, checkpoint: two}
        - {name: three, tool: shell, args: {command: "tally three; echo 3 > f"}, checkpoint: three}
      """
    And the plan was executed
    And the checkpoint "two" is remembered
    And the plan was rolled back to "one"
    When the user types "plan rollback --yes forth two"
    Then it is refused with "checkpoint_not_found"
    When the plan is rolled back to the remembered checkpoint "two"
    Then it succeeds
    And in the sandbox "f" reads "2\n"
    And the last checkpoint is "two"
    And the live groups are pre_execute, before_step, manual, before_step, manual
    When the plan is executed on
    Then it succeeds
    And the steps ran: one, two, three, three
    And in the sandbox "f" reads "3\n"
    And each group is the child of the one before it

  Scenario: going back into the middle of a step, and to what a failed step left
    Given the real file "agent.py"
      """
      def work(context):
          (context.path() / "work").write_text("half")
          context.state["half"] = True
          context.checkpoint("in the middle")
          (context.path() / "work").write_text("whole")
          context.checkpoint(f"again {context.state['half']}")
          (context.path() / "mess").write_text("mess")
          raise ValueError("gave up")
      """
    And a plan "middle"
      """
      steps:
        - {name: work, tool: python, args: {function: "agent:work"}}
      """
    And the plan was executed
    When the plan is rolled back to its newest on_error group
    Then it succeeds
    And in the sandbox "work" reads "whole"
    And in the sandbox "mess" reads "mess"
    When the plan is rolled back to its newest manual group
    Then it succeeds
    And there is no "mess" in the sandbox
    And in the sandbox "work" reads "whole"
    And afterwards the plan is at step 0 with 4 live groups
    When the plan is executed on
    Then it fails with "step_failed"
    And it went on from step 0 and discarded nothing

  Scenario: what someone else wrote into the sandbox is kept too
    Given a plan "kept"
      """
      steps:
        - {name: one, tool: write_file, args: {path: f, content: "plan's"}}
      """
    And the plan was executed
    When someone writes "somebody's" to "f" in the sandbox
    And the plan is rolled back to "latest"
    Then it succeeds
    And in the sandbox "f" reads "plan's"
    When that rollback is itself rolled back
    Then in the sandbox "f" reads "somebody's"
