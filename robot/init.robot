*** Settings ***
Documentation       A project is a folder with a project home; commands find the nearest one upwards.
Resource            program.resource
Library             library/Databases.py
Test Setup          Make Project Folder
Test Teardown       Remove Project Folder


*** Test Cases ***
Init Makes A Project, Once
    ${folder}=    Project Folder
    ${answer}=    Document    init
    Should Be Equal    ${answer}[data][project]    ${folder}
    File Should Exist    ${answer}[data][database]
    File Should Exist    ${folder}/.mulligan/.gitignore
    Directory Should Exist    ${answer}[data][home]
    ${again}=    Document    init
    Should Be Equal    ${again}[data][database]    ${answer}[data][database]
    ${other}=    Document    init    docs
    Should Be Equal    ${other}[data][project]    ${folder}/docs

Without A Project Commands Are Refused
    FOR    ${line}    IN    plan list    plan status    plan execute tour    plan rollback --yes tour first
    ...    plan cancel tour    checkpoint list    checkpoint show first    checkpoint verify    config list
    ...    config set core.format json
        @{words}=    Split String    ${line}
        ${answer}=    It Should Be Refused    project_not_found    @{words}
        Should Contain    ${answer}[error][hint]    mulligan init
    END
    ${folder}=    Project Folder
    Directory Should Not Exist    ${folder}/.mulligan

A Command That Fails Makes No Project
    ${folder}=    Project Folder
    ${before}=    List Directory    ${folder}
    ${typo}=    Write Plan    typo    name: typo\nsteps:\n- {name: x, tool: shel, args: {command: ls}}\n
    FOR    ${code}    ${line}    IN
    ...    2    plan execute ${typo}
    ...    2    plan create nothing.yaml
    ...    125    run --resource nowhere -- true
    ...    125    -c sandbox.at=nowhere run -- true
    ...    3    apply --yes
    ...    127    run -- no-such-program
        @{words}=    Split String    ${line}
        Document    @{words}    code=${code}
    END
    ${after}=    List Directory    ${folder}
    Should Be Equal    ${after}    ${before}
    Directory Should Be Empty    ${folder}/../home

A Project Of An Earlier Version Goes On, And One Of A Later Version Is Left Alone
    ${folder}=    Unpack An Earlier Project
    Document    plan    rollback    --yes    tree    first
    ${answer}=    Document    resume    tree
    ${sandbox}=    Set Variable    ${answer}[data][sandboxes][0][path]
    ${text}=    Get File    ${sandbox}/a.txt
    Should Be Equal    ${text}    one\ntwo\n
    Document    doctor
    ${home}=    Project Home
    Run Sql    ${home}/mulligan.db    UPDATE schema_version SET version \= version + 1
    ${answer}=    It Should Be Refused    database_too_new    list
    Should Not Contain    ${answer}[error][hint]    disk
    Run Sql    ${home}/mulligan.db    UPDATE schema_version SET version \= version - 2
    ${answer}=    Document    list    code=1
    Should Be Equal    ${answer}[error][kind]    database_unusable
    Should Not Contain    ${answer}[error][hint]    disk

A Project Is Found From Below, By Option And By Environment
    ${folder}=    Project Folder
    Document    init
    ${file}=    Plan File    tour
    Document    plan    create    ${file}
    ${answer}=    Document    plan    list    cwd=${folder}/docs
    Should Be Equal    ${answer}[data][plans][0][name]    tour
    ${answer}=    Document    plan    list    --project    ${folder}    cwd=/
    Length Should Be    ${answer}[data][plans]    1
    Set Variable Of Environment    MULLIGAN_PROJECT    ${folder}
    ${answer}=    Document    plan    list    cwd=/
    Length Should Be    ${answer}[data][plans]    1
    Document    --project    /    plan    list    code=3

Creating And Executing A Plan File Make A Project In The Current Folder
    ${folder}=    Project Folder
    ${file}=    Plan File    tour
    Document    plan    create    ${file}    cwd=${folder}/docs
    Directory Should Exist    ${folder}/docs/.mulligan
    Directory Should Not Exist    ${folder}/.mulligan
    Document    plan    execute    ${file}
    Directory Should Exist    ${folder}/.mulligan
