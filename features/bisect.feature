Feature: Finding what broke it
  A command is tried at checkpoints of a plan until the first one is found at which it fails. It runs in a scratch copy:
  plan, sandboxes and real files stay as they are.

  Background:
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And a plan "many"
      """
      steps:
        - {name: two, run: echo two >> a.txt}
        - {name: choose, decision: {question: Which?, chosen: this}}
        - {name: breaks, run: echo BROKEN >> a.txt}
        - {name: three, run: echo three >> a.txt}
      """
    And the plan was executed

  Scenario: the first checkpoint that fails is named with its step, tool call and decision
    Given the real folder is remembered
    When the user types "bisect -- sh -c '! grep -q BROKEN a.txt'"
    Then it succeeds
    And the first that fails was made by step "breaks" after the decision "many/d1"
    And each group was tried once, and no more than 4
    And the real folder is as remembered, to modes and times

  Scenario: checkpoints can be skipped, and then several are named
    When the user types "bisect -- sh -c 'grep -q three a.txt && exit 1; grep -q two a.txt && exit 125; exit 0'"
    Then it fails with "bisection_undecided"
    And 2 groups were skipped, and 3 are candidates

  Scenario: a good end that fails and a bad one that passes are refused
    When the user types "bisect -- false"
    Then it is refused with "bisection_ends_wrong"
    And the error says "the good end"
    When the user types "bisect -- true"
    Then it is refused with "bisection_ends_wrong"
    And the error says "the bad end"

  Scenario: a command that a signal ends is no answer
    When the user types "bisect -- sh -c 'kill -9 $$'"
    Then it fails with "bisection_stopped"
