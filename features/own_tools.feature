Feature: Tools of the user's own
  Functions with @mulligan.tool in the tools.py of the project home or in a package: trusted once per content, and what they do
  outside the sandboxes is undone by their own undo, newest first.

  Background:
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And the tools of the project
      """
      import os
      from pathlib import Path

      import mulligan


      def outside(line):
          with (Path(os.environ["NOTES"]) / "outside").open("a") as file:
              file.write(line + "\n")


      def take_down(context, arguments, result):
          outside(f"undo-{arguments['title']}-{result}-{(context.path() / 'a.txt').read_text().strip()}")
          if (Path(os.environ["NOTES"]) / f"broken {arguments['title']}").exists():
              raise RuntimeError("the site is down")


      @mulligan.tool(writes=False, side_effects=["external"], undo=take_down)
      def publish(context: mulligan.StepContext, title: str, fail: bool = False):
          "Publish a page."
          outside(f"publish-{title}")
          if fail:
              raise ValueError("no such page")
          return f"id-of-{title}"


      @mulligan.tool(writes=False, side_effects=["external"])
      def mail(context, to: str):
          "Send a mail, which nobody can take back."
          outside(f"mail-{to}")


      @mulligan.tool
      def stamp(context, path: str, times: int = 1):
          "Write a file of the sandbox."
          (context.path() / path).write_text("stamp" * times)
          return times


      @mulligan.tool(read_only=True)
      def peek(context, path: str, sly: bool = False):
          if sly:
              (context.path() / "traces").write_text("left")
          return (context.path() / path).read_text()


      @mulligan.tool(checkpointable=False)
      def wild(context):
          "Write where no checkpoint looks."
      """

  Scenario: an untrusted tools.py is not run, and named
    Given a plan "own"
      """
      steps: [{name: s, tool: stamp, args: {path: b.txt}}]
      """
    When the plan is executed
    Then it is refused with "tools_untrusted"
    And the hint says "mulligan tool trust"
    And no plan is recorded
    When the user types "tool trust"
    Then it is refused with "confirmation_missing"
    When the user types "tool trust --yes"
    Then it succeeds
    And the tools are publish, mail, stamp, peek, wild
    When the plan is executed
    Then it succeeds
    And in the sandbox "b.txt" reads "stamp"

  Scenario: a content that was not trusted is not run, however often the one before was
    Given the tools are trusted
    And a plan "own"
      """
      steps: [{name: s, tool: stamp, args: {path: b.txt}}]
      """
    When the plan is created
    Then it succeeds
    When the tools.py gets the line "outside('loaded')"
    And the plan is executed on
    Then it is refused with "tools_untrusted"
    And nothing happened outside
    And the plan is "strategize/complete"
    When the user types "tool trust --yes"
    And the plan is executed on
    Then it succeeds

  Scenario: built-in tools need no trust
    Given a plan "plain"
      """
      steps: [{name: s, tool: write_file, args: {path: b.txt, content: plain}}]
      """
    When the plan is executed
    Then it succeeds

  Scenario: wrong arguments are found before anything runs, with their place
    Given the tools are trusted
    And a plan "own"
      """
      steps:
        - {name: s, tool: stamp, args: {path: b.txt, times: twice}}
      """
    When the plan is executed
    Then it is a usage error, "plan_file_invalid"
    And its facts are
      | fact   | value                 |
      | line   | 3                     |
      | path   | steps[0].args.times   |
    Given a plan "own"
      """
      steps:
        - {name: s, tool: stamp, args: {file: b.txt}}
      """
    When the plan is executed
    Then it is a usage error, "plan_file_invalid"
    And its facts are
      | fact | value              |
      | line | 3                  |
      | path | steps[0].args.file |
    Given a plan "own"
      """
      steps:
        - {name: s, tool: stmp, args: {path: b.txt}}
      """
    When the plan is executed
    Then it is a usage error, "plan_file_invalid"
    And its facts are
      | fact    | value |
      | nearest | stamp |
    And no plan is recorded

  Scenario: a tool that writes and cannot be checkpointed is refused before anything runs, tool and step named
    Given the tools are trusted
    And a plan "own"
      """
      steps:
        - {name: first, tool: stamp, args: {path: b.txt}}
        - {name: second, tool: wild}
      """
    When the plan is executed
    Then it is refused with "tool_not_checkpointable"
    And its facts are
      | fact | value  |
      | step | second |
      | tool | wild   |
    And no plan is recorded
    Given a plan "own"
      """
      rollback_policy: {require_checkpoints: false}
      steps: [{name: second, tool: wild}]
      """
    When the plan is executed
    Then it succeeds

  Scenario: what calls did outside is undone newest first, before the files go back
    Given the tools are trusted
    And a plan "site"
      """
      steps:
        - {name: one, tool: publish, args: {title: one}, checkpoint: one}
        - {name: two, tool: publish, args: {title: "${{ steps.one.output }}"}}
        - {name: tell, tool: mail, args: {to: Ada}}
        - {name: work, tool: write_file, args: {path: a.txt, content: worked}}
        - {name: three, tool: publish, args: {title: three}}
      """
    And the plan was executed
    When a rollback to "one" is tried without doing it
    Then it succeeds
    And the impact is to undo
      | call                    |
      | publish in step 'three' |
      | publish in step 'two'   |
    And the impact cannot undo "mail in step 'tell'"
    And outside happened: publish-one, publish-id-of-one, mail-Ada, publish-three
    When the plan is rolled back to "one"
    Then it succeeds
    And it does to the path what was shown
    And a message says "mail in step 'tell'"
    And outside happened at last: undo-three-id-of-three-worked, undo-id-of-one-id-of-id-of-one-worked
    And in the sandbox "a.txt" reads "one\n"
    When that rollback is itself rolled back
    Then it succeeds
    And a message says "was undone by an earlier return and is not done again: publish in step 'two'"
    And in the sandbox "a.txt" reads "worked"
    When the plan is rolled back to "one"
    Then it succeeds
    And the impact is to undo
      | call |
    And outside happened at last: undo-three-id-of-three-worked, undo-id-of-one-id-of-id-of-one-worked

  Scenario: an undo that fails is told and recorded, and the rest is undone
    Given the tools are trusted
    And a plan "site"
      """
      steps:
        - {name: one, tool: publish, args: {title: one}}
        - {name: two, tool: publish, args: {title: two}}
        - {name: three, tool: publish, args: {title: three}}
      """
    And the plan was executed
    And the site of "two" is down
    When the plan is rolled back to "first"
    Then it is done with a warning
    And a message says "could not be undone: publish in step 'two': publish: RuntimeError: the site is down"
    And outside happened at last: undo-three-id-of-three-one, undo-two-id-of-two-one, undo-one-id-of-one-one
    And the impact failed to undo "publish in step 'two'"
    And the log tells "the site is down"
    And the plan is "execute/queued"

  Scenario: nothing is undone by code that nobody trusts
    Given the tools are trusted
    And a plan "site"
      """
      steps: [{name: one, tool: publish, args: {title: one}}]
      """
    And the plan was executed
    And how everything stands is remembered
    When the tools.py gets the line "# another"
    And the plan is rolled back to "first"
    Then it is refused with "tools_untrusted"
    And nothing has changed
    And outside happened: publish-one
    When the tools.py is gone
    And the plan is rolled back to "first"
    Then it is done with a warning
    And a message says "there is no tool 'publish'"

  Scenario: a step that fails goes back, and says what may have happened outside
    Given the tools are trusted
    And a plan "site"
      """
      rollback_policy: {on_failure: first_checkpoint}
      steps:
        - {name: one, tool: publish, args: {title: one}}
        - {name: two, tool: publish, args: {title: two, fail: true}}
      """
    When the plan is executed
    Then it fails with "step_failed"
    And a message says "remain: publish in step 'two', which did not come to its end"
    And outside happened: publish-one, publish-two, undo-one-id-of-one-one

  Scenario: a tool that says it does not write is held to it
    Given the tools are trusted
    And a plan "own"
      """
      steps:
        - {name: good, tool: peek, args: {path: a.txt}}
        - {name: bad, tool: peek, args: {path: a.txt, sly: true}}
      """
    When the plan is executed
    Then it fails with "step_failed"
    And the error says "declares that it does not write, but changed workspace: traces"
    And there is no "traces" in the sandbox

  Scenario: a recorded plan whose tool changed is refused before it runs
    Given the tools are trusted
    And a plan "own"
      """
      steps: [{name: s, tool: stamp, args: {path: b.txt}}]
      """
    When the plan is created
    And the tools.py gets the line "stamp.__mulligan_tool__.facts['arguments'][1]['required'] = True"
    And the user types "tool trust --yes"
    And the plan is executed on
    Then it is refused with "tool_arguments_unfit"
    And its facts are
      | fact   | value                      |
      | step   | s                          |
      | tool   | stamp                      |
      | reason | needs the argument `times` |
    When the tools.py gets the line "del stamp"
    And the user types "tool trust --yes"
    And the plan is executed on
    Then it is refused with "tool_missing"
    And its facts are
      | fact | value |
      | step | s     |
      | tool | stamp |

  Scenario: names that are taken and declarations that contradict themselves are refused
    When the tools.py gets the line "@mulligan.tool(name='shell')"
    And the tools.py gets the line "def mine(context): pass"
    And the user types "tool trust --yes"
    Then it is a usage error, "tools_invalid"
    And the error says "'shell' is the name of a built-in tool"
    When the tools.py gets the line "@mulligan.tool(read_only=True, writes=True)"
    And the tools.py gets the line "def other(context): pass"
    And the user types "tool trust --yes"
    Then it is a usage error, "tools_invalid"
    And the error says "other: read_only and writes contradict each other"

  Scenario: a record of trust that came with a stranger's folder counts for nothing
    Given the tools are trusted
    When the project home is copied and used in its place
    And the user types "tool list"
    Then it is done with a warning
    And a message says "is not trusted yet"

  Scenario: a tools.py that others may write is not used
    Given the tools are trusted
    And everyone may write the tools.py
    And a plan "own"
      """
      steps: [{name: s, tool: stamp, args: {path: b.txt}}]
      """
    When the plan is executed
    Then it is refused with "tools_unsafe"
    When the user types "tool list"
    Then a message says "everyone may write it"

  Scenario: tools of an installed package
    Given an installed package with the tool "greet"
    And a plan "packaged"
      """
      steps: [{name: s, tool: greet, args: {who: Ada}}]
      """
    When the plan is executed
    Then it succeeds
    And in the sandbox "greeting" reads "hello Ada"
    Given the tools are trusted
    When the user types "tool show greet"
    Then it succeeds
    And its origin is "package greeters"
    Given an installed package with the tool "stamp"
    And a plan "both"
      """
      steps: [{name: s, tool: stamp, args: {who: Ada}}]
      """
    When the plan is executed
    Then it is a usage error, "tools_invalid"
    And the error says "declared more than once: by tools.py and by package greeters"

  Scenario: only calls of tools that write fire the triggers of writing, and their groups name the tool
    Given the tools are trusted
    And a plan "own"
      """
      config: {sandbox.checkpoint.auto-create-on: [on_tool_write, on_tool_write_complete]}
      steps:
        - {name: look, tool: peek, args: {path: a.txt}}
        - {name: put, tool: publish, args: {title: one}}
        - {name: write, tool: stamp, args: {path: b.txt}}
        - {name: choose, decision: {question: Q, chosen: x}}
      """
    When the plan is executed
    Then it succeeds
    And the live groups are
      | checkpoint_type        | step_index | modified |
      | pre_execute            | 0          | True     |
      | on_tool_write          | 2          | False    |
      | on_tool_write_complete | 3          | True     |
      | decision               | 4          | False    |
      | post_execute           | 4          | False    |
    And the on_tool_write group was taken for "stamp" in step "write"
    And the on_tool_write_complete group was taken for "stamp" in step "write"

  Scenario: a tool that takes longer than it declared is ended
    Given the tools are trusted
    When the tools.py gets the line "@mulligan.tool(timeout=5)"
    And the tools.py gets the line "def linger(context): (context.path() / 'half').write_text('half'); __import__('time').sleep(300)"
    And the user types "tool trust --yes"
    Given a plan "own"
      """
      steps: [{name: wait, tool: linger}]
      """
    When the plan is executed
    Then it fails with "step_failed"
    And its facts are
      | fact | value  |
      | step | wait   |
      | tool | linger |
    And there is no "half" in the sandbox
    And the files of the on_error group hold
      | path | content |
      | half | half    |
