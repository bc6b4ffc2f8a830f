Feature: Trying several ways
  Variants of the same work run beside each other, each in a sandbox of its own that starts from the same files. One of
  them is picked, and its result is that of the plan.

  Background:
    Given a project folder
      | path  | content |
      | a.txt | one\n   |

  Scenario: one command several times, one variant picked and applied
    Given the real folder is remembered
    When the user types "try -n 3 --name fix -- sh -c 'echo $MULLIGAN_VARIANT >> a.txt'"
    Then it succeeds
    And the variants are
      | variant | exit_status | check | passed | files | insertions |
      | 1       | 0           |       | yes    | 1     | 1          |
      | 2       | 0           |       | yes    | 1     | 1          |
      | 3       | 0           |       | yes    | 1     | 1          |
    And the real folder is as remembered, to modes and times
    When the user types "list --waiting"
    Then the plans that wait are "fix"
    When the user types "try pick 2"
    Then it succeeds
    And the plan run last is "execute/complete"
    And in the sandbox "a.txt" reads "one\n2\n"
    When the user types "apply --yes"
    Then in the real folder "a.txt" reads "one\n2\n"
    When the user types "undo --yes"
    And the user types "try pick 3"
    And the user types "apply --yes"
    Then in the real folder "a.txt" reads "one\n3\n"

  Scenario: a check says which variants pass, and what it writes is dropped
    When the user types "try --name fix --check 'echo junk > junk; grep -q good a.txt' --variant good='echo good >> a.txt' --variant bad='echo bad >> a.txt; exit 3'"
    Then it succeeds
    And the variants are
      | variant | exit_status | check  | passed | files | insertions |
      | good    | 0           | passed | yes    | 1     | 1          |
      | bad     | 3           | failed | no     | 1     | 1          |
    When the user types "try pick good"
    And the plan run last is looked at
    Then there is no "junk" in the sandbox
    And in the sandbox "a.txt" reads "one\ngood\n"

  Scenario: a try of which no variant passes fails, and each can be picked all the same
    When the user types "try -n 2 --check false -- touch made"
    Then it fails with "no_variant_passed"
    When the user types "try pick 1"
    Then it succeeds

  Scenario: variants start from a checkpoint of another plan
    Given a plan "tune"
      """
      steps:
        - {name: good, run: echo two >> a.txt}
        - {name: last, run: echo three >> a.txt}
      """
    And the plan was executed
    When the user types "try --from tune@3 --name other -- sh -c 'echo $MULLIGAN_VARIANT >> a.txt'"
    Then it succeeds
    When the user types "try pick 1"
    And the user types "apply --yes other"
    Then in the real folder "a.txt" reads "one\ntwo\n1\n"

  Scenario: after a kill, finished variants do not run again
    Given the command "try -c plan.max-parallel=1 --name cut -- sh -c 'tally $MULLIGAN_VARIANT; test $MULLIGAN_VARIANT = 1 || hold'" was started and holds
    And its process was killed
    When the user types "try pick 1"
    Then it is refused with "plan_not_ready"
    When the run is released and the user types "resume cut"
    Then it succeeds
    And the steps ran: 1, 2, 2
    And all variants pass
