Feature: Checkpoint groups
  A group holds one checkpoint for each resource; what did not change is shared, and each group knows its parent.

  Scenario: unchanged resources are shared, and every field is told
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And a plan "fields"
      """
      steps:
        - {name: look, tool: shell, args: {command: cat a.txt}}
        - {name: write, tool: write_file, args: {path: b.txt, content: "b\n"}}
        - {name: choose, decision: {question: Q, chosen: x}}
        - {name: undo it, tool: delete_file, args: {path: b.txt}}
        - {name: mark, checkpoint: marked}
      """
    When the plan is executed
    Then it succeeds
    And the live groups are
      | checkpoint_type | label  | step_index | modified |
      | pre_execute     | None   | 0          | True     |
      | before_step     | None   | 0          | False    |
      | before_step     | None   | 1          | False    |
      | before_step     | None   | 2          | True     |
      | decision        | None   | 3          | False    |
      | before_step     | None   | 3          | False    |
      | before_step     | None   | 4          | True     |
      | manual          | marked | 5          | False    |
      | post_execute    | None   | 5          | False    |
    And a checkpoint that was not modified added nothing, any other something
    And each group is the child of the one before it
    And the last checkpoint is of the newest group
    And every checkpoint has all its fields
    And equal snapshots have equal references
    And only the decision group has a decision
    And every checkpoint can be restored

  Scenario: equal states have equal hashes, on any machine and under any path
    Given a project folder
      | path   | content   | mode |
      | a.txt  | one\n     | 640  |
      | bin/go | #!/bin/sh | 755  |
    And another project folder with the same files
    When both run the plan "twin"
      """
      variables: {who: world}
      steps:
        - {name: greet, tool: write_file, args: {path: hello, content: "${{ who }}", mode: "600"}}
        - {name: choose, decision: {question: Q, chosen: x, alternatives: [y], rationale: z}}
        - {name: count, tool: shell, args: {command: "wc -c < hello"}}
      """
    Then both have the same state hashes, and those of different states differ

  Scenario: a rollback's target gets children, and its own parent stays
    Given a project folder
    And a plan "family"
      """
      steps:
        - {name: one, tool: write_file, args: {path: a, content: "1"}, checkpoint: one}
        - {name: two, tool: write_file, args: {path: a, content: "2"}, checkpoint: two}
      """
    And the plan was executed
    And the plan was rolled back to "one"
    When the plan is executed on
    Then it succeeds
    And each group is the child of the one before it
    And all groups are pre_execute, before_step, manual, (before_step), (manual), (post_execute), (pre_rollback), before_step, manual, post_execute
    And every state of the first run has the hash of the second
