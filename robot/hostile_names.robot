*** Settings ***
Documentation       What a plan or a file is called cannot harm the terminal of whoever looks.
Resource            program.resource
Suite Setup         A Plan With Hostile Names
Suite Teardown      Remove Project Folder


*** Variables ***
${ESCAPE}       \x1b[31mred


*** Test Cases ***
A Label With An Escape Sequence Is Refused
    Document    checkpoint    create    hostile    --label    ${ESCAPE}    code=2
    ${ended}=    Run    checkpoint    create    hostile    --label    ${ESCAPE}
    Should Have No Escapes    ${ended.stderr}
    ${file}=    Write Plan    red    {name: red, steps: [{name: x, checkpoint: "\\e[31mred"}]}
    ${ended}=    Run    plan    create    ${file}
    Should Be Equal As Integers    ${ended.code}    2
    Should Have No Escapes    ${ended.stderr}

Words That Match Nothing Are Shown Harmless
    FOR    ${line}    IN    plan status    checkpoint show    config get    plan
        @{words}=    Split String    ${line}
        ${ended}=    Run    @{words}    ${ESCAPE}
        Should Have No Escapes    ${ended.stderr}
        Should Have No Escapes    ${ended.stdout}
        Should Contain    ${ended.stderr}    red
    END

Names Of Files Are Shown Harmless
    ${ended}=    Run    plan    rollback    --dry-run    hostile    first
    Should Have No Escapes    ${ended.stdout}
    Should Contain    ${ended.stdout}    [31mred
    ${ended}=    Answer On A Terminal    n    plan    rollback    hostile    first
    Should Not Contain    ${ended.stdout}    ${ESCAPE}
    Should Contain    ${ended.stdout}    [31mred

Names That Are Not UTF-8 Are Spelled In Documents
    ${answer}=    Document    plan    rollback    --dry-run    hostile    first
    ${files}=    Evaluate    [c["file"] for c in $answer["data"]["changes_reverted"]]
    List Should Contain Value    ${files}    latin-\\xe9
    List Should Contain Value    ${files}    ${ESCAPE}

What A Failed Command Said Is Shown Harmless
    ${file}=    Write Plan    loud
    ...    {name: loud, steps: [{name: x, tool: shell, args: {command: "printf '\\\\033[31mred' >&2; false"}}]}
    ${ended}=    Run    plan    execute    ${file}    --format    json
    Should Be Equal As Integers    ${ended.code}    1
    Should Have No Escapes    ${ended.stdout}
    ${ended}=    Run    plan    status
    Should Have No Escapes    ${ended.stdout}
    ${ended}=    Run    plan    log
    Should Have No Escapes    ${ended.stdout}


*** Keywords ***
A Plan With Hostile Names
    Make Project Folder
    ${file}=    Write Plan    hostile
    ...    {name: hostile, steps: [{name: make, tool: shell, args: {command: 'touch "$(printf "\\033[31mred")" "$(printf "latin-\\351")"'}}]}
    Document    plan    execute    ${file}
