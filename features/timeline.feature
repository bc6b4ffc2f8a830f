Feature: One timeline per folder
  What was done in a folder is one list, over all plans: undo takes back the newest thing that still counts, then the one
  before it, and redo goes forward.

  Background:
    Given a project folder
      | path    | content    |
      | a.txt   | one\n      |
      | dev.log | started\n  |

  Scenario: commands in place follow each other, and undo walks back through all of them
    When the user types "run --in-place -- sh -c 'echo two >> a.txt'"
    And the user types "run --in-place -- sh -c 'echo three >> a.txt'"
    And the user types "run --in-place -- sh -c 'echo four >> a.txt'"
    Then it succeeds
    And in the real folder "a.txt" reads "one\ntwo\nthree\nfour\n"
    When the user types "undo --yes"
    Then in the real folder "a.txt" reads "one\ntwo\nthree\n"
    When the user types "undo --yes"
    Then in the real folder "a.txt" reads "one\ntwo\n"
    When the user types "undo --yes"
    Then in the real folder "a.txt" reads "one\n"
    When the user types "undo --yes"
    Then it is refused with "nothing_to_undo"
    When the user types "redo --yes"
    And the user types "redo --yes"
    Then in the real folder "a.txt" reads "one\ntwo\nthree\n"
    When the user types "run --in-place --apply -- sh -c 'echo more >> a.txt'"
    Then it succeeds
    And in the real folder "a.txt" reads "one\ntwo\nthree\nmore\n"
    When the user types "undo --yes"
    Then in the real folder "a.txt" reads "one\ntwo\nthree\n"

  Scenario: undo goes over runs in sandboxes and applies
    When the user types "run --name first-one -- sh -c 'echo two >> a.txt'"
    And the user types "run --name other -- sh -c 'echo x > x.txt'"
    And the user types "apply --yes other"
    Then in the real folder "x.txt" reads "x\n"
    When the user types "undo --yes"
    Then it succeeds
    And nothing called "x.txt" is in the real folder
    When the user types "undo --yes first-one"
    Then it succeeds
    When the user types "log"
    Then the timeline is
      | number | kind  | handle    | undone |
      | 3      | apply | other     | True   |
      | 2      | run   | other     | False  |
      | 1      | run   | first-one | True   |
    When the user types "undo --yes"
    And the user types "undo --yes"
    Then it is refused with "nothing_to_undo"

  Scenario: undo walks back through runs in sandboxes, and redo forward
    When the user types "run --name first-one -- sh -c 'echo two >> a.txt'"
    And the user types "run --name other -- sh -c 'echo three >> a.txt'"
    And the user types "undo --yes"
    And the user types "undo --yes"
    And the user types "log"
    Then the timeline is
      | number | kind | handle    | undone |
      | 2      | run  | other     | True   |
      | 1      | run  | first-one | True   |
    When the user types "redo --yes"
    And the user types "apply --yes"
    Then in the real folder "a.txt" reads "one\ntwo\n"

  Scenario: an undo that was refused takes back the same when it is repeated, while a program writes its log
    Given a program that appends to "dev.log" without end
    When the user types "run --in-place -- sh -c 'echo two >> a.txt'"
    And someone makes the real file "a.txt" read "something else"
    And the user types "undo --yes"
    Then it ends with a conflict of the undo
    And in the real folder "a.txt" reads "something else"
    When someone makes the real file "a.txt" read "one\ntwo\n"
    And the user types "undo --yes"
    Then it succeeds
    And in the real folder "a.txt" reads "one\n"
    And no line that was appended to "dev.log" is lost
