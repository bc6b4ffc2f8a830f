*** Settings ***
Documentation       With json and yaml every command prints one document, and nothing else, on stdout.
Resource            program.resource
Suite Setup         A Project With The Plan    tour
Suite Teardown      Remove Project Folder


*** Test Cases ***
Every Command That Reads Answers With A Whole Envelope
    FOR    ${line}    IN    plan list    plan status    plan log    plan tree    plan diff    checkpoint list
    ...    checkpoint show latest    checkpoint diff first latest    checkpoint list --limit 1
    ...    checkpoint verify    config list    config get core.format
        @{words}=    Split String    ${line}
        ${command}=    Catenate    ${words}[0]    ${words}[1]
        ${answer}=    Document    @{words}
        Envelope Should Be Whole    ${answer}    ${command}    ok    0
        ${same}=    Yaml Document    @{words}
        Envelope Should Be Whole    ${same}    ${command}    ok    0
        Should Be Equal    ${same}[data]    ${answer}[data]
    END

Usage Errors Are Documents Too
    FOR    ${line}    IN    plan rollback    plan rolback    plan    nonsense    plan status --nonsense
    ...    plan list --state nonsense    checkpoint create tour    config set core.format    -c nonsense plan list
        @{words}=    Split String    ${line}
        ${answer}=    Document    @{words}    code=2
        Should Be Equal    ${answer}[status]    error
        Should Be Equal    ${answer}[error][kind]    usage_wrong
        Should Not Be Empty    ${answer}[error][hint]
        Should Be Equal    ${answer}[data]    ${None}
    END
    ${answer}=    Yaml Document    plan    rollback    tour    code=2
    Envelope Should Be Whole    ${answer}    plan rollback    error    2

A Misspelt Command Is Answered With The Nearest
    ${answer}=    Document    plan    rolback    code=2
    Should Contain    ${answer}[error][hint]    plan rollback

The Format Stands Before Or After The Command
    FOR    ${line}    IN    --format json plan list    plan --format json list    plan list --format json
    ...    plan list --format=json
        @{words}=    Split String    ${line}
        ${ended}=    Run    @{words}
        Should Be Equal As Integers    ${ended.code}    0
        Should Start With    ${ended.stdout}    {
        Should Be Empty    ${ended.stderr}
    END
    ${ended}=    Run    plan    list    --format    nonsense
    Should Be Equal As Integers    ${ended.code}    2
    Should Contain    ${ended.stderr}    yaml

The Format Comes From The Environment And The Settings
    Set Variable Of Environment    MULLIGAN_CORE_FORMAT    yaml
    ${ended}=    Run    plan    list
    Should Start With    ${ended.stdout}    command: plan list
    Set Variable Of Environment    MULLIGAN_CORE_FORMAT
    Document    config    set    core.format    json
    ${ended}=    Run    plan    list
    Should Start With    ${ended.stdout}    {
    ${ended}=    Run    plan    list    --format    plain
    Should Start With    ${ended.stdout}    PLAN
    Document    config    unset    core.format

A Step That Failed Is Answered With Data And Error
    ${file}=    Plan File    failing
    ${answer}=    Document    plan    execute    ${file}    code=1
    Envelope Should Be Whole    ${answer}    plan execute    error    1
    Should Be Equal    ${answer}[data][state]    errored
    Should Be Equal    ${answer}[error][kind]    step_failed
    Should Be Equal    ${answer}[error][step]    bad
    Should Contain    ${answer}[error][message]    so bad
    Should Be Equal    ${answer}[data][error][checkpoint]    ${answer}[error][checkpoint]
