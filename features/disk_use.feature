Feature: Disk use
  What nothing refers to any more is freed; every checkpoint that is listed comes back exactly as it was.

  Background:
    Given a project folder
      | path   | content   | mode |
      | bin/go | #!/bin/sh | 755  |
      | empty  | (folder)  | 700  |
    And a plan "growing"
      """
      steps:
        - {name: one, tool: shell, args: {command: "head -c 30000 /dev/urandom > data; record one"}, checkpoint: one}
        - {name: two, tool: shell, args: {command: "head -c 30000 /dev/urandom > data; chmod 640 data; record two"}, checkpoint: two}
        - {name: three, tool: shell, args: {command: "head -c 30000 /dev/urandom > data; ln -s data link; record three"}, checkpoint: three}
      """
    And the plan was executed

  Scenario: a dry run of a prune says what would go and why the rest stays, and changes nothing
    Given its checkpoints are remembered
    And the size of the store is remembered
    When the user types "checkpoint prune growing --keep 4 --dry-run"
    Then it succeeds
    And the groups that go are
      | checkpoint_type | label |
      | before_step     | None  |
      | manual          | one   |
      | before_step     | None  |
      | before_step     | None  |
    And the groups that stay are
      | checkpoint_type | label | reason          |
      | pre_execute     | None  | the first       |
      | manual          | two   | labelled        |
      | manual          | three | labelled        |
      | post_execute    | None  | the most recent |
    And its checkpoints are as remembered
    And the store is as large as remembered

  Scenario: a prune frees the bytes of what goes, and what stays comes back exactly
    Given the size of the store is remembered
    When the user types "checkpoint prune growing --keep 4"
    Then it succeeds
    And it freed 30000 bytes or more, as many as the store has become smaller
    And the live groups are pre_execute, manual, manual, post_execute
    And each group is the child of the one before it
    And "two" comes back exactly as recorded "two"
    And "three" comes back exactly as recorded "three"
    And every checkpoint can be restored
    When the user types "gc"
    Then it succeeds
    And it freed nothing
    When the plan is rolled back to "two"
    Then it succeeds
    And the sandbox is exactly as recorded "two"

  Scenario: one checkpoint is deleted, labelled or not, and its neighbours come back exactly
    Given the size of the store is remembered
    When the user types "checkpoint delete two"
    Then it succeeds
    And the live groups are pre_execute, before_step, manual, before_step, before_step, manual, post_execute
    And "one" comes back exactly as recorded "one"
    And "three" comes back exactly as recorded "three"
    When the user types "checkpoint show two"
    Then it is refused with "checkpoint_not_found"

  Scenario Outline: a checkpoint that must stay is not deleted
    Given its checkpoints are remembered
    And the size of the store is remembered
    When the user types "checkpoint delete <word>"
    Then it is refused with "checkpoint_needed"
    And the error says "<reason>"
    And the hint says "mulligan checkpoint prune"
    And its checkpoints are as remembered
    And the store is as large as remembered

    Examples:
      | word   | reason          |
      | first  | the first       |
      | latest | the most recent |

  Scenario: the checkpoint where the plan stands is not deleted
    Given the plan was rolled back to "two"
    When the user types "checkpoint delete two"
    Then it is refused with "checkpoint_needed"
    And the error says "between two steps"
    And the sandbox is exactly as recorded "two"
    When the plan is executed on
    Then it succeeds

  Scenario: what was left behind by a rollback goes first
    Given the plan was rolled back to "one"
    When the user types "checkpoint prune growing --keep 3"
    Then it succeeds
    And all groups are pre_execute, manual, (pre_rollback)
    And "one" comes back exactly as recorded "one"
    When the plan is executed on
    Then it succeeds

  Scenario: gc frees what was pruned while the plan ran; a dry run tells how much
    Given a plan "short"
      """
      config: {max_checkpoints_per_plan: 3}
      steps:
        - {name: a, tool: shell, args: {command: "head -c 30000 /dev/urandom > data; record a"}, checkpoint: a}
        - {name: b, tool: shell, args: {command: "head -c 30000 /dev/urandom > data; record b"}, checkpoint: b}
        - {name: c, tool: shell, args: {command: "head -c 30000 /dev/urandom > data; record c"}, checkpoint: c}
      """
    And the plan was executed
    And the size of the store is remembered
    When the user types "gc --dry-run"
    Then it succeeds
    And the store is as large as remembered
    And what it would free is remembered
    When the user types "gc"
    Then it succeeds
    And it freed as much as remembered
    And it freed 60000 bytes or more, as many as the store has become smaller
    And "c" comes back exactly as recorded "c"
    And "one" comes back exactly as recorded "one"
    And every checkpoint can be restored

  Scenario: gc clears what a killed process left for its tools, but nothing of one that runs
    Given a plan "handing"
      """
      steps:
        - {name: much, tool: shell, args: {command: "head -c 100000 /dev/zero | tr '\\0' x"}}
        - {name: read, tool: shell, args: {command: "hold; wc -c < $MULLIGAN_OUTPUT_MUCH_FILE > size"}}
      """
    And the plan is being executed and holds
    When the user types "gc"
    Then it succeeds
    And it cleared 0 scratch folders
    When its process is killed
    And the user types "gc --dry-run"
    # The call's, and that for the plan's temporary files: scenarios lie in the machine's own folder for them.
    Then it cleared 2 scratch folders
    When the user types "gc"
    Then it cleared 2 scratch folders
    When the plan is executed on after the hold is lifted
    Then it succeeds
    And in the sandbox "size" reads "100000\n"
    When the user types "gc"
    Then it cleared 0 scratch folders
