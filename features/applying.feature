Feature: Applying a plan
  What a plan made reaches the real resources whole or not at all, and can be taken back.

  Background:
    Given a project folder
      | path        | content                                    |
      | code/text   | one\ntwo\nthree\nfour\nfive\nsix\nseven\n  |
      | code/gone   | gone\n                                     |
      | code/kept   | kept\n                                     |
    And the real database "app.db"
      """
      create table t (x);
      insert into t values ('before');
      """
    And a plan "upgrade"
      """
      resources:
        code: {type: fs-directory, location: code}
        data: {type: sqlite, location: app.db}
      steps:
        - {name: edit, tool: edit_file, args: {path: text, old: seven, new: SEVEN}}
        - {name: more, tool: shell, args: {command: "rm gone; mkdir new; echo new > new/file; chmod 600 kept"}}
        - {name: rows, tool: sql, resource: data, args: {statements: ["insert into t values ('plan')"]}}
      """
    And the plan was executed

  Scenario: what others changed meanwhile stays, and later work stays when it is taken back
    When someone makes the real file "code/text" read "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\n"
    And the plan is applied
    Then it succeeds
    And the plan is "apply/applied"
    And in the real folder "code/text" reads "ONE\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n"
    And in the real folder "code/new/file" reads "new\n"
    And nothing called "code/gone" is in the real folder
    And the real database "app.db" holds "before, plan"
    And no sandbox of the plan is left
    When the plan is rolled back to "first"
    Then it is refused with "plan_already_applied"
    And the hint says "mulligan unapply"
    When someone makes the real file "code/kept" read "later\n"
    And the plan is taken back
    Then it succeeds
    And the plan is "execute/complete"
    And in the real folder "code/text" reads "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\n"
    And in the real folder "code/gone" reads "gone\n"
    And in the real folder "code/kept" reads "later\n"
    And nothing called "code/new" is in the real folder
    And the real database "app.db" holds "before"

  Scenario: a plan that was taken back is applied again, rolled back and resumed
    When someone writes "by hand" to "edited" in the sandbox
    And the sandbox is remembered
    And the plan is applied
    Then no sandbox of the plan is left
    When someone makes the real file "code/text" read "ONE\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n"
    And the plan is taken back
    Then the sandbox is as remembered
    When someone makes the real file "code/text" read "ONE\ntwo\nthree\nVIER\nfive\nsix\nseven\n"
    And the plan is applied
    Then it succeeds
    And in the real folder "code/text" reads "ONE\ntwo\nthree\nVIER\nfive\nsix\nSEVEN\n"
    And in the real folder "code/edited" reads "by hand"
    And the real database "app.db" holds "before, plan"
    When the plan is taken back
    And the plan is rolled back to "first"
    Then it succeeds
    And the plan is "execute/queued"
    When the plan is executed on
    Then it succeeds
    When the plan is applied
    Then in the real folder "code/text" reads "ONE\ntwo\nthree\nVIER\nfive\nsix\nSEVEN\n"
    And nothing called "code/edited" is in the real folder
    And the real database "app.db" holds "before, plan"

  Scenario: a conflict changes nothing, and the plan is applied once it is mended
    When someone makes the real file "code/text" read "one\ntwo\nthree\nfour\nfive\nsix\nsieben\n"
    And the real folder is remembered
    And the plan is applied
    Then it ends with a conflict in "code/text"
    And the plan is "apply/constrained"
    And the real folder is untouched, to modes and times
    And plan status lists the conflict in "code/text"
    When an apply is tried without doing it
    Then it ends with a conflict in "code/text"
    When someone makes the real file "code/text" read "one\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n"
    And the plan is applied
    Then it succeeds
    And the plan is "apply/applied"
    And the real database "app.db" holds "before, plan"

  Scenario: a dry run says what the real one does
    Given the real folder is remembered
    When an apply is tried without doing it
    Then it succeeds
    And the plan is "execute/complete"
    And the real folder is untouched, to modes and times
    When the plan is applied
    Then it does to the real resources what was shown

  Scenario: a process that is killed in the middle leaves everything as it was
    Given the real folder is remembered
    When the plan is applied and killed while it writes
    And the plan is executed on
    Then it is refused with "plan_already_complete"
    And the plan is "execute/complete"
    And the real folder is untouched, to modes and times
    When the plan is applied
    Then it succeeds
    And the real database "app.db" holds "before, plan"

  Scenario: nobody is there to say yes
    Given the real folder is remembered
    When the user types "plan apply upgrade"
    Then it is refused with "confirmation_missing"
    And the real folder is untouched, to modes and times

  Scenario: a git checkout gets one commit, and uncommitted work stays uncommitted
    Given a project folder
      | path        | content                                    |
      | app/text    | one\ntwo\nthree\nfour\nfive\nsix\nseven\n  |
    And "app" is a git checkout with one commit
    And a plan "commit"
      """
      description: Say seven loudly
      resources: {app: {type: git-checkout, location: app}}
      steps:
        - {name: edit, tool: edit_file, args: {path: text, old: seven, new: SEVEN}}
      """
    And the plan was executed
    When someone makes the real file "app/text" read "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\n"
    And the plan is applied
    Then it succeeds
    And in the real folder "app/text" reads "ONE\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n"
    And in "app" git says "commit" of "log -1 --format=%s"
    And in "app" git says "-one +ONE" of "diff -U0 --no-prefix"
    When the plan is taken back
    Then it succeeds
    And in the real folder "app/text" reads "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\n"
    And in "app" git says "1" of "rev-list --count HEAD"
    And in "app" git says "-one +ONE" of "diff -U0 --no-prefix"
    When the plan is applied
    Then it succeeds
    And in "app" git says "commit" of "log -1 --format=%s"
    And in "app" git says "-one +ONE" of "diff -U0 --no-prefix"

  Scenario: another branch than the plan began on is a question of its own
    Given a project folder
      | path        | content |
      | app/text    | one\n   |
    And "app" is a git checkout with one commit
    And a plan "commit"
      """
      resources: {app: {type: git-checkout, location: app}}
      steps: [{run: echo two >> text}]
      """
    And the plan was executed
    When git does "switch -q -c other" in "app"
    And the plan is applied
    Then it is refused with "branch_differs"
    And the hint says "--onto-branch"
    And in the real folder "app/text" reads "one\n"
    When the user types "apply --yes --onto-branch commit"
    Then it succeeds
    And in the real folder "app/text" reads "one\ntwo\n"
