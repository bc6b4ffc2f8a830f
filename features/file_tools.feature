Feature: Tools for files
  They work in the sandbox of the step's resource and never lead outside it.

  Scenario: writing, editing, moving, deleting and patching
    Given a project folder
      | path    | content            | mode |
      | a.txt   | one\ntwo\nthree\n  | 640  |
      | b.txt   | x x x\n            |      |
      | c.txt   | gone\n             |      |
      | d.txt   | here\n             | 755  |
      | in/e.txt | inside\n          |      |
      | link    | -> in/e.txt        |      |
    And a plan "files"
      """
      steps:
        - {name: write, tool: write_file, args: {path: deep/new.sh, content: "#!/bin/sh\n", mode: "755"}}
        - {name: overwrite keeps the mode, tool: write_file, args: {path: d.txt, content: "there\n"}}
        - {name: edit once, tool: edit_file, args: {path: a.txt, old: two, new: zwei}}
        - {name: edit everywhere, tool: edit_file, args: {path: b.txt, old: x, new: y, all: true}}
        - {name: delete, tool: delete_file, args: {path: c.txt}}
        - {name: delete again, tool: delete_file, args: {path: c.txt}}
        - {name: move, tool: move_file, args: {path: d.txt, to: moved/here.txt}}
        - {name: through a link, tool: edit_file, args: {path: link, old: inside, new: linked}}
        - name: patch
          tool: apply_patch
          args:
            patch: |
              --- a/a.txt
              +++ b/a.txt
              @@ -1,3 +1,3 @@
               one
              -zwei
              +2
               three
              --- /dev/null
              +++ b/patched.txt
              @@ -0,0 +1 @@
              +by a patch
      """
    When the plan is executed
    Then it succeeds
    And the sandbox holds "a.txt b.txt deep deep/new.sh in in/e.txt link moved moved/here.txt patched.txt"
    And in the sandbox "a.txt" reads "one\n2\nthree\n"
    And in the sandbox "a.txt" has the mode 640
    And in the sandbox "b.txt" reads "y y y\n"
    And in the sandbox "deep/new.sh" has the mode 755
    And in the sandbox "moved/here.txt" reads "there\n"
    And in the sandbox "moved/here.txt" has the mode 755
    And in the sandbox "in/e.txt" reads "linked\n"
    And in the sandbox "patched.txt" reads "by a patch\n"

  Scenario: what fails leaves the files as they were
    Given a project folder
      | path     | content      |
      | a.txt    | one\ntwo\n   |
      | twice    | x x\n        |
      | out      | -> /tmp      |
      | up       | -> ..        |
    And how each of these steps ends
      | step                                                                                     | says                |
      | {tool: edit_file, args: {path: a.txt, old: three, new: x}}                               | does not occur in   |
      | {tool: edit_file, args: {path: twice, old: x, new: y}}                                   | occurs 2 times      |
      | {tool: move_file, args: {path: a.txt, to: twice}}                                        | is there already    |
      | {tool: move_file, args: {path: nothing, to: b}}                                          | is not there        |
      | {tool: write_file, args: {path: out/planted, content: x}}                                | leads outside       |
      | {tool: write_file, args: {path: up/planted, content: x}}                                 | leads outside       |
      | {tool: delete_file, args: {path: up/plans}}                                              | leads outside       |
      | {tool: shell, args: {command: pwd, cwd: up}}                                             | leads outside       |
      | {tool: write_file, args: {path: .mulligan/tools.py, content: x}}                         | project home        |
      | {tool: apply_patch, args: {patch: "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n--- a/twice\n+++ b/twice\n@@ -1 +1 @@\n-y\n+z\n"}} | twice |
    Then each ended so, with the sandbox as the real folder
