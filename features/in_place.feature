Feature: Working in place
  A plan may work on the real folder itself, as coding agents do, with the same checkpoints and rollback.

  Background:
    Given a project folder
      | path       | content | mode |
      | a.txt      | old\n   | 640  |
      | docs/b.txt | b\n     |      |
      | empty      | (folder)| 700  |

  Scenario: the real folder is worked on, goes back, and goes forward
    Given a plan "direct"
      """
      resources: {here: {type: fs-directory, location: ., strategy: in_place}}
      steps:
        - {name: edit, tool: shell, args: {command: "echo new > a.txt; rm -r docs empty; echo x > made"}}
      """
    And the real folder is remembered
    When the plan is executed
    Then it succeeds
    And the sandbox is the real folder
    And in the real folder "a.txt" reads "new\n"
    And nothing called "docs" is in the real folder
    When the plan is rolled back to "first"
    Then it succeeds
    And the real folder is as remembered, to modes and times
    When that rollback is itself rolled back
    Then it succeeds
    And in the real folder "made" reads "x\n"
    And nothing called "docs" is in the real folder

  Scenario: what a failed step left in the real folder is kept, also when the trigger is off
    Given a plan "failing"
      """
      config: {sandbox.strategy: in_place, sandbox.checkpoint.auto-create-on: []}
      steps:
        - {name: bad, tool: shell, args: {command: "echo half > a.txt; rm -r docs; exit 7"}}
      """
    When the plan is executed
    Then it fails with "step_failed"
    And in the real folder "a.txt" reads "old\n"
    And in the real folder "docs/b.txt" reads "b\n"
    And the files of the on_error group hold
      | path  | content |
      | a.txt | half\n  |

  Scenario: each failed try is kept before the next one
    Given a plan "trying"
      """
      config: {sandbox.strategy: in_place}
      steps:
        - {name: again, tool: shell, retries: 1, args: {command: "tally again; echo try >> a.txt; exit 7"}}
      """
    When the plan is executed
    Then it fails with "step_failed"
    And the steps ran: again, again
    And in the real folder "a.txt" reads "old\n"
    And the files of the pre_rollback group hold
      | path  | content    |
      | a.txt | old\ntry\n |
    And the files of the on_error group hold
      | path  | content    |
      | a.txt | old\ntry\n |

  Scenario: what the user does between two runs counts, and is kept
    Given a plan "mine"
      """
      config: {sandbox.strategy: in_place}
      steps:
        - {name: bad, tool: shell, args: {command: "test -e $NOTES/mended"}}
      """
    When the plan is executed
    Then it fails with "step_failed"
    When someone writes "by hand" to "a.txt" in the real folder
    And someone mends the cause
    And the plan is executed on
    Then it succeeds
    And the edited paths are "a.txt"
    And in the real folder "a.txt" reads "by hand"

  Scenario: a killed run goes on in the real folder
    Given a plan "cut"
      """
      config: {sandbox.strategy: in_place}
      steps:
        - {name: one, tool: shell, args: {command: "tally one; echo 1 > one"}}
        - {name: two, tool: shell, args: {command: "tally two; echo half >> a.txt; echo mess > mess; hold; rm mess"}}
      """
    And the plan is being executed and holds
    When its process is killed
    And the plan is executed on
    Then it succeeds
    And the steps ran: one, two, two
    And in the real folder "a.txt" reads "old\nhalf\n"
    And nothing called "mess" is in the real folder

  Scenario: a plan file with steps left to run holds its folder, until it has run or is cancelled
    Given a plan "first"
      """
      resources: {docs: {type: fs-directory, location: docs, strategy: in_place}}
      steps:
        - {name: edit, tool: write_file, args: {path: b.txt, content: "first\n"}}
        - {name: wait, tool: shell, args: {command: "exit 3"}}
      """
    When the plan is executed
    Then it fails with "step_failed"
    Given a plan "second"
      """
      resources: {all: {type: fs-directory, location: ., strategy: in_place}}
      steps:
        - {name: edit, tool: write_file, args: {path: docs/b.txt, content: "second\n"}}
      """
    When the plan is executed
    Then it is refused with "location_taken"
    And the hint says "mulligan cancel"
    And in the real folder "docs/b.txt" reads "first\n"
    When the user types "plan cancel first"
    And the plan is executed on
    Then it succeeds
    And in the real folder "docs/b.txt" reads "second\n"

  Scenario: a git checkout goes back with its HEAD, its branch and its index, and keeps the rest of its repository
    Given it is a git checkout with one commit
    And work is staged and unstaged there
    And a plan "on branch"
      """
      config: {sandbox.strategy: in_place}
      steps:
        - name: work
          tool: shell
          args: {command: "git add -A; git commit -qm plan; git switch -qc other; echo more > a.txt; git add a.txt; git tag made"}
      """
    And the real folder is remembered
    And where git stands is remembered
    When the plan is executed
    Then it succeeds
    And git stands on "other"
    And each checkpoint is a commit
    When the plan is rolled back to "first"
    Then it succeeds
    And git stands where it stood
    And the real folder is as remembered, but for its git directory
    And git has the tag "made"
    When that rollback is itself rolled back
    Then it succeeds
    And git stands on "other"
    And the plan is "apply/applied"

  Scenario: a run beside one that is running is refused, with what ends that one
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And a plan "running"
      """
      config: {sandbox.strategy: in_place}
      steps: [{run: "echo two >> a.txt; hold"}]
      """
    And the plan is being executed and holds
    When the user types "run --in-place -- true"
    Then it ends with 125 and "location_taken"
    And the hint says "it is running: wait until it has finished, or stop it with `mulligan cancel"
