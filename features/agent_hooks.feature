Feature: Hooks in the configuration of coding agents
  The hooks join what the user has there, and can be taken out again without a trace.

  Scenario: a file of the user comes back byte for byte
    Given a project folder
      | path                  | content                                       |
      | .qwen/settings.json   | {\n  // mine\n  "model": "x"\n}\n             |
    And the real folder is remembered
    When the user types "agent install qwen-code --scope project --yes"
    Then it succeeds
    When the user types "agent list"
    Then the hooks of "qwen-code" are installed for the project
    When the user types "agent uninstall qwen-code --scope project --yes"
    Then it succeeds
    And the real folder is as remembered, but for times

  Scenario: files and folders that install made go again
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And the real folder is remembered
    When the user types "agent install codex goose opencode --scope project --yes"
    Then it succeeds
    When the user types "agent uninstall --all --scope project --yes"
    Then it succeeds
    And the real folder is as remembered, but for times

  Scenario: what others wrote since stays
    Given a project folder
      | path                | content                      |
      | .qwen/settings.json | {\n  "model": "small"\n}\n |
    When the user types "agent install qwen-code --scope project --yes"
    And the user replaces "small" by "large" in ".qwen/settings.json"
    And the user types "agent uninstall qwen-code --scope project --yes"
    Then it succeeds
    And in the real folder ".qwen/settings.json" reads "{\n  "model": "large"\n}\n"

  Scenario: a file that is not JSON is refused by name
    Given a project folder
      | path                | content |
      | .qwen/settings.json | oops    |
    And the real folder is remembered
    When the user types "agent install codex qwen-code --scope project --yes"
    Then it is refused with "agent_file_unusable"
    And the real folder is untouched, to modes and times

  Scenario: nothing is written without a word of the user
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And the real folder is remembered
    When the user types "agent install codex --scope project"
    Then it is refused with "confirmation_missing"
    And the real folder is untouched, to modes and times
