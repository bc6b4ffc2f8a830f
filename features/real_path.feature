Feature: The sandbox at the real path
  Steps see their sandbox in the place of the real folder, so that every absolute path leads into the sandbox.

  Scenario: tests in a virtual environment test the code of the sandbox
    Given a project folder
      | path                | content                                                       |
      | src/lib/__init__.py | VALUE = "old"\n\ndef main():\n    print(__file__, VALUE)\n    |
      | tests/test_lib.py   | import lib\n\ndef test():\n    assert lib.VALUE == "new"\n    |
    And the project is installed, editable, in a virtual environment ".venv"
    And the real folder is remembered
    And a plan "edit"
      """
      steps:
        - {name: edit, tool: edit_file, args: {path: src/lib/__init__.py, old: '"old"', new: '"new"'}}
        - {name: test, tool: shell, args: {command: ".venv/bin/python -m pytest -q -p no:cacheprovider tests"}}
        - {name: relative, tool: shell, args: {command: "note $(.venv/bin/python -c 'import lib; lib.main()')"}}
        - {name: absolute, tool: shell, args: {command: "note $($PROJECT/.venv/bin/python -c 'import lib; lib.main()')"}}
        - {name: script, tool: shell, args: {command: "note $(.venv/bin/libtool)"}}
        - {name: uninstall, tool: shell, args: {command: ".venv/bin/python -m pip uninstall -q -y lib"}}
      """
    When the plan is executed
    Then it succeeds
    And the steps noted
      """
      {project}/src/lib/__init__.py new
      {project}/src/lib/__init__.py new
      {project}/src/lib/__init__.py new
      """
    And there is no ".venv/bin/libtool" in the sandbox
    And the real folder is untouched, to modes and times

  Scenario: a step works at the real path, and what it writes there is the sandbox's
    Given a project folder
      | path    | content                                                                    |
      | a.txt   | one\n                                                                      |
      | b/c     | two\n                                                                      |
      | mine.py | import os\n\ndef seen(context):\n    return [str(context.path()), os.getcwd(), __file__]\n |
    And the real folder is remembered
    And a plan "at the real path"
      """
      steps:
        - {name: where, tool: shell, args: {command: "note $(pwd) $PWD $(cd b && pwd)"}}
        - {name: write, tool: shell, args: {command: "echo new > $PROJECT/a.txt; mv $PROJECT/b $PROJECT/d; note $(cat a.txt)"}}
        - {name: python, tool: python, args: {function: "mine:seen"}}
        - {name: told, tool: shell, args: {command: "note ${MULLIGAN_OUTPUT_PYTHON}"}}
      """
    When the plan is executed
    Then it succeeds
    And the plan has no messages
    And the steps noted
      """
      {project} {project} {project}/b
      new
      ["{project}","{project}","{project}/mine.py"]
      """
    And in the sandbox "a.txt" reads "new\n"
    And in the sandbox "d/c" reads "two\n"
    And the real folder is untouched, to modes and times

  Scenario: at its own path, a step works in the sandbox and reads the real folder
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And the real folder is remembered
    And the command line says -c sandbox.at=own-path
    And a plan "at its own path"
      """
      steps:
        - {name: where, tool: shell, args: {command: "echo new > a.txt; note $(pwd) $PWD $(cat $PROJECT/a.txt)"}}
      """
    When the plan is executed
    Then it succeeds
    And the plan has no messages
    And the steps noted
      """
      {sandbox} {sandbox} one
      """
    And the real folder is untouched, to modes and times

  Scenario: git works at the real path, and finds the commits that the sandbox borrows
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And it is a git checkout with one commit
    And the repository is remembered
    And a plan "commit"
      """
      steps:
        - {name: commit, tool: shell, args: {command: "echo two >> a.txt; git -C $PROJECT commit -q -a -m second; note $(git status --short) $(git rev-parse --show-toplevel)"}}
        - {name: look, tool: shell, args: {command: "note $(git log --format=%s) $(git show HEAD~1:a.txt)"}}
        - {name: check, tool: shell, args: {command: "git fsck --strict --full && git gc -q --prune=now && git log --stat"}}
        - {name: renew, tool: shell, args: {command: "rm -rf .git && git init -q . && git add -A && git -c user.name=U -c user.email=u@h commit -q -m again; note $(git log --format=%s)"}}
      """
    When the plan is executed
    Then it succeeds
    And the steps noted
      """
      {project}
      second first one
      again
      """
    And the repository is as remembered, but for pins of the plan

  Scenario: databases are found at their real paths, in a folder and alone
    Given a project folder
      | path       | content |
      | app/readme | one\n   |
    And the real database "app/in.db"
      """
      CREATE TABLE t (a);
      """
    And the real database "data/alone.db"
      """
      PRAGMA journal_mode = WAL;
      CREATE TABLE t (a);
      """
    And the real folder is remembered
    And a plan "fill"
      """
      resources:
        app: {type: fs-directory, location: app}
        in: {type: sqlite, location: app/in.db}
        alone: {type: sqlite, location: data/alone.db}
      steps:
        - {name: fill, tool: shell, args: {command: "for f in app/in.db data/alone.db; do fill $PROJECT/$f; done"}}
        - {name: relative, tool: shell, resource: alone, args: {command: "fill alone.db"}}
        - {name: sql, tool: sql, resource: in, args: {statements: ["INSERT INTO t VALUES (2)"]}}
        - {name: outside, tool: shell, args: {command: "note $(ls $PROJECT/data) $(ls $PROJECT/app)"}}
      """
    When the plan is executed
    Then it succeeds
    And the steps noted
      """
      alone.db in.db readme
      """
    And the sandbox of "in" is a sound database that gives "1,2" for "SELECT group_concat(a) FROM t"
    And the sandbox of "alone" is a sound database that gives "1,1" for "SELECT group_concat(a) FROM t"
    And the real folder is untouched, to modes and times

  Scenario: each child plan sees its own sandbox there
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And the real folder is remembered
    And a plan "children"
      """
      steps:
        - {name: before, tool: shell, args: {command: "echo parent > $PROJECT/parent"}}
        - name: both
          subplans:
            mode: sequential
            plans:
              - name: first
                steps: [{name: w, tool: shell, args: {command: "cat $PROJECT/parent; echo 1 > $PROJECT/first; note $(pwd) $(ls)"}}]
              - name: second
                steps: [{name: w, tool: shell, args: {command: "echo 2 > $PROJECT/second; note $(pwd) $(ls)"}}]
        - {name: after, tool: shell, args: {command: "note $(cat $PROJECT/first $PROJECT/second)"}}
      """
    When the plan is executed
    Then it succeeds
    And the steps noted
      """
      {project} a.txt first parent
      {project} a.txt first parent second
      1 2
      """
    And the real folder is untouched, to modes and times

  Scenario: where the kernel refuses it, the plan says so once and names what leads back
    Given a project folder
      | path                | content                                                    |
      | src/lib/__init__.py | VALUE = "old"\n\ndef main():\n    print(__file__, VALUE)\n |
    And the project is installed, editable, in a virtual environment ".venv"
    And "absolute" is a symlink to the real file "src"
    And the kernel refuses namespaces
    And a plan "fallback"
      """
      steps:
        - {name: one, tool: shell, args: {command: "note $PWD"}}
        - {name: two, tool: shell, args: {command: "true"}}
        - name: child
          subplans: {plans: [{name: c, steps: [{name: w, tool: shell, args: {command: "true"}}]}]}
      """
    When the plan is executed
    Then it succeeds
    And the steps noted
      """
      {sandbox}
      """
    And 1 messages of the plan say "at their own paths"
    And 1 messages of the plan say "editable installs: .venv/lib/"
    And 1 messages of the plan say "shebangs: .venv/bin/libtool"
    And 1 messages of the plan say "absolute symlinks: absolute"
    When the command line says -c sandbox.at=own-path
    And the user types "run --name known -- true"
    Then it succeeds
    And the answer has no messages

  Scenario: a real path that is required and cannot be had is refused by name, before anything runs
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And the kernel refuses namespaces
    And a plan "required"
      """
      config: {sandbox.at: real-path}
      steps:
        - {name: one, tool: shell, args: {command: "tally one"}}
      """
    When the plan is executed
    Then it is refused with "real_path_impossible"
    And no step ran

  Scenario: a write into the real folder is never answered with the advice to allow it
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And the command line says -c sandbox.at=own-path
    And a plan "reaching"
      """
      steps:
        - {name: one, tool: shell, args: {command: "echo x > $PROJECT/a.txt; test -e nothing"}}
      """
    When the plan is executed
    Then it fails with "step_failed"
    And the message says "a.txt was stopped"
    And no advice names "sandbox.writable"
    And in the real folder "a.txt" reads "one\n"

  Scenario: the mounts of a run that is killed go with it
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And a plan "killed"
      """
      steps:
        - {name: one, tool: shell, args: {command: "echo new > $PROJECT/a.txt; env -i NOTES=$NOTES setsid /bin/sh -c 'echo $$ > $NOTES/alone; sleep 300' & while ! [ -s $NOTES/alone ]; do sleep 0.01; done; hold"}}
      """
    And the plan is being executed and holds
    When everything that runs the plan is killed at once
    Then no mount of the project is left
    When the plan is executed on after the hold is lifted
    Then it succeeds
    And the process noted as "alone" is ended
    And in the real folder "a.txt" reads "one\n"

  Scenario: the doctor says what the system can do
    Given a project folder
    When the user types "init"
    And the user types "doctor"
    Then it succeeds
    And the doctor says that steps see sandboxes "at the real paths"
    When the kernel begins to refuse namespaces
    And the user types "doctor"
    Then it succeeds
    And the doctor says that steps see sandboxes "at their own paths, not at the real ones"
