Feature: A project home that survives
  Plans and checkpoints lie outside of the project folder. What cleans, moves or copies the folder loses none of them, and
  a copy can never touch what belongs to the original.

  Background:
    Given a git checkout
    And a plan "tune"
      """
      steps:
        - {name: one, tool: shell, args: {command: echo one >> a.txt}, checkpoint: one}
        - {name: two, tool: shell, args: {command: echo two >> a.txt}}
      """
    And the plan was executed

  Scenario: git sees nothing of it
    Then git says "" of "status --short" in the project folder
    And the project folder holds nothing of the home but what names it

  Scenario Outline: <command> in the project folder loses nothing
    When someone runs "<command>" in the project folder
    Then the plan can be looked at, rolled back to "one" and resumed
    And the project folder holds nothing of the home but what names it

    Examples:
      | command           |
      | git clean -fdx    |
      | git clean -ffdx   |
      | rm -rf * .[!.]*   |

  Scenario: a project that is moved continues
    When the project folder is moved to "moved"
    Then the plan can be looked at, rolled back to "one" and resumed
    And in the sandbox git works
    When the plan is applied
    Then it succeeds
    And the real file "a.txt" ends with "two"
    When the project folder is moved to "moved again"
    And the plan is taken back
    Then it succeeds
    And nothing is wrong with the project

  Scenario: a project that is moved after a clean is found by its folder once it is named
    Given the home is remembered
    When someone runs "git clean -ffdx" in the project folder
    And the project folder is moved to "moved"
    And the project is opened with the home that it had
    Then the plan can be looked at, rolled back to "one" and resumed

  Scenario: a copy is refused, and starts its own home
    Given the home is remembered
    When the project folder is copied to "copy", where the user goes on
    Then each of these is refused with "project_copied"
      | command                         |
      | plan list                       |
      | run -- true                     |
      | gc                              |
      | doctor                          |
      | plan apply --yes tune           |
      | plan rollback --yes tune first  |
    And the home is as remembered
    When the user types "init --fresh"
    Then it succeeds
    And there are no plans
    When the user types "run --name own -- sh -c 'echo own >> a.txt'"
    Then it succeeds
    And the home is as remembered
    When the user types "gc"
    And the user types "doctor"
    Then it succeeds
    And the home is as remembered

  Scenario: a home that is gone is named, and the project can begin again
    When the home is taken away
    And the user types "plan list"
    Then it is refused with "project_home_missing"
    When the user types "init --fresh"
    Then it succeeds
    And there are no plans

  Scenario: homes whose folder is gone are listed and removed
    When the project folder is copied to "copy", where the user goes on
    And the user types "init --fresh"
    And the original folder is removed
    Then "projects" lists 2 homes, 1 of them not needed
    When the user types "projects prune"
    Then it is refused with "confirmation_missing"
    And "projects" lists 2 homes, 1 of them not needed
    When the user types "projects prune --yes"
    Then it succeeds
    And "projects" lists 1 homes, 0 of them not needed

  Scenario: a project moves in one file
    When the user types "project export ../saved"
    Then it succeeds
    When the project folder is cloned to "clone", where the user goes on
    And the user types "project import ../saved"
    Then it succeeds
    And the plan can be looked at, rolled back to "one" and resumed
    And in the sandbox git works
    When the plan is applied
    Then it succeeds
    And the real file "a.txt" ends with "two"

  Scenario: new plans are refused where the homes hold too much
    When the user types "-c core.disk-limit=1KB run -- true"
    Then it ends with 125 and "disk_limit_exceeded"
    When the user types "-c core.disk-limit=100GB run -- true"
    Then it succeeds
