Feature: Correction
  A wrong decision is taken back with all that followed from it; the plan runs on from there with the user's guidance.

  Background:
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And the real folder is remembered
    And a plan "parsing"
      """
      steps:
        - {name: prepare, tool: shell, args: {command: "tally prepare; echo ready > ready"}}
        - {name: choose, decision: {question: Which parser?, chosen: lark, alternatives: [ply, own], rationale: messages}}
        - {name: parse, tool: write_file, args: {path: parser, content: "${{ steps.choose.output }} [${{ guidance }}]"}}
        - {name: check, tool: shell, args: {command: 'tally check; echo "$MULLIGAN_GUIDANCE" > env; rm -f a.txt'}}
      """
    And the plan was executed

  Scenario: what followed from the decision is taken back, and done once more with the guidance
    When the correction of "Which parser?" with "use ply" is tried without doing it
    Then it succeeds
    And in the sandbox "parser" reads "lark []"
    When the decision "Which parser?" is corrected with "use ply"
    Then it succeeds
    And it corrects what was shown
    And the plan is "execute/complete"
    And the plan is in attempt 2
    And the steps ran: prepare, check, check
    And in the sandbox "parser" reads "lark [use ply]"
    And in the sandbox "env" reads "use ply\n"
    And the correction superseded: Which parser? lark
    When the user types "plan tree"
    Then the tree is
      """
      plan parsing
        checkpoint pre_execute
        checkpoint before_step
        checkpoint before_step
        decision Which parser? use ply
          checkpoint decision
          checkpoint before_step
          decision Which parser? lark
            checkpoint decision
            checkpoint before_step
            checkpoint before_step
            checkpoint post_execute
      """
    And the counts of the execution are
      | count of   | is |
      | tool_calls | 3  |
      | decisions  | 2  |
    And each group is the child of the one before it
    And every checkpoint can be restored
    And the real folder is untouched, to modes and times

  Scenario: another choice
    When the decision "Which parser?" is corrected with "its licence" and "--choose own"
    Then it succeeds
    And in the sandbox "parser" reads "own [its licence]"
    And the decision "Which parser?" is now "own", not "lark", because of "its licence"

  Scenario: other steps from the restored one on
    Given a plan file "mended.yaml" with the same name
      """
      steps:
        - {name: prepare, tool: shell, args: {command: "tally prepare; echo ready > ready"}}
        - {name: ask, decision: {question: Which grammar?, chosen: earley}}
        - {name: write, tool: write_file, args: {path: grammar, content: "${{ steps.ask.output }} [${{ guidance }}]"}}
      """
    When the decision "Which parser?" is corrected with "grammars first" and "--plan mended.yaml"
    Then it succeeds
    And the steps are done, done, done
    And in the sandbox "grammar" reads "earley [grammars first]"
    And there is no "parser" in the sandbox
    And in the sandbox "a.txt" reads "one\n"
    Given a plan file "other.yaml" with the same name
      """
      steps:
        - {name: begin, tool: shell, args: {command: "tally begin"}}
      """
    When the decision "Which grammar?" is corrected with "again" and "--plan other.yaml"
    Then it is refused with "plan_file_differs"
    When the decision "Which grammar?" is corrected with "again" and "--plan mended.yaml --choose lalr --no-execute"
    Then it succeeds
    And the plan is "execute/queued"
    And the steps are done, pending, pending
    And the plan is in attempt 3

  Scenario: a correction of a correction, and of what was decided under one
    Given the decision "Which parser?" was corrected with "use ply" and "--choose ply"
    When the decision "Which parser?" is corrected with "with tests" and "--choose own"
    Then it succeeds
    And in the sandbox "parser" reads "own [use ply\nwith tests]"
    And the plan is in attempt 3
    When the guidance "use ply" is corrected with "think first"
    Then it succeeds
    And in the sandbox "parser" reads "lark [think first]"
    And the plan is in attempt 4
    And the correction superseded: Which parser? use ply, Which parser? with tests, Which parser? own

  Scenario: attempts stay comparable, and the earlier one can be gone back to
    Given the decision "Which parser?" was corrected with "use ply" and "--choose ply"
    When the attempts before and after the correction are compared
    Then it succeeds
    And the difference is
      | path   | status   |
      | env    | modified |
      | parser | modified |
    When the plan is rolled back to the attempt before the correction
    Then it succeeds
    And in the sandbox "parser" reads "lark []"
    And the steps are done, done, done, done
    And the plan is in attempt 2
    When the plan is rolled back to "first"
    And the plan is executed on
    Then it succeeds
    And in the sandbox "parser" reads "lark []"
    When the attempts before and after the correction are compared
    Then it succeeds

  Scenario: what a plan file said of an attempt comes back with it
    Given a plan file "short.yaml" with the same name
      """
      steps:
        - {name: prepare, tool: shell, args: {command: "tally prepare; echo ready > ready"}}
        - {name: only, tool: write_file, args: {path: only, content: "${{ guidance }}"}}
      """
    When the decision "Which parser?" is corrected with "short" and "--plan short.yaml"
    Then the steps are done, done
    When the plan is rolled back to the attempt before the correction
    Then the steps are done, done, done, done
    And in the sandbox "parser" reads "lark []"
    When that rollback is itself rolled back
    Then the steps are done, done
    And in the sandbox "only" reads "short"

  Scenario: a correction that waits is resumed with its guidance, also after its first step was killed
    Given the decision "Which parser?" was corrected with "slowly" and "--no-execute"
    When the plan is resumed with ""
    Then it succeeds
    And it went on from step 1 and discarded nothing
    And in the sandbox "parser" reads "lark [slowly]"
    Given a plan file "holding.yaml" with the same name
      """
      config: {sandbox.checkpoint.auto-create-on: []}
      steps:
        - {name: prepare, tool: shell, args: {command: "tally prepare; echo ready > ready"}}
        - {name: wait, tool: shell, args: {command: 'hold; echo "$MULLIGAN_GUIDANCE" > waited'}}
      """
    When the decision "Which parser?" is corrected with "and carefully" and "--plan holding.yaml --no-execute"
    And the plan is being executed on and holds
    And its process is killed
    And the held are released
    And the plan is resumed with ""
    Then it succeeds
    And in the sandbox "waited" reads "slowly\nand carefully\n"

  Scenario: guidance for tools in Python, and what they decided inside a step
    Given the real file "agent.py"
      """
      def think(context):
          seen = context.state.setdefault("seen", [])
          seen.append(context.guidance)
          context.record_decision("Go where?", chosen="left")
          context.record_decision("How fast?", chosen=context.guidance or "slowly")
          (context.path() / "memory").write_text("|".join(seen))
      """
    And a plan "agent"
      """
      steps:
        - {name: begin, tool: shell, args: {command: tally begin}}
        - {name: think, tool: python, args: {function: "agent:think"}}
      """
    And the plan was executed
    When the decision "How fast?" is corrected with "quickly"
    Then it succeeds
    And in the sandbox "memory" reads "quickly"
    And the correction superseded: Go where? left, How fast? slowly
    When the decision "How fast?" is corrected with "x" and "--choose y"
    Then it is refused with "nothing_to_choose"

  Scenario: what cannot be undone is told before it is gone past, and what can be is undone
    Given the tools of the project
      """
      import os
      from pathlib import Path

      import mulligan


      def outside(line):
          with (Path(os.environ["NOTES"]) / "outside").open("a") as file:
              file.write(line + "\n")


      def take_down(context, arguments, result):
          outside("taken-down")


      @mulligan.tool(writes=False, side_effects=["external"], undo=take_down)
      def publish(context):
          outside(f"published-{context.guidance}")


      @mulligan.tool(writes=False, side_effects=["external"])
      def mail(context):
          outside(f"mailed-{context.guidance}")
      """
    And the tools are trusted
    And a plan "public"
      """
      steps:
        - {name: choose, decision: {question: Which title?, chosen: News}}
        - {name: publish, tool: publish}
        - {name: mail, tool: mail}
      """
    And the plan was executed
    When the correction of "Which title?" with "louder" is tried without doing it
    Then the impact is to undo
      | call                      |
      | publish in step 'publish' |
    And the impact cannot undo "mail in step 'mail'"
    When the decision "Which title?" is corrected with "louder"
    Then it succeeds
    And a message says "effects outside the sandboxes remain: mail in step 'mail'"
    And outside happened: published-, mailed-, taken-down, published-louder, mailed-louder

  Scenario: a step that fails under the guidance leaves a plan that can be corrected again
    Given a plan file "failing.yaml" with the same name
      """
      steps:
        - {name: prepare, tool: shell, args: {command: "tally prepare; echo ready > ready"}}
        - {name: choose, decision: {question: Which parser?, chosen: lark, alternatives: [ply, own], rationale: messages}}
        - {name: parse, tool: shell, args: {command: 'echo half > parser; case "$MULLIGAN_GUIDANCE" in *right) ;; *) exit 1;; esac'}}
      """
    When the decision "Which parser?" is corrected with "wrong" and "--plan failing.yaml"
    Then it fails with "step_failed"
    And the plan is in attempt 2
    And the answer tells of attempt 2
    When the decision "Which parser?" is corrected with "right"
    Then it succeeds
    And in the sandbox "parser" reads "half\n"
