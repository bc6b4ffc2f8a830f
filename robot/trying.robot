*** Settings ***
Documentation       Trying several ways at once, from outside.
Resource            program.resource
Test Setup          Make Project Folder
Test Teardown       Remove Project Folder


*** Variables ***
${HOLDING}      echo $MULLIGAN_VARIANT > n; test $MULLIGAN_VARIANT = 1 && exit; touch started; exec sleep $HOLD


*** Test Cases ***
The Document Has A Row For Each Variant
    ${answer}=    Document    try    -n    2    --name    fix    --    sh    -c    echo $MULLIGAN_VARIANT > n
    Envelope Should Be Whole    ${answer}    try    ok    0
    Length Should Be    ${answer}[data][variants]    2
    Should Have Fields    ${answer}[data][variants][0]    variant    handle    exit_status    check    files
    ...    insertions    deletions    duration_ms
    Should Be Equal    ${answer}[data][variants][1][handle]    fix.2
    ${answer}=    Document    try    pick    2
    Envelope Should Be Whole    ${answer}    try pick    ok    0
    Should Be Equal    ${answer}[data][picked]    2
    ${answer}=    Document    try    diff    1    2
    Envelope Should Be Whole    ${answer}    try diff    ok    0
    Document    apply    --yes

Where None Passes The Exit Code Is 1
    ${answer}=    Document    try    --check    false    --    true    code=1
    Envelope Should Be Whole    ${answer}    try    error    1
    Should Be Equal    ${answer}[error][kind]    no_variant_passed
    It Should Be A Usage Error    usage_wrong    try    -n    2

Finished Variants Do Not Run Again After A Kill
    Set Variable Of Environment    HOLD    300
    ${ended}=    Interrupt    SIGKILL    try    -c    plan.max-parallel=1    -n    3    --name    cut    --    sh    -c
    ...    ${HOLDING}
    Should Be Equal As Integers    ${ended.code}    -9
    ${before}=    Document    try    show
    Should Be Equal    ${before}[data][variants][0][finished]    ${True}
    Should Be Equal    ${before}[data][variants][1][finished]    ${False}
    Set Variable Of Environment    HOLD    0
    ${after}=    Document    resume    cut
    Should Be Equal    ${after}[data][variants][0]    ${before}[data][variants][0]
    Should Be Equal As Integers    ${after}[data][passed]    3

Ctrl-C Leaves A Try That Can Go On
    Set Variable Of Environment    HOLD    300
    ${ended}=    Interrupt    SIGINT    try    -n    2    --name    cut    --    sh    -c    ${HOLDING}
    Should Be Equal As Integers    ${ended.code}    130
    Should Match Regexp    ${ended.stderr}    hint: .*mulligan resume cut
    Set Variable Of Environment    HOLD    0
    ${ended}=    Run    resume    cut
    Should Be Equal As Integers    ${ended.code}    0
    Should Contain    ${ended.stdout}    mulligan try pick
