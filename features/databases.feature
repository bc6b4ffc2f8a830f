Feature: SQLite databases
  A database is a resource like a folder: copied through SQLite itself, checkpointed and rolled back with the others.

  Scenario: a database inside a folder stands at its place in the folder's sandbox and goes back with it
    Given a project folder
      | path           | content                                                       |
      | app/m/002.sql  | ALTER TABLE users ADD COLUMN age;\nPRAGMA user_version = 2;\n |
      | app/readme     | one\n                                                         |
    And the real database "app/var/app.db"
      """
      PRAGMA journal_mode = WAL;
      CREATE TABLE users (name);
      INSERT INTO users VALUES ('Ada');
      PRAGMA user_version = 1;
      """
    And the real database "alone.db"
      """
      CREATE TABLE t (a);
      """
    And the real folder is remembered
    And a plan "migrate"
      """
      resources:
        app: {type: fs-directory, location: app}
        data: {type: sqlite, location: app/var/app.db}
        alone: {type: sqlite, location: alone.db}
      steps:
        - {name: migrate, tool: sql, resource: data, args: {script: m/002.sql}}
        - {name: ask, tool: sql, resource: data, args: {statements: ["SELECT name, age FROM users"]}}
        - {name: note, tool: write_file, args: {path: readme, content: "${{ steps.ask.output }}"}}
        - {name: program, tool: shell, args: {command: "test -f var/app.db && rm -r var"}}
      """
    When the plan is executed
    Then it succeeds
    And the real folder is untouched, to modes and times
    And the checkpoints are
      | resource | checkpoint_type | modified |
      | app      | pre_execute     | True     |
      | data     | pre_execute     | True     |
      | alone    | pre_execute     | True     |
      | app      | before_step     | False    |
      | data     | before_step     | False    |
      | alone    | before_step     | False    |
      | app      | before_step     | False    |
      | data     | before_step     | True     |
      | alone    | before_step     | False    |
      | app      | before_step     | False    |
      | data     | before_step     | False    |
      | alone    | before_step     | False    |
      | app      | before_step     | True     |
      | data     | before_step     | False    |
      | alone    | before_step     | False    |
      | app      | post_execute    | True     |
      | data     | post_execute    | True     |
      | alone    | post_execute    | False    |
    And a checkpoint that was not modified added nothing, any other something
    And in the sandbox "readme" reads "[{"age":null,"name":"Ada"}]"
    And every checkpoint can be restored
    When a rollback to "first" is tried without doing it
    And the plan is rolled back to "first"
    Then it does to the path what was shown
    And the rollback reverted
      | file   | action   |
      | app.db | restored |
      | readme | restored |
      | var    | restored |
    And the sandbox of "data" is a sound database that gives "1" for "PRAGMA user_version"
    And the sandbox of "data" is a sound database that gives "Ada" for "SELECT * FROM users"
    And the sandbox of "data" is a sound database that gives "wal" for "PRAGMA journal_mode"
    When that rollback is itself rolled back
    Then it succeeds
    And the sandbox of "data" is gone

  Scenario: a failing statement leaves nothing, and the plan goes on once it is mended
    Given a project folder
      | path  | content                                                          |
      | m.sql | INSERT INTO t VALUES (1);\n-- and now\nINSERT INTO u VALUES (2); |
    And the real database "app.db"
      """
      CREATE TABLE t (a);
      """
    And a plan "half"
      """
      resources:
        data: {type: sqlite, location: app.db}
        files: {type: fs-directory, location: .}
      rollback_policy: {on_failure: keep}
      steps:
        - {name: fill, tool: sql, args: {script: m.sql}}
      """
    When the plan is executed
    Then it fails with "step_failed"
    And the message says "sql: m.sql, line 3: no such table: u"
    And the sandbox of "data" is a sound database that gives "0" for "SELECT count(*) FROM t"
    When someone writes "INSERT INTO t VALUES (1);" to "m.sql" in the sandbox of "files"
    And the user types "checkpoint create half --label mended"
    And the plan is executed on
    Then it succeeds
    And the sandbox of "data" is a sound database that gives "1" for "SELECT count(*) FROM t"

  Scenario: what is refused before anything runs
    Given a project folder
      | path   | content    |
      | no.db  | plain text |
      | folder | (folder)   |
    And the real database "yes.db"
      """
      CREATE TABLE t (a);
      """
    Then each of these resources is refused
      | resources                                                  | because                  |
      | {d: {type: sqlite, location: no.db}}                       | it is not a SQLite database |
      | {d: {type: sqlite, location: missing.db}}                  | it does not exist        |
      | {d: {type: sqlite, location: folder}}                      | a database is a file     |
      | {d: {type: sqlite, location: yes.db, strategy: in_place}}  | in_place does not work   |

  Scenario: the setting for folders is not about databases, and a plan may create one
    Given a project folder
    And a plan "fresh"
      """
      resources: {data: {type: sqlite, location: new/app.db, create: true}}
      config: {sandbox.strategy: git_worktree}
      steps:
        - {name: make, tool: sql, args: {statements: ["CREATE TABLE t (a)"]}, checkpoint: made}
        - {name: drop, tool: shell, args: {command: "rm app.db"}}
      """
    When the plan is executed
    Then it succeeds
    And nothing called "new" is in the real folder
    And the sandbox of "data" is gone
    When the plan is rolled back to "made"
    Then the sandbox of "data" is a sound database that gives "0" for "SELECT count(*) FROM t"
    When the plan is rolled back to "first"
    Then the sandbox of "data" is gone
