Feature: Coding agents
  The hooks of a coding agent report what it does in a folder. Each prompt is an entry of the folder's timeline, and can be
  taken back like anything else that was done there.

  Background:
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And an agent that started a session

  Scenario: a prompt is taken back with all its calls, and what the user changed stays
    When the agent is asked to "tidy up" and runs "rm a.txt; echo new > new.txt"
    And someone writes "mine" to "mine.txt" in the real folder
    And the agent is asked to "go on" and runs "echo more >> new.txt"
    And the user types "log"
    Then the timeline is
      | number | kind   | title   | status | files |
      | 2      | prompt | go on   | done   | 1     |
      | 1      | prompt | tidy up | done   | 2     |
    When the user types "undo --yes"
    And the user types "undo --yes"
    Then in the real folder "a.txt" reads "one\n"
    And in the real folder "mine.txt" reads "mine"
    When the user types "redo --yes"
    Then in the real folder "new.txt" reads "new\n"

  Scenario: an agent that is killed in the middle of a call
    When the agent is asked to "tidy up" and is killed while it runs "echo half > a.txt"
    And the user types "undo --yes"
    Then it succeeds
    And in the real folder "a.txt" reads "one\n"
