*** Settings ***
Documentation       Looking at settings and changing them.
Resource            program.resource
Suite Setup         A Project
Suite Teardown      Remove Project Folder


*** Test Cases ***
Every Setting Is Listed With Its Origin
    ${answer}=    Document    config    list
    ${found}=    Evaluate    {s["key"]: s["origin"] for s in $answer["data"]["settings"]}
    FOR    ${key}    IN    sandbox.checkpoint.auto-create-on    sandbox.checkpoint.max-checkpoints-per-plan
    ...    sandbox.strategy    sandbox.cleanup    sandbox.include-ignored    sandbox.at    sandbox.isolate    sandbox.writable
    ...    core.database.url    core.format    plan.max-parallel
        Dictionary Should Contain Key    ${found}    ${key}
        Should Be Equal    ${found}[${key}]    default
    END

A Setting Is Set, Got And Unset
    ${answer}=    Document    config    set    sandbox.checkpoint.auto-create-on    on_error,before_tool_execute
    ${wanted}=    Create List    on_tool_write    on_error
    Should Be Equal    ${answer}[data][value]    ${wanted}
    ${answer}=    Document    config    get    sandbox.checkpoint.auto-create-on
    Should Be Equal    ${answer}[data][value]    ${wanted}
    Should Contain    ${answer}[data][origin]    project file
    ${answer}=    Document    config    set    sandbox.checkpoint.auto-create-on    []
    Should Be Empty    ${answer}[data][value]
    Document    config    unset    sandbox.checkpoint.auto-create-on
    ${answer}=    Document    config    get    sandbox.checkpoint.auto-create-on
    ${wanted}=    Create List    before_step    after_subplan    on_error
    Should Be Equal    ${answer}[data][value]    ${wanted}
    ${answer}=    Document    config    set    max_checkpoints_per_plan    7
    Should Be Equal    ${answer}[data][key]    sandbox.checkpoint.max-checkpoints-per-plan
    Should Be Equal As Integers    ${answer}[data][value]    7

An Entry That Is Added To A List Leaves The Others
    ${default}=    Document    config    get    sandbox.writable
    Document    config    set    --add    sandbox.writable    ~/.agent
    ${answer}=    Document    config    get    sandbox.writable
    Should Be Equal    ${answer}[data][value]    ${{ [*$default["data"]["value"], "~/.agent"] }}
    Document    config    set    --remove    sandbox.writable    ~/.agent
    ${answer}=    Document    config    get    sandbox.writable
    Should Be Equal    ${answer}[data][value]    ${default}[data][value]

Unknown Keys And Bad Values Are Refused
    ${answer}=    It Should Be A Usage Error    setting_unknown    config    set    sandbox.clenup    manual
    Should Contain    ${answer}[error][hint]    sandbox.cleanup
    ${answer}=    It Should Be A Usage Error    setting_invalid    config    set    sandbox.cleanup    never
    Should Contain    ${answer}[error][hint]    on_terminal
    It Should Be A Usage Error    setting_invalid    config    set    plan.max-parallel    51
    It Should Be A Usage Error    setting_invalid    config    set    sandbox.include-ignored    perhaps
    ${answer}=    Document    config    get    sandbox.cleanup
    Should Be Equal    ${answer}[data][origin]    default

A File Of Settings That Is Broken Is Named With Its Line
    ${home}=    Project Home
    Append To File    ${home}/config.toml    \nnonsense = = 1\n
    ${answer}=    It Should Be A Usage Error    settings_file_invalid    plan    list
    Should Contain    ${answer}[error][message]    config.toml


*** Keywords ***
A Project
    ${folder}=    Make Project Folder
    Set Suite Variable    ${FOLDER}    ${folder}
    Document    init
