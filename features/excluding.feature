Feature: Caches, excluded paths, and files that never hold still
  What tools make again is held and never applied, what is excluded is in no checkpoint, and nothing that moves blocks
  a plan.

  Scenario: caches of tools are part of checkpoints, and of nothing that is shown or applied
    Given a project folder
      | path                   | content |
      | a.txt                  | one\n   |
      | pkg/__pycache__/a.pyc  | old     |
    And the real folder is remembered
    When the user types "run --name tested -- sh -c 'echo two >> a.txt; mkdir .ruff_cache; echo c > .ruff_cache/0; echo new > pkg/__pycache__/a.pyc'"
    Then it succeeds
    When the user types "plan diff tested"
    Then the difference is
      | path  | status   |
      | a.txt | modified |
    And 2 files are hidden
    When the user types "plan diff --hidden tested"
    Then the difference is
      | path                  | status   |
      | .ruff_cache/0         | added    |
      | a.txt                 | modified |
      | pkg/__pycache__/a.pyc | modified |
    When the user types "plan apply --yes tested"
    Then it succeeds
    And the changes applied are
      | path  | status   |
      | a.txt | modified |
    And a message says "2 cache files are not applied"
    And in the real folder "a.txt" reads "one\ntwo\n"
    And in the real folder "pkg/__pycache__/a.pyc" reads "old"
    And nothing called ".ruff_cache" is in the real folder

  Scenario: a rollback brings caches back exactly
    Given a project folder
      | path                  | content |
      | pkg/__pycache__/a.pyc | old     |
    When the user types "run --name tested -- sh -c 'echo new > pkg/__pycache__/a.pyc; mkdir .ruff_cache'"
    And the user types "undo --yes tested"
    Then it succeeds
    And the plan run last is "execute/queued"
    And in the sandbox "pkg/__pycache__/a.pyc" reads "old"
    And there is no ".ruff_cache" in the sandbox

  Scenario: a hidden path that is named is applied
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    When the user types "run --name tested -- sh -c 'mkdir .ruff_cache; echo c > .ruff_cache/0'"
    And the user types "plan apply --yes --include .ruff_cache tested"
    Then it succeeds
    And in the real folder ".ruff_cache/0" reads "c\n"

  Scenario: the patterns that held when the plan began count
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And the project sets sandbox.exclude to "*.log"
    When the user types "run --name logged -- sh -c 'echo x > x.log; mkdir gen; echo y > gen/y'"
    And the user types "config set sandbox.exclude gen/"
    And the user types "config set sandbox.hide gen/"
    And the user types "plan diff logged"
    Then the difference is
      | path  | status |
      | gen/y | added  |
    When the user types "plan apply --yes logged"
    Then it succeeds
    And in the real folder "gen/y" reads "y\n"
    And nothing called "x.log" is in the real folder

  Scenario: excluded paths are in the sandbox, and in no checkpoint, difference or apply
    Given a project folder
      | path            | content                 |
      | .mulliganignore | *.log\nbuild/\n!keep.log\n |
      | app.log         | real\n                  |
      | keep.log        | one\n                   |
      | build/x.o       | object                  |
      | src/a.c         | int\n                   |
    When the user types "run --name built -- sh -c 'cat app.log build/x.o > seen; echo two >> app.log; echo two >> keep.log; echo new > build/x.o'"
    Then it succeeds
    And the plan run last is "execute/complete"
    And in the sandbox "seen" reads "real\nobject"
    When the user types "plan diff built"
    Then the difference is
      | path     | status   |
      | keep.log | modified |
      | seen     | added    |
    When the user types "undo --yes built"
    Then it succeeds
    And in the sandbox "keep.log" reads "one\n"
    And in the sandbox "app.log" reads "real\ntwo\n"
    And in the sandbox "build/x.o" reads "new\n"
    When the user types "plan resume built"
    And the user types "plan apply --yes built"
    Then it succeeds
    And in the real folder "keep.log" reads "one\ntwo\n"
    And in the real folder "app.log" reads "real\n"
    And in the real folder "build/x.o" reads "object"

  Scenario: in place, a rollback leaves excluded paths alone
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And the project sets sandbox.exclude to "*.log"
    When the user types "run --in-place -- sh -c 'echo two > a.txt; echo log > app.log'"
    And the user types "undo --yes"
    Then it succeeds
    And in the real folder "a.txt" reads "one\n"
    And in the real folder "app.log" reads "log\n"

  Scenario: a git checkout, with a tracked file that is excluded
    Given a project folder
      | path    | content |
      | a.txt   | one\n   |
      | big.bin | data    |
    And it is a git checkout with one commit
    And the project sets sandbox.exclude to "big.bin"
    When the user types "run --name changed -- sh -c 'echo two >> a.txt; echo other > big.bin'"
    And the user types "plan apply --yes changed"
    Then it succeeds
    And the changes applied are
      | path  | status   |
      | a.txt | modified |
    And in the real folder "big.bin" reads "data"

  Scenario: a live database and a log block neither a run nor its apply
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And a program that writes to "live.db", "app.log" and "busy.bin" without end
    When the user types "run --name beside -- sh -c 'echo two >> a.txt'"
    Then it succeeds
    And a message says "busy.bin"
    When the user types "plan apply --yes beside"
    Then it succeeds
    And in the real folder "a.txt" reads "one\ntwo\n"
    When the user types "plan unapply --yes beside"
    Then it succeeds
    And in the real folder "a.txt" reads "one\n"
    And the program writes on

  Scenario: a large file that is written without end, and that git does not ignore, blocks nothing in a checkout
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And it is a git checkout with one commit
    And a program that writes 9 MB to "busy.bin" without end
    When the user types "run --in-place --name there -- sh -c 'echo two >> a.txt'"
    Then it succeeds
    When the user types "undo --yes"
    Then it succeeds
    And in the real folder "a.txt" reads "one\n"
    When the user types "run --name beside -- sh -c 'echo two >> a.txt'"
    And the user types "plan apply --yes beside"
    Then it succeeds
    And in the real folder "a.txt" reads "one\ntwo\n"
    And the program writes on

  Scenario: a file that moves inside a sandbox is named by its group
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And a program that writes to "live.db", "app.log" and "busy.bin" without end
    When the user types "run --in-place --name beside -- sh -c 'echo two >> a.txt'"
    Then it succeeds
    And a group of "beside" names "busy.bin" as busy

  Scenario: entries are added to a list and removed from it
    Given a project folder
    And the user types "init" first
    When the user types "config set --add sandbox.hide .mine/"
    Then it succeeds
    And the setting sandbox.hide has "__pycache__/" and ".mine/" by project file
    When the user types "config set --remove sandbox.hide __pycache__/"
    Then the setting sandbox.hide has ".ruff_cache/" and ".mine/" by project file
    And the setting sandbox.hide has no "__pycache__/"
    When the user types "config set --global --add sandbox.exclude *.log,build/"
    Then the setting sandbox.exclude has "*.log" and "build/" by user file
    When the user types "config set --add sandbox.strategy auto"
    Then it is a usage error, "usage_wrong"
    When the user types "config unset --global sandbox.exclude"
    Then the setting sandbox.exclude has no "*.log"

  Scenario: folders of the system are refused, and nothing is made there
    Given a project folder
    Then each of these folders is refused
      | folder     |
      | /etc       |
      | /usr       |
      | /usr/share |
      | /var       |
      | /var/lib   |
      | /opt       |

  Scenario: an empty .git is not a checkout
    Given a project folder
      | path  | content  |
      | a.txt | one\n    |
      | .git  | (folder) |
    When the user types "run --apply -- sh -c 'echo two >> a.txt'"
    Then it succeeds
    And in the real folder "a.txt" reads "one\ntwo\n"
