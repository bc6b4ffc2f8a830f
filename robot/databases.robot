*** Settings ***
Documentation       A plan over a folder and the databases inside and beside it.
Resource            program.resource
Library             library/Databases.py
Suite Setup         A Plan Over Databases
Suite Teardown      Remove Project Folder


*** Variables ***
${STEPS}    SEPARATOR=\n
...         resources:
...         ${SPACE*2}app: {type: fs-directory, location: docs}
...         ${SPACE*2}data: {type: sqlite, location: docs/var/app.db}
...         ${SPACE*2}alone: {type: sqlite, location: alone.db}
...         steps:
...         ${SPACE*2}- {name: fill, tool: sql, resource: data, args: {statements: ["INSERT INTO t VALUES (2)", "SELECT count(*) AS n FROM t"]}}
...         ${SPACE*2}- {name: mark, checkpoint: filled}
...         ${SPACE*2}- {name: drop, tool: sql, resource: alone, args: {statements: ["DROP TABLE t"]}}
...         ${SPACE*2}- {name: lose, tool: shell, args: {command: rm -r var}}


*** Test Cases ***
The Real Databases Are Left Alone
    ${rows}=    Values Of    ${FOLDER}/docs/var/app.db    SELECT a FROM t
    Should Be Equal    ${rows}    ${{[1]}}
    ${rows}=    Values Of    ${FOLDER}/alone.db    SELECT a FROM t
    Should Be Equal    ${rows}    ${{[1]}}

A Database Inside A Folder Stands At Its Place In The Folder's Sandbox
    ${app}    ${data}    ${alone}=    Set Variable    ${PLAN}[sandboxes]
    Should Be Equal    ${data}[path]    ${app}[path]/var/app.db
    Should Be Equal    ${data}[strategy]    filesystem_copy
    Should Be Equal    ${data}[git_dir]    ${None}
    Should End With    ${alone}[path]    /alone/alone.db

All Resources Go Back Together
    Document    plan    rollback    --yes    databases    filled
    ${rows}=    Values Of    ${PLAN}[sandboxes][1][path]    SELECT a FROM t
    Should Be Equal    ${rows}    ${{[1, 2]}}
    ${rows}=    Values Of    ${PLAN}[sandboxes][2][path]    SELECT a FROM t
    Should Be Equal    ${rows}    ${{[1]}}
    ${check}=    Values Of    ${PLAN}[sandboxes][1][path]    PRAGMA integrity_check
    Should Be Equal    ${check}    ${{["ok"]}}
    File Should Not Exist    ${PLAN}[sandboxes][1][path]-wal

A Checkpoint's Database Is Written Into A New Folder
    ${list}=    Document    checkpoint    list    databases
    ${ids}=    Evaluate    [c["checkpoint_id"] for c in $list["data"]["checkpoints"] if c["resource"] == "data"]
    Document    checkpoint    restore    ${ids}[0]    --to    ${FOLDER}/one
    ${out}=    Dump Of    ${FOLDER}/one/app.db
    ${real}=    Dump Of    ${FOLDER}/docs/var/app.db
    Should Be Equal    ${out}    ${real}
    Document    checkpoint    restore    filled    --to    ${FOLDER}/all
    File Should Exist    ${FOLDER}/all/data/app.db
    File Should Exist    ${FOLDER}/all/alone/alone.db
    File Should Exist    ${FOLDER}/all/app/b.txt
    File Should Not Exist    ${FOLDER}/all/app/var/app.db

A Failing Statement Fails The Step And Is Told With Its Place
    ${text}=    Catenate    SEPARATOR=\n
    ...    name: bad
    ...    resources: {data: {type: sqlite, location: alone.db}}
    ...    steps: [{name: s, tool: sql, args: {statements: ["DELETE FROM t", "ATTACH 'x' AS y"]}}]
    Write Plan    bad    ${text}
    ${file}=    Plan File    bad
    ${answer}=    Document    plan    execute    ${file}    code=1
    Should Contain    ${answer}[error][message]    statement 2: ATTACH is refused
    ${rows}=    Values Of    ${answer}[data][sandboxes][0][path]    SELECT a FROM t
    Should Be Equal    ${rows}    ${{[1]}}

What Is No Database Is Refused
    ${text}=    Catenate    SEPARATOR=\n
    ...    name: none
    ...    resources: {data: {type: sqlite, location: a.txt}}
    ...    steps: [{name: s, checkpoint: c}]
    Write Plan    none    ${text}
    ${file}=    Plan File    none
    ${answer}=    It Should Be Refused    resource_unsuitable    plan    execute    ${file}
    Should Be Equal    ${answer}[error][resource]    data


*** Keywords ***
A Plan Over Databases
    ${folder}=    Make Project Folder
    Set Suite Variable    ${FOLDER}    ${folder}
    FOR    ${path}    IN    docs/var/app.db    alone.db
        Run SQL    ${folder}/${path}    PRAGMA journal_mode = WAL    CREATE TABLE t (a)    INSERT INTO t VALUES (1)
    END
    Write Plan    databases    name: databases\n${STEPS}
    ${file}=    Plan File    databases
    ${answer}=    Document    plan    execute    ${file}
    Set Suite Variable    ${PLAN}    ${answer}[data]
