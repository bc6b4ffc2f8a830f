*** Settings ***
Documentation       Applying a plan, taking that back, and going on after an apply that failed.
Resource            program.resource
Library             library/Databases.py
Test Setup          A Complete Plan
Test Teardown       Remove Project Folder


*** Variables ***
${STEPS}    SEPARATOR=\n
...         name: shown
...         resources:
...         ${SPACE*2}docs: {type: fs-directory, location: docs}
...         ${SPACE*2}data: {type: sqlite, location: app.db}
...         steps:
...         ${SPACE*2}- {name: change, tool: shell, args: {command: "echo plan > b.txt; mkdir new; echo plan > new/file"}}
...         ${SPACE*2}- {name: rows, tool: sql, resource: data, args: {statements: ["INSERT INTO t VALUES (2)"]}}


*** Test Cases ***
A Plan Is Applied And Taken Back
    ${before}=    Tree Of    ${FOLDER}/docs
    ${answer}=    Document    plan    apply    --dry-run    shown
    Should Be True    ${answer}[data][dry_run]
    ${found}=    Tree Of    ${FOLDER}/docs
    Should Be Equal    ${found}    ${before}
    ${answer}=    Document    plan    apply    --yes    shown
    Envelope Should Be Whole    ${answer}    plan apply    ok    0
    Should Be Equal    ${answer}[data][state]    applied
    Should Be Equal    ${answer}[data][sandbox_cleanup]    removed
    Should Have Fields    ${answer}[data][applied][0]    resource    files    insertions    deletions    commit
    ...    uncommitted
    Rows Should Be    ${{[1, 2]}}
    ${content}=    Get File    ${FOLDER}/docs/b.txt
    Should Be Equal    ${content}    plan\n
    It Should Be Refused    plan_already_applied    plan    rollback    --yes    shown    first
    ${answer}=    Document    plan    unapply    --yes    shown
    Should Be Equal    ${answer}[data][phase]/${answer}[data][state]    execute/complete
    ${found}=    Tree Of    ${FOLDER}/docs
    Should Be Equal    ${found}    ${before}
    Rows Should Be    ${{[1]}}

A Conflict Changes Nothing And Is Listed
    Write File    docs/b.txt    someone else
    ${before}=    Tree Of    ${FOLDER}/docs
    FOR    ${option}    IN    --dry-run    --yes
        ${answer}=    Document    plan    apply    ${option}    shown    code=4
        Should Be Equal    ${answer}[error][kind]    apply_conflicted
        Should Be Equal    ${answer}[data][conflicts][0][path]    b.txt
    END
    ${found}=    Tree Of    ${FOLDER}/docs
    Should Be Equal    ${found}    ${before}
    ${status}=    Document    plan    status    shown
    Should Be Equal    ${status}[data][state]    constrained
    Should Be Equal    ${status}[data][conflicts][0][resource]    docs

After An Apply That Failed The Plan Can Be Rolled Back
    ${before}=    Tree Of    ${FOLDER}/docs
    Set Variable Of Environment    MULLIGAN_FAULT    before:restore.place:1:ENOSPC
    ${answer}=    Document    plan    apply    --yes    shown    code=1
    Should Be Equal    ${answer}[error][kind]    restore_failed
    Should Contain    ${answer}[error][hint]    as it was before
    Set Variable Of Environment    MULLIGAN_FAULT
    ${found}=    Tree Of    ${FOLDER}/docs
    Should Be Equal    ${found}    ${before}
    Rows Should Be    ${{[1]}}
    ${answer}=    Document    plan    rollback    --yes    shown    first
    Should Be Equal    ${answer}[data][post_rollback_state][state]    queued
    ${sandbox}=    Tree Of    ${PLAN}[sandboxes][0][path]
    Should Be Equal    ${sandbox}    ${before}
    Document    plan    execute    shown
    Document    plan    apply    --yes    shown
    Rows Should Be    ${{[1, 2]}}

On A Terminal It Shows, Asks, And Does What It Is Told
    ${before}=    Tree Of    ${FOLDER}/docs
    ${ended}=    Answer On A Terminal    n    plan    apply    shown
    Should Be Equal As Integers    ${ended.code}    3
    Should Contain    ${ended.stdout}    new/file
    ${found}=    Tree Of    ${FOLDER}/docs
    Should Be Equal    ${found}    ${before}
    ${ended}=    Answer On A Terminal    y    plan    apply    shown
    Should Be Equal As Integers    ${ended.code}    0
    Rows Should Be    ${{[1, 2]}}

Two Plans That Are Applied At Once Wait For Each Other
    Document    run    --name    other    --    sh    -c    echo other > other.txt
    ${first}    ${second}=    Run Behind Another    apply --yes other    apply    --yes    shown
    Should Be Equal As Integers    ${first.code}    0
    Should Be Equal As Integers    ${second.code}    0
    Should Contain    ${second.stdout}    waiting for other
    ${other}=    Get File    ${FOLDER}/other.txt
    ${shown}=    Get File    ${FOLDER}/docs/b.txt
    Should Be Equal    ${other}${shown}    other\nplan\n
    Rows Should Be    ${{[1, 2]}}


*** Keywords ***
A Complete Plan
    ${folder}=    Make Project Folder
    Set Test Variable    ${FOLDER}    ${folder}
    Run Sql    ${FOLDER}/app.db    CREATE TABLE t (a)    INSERT INTO t VALUES (1)
    ${file}=    Write Plan    shown    ${STEPS}
    ${answer}=    Document    plan    execute    ${file}
    Set Test Variable    ${PLAN}    ${answer}[data]

Rows Should Be
    [Arguments]    ${wanted}
    ${rows}=    Values Of    ${FOLDER}/app.db    SELECT a FROM t
    Should Be Equal    ${rows}    ${wanted}
