*** Settings ***
Documentation       Removing checkpoints by hand, and freeing what nothing refers to.
Resource            program.resource
Suite Setup         A Project With The Plan    tour
Suite Teardown      Remove Project Folder


*** Test Cases ***
A Dry Run Says What Would Go And Why The Rest Stays
    ${before}=    Document    checkpoint    list    tour
    ${answer}=    Document    checkpoint    prune    tour    --keep    3    --dry-run
    Should Have Fields    ${answer}[data]    plan_id    dry_run    limit    kept    pruned    bytes_freed
    ${reasons}=    Evaluate    [k["reason"] for k in $answer["data"]["kept"]]
    Should Be Equal    ${reasons}[0]    the first
    Should Be Equal    ${reasons}[-1]    the most recent
    ${after}=    Document    checkpoint    list    tour
    Should Be Equal    ${after}[data]    ${before}[data]

What Must Stay Cannot Be Deleted
    It Should Be Refused    checkpoint_needed    checkpoint    delete    first
    It Should Be Refused    checkpoint_needed    checkpoint    delete    latest
    It Should Be Refused    checkpoint_not_found    checkpoint    delete    nowhere

A Checkpoint Is Deleted By Its Label
    Document    checkpoint    delete    written
    It Should Be Refused    checkpoint_not_found    checkpoint    show    written

A Prune Leaves As Many As It Is Told, All Of Them Sound
    Document    checkpoint    prune    tour    --keep    3
    ${list}=    Document    checkpoint    list    tour
    Length Should Be    ${list}[data][checkpoints]    3
    ${answer}=    Document    checkpoint    verify
    Should Be Empty    ${answer}[data][damaged]

What Is Still Listed Comes Back Exactly
    ${folder}=    Project Folder
    Document    checkpoint    restore    latest    --to    ${folder}/../restored
    ${found}=    Tree Of    ${folder}/../restored/workspace
    ${sandbox}=    Tree Of    ${PLAN}[sandboxes][0][path]
    Should Be Equal    ${found}    ${sandbox}
    Document    checkpoint    restore    first    --to    ${folder}/../restored-first
    ${found}=    Tree Of    ${folder}/../restored-first/workspace
    ${real}=    Tree Of    ${folder}
    Should Be Equal    ${found}    ${real}

What Nothing Refers To Is Freed
    ${answer}=    Document    gc    --dry-run
    Should Have Fields    ${answer}[data]    dry_run    objects_removed    objects_kept    packs_removed
    ...    packs_rewritten    packs_kept    packs_unreadable    bytes_freed    bytes_kept    sandboxes_removed
    ...    work_folders_removed    stat_caches_removed    scratch_folders_removed
    ${would}=    Set Variable    ${answer}[data][bytes_freed]
    ${answer}=    Document    gc
    Should Be Equal As Integers    ${answer}[data][bytes_freed]    ${would}
    ${answer}=    Document    gc
    Should Be Equal As Integers    ${answer}[data][bytes_freed]    0
    ${answer}=    Document    checkpoint    verify
    Should Be Empty    ${answer}[data][damaged]

A Large Sandbox Is Gone At Once And Its Files Soon After The Answer
    ${sandbox}=    Set Variable    ${PLAN}[sandboxes][0][path]
    Evaluate    [pathlib.Path("${sandbox}", str(number)).touch() for number in range(2500)]    modules=pathlib
    Document    rm    --yes    tour
    ${there}=    Evaluate    os.path.lexists($sandbox)    modules=os
    Should Not Be True    ${there}
    Wait Until Keyword Succeeds    120s    0.1s    Nothing Is Left To Remove    ${sandbox}


*** Keywords ***
Nothing Is Left To Remove
    [Arguments]    ${sandbox}
    ${left}=    Evaluate    list(pathlib.Path($sandbox).parents[1].glob(".remove*"))    modules=pathlib
    Should Be Empty    ${left}
