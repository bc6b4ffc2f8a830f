Feature: Branches of remote repositories
  A plan works on a branch of a repository on a server. It starts from what the branch is, and its result is pushed there as one
  commit, if nobody moved the branch at that moment.

  Background:
    Given a project folder
      | path      | content |
      | notes.txt | mine    |
    And a server with a repository whose branch "main" has the file "a.txt" with "one"
    And a plan "release"
      """
      resources:
        site: {type: git-remote, url: "https://server.example/site.git", ref: main}
      steps:
        - {name: write, run: echo two >> a.txt}
      """

  Scenario: an apply is a push, and an unapply another one
    When the plan is executed
    Then it succeeds
    When the plan is applied
    Then it succeeds
    And the branch "main" on the server has "a.txt" with "one\ntwo\n"
    And the branch "main" on the server has 2 commits
    When the plan is taken back
    Then it succeeds
    And the branch "main" on the server has "a.txt" with "one\n"
    And the branch "main" on the server has 3 commits

  Scenario: overlapping work of others is a conflict, and nothing is pushed
    When the plan is executed
    Then it succeeds
    When someone pushes "a.txt" with "one\nother" to the branch "main"
    And the plan is applied
    Then it ends with a conflict in "site/a.txt"
    And the branch "main" on the server has 2 commits
