Feature: Continuing in the same place
  A command can be the next step of a plan that is complete; edits by hand count.

  Background:
    Given a project folder
      | path  | content |
      | a.txt | one\n   |

  Scenario: a conversation is one plan
    When the user types "run --name talk -- sh -c 'echo two >> a.txt'"
    And the user types "run --on talk -- sh -c 'echo three >> a.txt; echo $1 > b' - '${{ x }}'"
    Then it succeeds
    And the plan run last is "execute/complete"
    And the steps are done, done
    When the user types "run --on -- sh -c 'echo three >> a.txt'"
    Then it succeeds
    And the steps are done, done, done
    And in the sandbox "a.txt" reads "one\ntwo\nthree\nthree\n"
    And the project home holds 1 sandbox
    And in the sandbox "b" reads "${{ x }}\n"
    And in the real folder "a.txt" reads "one\n"
    When the user types "undo --yes talk"
    Then it succeeds
    And the plan run last is "execute/complete"
    And the steps are done, done
    And in the sandbox "a.txt" reads "one\ntwo\nthree\n"
    When the user types "run --on talk --apply -- sh -c 'echo four >> a.txt'"
    Then it succeeds
    And in the real folder "a.txt" reads "one\ntwo\nthree\nfour\n"
    When the user types "run --on talk -- true"
    Then it ends with 125 and "plan_already_applied"
    And the hint says "mulligan unapply talk"

  Scenario: a step that fails is taken back, and the plan continues once it is accepted
    When the user types "run --name talk -- sh -c 'echo two >> a.txt'"
    And the user types "run --on talk -- sh -c 'echo mess > a.txt; exit 3'"
    Then it ends with 3 and "step_failed"
    And the plan run last is "execute/errored"
    And in the sandbox "a.txt" reads "one\ntwo\n"
    When the user types "run --on talk -- true"
    Then it ends with 125 and "plan_not_ready"
    And the hint says "mulligan accept talk"
    When the user types "accept talk"
    And the user types "run --on talk --keep -- sh -c 'echo three >> a.txt; exit 3'"
    Then the command ended with exit status 3
    And the plan run last is "execute/complete"
    And the steps are done, failed, failed
    And in the sandbox "a.txt" reads "one\ntwo\nthree\n"

  Scenario: after a failed step the plan continues from what was edited by hand
    Given a plan "checked"
      """
      steps:
        - {name: write, run: echo two >> a.txt}
        - {name: check, run: "tally check; grep -q fixed a.txt"}
        - {name: end, run: touch end}
      """
    And the plan was executed
    When someone writes "fixed" to "a.txt" in the sandbox
    And the user types "resume checked"
    Then it succeeds
    And the plan is "execute/complete"
    And the edited paths are "a.txt"
    And in the sandbox "a.txt" reads "fixed"
    And the steps ran: check, check
    When the user types "rollback --yes checked @3"
    And the user types "resume checked"
    Then it fails with "step_failed"
    When someone writes "fixed" to "a.txt" in the sandbox
    And the user types "resume checked --from @2"
    Then it fails with "step_failed"
    And in the sandbox "a.txt" reads "one\ntwo\n"

  Scenario: what a killed process left is taken back, not taken for an edit
    Given a plan "killed"
      """
      steps:
        - {name: half, run: "echo half > a.txt; hold; echo whole > a.txt"}
      """
    When the plan is being executed and holds
    And its process is killed
    And the plan is executed on
    Then it succeeds
    And the edited paths are ""
    And in the sandbox "a.txt" reads "whole\n"
