Feature: What a correction refuses
  A refusal names its rule and the next command to try, and changes nothing.

  Background:
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And a plan "guarded"
      """
      steps:
        - {name: one, tool: write_file, args: {path: a.txt, content: "1"}}
        - {name: choose, decision: {question: Which?, chosen: this, alternatives: [that]}}
        - {name: two, tool: write_file, args: {path: a.txt, content: "2"}}
        - {name: again, decision: {question: What else?, chosen: nothing}}
      """

  Scenario: a decision that is unknown, ambiguous or left behind, no guidance, and a question nobody can answer
    Given the plan was executed
    And the decision "Which?" is remembered
    And how everything stands is remembered
    When the user types "plan correct --yes --mode revert --guidance g nothing"
    Then it is refused with "decision_not_found"
    And the hint says "plan tree"
    When the user types "plan correct --yes --mode revert --guidance g 01ZZZZZZ"
    Then it is refused with "decision_not_found"
    When a prefix that both decisions have is corrected
    Then it is refused with "ambiguous"
    When the decision "Which?" is corrected with " "
    Then it is a usage error, "usage_wrong"
    When the decision "Which?" is corrected with "g" and "--choose ''"
    Then it is a usage error, "usage_wrong"
    When the decision "Which?" is corrected without being asked
    Then it is refused with "confirmation_missing"
    And the hint says "--yes"
    When the user types "plan correct --yes --mode revert --guidance g"
    Then it is a usage error, "usage_wrong"
    When the user types "plan correct --yes --guidance g 01ZZZZZZ"
    Then it is refused with "decision_not_found"
    When the user types "plan correct --yes --mode revert 01ZZZZZZ"
    Then it is a usage error, "usage_wrong"
    When the user types "plan diff --correction 01ZZZZZZ"
    Then it is refused with "correction_not_found"
    And nothing has changed
    Given the decision "Which?" was corrected with "rather that" and "--choose that"
    And how everything stands is remembered
    When the remembered decision is corrected with "once more"
    Then it is refused with "decision_superseded"
    And the hint says "plan tree"
    And nothing has changed

  Scenario: a plan that another process works on
    Given a plan "busy"
      """
      steps:
        - {name: choose, decision: {question: Which?, chosen: this}}
        - {name: hold, tool: shell, args: {command: hold}}
      """
    And the plan is being executed and holds
    When the decision "Which?" is corrected with "g"
    Then it is refused with "plan_busy"
    When it goes on to its end
    Then it succeeds

  Scenario: a plan that was cancelled
    Given the plan was executed
    And the decision "Which?" is remembered
    When the plan is cancelled
    And the remembered decision is corrected with "g"
    Then it is refused with "plan_cancelled"

  Scenario: a plan without checkpoints
    Given a plan "blind"
      """
      rollback_policy: {enabled: false}
      steps:
        - {name: choose, decision: {question: Which?, chosen: this}}
      """
    And the plan was executed
    When the decision "Which?" is corrected with "g"
    Then it is refused with "rollback_disabled"

  Scenario: where checkpoints were pruned it goes further back, and says what that costs
    Given the plan was executed
    When the user types "checkpoint prune guarded --keep 2"
    And the correction of "What else?" with "more" is tried without doing it
    Then it succeeds
    And a message says "run again, because no checkpoint is left after them: one, choose, two"
    When the decision "What else?" is corrected with "more"
    Then it succeeds
    And the correction superseded: Which? this, What else? nothing
    And the plan is "execute/complete"

  Scenario: a snapshot that is damaged
    Given the plan was executed
    And how everything stands is remembered
    When the bytes in the snapshot store are damaged
    And the decision "Which?" is corrected with "g"
    Then it fails with "snapshot_damaged"

  Scenario: appending work to what was decided otherwise, was left behind, or is applied
    Given the plan was executed
    And the decision "Which?" is remembered
    And how everything stands is remembered
    When work is appended to the decision "Which?" with "g" and "--choose that"
    Then it is refused with "nothing_to_choose"
    And the hint says "--mode revert"
    And nothing has changed
    When the plan is applied
    And work is appended to the remembered decision
    Then it is refused with "plan_already_applied"
