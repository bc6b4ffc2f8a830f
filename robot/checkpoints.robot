*** Settings ***
Documentation       Listing, showing, taking, verifying and restoring checkpoints.
Resource            program.resource
Suite Setup         A Project With The Plan    tour
Suite Teardown      Remove Project Folder


*** Test Cases ***
Checkpoints Are Listed Newest Last With All Fields
    ${answer}=    Document    checkpoint    list
    Should Have Fields    ${answer}[data][checkpoints][0]    checkpoint_id    group_id    seq    plan_id    decision_id
    ...    resource    checkpoint_type    label    step_index    state_hash    sandbox_ref    filesystem_path
    ...    size_bytes    modified    created_at    parent_group_id    superseded    metadata
    ${types}=    Evaluate    [c["checkpoint_type"] for c in $answer["data"]["checkpoints"]]
    ${wanted}=    Create List    pre_execute    before_step    manual    before_step    decision    before_step
    ...    before_step    manual    post_execute
    Should Be Equal    ${types}    ${wanted}

One Checkpoint Is Shown By Any Of Its Names
    ${list}=    Document    checkpoint    list    tour
    ${wanted}=    Set Variable    ${list}[data][checkpoints][2]
    FOR    ${word}    IN    ${wanted}[checkpoint_id]    ${wanted}[group_id]    written
        ${answer}=    Document    checkpoint    show    ${word}
        Should Be Equal    ${answer}[data]    ${wanted}
    END
    ${answer}=    Document    checkpoint    show    latest
    Should Be Equal    ${answer}[data][checkpoint_type]    post_execute
    ${answer}=    Document    checkpoint    show    first
    Should Be Equal    ${answer}[data][checkpoint_type]    pre_execute
    It Should Be Refused    checkpoint_not_found    checkpoint    show    nowhere
    ${answer}=    It Should Be Refused    checkpoint_not_found    checkpoint    show    writen
    Should Contain    ${answer}[error][hint]    'written'

A Checkpoint's Files Are Restored Into A New Folder
    ${real}=    Make A Copy Of The Real Tree
    ${folder}=    Project Folder
    ${target}=    Set Variable    ${folder}/../restored
    ${list}=    Document    checkpoint    list    tour
    ${answer}=    Document    checkpoint    restore    ${list}[data][checkpoints][0][checkpoint_id]    --to    ${target}
    ${found}=    Tree Of    ${target}
    Should Be Equal    ${found}    ${real}
    It Should Be Refused    target_exists    checkpoint    restore    first    --to    ${target}
    ${answer}=    Document    checkpoint    restore    changed    --to    ${target}-by-label
    Should Be Equal    ${answer}[data][restored][0][resource]    workspace
    ${found}=    Tree Of    ${target}-by-label/workspace
    ${sandbox}=    Tree Of    ${PLAN}[sandboxes][0][path]
    Should Be Equal    ${found}    ${sandbox}
    Should Not Contain    ${answer}[data][restored][0][path]    ..
    Should Start With    ${answer}[data][restored][0][path]    /

All Checkpoints Are Verified, Quickly Or To The Byte
    FOR    ${option}    IN    --quick    latest
        ${answer}=    Document    checkpoint    verify    ${option}
        Should Be Empty    ${answer}[data][damaged]
    END
    ${answer}=    Document    checkpoint    verify
    ${list}=    Document    checkpoint    list    --all
    ${count}=    Get Length    ${list}[data][checkpoints]
    Should Be Equal As Integers    ${answer}[data][checked]    ${count}

A Labelled Checkpoint Is Taken By Hand
    ${answer}=    Document    checkpoint    create    tour    --label    by hand
    Should Be Equal    ${answer}[data][checkpoint_type]    manual
    Should Be Equal    ${answer}[data][label]    by hand
    Should Be Equal As Integers    ${answer}[data][step_index]    4
    Should Not Be True    ${answer}[data][modified]
    Should Be Equal As Integers    ${answer}[data][size_bytes]    0
    ${status}=    Document    plan    status    tour
    Should Be Equal    ${status}[data][last_checkpoint_id]    ${answer}[data][checkpoint_id]
    ${again}=    Document    checkpoint    create    tour    --label    by hand
    Should Contain    ${again}[messages][0]    name each by its number
    ${answer}=    It Should Be Refused    ambiguous    checkpoint    show    by hand
    Document    checkpoint    create    tour    --label    latest    code=2

Superseded Checkpoints Are Listed Only On Request
    Document    plan    rollback    --yes    tour    written
    ${live}=    Document    checkpoint    list    tour
    ${all}=    Document    checkpoint    list    tour    --all
    Length Should Be    ${live}[data][checkpoints]    3
    ${left}=    Evaluate    [c for c in $all["data"]["checkpoints"] if c["superseded"]]
    ${count}=    Evaluate    len($all["data"]["checkpoints"]) - 3
    Length Should Be    ${left}    ${count}


*** Keywords ***
Make A Copy Of The Real Tree
    ${folder}=    Project Folder
    ${tree}=    Tree Of    ${folder}
    RETURN    ${tree}
