Feature: Forking a plan
  A fork is a new plan that starts from a checkpoint group of another: with its files, its decisions, and the steps that
  are left to run.

  Background:
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And a plan "tune"
      """
      steps:
        - {name: good, run: echo two >> a.txt}
        - {name: which, decision: {question: Which?, chosen: this, alternatives: [that]}}
        - {name: last, run: echo three >> a.txt}
      """
    And the plan was executed

  Scenario: a fork starts from a group, runs the steps that are left, and is applied in place of its origin
    When the user types "fork tune@3 --name other"
    Then it succeeds
    And the plan run last is "execute/queued"
    And the steps are done, pending, pending
    And in the sandbox "a.txt" reads "one\ntwo\n"
    When the user types "resume other"
    Then it succeeds
    And the steps are done, done, done
    When the user types "apply --yes other"
    Then it succeeds
    And in the real folder "a.txt" reads "one\ntwo\nthree\n"

  Scenario: a fork of a plan that is complete goes on from its end, and its origin stays as it is
    When the user types "fork tune --name other"
    Then it succeeds
    And the plan run last is "execute/complete"
    When the user types "run --on other -- sh -c 'echo four >> a.txt'"
    Then in the sandbox "a.txt" reads "one\ntwo\nthree\nfour\n"
