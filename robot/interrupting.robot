*** Settings ***
Documentation       Ctrl-C and SIGTERM end with exit code 130 and leave a plan that can go on.
Resource            program.resource
Test Setup          Make Project Folder
Test Teardown       Remove Project Folder


*** Test Cases ***
Ctrl-C Leaves A Plan That Can Go On
    ${file}=    Plan File    holding
    ${ended}=    Interrupt    SIGINT    plan    execute    ${file}
    Should Be Equal As Integers    ${ended.code}    130
    Should Contain    ${ended.stderr}    error: interrupted
    Should Match Regexp    ${ended.stderr}    hint: .*mulligan resume
    ${status}=    Document    plan    status
    Should Be Equal    ${status}[data][phase]/${status}[data][state]    execute/queued

SIGTERM Is Told In The Format Asked For
    ${file}=    Plan File    holding
    ${ended}=    Interrupt    SIGTERM    plan    execute    ${file}    --format    json
    Should Be Equal As Integers    ${ended.code}    130
    ${answer}=    Evaluate    json.loads($ended.stdout)    modules=json
    Envelope Should Be Whole    ${answer}    plan execute    error    130
    Should Be Equal    ${answer}[error][kind]    interrupted

A Cancelled Plan Is Over
    ${file}=    Plan File    tour
    Document    plan    execute    ${file}
    ${answer}=    Document    plan    cancel    tour    --reason    not needed
    Should Be Equal    ${answer}[data][state]    cancelled
    ${log}=    Run    plan    log
    Should Contain    ${log.stdout}    not needed
    It Should Be Refused    plan_cancelled    plan    execute    tour
    It Should Be Refused    plan_cancelled    plan    rollback    --yes    tour    first
    It Should Be Refused    plan_cancelled    checkpoint    create    tour    --label    late
    ${answer}=    Document    plan    list    --state    cancelled
    Length Should Be    ${answer}[data][plans]    1

A Plan That Is Cancelled While It Runs Names No Way To Go On
    ${file}=    Plan File    holding
    ${ran}    ${cancelled}=    Run While Another Runs    plan execute ${file}    cancel    holding
    Should Be Equal As Integers    ${ran.code}    130
    Should Be Equal As Integers    ${cancelled.code}    0
    ${status}=    Run    status    holding
    FOR    ${ended}    IN    ${ran}    ${cancelled}    ${status}
        Should Contain    ${ended.stdout}${ended.stderr}    cancelled
        Should Not Match Regexp    ${ended.stdout}${ended.stderr}    mulligan (plan )?(resume|undo|rollback)
    END
    It Should Be Refused    plan_cancelled    resume    holding
