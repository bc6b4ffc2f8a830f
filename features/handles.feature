Feature: Short words for plans, checkpoints and decisions
  A plan goes by its handle, a checkpoint group by its number in the plan, a decision by its step or its number.

  Background:
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And a plan "tune"
      """
      steps:
        - {name: write, tool: write_file, args: {path: a.txt, content: "two\n"}}
        - {name: pick, decision: {question: Which?, chosen: this, alternatives: [that]}}
        - {name: use, tool: shell, args: {command: 'echo $MULLIGAN_OUTPUT_PICK > a.txt'}}
      """
    When the plan is executed
    Then it succeeds

  Scenario: a group goes by its number, from either end
    When the plan is rolled back to "@1"
    Then it succeeds
    And in the sandbox "a.txt" reads "one\n"
    When the user types "plan rollback --yes tune tune@6"
    Then it succeeds
    And in the sandbox "a.txt" reads "this\n"
    When the plan is rolled back to "@-4"
    Then it succeeds
    And in the sandbox "a.txt" reads "two\n"

  Scenario: a number that no group has is refused
    When the user types "plan rollback --yes tune @99"
    Then it is refused with "checkpoint_not_found"
    When the user types "checkpoint show @0"
    Then it is refused with "checkpoint_not_found"
    When the user types "checkpoint show tuna@1"
    Then it is refused with "plan_not_found"

  Scenario: numbers are not used again
    When the user types "checkpoint prune tune --keep 3"
    Then it succeeds
    When the user types "checkpoint create tune --label here"
    Then it succeeds
    When the user types "checkpoint show @7"
    Then it succeeds
    When the user types "checkpoint show @2"
    Then it is refused with "checkpoint_not_found"

  Scenario: a decision goes by its step and by its number
    When the user types "plan correct pick --mode revert --choose that --guidance other --yes"
    Then it succeeds
    And in the sandbox "a.txt" reads "that\n"
    When the user types "plan diff --correction tune/c1"
    Then it succeeds
    When the user types "plan correct tune/d1 --mode revert --guidance again --yes"
    Then it is refused with "decision_superseded"

  Scenario: the second plan of a name has a number
    Given a plan "tune"
      """
      steps:
        - {name: other, tool: write_file, args: {path: b.txt, content: "b\n"}}
      """
    When the plan is executed
    Then it succeeds
    When the user types "plan status tune-2"
    Then it succeeds
    When the user types "plan status tune-3"
    Then it is refused with "plan_not_found"

  Scenario: a label cannot look like a number
    When the user types "checkpoint create tune --label v@2"
    Then it is a usage error, "usage_wrong"

  Scenario: the everyday verbs need no group, and mean the newest plan that makes sense
    When the user types "status"
    Then it succeeds
    And the answer is that of plan status
    When the user types "rollback --yes @1"
    Then it succeeds
    And in the sandbox "a.txt" reads "one\n"
    When the user types "resume"
    Then it succeeds
    And in the sandbox "a.txt" reads "this\n"
    When the user types "resume"
    Then it is refused with "no_plan_suits"
    When the user types "rollback --yes tune@3"
    Then it succeeds
    When the user types "apply --yes"
    Then it is refused with "no_plan_suits"
    When the user types "resume tune"
    Then it succeeds
    When the user types "apply --yes"
    Then it succeeds
    And in the real folder "a.txt" reads "this\n"
    When the user types "unapply --yes"
    Then it succeeds
    And in the real folder "a.txt" reads "one\n"
