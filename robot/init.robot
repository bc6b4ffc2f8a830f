*** Settings ***
Documentation       A project is a folder with a project home; commands find the nearest one upwards.
Resource            program.resource
Test Setup          Make Project Folder
Test Teardown       Remove Project Folder


*** Test Cases ***
Init Makes A Project, Once
    ${folder}=    Project Folder
    ${answer}=    Document    init
    Should Be Equal    ${answer}[data][project]    ${folder}
    File Should Exist    ${answer}[data][database]
    File Should Exist    ${folder}/.mulligan/.gitignore
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
