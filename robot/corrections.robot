*** Settings ***
Documentation       One decision is corrected from outside, and the attempts are compared.
Resource            program.resource
Test Setup          A Project With The Plan    tour
Test Teardown       Remove Project Folder


*** Test Cases ***
A Decision Is Corrected And The Plan Runs On
    ${decision}=    The Newest Decision
    ${answer}=    Document    plan    correct    --mode    revert    --guidance    rather that    --choose    that
    ...    --yes    ${decision}
    Envelope Should Be Whole    ${answer}    plan correct    ok    0
    Should Be Equal    ${answer}[data][state]    complete
    Should Be Equal As Integers    ${answer}[data][attempt]    2
    Should Have Fields    ${answer}[data][correction]    correction_id    mode    decision_id    attempt
    ...    superseded_decisions    cancelled_child_plans    restored_checkpoint
    Should Be Equal    ${answer}[data][correction][mode]    revert
    Should Be Equal    ${answer}[data][correction][decision_id]    ${decision}
    Should Be Equal    ${answer}[data][correction][superseded_decisions]    ${{ [$decision] }}
    Should Be Equal    ${answer}[data][correction][cancelled_child_plans]    ${{ [] }}
    Should Be Equal As Integers    ${answer}[data][resumed_from][step_index]    1
    ${again}=    The Newest Decision
    Should Not Be Equal    ${again}    ${decision}
    ${log}=    Document    plan    log    tour
    Should Contain    ${{ [e["type"] for e in $log["data"]["events"]] }}    correction
    It Should Be Refused    decision_superseded    plan    correct    --mode    revert    --guidance    x    --yes
    ...    ${decision}

Attempts Are Compared, And The Earlier One Comes Back
    ${before}=    Tree Of    ${PLAN}[sandboxes][0][path]
    ${decision}=    The Newest Decision
    ${answer}=    Document    plan    correct    --mode    revert    --guidance    g    --yes    --no-execute
    ...    ${decision}
    Should Be Equal    ${answer}[data][state]    queued
    ${found}=    Tree Of    ${PLAN}[sandboxes][0][path]
    Dictionary Should Contain Key    ${found}    docs/b.txt
    ${diff}=    Document    plan    diff    --correction    ${answer}[data][correction][correction_id]
    Should Contain    ${{ [f["path"] for f in $diff["data"]["files"]] }}    docs/b.txt
    Document    plan    rollback    --yes    tour    ${answer}[data][pre_rollback_checkpoint]
    ${found}=    Tree Of    ${PLAN}[sandboxes][0][path]
    Should Be Equal    ${found}    ${before}

Without A Terminal And Without Yes It Refuses, And A Dry Run Changes Nothing
    ${before}=    Tree Of    ${PLAN}[sandboxes][0][path]
    ${decision}=    The Newest Decision
    ${ended}=    Run    plan    correct    --mode    revert    --guidance    g    ${decision}
    Should Be Equal As Integers    ${ended.code}    3
    Should Contain    ${ended.stderr}    --yes
    ${answer}=    Document    plan    correct    --mode    revert    --guidance    g    --dry-run    ${decision}
    Should Be Equal    ${answer}[data][correction][correction_id]    ${None}
    Should Be Equal As Integers    ${answer}[data][attempt]    1
    ${found}=    Tree Of    ${PLAN}[sandboxes][0][path]
    Should Be Equal    ${found}    ${before}
    It Should Be A Usage Error    usage_wrong    plan    correct    --mode    revert    ${decision}
    It Should Be A Usage Error    usage_wrong    plan    correct    --mode    append    ${decision}
    It Should Be Refused    nothing_to_choose    plan    correct    --mode    append    --guidance    g    --choose
    ...    that    --yes    ${decision}

On A Terminal It Shows, Asks, And Does What It Is Told
    ${decision}=    The Newest Decision
    ${ended}=    Answer On A Terminal    n    plan    correct    --mode    revert    --guidance    g    ${decision}
    Should Be Equal As Integers    ${ended.code}    3
    Should Contain    ${ended.stdout}    to be left behind: Which?
    Should Contain    ${ended.stdout}    [y/N]
    ${ended}=    Answer On A Terminal    y    plan    correct    --mode    revert    --guidance    g    ${decision}
    Should Be Equal As Integers    ${ended.code}    0
    ${status}=    Document    plan    status    tour
    Should Be Equal As Integers    ${status}[data][attempt]    2


*** Keywords ***
The Newest Decision
    [Documentation]    The id of the newest decision that was recorded.
    ${answer}=    Document    plan    log    tour
    ${ids}=    Evaluate    [e["data"]["decision_id"] for e in $answer["data"]["events"] if e["type"] == "decision"]
    RETURN    ${ids}[-1]
