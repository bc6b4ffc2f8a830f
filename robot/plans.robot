*** Settings ***
Documentation       Creating, listing, naming and looking at plans.
Resource            program.resource
Suite Setup         Two Plans
Suite Teardown      Remove Project Folder


*** Test Cases ***
A Created Plan Is Recorded And Nothing Runs
    Should Be Equal    ${CREATED}[phase]    strategize
    Should Be Equal    ${CREATED}[state]    complete
    Should Be Equal    ${CREATED}[last_checkpoint_id]    ${None}
    Should Be Empty    ${CREATED}[sandboxes]
    Should Have Fields    ${CREATED}    plan_id    name    attempt    steps    resumed_from
    Length Should Be    ${CREATED}[steps]    2

An Executed Plan Has A Last Checkpoint And All Fields Of A Status
    ${answer}=    Document    plan    status    tour
    ${status}=    Set Variable    ${answer}[data]
    Should Have Fields    ${status}    plan_id    name    phase    state    attempt    steps    last_checkpoint_id
    ...    sandboxes    resumed_from    parent_plan_id    execution    conflicts    error    timing
    Should Have Fields    ${status}[execution]    tool_calls    files_modified    child_plans    decisions    checkpoints
    Should Have Fields    ${status}[sandboxes][0]    resource    strategy    path    branch    git_dir
    Should Have Fields    ${status}[steps][0]    index    name    status    duration_ms
    Should Not Be Equal    ${status}[last_checkpoint_id]    ${None}
    ${list}=    Document    checkpoint    list    tour
    Should Be Equal    ${status}[last_checkpoint_id]    ${list}[data][checkpoints][-1][checkpoint_id]
    Should Start With    ${status}[sandboxes][0][path]    /

Plans Are Listed, Also By State
    ${answer}=    Document    plan    list
    Length Should Be    ${answer}[data][plans]    2
    Should Have Fields    ${answer}[data][plans][0]    plan_id    name    phase    state    steps_done    steps_total
    ...    updated_at
    Should Be Equal As Integers    ${answer}[data][plans][0][steps_done]    4
    ${answer}=    Document    plan    list    --state    errored
    Should Be Empty    ${answer}[data][plans]

A Plan Is Named By Id, Prefix, Name Or As The Latest
    ${id}=    Set Variable    ${PLAN}[plan_id]
    ${prefix}=    Get Substring    ${id}    0    25
    ${small}=    Convert To Lower Case    ${id}
    FOR    ${word}    IN    ${id}    ${prefix}    ${small}    tour
        ${answer}=    Document    plan    status    ${word}
        Should Be Equal    ${answer}[data][plan_id]    ${id}
    END
    ${answer}=    Document    plan    status
    Should Be Equal    ${answer}[data][name]    failing
    ${answer}=    Document    plan    status    latest
    Should Be Equal    ${answer}[data][name]    failing

Unknown And Ambiguous Plans Are Refused With The Candidates
    It Should Be Refused    plan_not_found    plan    status    nobody
    ${prefix}=    Get Substring    ${PLAN}[plan_id]    0    4
    ${answer}=    It Should Be Refused    ambiguous    plan    status    ${prefix}
    Should Contain    ${answer}[error][message]    ${PLAN}[plan_id]
    Should Contain    ${answer}[error][message]    ${CREATED}[plan_id]

The Log Tells Everything In Order
    ${answer}=    Document    plan    log    tour
    ${types}=    Evaluate    [event["type"] for event in $answer["data"]["events"]]
    Should Be Equal    ${types}[0]    plan_created
    FOR    ${type}    IN    step_started    step_done    tool_called    decision    checkpoint
        List Should Contain Value    ${types}    ${type}
    END
    ${seqs}=    Evaluate    [event["seq"] for event in $answer["data"]["events"]]
    ${sorted}=    Evaluate    sorted(set($seqs))
    Should Be Equal    ${seqs}    ${sorted}

A Plan File That Cannot Be Read Or Run Is A Usage Error
    It Should Be A Usage Error    plan_file_invalid    plan    create    ${CURDIR}/program.resource
    ${answer}=    Document    plan    create    nothing.yaml    code=2
    Should Contain    ${answer}[error][message]    nothing.yaml
    ${file}=    Write Plan    broken    name: broken\nsteps:\n- {name: x, tool: shel, args: {command: ls}}\n
    ${answer}=    It Should Be A Usage Error    plan_file_invalid    plan    execute    ${file}
    Should Have Fields    ${answer}[error]    file    line    column    path    nearest
    Should Be Equal    ${answer}[error][nearest]    shell
    Should Be Equal As Integers    ${answer}[error][line]    3
    ${ended}=    Run    plan    execute    ${file}
    Should Contain    ${ended.stderr}    broken.yaml:3:


*** Keywords ***
Two Plans
    A Project With The Plan    tour
    ${file}=    Plan File    failing
    ${answer}=    Document    plan    create    ${file}
    Set Suite Variable    ${CREATED}    ${answer}[data]
