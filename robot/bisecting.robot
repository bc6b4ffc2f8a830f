*** Settings ***
Documentation       Finding the checkpoint at which a command begins to fail, from outside.
Resource            program.resource
Test Setup          A Project With The Plan    tour
Test Teardown       Remove Project Folder


*** Test Cases ***
The First Checkpoint That Fails Is Found, And Nothing Is Touched
    ${folder}=    Project Folder
    ${before}=    Tree Of    ${folder}
    ${sandbox}=    Tree Of    ${PLAN}[sandboxes][0][path]
    ${answer}=    Document    bisect    tour    --    sh    -c    ! test -e new.txt
    Envelope Should Be Whole    ${answer}    bisect    ok    0
    Should Have Fields    ${answer}[data][first_bad]    number    handle    step    tool_call    decision
    ...    files    insertions    deletions
    Should Have Fields    ${answer}[data][trials][0]    number    result    exit_status    duration_ms
    Should Be Equal    ${answer}[data][first_bad][handle]    tour
    Should Be Empty    ${answer}[data][skipped]
    ${after}=    Tree Of    ${folder}
    Should Be Equal    ${before}    ${after}
    ${after}=    Tree Of    ${PLAN}[sandboxes][0][path]
    Should Be Equal    ${sandbox}    ${after}

Ends That Do Not Fit Are Refused By Name
    It Should Be Refused    bisection_ends_wrong    bisect    tour    --    false
    It Should Be Refused    bisection_ends_wrong    bisect    tour    --    true
    It Should Be Refused    bisection_impossible    bisect    tour    --good    latest    --bad    first    --    true
    It Should Be A Usage Error    usage_wrong    bisect    tour
