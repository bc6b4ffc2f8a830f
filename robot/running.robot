*** Settings ***
Documentation       Any command without a plan file, on a terminal and in scripts, and undoing it.
Resource            program.resource
Test Setup          Make Git Checkout
Test Teardown       Remove Project Folder


*** Test Cases ***
A Terminal Shows The Output, A Short Diff And The Two Next Commands
    ${ended}=    Answer On A Terminal    ${EMPTY}    run    --    sh    -c    echo working; echo more >> a.txt
    Should Be Equal As Integers    ${ended.code}    0
    Should Match Regexp    ${ended.stdout}    (?m)^working\r?$
    Should Contain    ${ended.stdout}    +more
    ${status}=    Document    plan    status
    Should Contain    ${ended.stdout}    apply it:${SPACE*2}mulligan plan apply ${status}[data][plan_id]
    Should Contain    ${ended.stdout}    undo it:${SPACE*3}mulligan undo
    Should Not Contain    ${ended.stdout}    [y/N]

Uncommitted Work Is There, And The Same Subfolder
    ${folder}=    Project Folder
    ${answer}=    Document    run    --name    look    --    sh    -c    pwd > where; cp ../a.txt seen    cwd=${folder}/docs
    Envelope Should Be Whole    ${answer}    run    ok    0
    Should Be Equal As Integers    ${answer}[data][exit_status]    0
    ${sandbox}=    Set Variable    ${answer}[data][sandboxes][0][path]
    ${seen}=    Get File    ${sandbox}/docs/seen
    Should Be Equal    ${seen}    changed\n
    File Should Not Exist    ${folder}/docs/seen
    ${status}=    Git    status    --porcelain
    Should Be Equal    ${status}    M a.txt

Applied At Once It Is One Commit, And The User's Own Work Stays Uncommitted
    ${answer}=    Document    run    --apply    --name    tidy    --    sh    -c    echo new > new.txt
    Should Be Equal    ${answer}[data][state]    applied
    ${subject}=    Git    log    -1    --format\=%s
    Should Be Equal    ${subject}    tidy
    ${status}=    Git    status    --porcelain
    Should Be Equal    ${status}    M a.txt
    It Should Be Refused    plan_already_applied    undo    --yes

A Failure Is Exit Code 1, With The Command's Own Status
    ${answer}=    Document    run    --    sh    -c    exit 42    code=1
    Should Be Equal As Integers    ${answer}[data][exit_status]    42
    Should Be Equal    ${answer}[error][kind]    step_failed
    It Should Be A Usage Error    usage_wrong    run

Ctrl-C Leaves A Plan That Can Go On Or Be Undone
    ${ended}=    Interrupt    SIGINT    run    --    sh    -c    touch started; exec sleep 300
    Should Be Equal As Integers    ${ended.code}    130
    Should Match Regexp    ${ended.stderr}    hint: .*mulligan plan resume .*mulligan undo
    ${status}=    Document    plan    status
    Should Be Equal    ${status}[data][phase]/${status}[data][state]    execute/queued
    ${answer}=    Document    undo    --yes
    Should Be Equal    ${answer}[data][changes_reverted][0][file]    started

Undo Asks On A Terminal, And Needs A Yes Without One
    Document    run    --    touch    new.txt
    It Should Be Refused    confirmation_missing    undo
    ${ended}=    Answer On A Terminal    n    undo
    Should Be Equal As Integers    ${ended.code}    3
    ${ended}=    Answer On A Terminal    y    undo
    Should Be Equal As Integers    ${ended.code}    0
    It Should Be Refused    nothing_to_undo    undo    --yes
