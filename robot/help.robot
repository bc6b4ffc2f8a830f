*** Settings ***
Documentation       Every command's help has an example and its exit codes.
Resource            program.resource
Suite Setup         Make Project Folder
Suite Teardown      Remove Project Folder


*** Test Cases ***
Commands Explain Themselves
    [Documentation]    That each of them does is shown in one process, by tests/commands/test_words.py.
    FOR    ${line}    IN    undo    plan rollback    checkpoint restore    config set    tool trust
        @{words}=    Split String    ${line}
        ${ended}=    Run    @{words}    --help
        Should Be Equal As Integers    ${ended.code}    0
        Should Contain    ${ended.stdout}    Usage: mulligan ${line}
        Should Match Regexp    ${ended.stdout}    Example:\n +mulligan ${line}
        Should Match Regexp    ${ended.stdout}    Exit codes:\n +0 +done\n
        Should Match Regexp    ${ended.stdout}    (?m)^ +2 +wrong usage
        Should Contain    ${ended.stdout}    --format
    END

Commands That Run Another One Explain Their Own Exit Codes
    FOR    ${line}    IN    run    shell
        ${ended}=    Run    ${line}    --help
        Should Be Equal As Integers    ${ended.code}    0
        Should Match Regexp    ${ended.stdout}    Example:\n +mulligan ${line}
        Should Match Regexp    ${ended.stdout}    Exit codes:\n +0 +done\n +125 .*\n +126 .*\n +127 .*
    END

Help Has Its Short Name Everywhere
    FOR    ${line}    IN    ${EMPTY}    plan    plan rollback    checkpoint restore    gc
        @{words}=    Split String    ${line}
        ${short}=    Run    @{words}    -h
        ${long}=    Run    @{words}    --help
        Should Be Equal As Integers    ${short.code}    0
        Should Be Equal    ${short.stdout}    ${long.stdout}
    END

The Groups List Their Commands
    ${ended}=    Run    --help
    FOR    ${word}    IN    checkpoint    config    gc    init    plan    redo    run    tool    undo
        Should Match Regexp    ${ended.stdout}    (?m)^ +${word} +\\S
    END
    ${ended}=    Run    --version
    Should Match Regexp    ${ended.stdout}    \\d+\\.\\d+\\.\\d+

A Group Without A Command Shows Its Help And Is A Usage Error
    ${ended}=    Run    plan
    Should Be Equal As Integers    ${ended.code}    2
    Should Contain    ${ended.stdout}    rollback
