Feature: The tree of a plan
  Decisions and checkpoints as they followed from each other; what was left behind is shown on request.

  Background:
    Given a project folder
    And the real file "tools.py"
      """
      def agent(context):
          context.record_decision("Go where?", chosen="left")
          context.record_decision("How fast?", chosen="slowly")
      """
    And a plan "thoughtful"
      """
      steps:
        - {name: choose, decision: {question: Which parser?, chosen: lark, alternatives: [ply]}}
        - {name: go, tool: python, args: {function: "tools:agent"}}
      """
    And the plan was executed

  Scenario: decisions hang on what opened the matter, checkpoints on the newest decision
    When the user types "plan tree"
    Then it succeeds
    And the tree is
      """
      plan thoughtful
        checkpoint pre_execute
        checkpoint before_step
        decision Which parser? lark
          checkpoint decision
          checkpoint before_step
        decision Go where? left
          checkpoint decision
          decision How fast? slowly
            checkpoint decision
            checkpoint post_execute
      """

  Scenario: what a rollback left behind is shown on request
    Given the plan was rolled back to "first"
    When the user types "plan tree thoughtful"
    Then the tree is
      """
      plan thoughtful
        checkpoint pre_execute
      """
    When the user types "plan tree thoughtful --show-superseded"
    Then the tree is
      """
      plan thoughtful
        checkpoint pre_execute
        (checkpoint before_step)
        (decision Which parser? lark)
          (checkpoint decision)
          (checkpoint before_step)
        (decision Go where? left)
          (checkpoint decision)
          (decision How fast? slowly)
            (checkpoint decision)
            (checkpoint post_execute)
            (checkpoint pre_rollback)
      """
