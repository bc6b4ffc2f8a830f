*** Settings ***
Documentation       Child plans from outside: run, merged, mended, gone back from; killed and gone on with.
Resource            program.resource
Test Setup          Make Project Folder
Test Teardown       Remove Project Folder


*** Test Cases ***
Children Come Together And Are Seen
    ${file}=    Plan File    parts
    ${answer}=    Document    plan    execute    ${file}
    Envelope Should Be Whole    ${answer}    plan execute    ok    0
    Should Be Equal As Integers    ${answer}[data][execution][child_plans]    2
    ${tree}=    Tree Of    ${answer}[data][sandboxes][0][path]
    Dictionary Should Contain Key    ${tree}    one
    Dictionary Should Contain Key    ${tree}    two
    ${child}=    Document    plan    status    first
    Should Be Equal    ${child}[data][parent_plan_id]    ${answer}[data][plan_id]
    ${list}=    Document    plan    list
    ${parents}=    Evaluate    [plan["parent_plan_id"] for plan in $list["data"]["plans"]]
    Should Be Equal    ${parents}    ${{[None, $answer["data"]["plan_id"], $answer["data"]["plan_id"]]}}
    ${shown}=    Run    plan    tree    parts
    Should Contain    ${shown.stdout}    plan first, complete (parts.first)
    It Should Be Refused    plan_is_child    plan    cancel    first
    It Should Be Refused    plan_not_ready    plan    apply    --yes    first

A Fork Starts From A Checkpoint And Knows Its Origin
    ${file}=    Plan File    parts
    ${origin}=    Document    plan    execute    ${file}
    ${fork}=    Document    plan    fork    parts@1    --name    other
    Envelope Should Be Whole    ${fork}    plan fork    ok    0
    Should Be Equal    ${fork}[data][handle]    other
    Should Be Equal    ${fork}[data][state]    queued
    Should Be Equal    ${fork}[data][forked_from][plan_id]    ${origin}[data][plan_id]
    Should Be Equal As Integers    ${fork}[data][forked_from][number]    1
    ${done}=    Document    resume    other
    ${tree}=    Tree Of    ${done}[data][sandboxes][0][path]
    Dictionary Should Contain Key    ${tree}    two
    It Should Be Refused    checkpoint_not_found    fork    parts@99

A Conflict Ends With Exit Code 4 And Is Mended By Hand
    ${file}=    Plan File    clash
    ${answer}=    Document    plan    execute    ${file}    code=4
    Envelope Should Be Whole    ${answer}    plan execute    error    4
    Should Be Equal    ${answer}[error][kind]    subplan_conflicts
    Should Be Equal    ${answer}[data][state]    constrained
    Should Be Equal    ${answer}[data][conflicts][0][path]    words
    ${words}=    Set Variable    ${answer}[data][sandboxes][0][path]/words
    ${found}=    Get File    ${words}
    Should Be Equal    ${found}    <<<<<<< clash\nmine\n=======\nyours\n>>>>>>> second\n
    ${answer}=    Document    plan    resume    clash    code=4
    Should Be Equal    ${answer}[error][kind]    conflicts_unresolved
    It Should Be Refused    markers_left    plan    resolve    clash
    Create File    ${words}    ours\n
    ${answer}=    Document    plan    resolve    clash    words
    Should Be Equal    ${answer}[data][state]    queued
    Should Be Empty    ${answer}[data][conflicts]
    ${answer}=    Document    plan    resume    clash
    Should Be Equal    ${answer}[data][state]    complete
    ${found}=    Get File    ${words}
    Should Be Equal    ${found}    ours\n

An Interrupted Family Goes On Later
    ${file}=    Plan File    long
    ${ended}=    Interrupt    SIGINT    plan    execute    ${file}
    Should Be Equal As Integers    ${ended.code}    130
    ${status}=    Document    plan    status    long
    Should Be Equal    ${status}[data][state]    queued
    ${status}=    Document    plan    status    slow
    Should Be Equal    ${status}[data][state]    queued
    ${answer}=    Document    plan    rollback    --yes    long    first
    Should Be Equal As Integers    ${answer}[data][impact][child_plans_invalidated]    2
    ${status}=    Document    plan    status    slow
    Should Be Equal    ${status}[data][state]    cancelled
    Should Be Empty    ${status}[data][sandboxes]
