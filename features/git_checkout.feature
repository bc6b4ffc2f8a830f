Feature: Git checkouts
  A plan works in a checkout of its own that looks as the user's does. What git does there, it does to its own
  repository: it rolls back and forward with the files, and the user's repository knows nothing of it.

  Background:
    Given a project folder
      | path       | content  | mode |
      | a.txt      | one\n    |      |
      | run.sh     | echo     | 755  |
      | .gitignore | *.log\n  |      |
    And it is a git checkout with one commit
    And the real file "a.txt"
      """
      changed by the user
      """
    And the real file "noise.log"
      """
      ignored
      """
    And git does "stash list; add a.txt" there
    And the repository is remembered

  Scenario: it starts as the user's, dirty as it is
    Given a plan "look"
      """
      steps:
        - {name: look, tool: shell, args: {command: "git status --short --ignored"}}
      """
    When the plan is executed
    Then it succeeds
    And git says the same of "status --short --branch --ignored" in the sandbox and in the real folder
    And the repository is as remembered, but for pins of the plan

  Scenario: commits, branches, stashes and settings go back and forward
    Given a plan "agent"
      """
      steps:
        - {name: commit, tool: shell, args: {command: "git commit -q -m 'by the agent'; git checkout -q -b topic"}}
        - {name: stash, tool: shell, args: {command: "echo more >> a.txt; git stash -q; git config user.name agent"}}
      """
    When the plan is executed
    Then it succeeds
    And in the sandbox git says "by the agent" of "log -1 --format=%s topic"
    And in the sandbox git says "agent" of "config user.name"
    When the plan is rolled back to "first"
    Then it succeeds
    And in the sandbox git says "main" of "branch --show-current"
    And in the sandbox git says "" of "stash list"
    And git says the same of "status --short --branch --ignored" in the sandbox and in the real folder
    And the repository is as remembered, but for pins of the plan

  Scenario: each checkpoint is a commit, each the child of the one before it
    Given a plan "steps"
      """
      steps:
        - {name: one, tool: write_file, args: {path: one, content: "1"}}
        - {name: two, tool: write_file, args: {path: two.log, content: "2"}}
      """
    When the plan is executed
    Then it succeeds
    And every checkpoint is a commit whose parent is the one before it
    And the last commit holds ".gitignore a.txt one run.sh"

  Scenario: nothing of it is left in the repository when the plan is over
    Given a plan "over"
      """
      config: {sandbox.cleanup: on_terminal}
      steps:
        - {name: worktree, tool: shell, args: {command: "git worktree add -q ../other-tree; git gc -q --prune=now"}}
      """
    When the plan is executed
    Then it succeeds
    When the plan is cancelled
    Then it succeeds
    And the repository is as remembered, to the last pin

  Scenario: another git command is at work
    Given git has left "index.lock" behind
    And a plan "locked"
      """
      steps:
        - {name: s, checkpoint: c}
      """
    When the plan is executed
    Then it is refused with "resource_unsuitable"
    And the error says "index.lock"
