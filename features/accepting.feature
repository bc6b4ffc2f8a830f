Feature: Accepting a plan as it is
  A plan that stopped before its end can be made complete as it is, or as one of its checkpoints was.

  Scenario: the plan is complete without the steps that did not run, and is applied
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And a plan "half"
      """
      steps:
        - {name: good, run: echo two >> a.txt}
        - {name: bad, run: "echo mess > mess; exit 1"}
        - {name: never, run: touch never}
      """
    And the plan was executed
    When the user types "accept half"
    Then it succeeds
    And the plan is "execute/complete"
    And the steps are done, failed, pending
    And the last checkpoint is the newest post_execute group
    And in the sandbox "a.txt" reads "one\ntwo\n"
    When the user types "resume half"
    Then it is refused with "plan_already_complete"
    When the plan is applied
    Then it succeeds
    And in the real folder "a.txt" reads "one\ntwo\n"
    And nothing called "mess" is in the real folder

  Scenario: what a failed command did is taken, also by the number of its checkpoint
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    When the user types "run --name fix -- sh -c 'echo two >> a.txt; exit 2'"
    Then it ends with 2 and "step_failed"
    And the command ended with exit status 2
    And the hint says "mulligan accept"
    And in the sandbox "a.txt" reads "one\n"
    When the user types "accept fix"
    Then it succeeds
    And in the sandbox "a.txt" reads "one\ntwo\n"
    When the user types "accept --at fix@3"
    Then it succeeds
    And the plan run last is "execute/complete"
    And in the sandbox "a.txt" reads "one\ntwo\n"
    When the user types "apply --yes"
    Then it succeeds
    And in the real folder "a.txt" reads "one\ntwo\n"

  Scenario: a command that may fail is complete whatever its exit status
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    When the user types "run --keep --name fix -- sh -c 'echo two >> a.txt; exit 2'"
    Then the command ended with exit status 2
    And the plan run last is "execute/complete"
    And the steps are failed
    And in the sandbox "a.txt" reads "one\ntwo\n"
    When the user types "apply --yes"
    Then it succeeds
    And in the real folder "a.txt" reads "one\ntwo\n"

  Scenario: a plan whose process was killed is accepted with what its step left
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And the command "echo two >> a.txt; hold; echo three >> a.txt" runs and holds
    When its process is killed
    And the user types "accept held"
    Then it succeeds
    And the plan is "execute/complete"
    And the steps are failed
    And in the sandbox "a.txt" reads "one\ntwo\n"

  Scenario: what an interrupted command did is accepted and applied
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And the command "echo two >> a.txt; hold; echo three >> a.txt" runs and holds
    When its process gets SIGINT
    Then it is interrupted
    When the user types "accept held"
    And the user types "apply --yes"
    Then it succeeds
    And in the real folder "a.txt" reads "one\ntwo\n"

  Scenario: what a failed step left is accepted where the policy keeps it
    Given a project folder
    And a plan "kept"
      """
      rollback_policy: {on_failure: keep}
      steps: [{name: bad, run: "echo left > left; exit 1"}]
      """
    And the plan was executed
    When the user types "accept kept"
    And the user types "apply --yes"
    Then it succeeds
    And in the real folder "left" reads "left\n"

  Scenario: a plan that never started, is over or has conflicts is refused
    Given a project folder
    And a plan "new"
      """
      steps: [{run: touch a}]
      """
    When the plan is created
    And the user types "accept new"
    Then it is refused with "plan_not_ready"
    When the plan is executed on
    And the user types "accept new"
    Then it is refused with "plan_already_complete"
    When the plan is applied
    And the user types "accept new"
    Then it is refused with "plan_already_applied"

  Scenario: going forward to where a plan was complete makes it complete
    Given a project folder
    And a plan "forth"
      """
      steps:
        - {name: one, run: touch one}
        - {name: two, run: sleep 0.05; touch two}
      """
    And the plan was executed
    And the durations of the steps are remembered
    When the plan is rolled back to "first"
    And that rollback is itself rolled back
    Then it succeeds
    And the plan is "execute/complete"
    And the steps are done, done
    And the durations of the steps are as remembered
    When the plan is applied
    Then it succeeds
