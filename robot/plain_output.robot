*** Settings ***
Documentation       Piped output is plain: for people and for grep, without colours or escapes.
Resource            program.resource
Suite Setup         A Project With The Plan    tour
Suite Teardown      Remove Project Folder


*** Test Cases ***
Tables And Lines Are Plain
    ${ended}=    Run    plan    list
    Should Be Equal As Integers    ${ended.code}    0
    Should Start With    ${ended.stdout}    PLAN
    Should Match Regexp    ${ended.stdout}    (?m)^tour +complete +4/4 +
    Should Have No Escapes    ${ended.stdout}
    ${ended}=    Run    plan    status
    Should Contain    ${ended.stdout}    tour: complete
    Should Contain    ${ended.stdout}    tour@${PLAN}[last_checkpoint_number]
    ${ended}=    Run    checkpoint    list
    Should Match Regexp    ${ended.stdout}    (?m) your label 'changed' +
    ${ended}=    Run    plan    log
    Should Contain    ${ended.stdout}    Which?
    ${ended}=    Run    config    get    sandbox.strategy
    Should Be Equal    ${ended.stdout}    auto\n

Execution Is Shown As It Goes On, On Stderr
    ${file}=    Plan File    failing
    ${ended}=    Run    plan    execute    ${file}
    Should Be Equal As Integers    ${ended.code}    1
    Should Contain    ${ended.stdout}    failed at step 2 (bad)
    Should Contain    ${ended.stderr}    ${SPACE*2}1 good
    Should Contain    ${ended.stderr}    so bad
    Should Contain    ${ended.stderr}    error: step 'bad' failed
    Should Contain    ${ended.stderr}    hint: \
    Should Have No Escapes    ${ended.stderr}

Errors Go To Stderr With A Next Step
    ${ended}=    Run    plan    status    nobody
    Should Be Equal As Integers    ${ended.code}    3
    Should Be Empty    ${ended.stdout}
    Should Match Regexp    ${ended.stderr}    ^error: .*nobody.*\nhint: .*mulligan list

The Rich Format Can Be Asked For
    FOR    ${line}    ${word}    IN
    ...    plan status tour    tour: complete
    ...    plan log tour    recorded as tour
    ...    plan tree tour    Which?
    ...    plan diff tour    new.txt
    ...    checkpoint list tour    at the end
    ...    checkpoint show changed    steps done
    ...    checkpoint diff first changed    new.txt
        @{words}=    Split String    ${line}
        ${ended}=    Run    @{words}    --format    rich
        Should Be Equal As Integers    ${ended.code}    0
        Should Contain    ${ended.stdout}    ${word}
    END

A Reader That Went Away Is No Error
    FOR    ${line}    IN    plan log    plan status --watch    checkpoint list --format json    config list --format yaml
        @{words}=    Split String    ${line}
        ${ended}=    Run For A Reader That Went Away    @{words}
        Should Be Empty    ${ended.stderr}
        Should Be Equal As Integers    ${ended.code}    0
    END
    ${ended}=    Run For A Reader That Went Away    plan    --help
    Should Be Empty    ${ended.stderr}
