Feature: Single paths
  One file, folder or symlink of any checkpoint can be looked at and brought back, and nothing else is touched.

  Background:
    Given a project folder
      | path        | content      | mode |
      | notes.md    | notes        | 640  |
      | src/a.py    | one          | 644  |
      | src/deep/b  | b            | 755  |
      | link        | -> notes.md  |      |
    And a plan "tune"
      """
      steps:
        - {name: change, tool: shell, args: {command: "echo two > src/a.py; echo made > made"}}
      """
    And the plan was executed

  Scenario: a deleted file comes back as it was, and only that
    Given the real folder is remembered
    When someone deletes "notes.md" in the real folder
    And someone deletes "link" in the real folder
    And the user types "restore --yes notes.md"
    Then it succeeds
    And the changes are "restored notes.md"
    When the user types "restore --yes tune@1 link"
    Then it succeeds
    And the real folder is as remembered, but for times

  Scenario: what was there is kept, and can be brought back
    When someone writes "precious" to "notes.md" in the real folder
    And the user types "restore --yes tune@1 notes.md"
    Then it succeeds
    And in the real folder "notes.md" reads "notes"
    When the user types "restore --yes tune@4 notes.md"
    Then it succeeds
    And in the real folder "notes.md" reads "precious"

  Scenario: what the checkpoint does not have goes only on request
    When someone writes "mine" to "src/mine" in the real folder
    And the user types "restore --yes tune@1 src/mine"
    Then it is refused with "path_not_in_checkpoint"
    When the user types "restore --yes tune@1 src"
    Then it succeeds
    And in the real folder "src/mine" reads "mine"
    When the user types "restore --yes --delete tune@1 src"
    Then it succeeds
    And nothing called "src/mine" is in the real folder

  Scenario: without a terminal it is refused unless the answer is given
    When someone deletes "notes.md" in the real folder
    And the user types "restore notes.md"
    Then it is refused with "confirmation_missing"
    And nothing called "notes.md" is in the real folder

  Scenario: a path comes back into the sandbox
    Given the real folder is remembered
    When the user types "restore --yes --sandbox tune@1 src/a.py"
    Then it succeeds
    And in the sandbox "src/a.py" reads "one"
    And the real folder is untouched, to modes and times

  Scenario: a restore that is killed is taken back
    When someone writes "mine" to "notes.md" in the real folder
    And the real folder is remembered
    And the command "restore --yes tune@1 notes.md src" is killed after "restore.place"
    And the user types "doctor"
    Then it succeeds
    And the real folder is as remembered, but for times

  Scenario: a checkpoint is listed and its files are printed
    When the user types "list tune@1 --recursive"
    Then it succeeds
    And the entries are
      | path       | type    | mode | size_bytes |
      | link       | symlink | 0777 | None       |
      | notes.md   | file    | 0640 | 5          |
      | src        | folder  | 0755 | None       |
      | src/a.py   | file    | 0644 | 3          |
      | src/deep   | folder  | 0755 | None       |
      | src/deep/b | file    | 0755 | 1          |
    When the user types "show tune@3 src/a.py"
    Then it succeeds
    And the content is "two\n"
