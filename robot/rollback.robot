*** Settings ***
Documentation       Rolling back in a new process gives the exact trees of then.
Resource            program.resource
Test Setup          A Project With The Plan    tour
Test Teardown       Remove Project Folder


*** Test Cases ***
A Rollback Gives The Exact Tree Of The Checkpoint
    ${folder}=    Project Folder
    ${real}=    Tree Of    ${folder}
    ${sandbox}=    Set Variable    ${PLAN}[sandboxes][0][path]
    ${after}=    Tree Of    ${sandbox}
    ${answer}=    Document    plan    rollback    --yes    tour    first
    Envelope Should Be Whole    ${answer}    plan rollback    ok    0
    ${found}=    Tree Of    ${sandbox}
    Should Be Equal    ${found}    ${real}
    Should Have Fields    ${answer}[data][rollback_summary]    plan    checkpoint    label    files_reverted
    Should Have Fields    ${answer}[data][impact]    child_plans_invalidated    decisions_discarded
    ...    tool_calls_undone    undo    undo_failed    irreversible
    Should Have Fields    ${answer}[data][post_rollback_state]    phase    state    step_index
    ...    checkpoints_remaining    pre_rollback_checkpoint
    Should Have Fields    ${answer}[data][changes_reverted][0]    resource    file    action
    Should Be Equal    ${answer}[data][rollback_summary][direction]    back
    ${answer}=    Document    plan    rollback    -y    tour
    ...    ${answer}[data][post_rollback_state][pre_rollback_checkpoint]
    Should Be Equal    ${answer}[data][rollback_summary][direction]    forward
    ${found}=    Tree Of    ${sandbox}
    Should Be Equal    ${found}    ${after}
    Document    plan    rollback    --yes    ${PLAN}[plan_id]    written
    ${found}=    Tree Of    ${sandbox}
    Should Be Equal    ${found}[a.txt]    ${real}[a.txt]
    Dictionary Should Contain Key    ${found}    new.txt
    ${answer}=    Document    plan    execute    tour
    Should Be Equal As Integers    ${answer}[data][resumed_from][step_index]    1
    ${found}=    Tree Of    ${sandbox}
    Should Be Equal    ${found}    ${after}

A Checkpoint Is Named By Id, Prefix, Group, Label Or Word
    ${list}=    Document    checkpoint    list    tour
    ${marked}=    Set Variable    ${list}[data][checkpoints][2]
    ${prefix}=    Get Substring    ${marked}[checkpoint_id]    0    25
    Should Be Equal    ${marked}[label]    written
    FOR    ${word}    IN    ${marked}[checkpoint_id]    ${marked}[group_id]    written
        ${answer}=    Document    plan    rollback    --dry-run    tour    ${word}
        Should Be Equal    ${answer}[data][rollback_summary][checkpoint]    ${marked}[checkpoint_id]
        Should Be Equal    ${answer}[data][rollback_summary][label]    written
    END
    ${answer}=    Document    plan    rollback    --dry-run    tour    latest
    Should Be Equal    ${answer}[data][rollback_summary][checkpoint]    ${PLAN}[last_checkpoint_id]
    Should Be Equal As Integers    ${answer}[data][rollback_summary][files_reverted]    0

Without A Terminal And Without Yes It Refuses And Says What To Do
    ${before}=    Tree Of    ${PLAN}[sandboxes][0][path]
    ${ended}=    Run    plan    rollback    tour    first
    Should Be Equal As Integers    ${ended.code}    3
    Should Contain    ${ended.stderr}    --yes
    ${found}=    Tree Of    ${PLAN}[sandboxes][0][path]
    Should Be Equal    ${found}    ${before}
    ${answer}=    Document    plan    rollback    tour    code=2
    Should Contain    ${answer}[error][message]    CHECKPOINT

On A Terminal It Shows, Asks, And Does What It Is Told
    ${before}=    Tree Of    ${PLAN}[sandboxes][0][path]
    ${ended}=    Answer On A Terminal    n    plan    rollback    tour    first
    Should Be Equal As Integers    ${ended.code}    3
    Should Contain    ${ended.stdout}    docs/b.txt
    Should Contain    ${ended.stdout}    [y/N]
    ${found}=    Tree Of    ${PLAN}[sandboxes][0][path]
    Should Be Equal    ${found}    ${before}
    ${ended}=    Answer On A Terminal    y    plan    rollback    tour    first
    Should Be Equal As Integers    ${ended.code}    0
    ${found}=    Tree Of    ${PLAN}[sandboxes][0][path]
    Dictionary Should Contain Key    ${found}    docs/b.txt
    ${status}=    Document    plan    status    tour
    Should Be Equal    ${status}[data][state]    queued
