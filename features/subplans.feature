Feature: Child plans
  A step may have child plans. Each works on forks of its parent's sandboxes; what they made is merged.

  Background:
    Given a project folder
      | path | content                        |
      | text | 1\n2\n3\n4\n5\n6\n7\n8\n9\n    |

  Scenario: children that changed different lines come together
    Given the real folder is remembered
    And a plan "parts"
      """
      steps:
        - {name: begin, tool: write_file, args: {path: begun, content: "yes\n"}}
        - name: parts
          subplans:
            plans:
              - {name: first, steps: [{name: do, tool: edit_file, args: {path: text, old: "1\n2", new: "one\n2"}}]}
              - {name: last, steps: [{name: do, tool: edit_file, args: {path: text, old: "8\n9", new: "8\nnine"}}]}
        - {name: end, tool: shell, args: {command: "head -n 1 text; tail -n 1 text"}}
      """
    When the plan is executed
    Then it succeeds
    And the plan is "execute/complete"
    And in the sandbox "text" reads "one\n2\n3\n4\n5\n6\n7\n8\nnine\n"
    And the children are
      | name  | state    |
      | first | complete |
      | last  | complete |
    And the counts of the execution are
      | count of    | is |
      | child_plans | 2  |
    And the real folder is untouched, to modes and times

  Scenario Outline: a checkpoint is taken before the first child and after each merge: <triggers>
    Given a plan "parts"
      """
      config: {sandbox.checkpoint.auto-create-on: <triggers>}
      steps:
        - name: parts
          subplans:
            mode: <mode>
            plans:
              - {name: a, steps: [{name: do, tool: write_file, args: {path: a, content: a}}]}
              - {name: b, steps: [{name: do, tool: write_file, args: {path: b, content: b}}]}
      """
    When the plan is executed
    Then it succeeds
    And the live groups are <groups>

    Examples:
      | triggers           | mode       | groups                                                   |
      | [on_subplan_spawn] | parallel   | pre_execute, on_subplan_spawn, post_execute              |
      | [on_subplan_spawn] | sequential | pre_execute, on_subplan_spawn, post_execute              |
      | [after_subplan]    | parallel   | pre_execute, after_subplan, after_subplan, post_execute  |
      | [after_subplan]    | sequential | pre_execute, after_subplan, after_subplan, post_execute  |
      | []                 | parallel   | pre_execute, post_execute                                |

  Scenario: an overlap waits to be mended
    Given a plan "clash"
      """
      steps:
        - name: parts
          subplans:
            plans:
              - {name: a, steps: [{name: do, tool: shell, args: {command: "tally a; sed -i s/5/mine/ text"}}]}
              - {name: b, steps: [{name: do, tool: shell, args: {command: "tally b; sed -i s/5/yours/ text"}}]}
              - {name: c, steps: [{name: do, tool: shell, args: {command: "tally c; echo c > c"}}]}
        - {name: end, tool: shell, args: {command: "tally end"}}
      """
    When the plan is executed
    Then it ends in a conflict, "subplan_conflicts"
    And the plan is "execute/constrained"
    And the conflicts are
      | resource  | path | reason                    |
      | workspace | text | both sides changed line 5 |
    And in the sandbox "text" reads "1\n2\n3\n4\n<<<<<<< clash\nmine\n=======\nyours\n>>>>>>> b\n6\n7\n8\n9\n"
    When the user types "plan resume clash"
    Then it ends in a conflict, "conflicts_unresolved"
    When the user types "plan resolve clash"
    Then it is refused with "markers_left"
    When the user types "plan resolve clash other"
    Then it is refused with "conflict_unknown"
    When someone writes "ours" to "text" in the sandbox
    And the user types "plan resolve clash text"
    Then it succeeds
    And the plan is "execute/queued"
    And the conflicts are none
    When the user types "plan resume clash"
    Then it succeeds
    And the plan is "execute/complete"
    And in the sandbox "text" reads "ours"
    And in the sandbox "c" reads "c\n"
    And each of these ran once: a, b, c, end

  Scenario Outline: what a conflict comes to is told by the strategy: <strategy>
    Given a plan "clash"
      """
      steps:
        - name: parts
          subplans:
            merge_strategy: <strategy>
            plans:
              - {name: a, steps: [{name: do, tool: write_file, args: {path: text, content: "a\n"}}]}
              - {name: b, steps: [{name: do, tool: write_file, args: {path: text, content: "b\n"}}]}
      """
    When the plan is executed
    Then the plan is "execute/<state>"
    And in the sandbox "text" reads "<content>"

    Examples:
      | strategy         | state    | content                     |
      | last_wins        | complete | b\n                         |
      | fail_on_conflict | errored  | 1\n2\n3\n4\n5\n6\n7\n8\n9\n |

  Scenario: a process that is killed while children run repeats none that was done
    Given a plan "killed"
      """
      steps:
        - name: parts
          subplans:
            plans:
              - {name: done, steps: [{name: do, tool: shell, args: {command: "tally done; echo done > done"}}]}
              - name: held
                steps:
                  - {name: one, tool: shell, args: {command: "tally one; echo one > one"}}
                  - {name: two, tool: shell, args: {command: "tally two; echo half >> two; hold; echo whole >> two"}}
              - name: waiting
                steps:
                  - name: do
                    tool: shell
                    args: {command: 'tally waits; until [ -e "$NOTES/released" ]; do sleep 0.02; done; echo > waiting'}
      """
    And the plan is being executed and holds
    And the child "done" is complete by now
    When its process is killed
    And the held are released
    And the user types "plan resume killed"
    Then it succeeds
    And the sandbox holds "done one text two waiting"
    And in the sandbox "two" reads "half\nwhole\n"
    And each of these ran once: done, one

  Scenario: a rollback past the spawn cancels the children
    Given a plan "back"
      """
      steps:
        - {name: begin, tool: write_file, args: {path: begun, content: "yes\n"}}
        - name: parts
          subplans:
            plans:
              - {name: a, steps: [{name: do, tool: shell, args: {command: "tally a; echo a > a"}}]}
      """
    And the plan was executed
    When the plan is rolled back to "first"
    Then 1 child plan was invalidated
    And the children are
      | name | state     |
      | a    | cancelled |
    And the child "a" has no sandbox
    When the user types "plan resume back"
    Then it succeeds
    And the steps ran: a, a
    And in the sandbox "a" reads "a\n"

  Scenario: a child cannot be ended by itself
    Given a plan "parent"
      """
      steps:
        - {name: parts, subplans: {plans: [{name: a, steps: [{name: do, tool: write_file, args: {path: a, content: a}}]}]}}
      """
    And the plan was executed
    When the user types "plan cancel a"
    Then it is refused with "plan_is_child"

  Scenario: a plan that works in place on a git checkout cannot have children
    Given it is a git checkout with one commit
    And a plan "in-place"
      """
      config: {sandbox.strategy: in_place}
      steps:
        - {name: parts, subplans: {plans: [{name: a, steps: [{name: do, tool: write_file, args: {path: a, content: a}}]}]}}
      """
    When the plan is created
    Then it is refused with "not_built_yet"
    And no plan is recorded
