Feature: Appending work to a decision
  Nothing is undone: a child plan does the work on what is there, goes by the guidance, and is merged.

  Background:
    Given a project folder
      | path | content       |
      | text | 1\n2\n3\n4\n |
    And a plan "parsing"
      """
      steps:
        - {name: choose, decision: {question: Which parser?, chosen: lark, alternatives: [ply]}}
        - {name: parse, tool: shell, args: {command: "tally parse; echo parsed > parser"}}
      """
    And the plan was executed

  Scenario: the steps of a file are run on what is there
    Given a plan file "docs.yaml"
      """
      name: docs
      steps:
        - {name: write, tool: write_file, args: {path: docs, content: "${{ steps.choose.output }}: ${{ guidance }}"}}
        - {name: check, tool: shell, args: {command: "tally check; test -e parser"}}
      """
    When work is appended to the decision "Which parser?" with "say why" and "--plan docs.yaml"
    Then it succeeds
    And the plan is "execute/complete"
    And the plan is in attempt 2
    And the steps ran: parse, check
    And in the sandbox "docs" reads "lark: say why"
    And in the sandbox "parser" reads "parsed\n"
    And the children are
      | name | state    |
      | docs | complete |
    When the user types "plan tree"
    Then the tree is
      """
      plan parsing
        checkpoint pre_execute
        checkpoint before_step
        decision Which parser? lark
          checkpoint decision
          checkpoint before_step
          checkpoint post_execute
          decision Which parser? say why
            checkpoint decision
            checkpoint before_step
            plan docs
              checkpoint pre_execute
              checkpoint before_step
              checkpoint before_step
              checkpoint post_execute
            checkpoint after_subplan
            checkpoint post_execute
      """
    And every checkpoint can be restored
    When the attempts before and after the correction are compared
    Then the difference is
      | path | status |
      | docs | added  |

  Scenario: what overlaps with the work of others is mended by hand
    Given a plan "in place"
      """
      config: {sandbox.strategy: in_place}
      steps:
        - {name: choose, decision: {question: How many?, chosen: two}}
      """
    And the plan was executed
    And a plan file "edit.yaml"
      """
      name: edit
      steps:
        - {name: edit, tool: shell, args: {command: "hold; sed -i s/2/two/ text"}}
      """
    When work is being appended to the decision "How many?" with "in words" and "--plan edit.yaml" and holds
    And someone writes "mine" to "text" in the sandbox
    And it goes on to its end
    Then it ends in a conflict, "subplan_conflicts"
    And the plan is "execute/constrained"
    When someone writes "both" to "text" in the sandbox
    And the user types "plan resolve 'in place'"
    And the plan is resumed with ""
    Then it succeeds
    And the plan is "apply/applied"
    And in the sandbox "text" reads "both"

  Scenario: killed in the middle, the same command goes on with it
    Given a plan file "slow.yaml"
      """
      name: slow
      steps:
        - {name: first, tool: shell, args: {command: "tally first; echo 1 > first"}}
        - {name: second, tool: shell, args: {command: "hold; tally second; echo 2 > second"}}
      """
    When work is being appended to the decision "Which parser?" with "g" and "--plan slow.yaml" and holds
    And its process is killed
    And the held are released
    And work is appended to the decision "Which parser?" with "g" and "--plan slow.yaml"
    Then it succeeds
    And the plan is "execute/complete"
    And the plan is in attempt 2
    And the steps ran: parse, first, second
    And in the sandbox "second" reads "2\n"
    When the plan is rolled back to "first"
    Then there is no "second" in the sandbox
    And the steps are pending, pending
