*** Settings ***
Documentation       Hooks of coding agents: what the commands answer, and what they ask.
Resource            program.resource
Test Setup          Make Project Folder
Test Teardown       Remove Project Folder


*** Test Cases ***
Hooks Are Written And Taken Out Again
    ${answer}=    Document    agent    install    codex    --scope    project    --yes
    Envelope Should Be Whole    ${answer}    agent install    ok    0
    ${folder}=    Project Folder
    Should Be Equal    ${answer}[data][agents][0][files][0][path]    ${folder}/.codex/hooks.json
    Should Be Equal    ${answer}[data][agents][0][files][0][action]    created
    ${hooks}=    Get File    ${folder}/.codex/hooks.json
    Should Contain    ${hooks}    mulligan hook codex
    ${answer}=    Document    agent    uninstall    codex    --scope    project    --yes
    Should Be Equal    ${answer}[data][agents][0][files][0][action]    removed
    Directory Should Not Exist    ${folder}/.codex

Without A Terminal Nothing Is Written Unless The User Said Yes
    It Should Be Refused    confirmation_missing    agent    install    codex    --scope    project
    ${folder}=    Project Folder
    Directory Should Not Exist    ${folder}/.codex

On A Terminal The Change Is Shown And Asked For
    ${ended}=    Answer On A Terminal    n    agent    install    codex    --scope    project
    Should Be Equal As Integers    ${ended.code}    3
    Should Contain    ${ended.stdout}    mulligan hook codex
    ${folder}=    Project Folder
    Directory Should Not Exist    ${folder}/.codex

An Agent That Nobody Knows Is A Usage Error
    It Should Be A Usage Error    usage_wrong    agent    install    vim
    It Should Be A Usage Error    usage_wrong    agent    install

A Hook That Is Not Installed Does Not Work
    ${answer}=    Document    agent    doctor    goose    code=1
    Should Be Equal    ${answer}[error][kind]    hooks_unwell
    Should Be Equal    ${answer}[data][tests][0][works]    ${False}
