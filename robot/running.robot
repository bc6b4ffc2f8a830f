*** Settings ***
Documentation       Any command without a plan file, on a terminal and in scripts, and undoing it.
Resource            program.resource
Test Setup          A Git Checkout
Test Teardown       Remove Project Folder


*** Test Cases ***
A Terminal Shows The Output, A Short Diff And The Two Next Commands
    ${ended}=    Answer On A Terminal    ${EMPTY}    run    --    sh    -c    echo working; echo more >> a.txt
    Should Be Equal As Integers    ${ended.code}    0
    Should Match Regexp    ${ended.stdout}    (?m)(^|J)working\r?$
    Should Contain    ${ended.stdout}    +more
    ${status}=    Document    plan    status
    Should Contain    ${ended.stdout}    apply it:${SPACE*2}mulligan apply ${status}[data][handle]
    Should Contain    ${ended.stdout}    undo it:${SPACE*3}mulligan undo
    Should Not Contain    ${ended.stdout}    [y/N]

Uncommitted Work Is There, And The Same Subfolder
    ${answer}=    Document    run    --name    look    --    sh    -c    pwd > where; cp ../a.txt seen    cwd=${FOLDER}/docs
    Envelope Should Be Whole    ${answer}    run    ok    0
    Should Be Equal As Integers    ${answer}[data][exit_status]    0
    ${sandbox}=    Set Variable    ${answer}[data][sandboxes][0][path]
    ${seen}=    Get File    ${sandbox}/docs/seen
    Should Be Equal    ${seen}    changed\n
    File Should Not Exist    ${FOLDER}/docs/seen
    ${status}=    Git    status    --porcelain
    Should Be Equal    ${status}    M a.txt

Applied At Once It Is One Commit, And The User's Own Work Stays Uncommitted
    ${before}=    Git    rev-parse    HEAD
    ${answer}=    Document    run    --apply    --name    tidy    --    sh    -c    echo new > new.txt
    Should Be Equal    ${answer}[data][state]    applied
    ${subject}=    Git    log    -1    --format\=%s
    Should Be Equal    ${subject}    tidy
    ${status}=    Git    status    --porcelain
    Should Be Equal    ${status}    M a.txt
    ${answer}=    Document    undo    --yes
    Should Be Equal    ${answer}[data][entry][kind]    apply
    ${after}=    Git    rev-parse    HEAD
    Should Be Equal    ${after}    ${before}
    ${status}=    Git    status    --porcelain
    Should Be Equal    ${status}    M a.txt

The Exit Code Is The Command's Own Status
    ${answer}=    Document    run    --    sh    -c    echo said; echo why >&2; exit 42    code=42
    Should Be Equal As Integers    ${answer}[data][exit_status]    42
    Should Be Equal    ${answer}[data][stdout]    said\n
    Should Be Equal    ${answer}[data][stderr]    why\n
    Should Be Equal    ${answer}[error][kind]    step_failed
    Document    run    --    sh    -c    kill -9 $$    code=137
    Document    run    --    ./a.txt    code=126
    Document    run    --    no-such-program    code=127

A Failure Of Its Own Is Exit Code 125
    FOR    ${option}    ${kind}    IN    --bogus    usage_wrong    --resource=nowhere    resource_unsuitable
        ${answer}=    Document    run    ${option}    --    true    code=125
        Should Be Equal    ${answer}[error][kind]    ${kind}
    END
    ${ended}=    Run    shell
    Should Be Equal As Integers    ${ended.code}    125

Output Is The Command's, And What Is Said Beside It Is On Stderr
    ${ended}=    Run    run    --    git    log    --format\=%s
    Should Be Equal    ${ended.stdout}    first\n
    ${status}=    Document    status
    Should Be Equal    ${status}[data][handle]    git
    ${ended}=    Run    show    git    --output
    Should Be Equal    ${ended.stdout}    first\n

Input Is The Command's
    ${ended}=    Run    run    --apply    --    sh    -c    cat > got.txt; tr a-z A-Z < got.txt    text=hi\nyou\n
    Should Be Equal As Integers    ${ended.code}    0
    Should Be Equal    ${ended.stdout}    HI\nYOU\n
    ${text}=    Get File    ${FOLDER}/got.txt
    Should Be Equal    ${text}    hi\nyou\n

A Command Has The Terminal, And What Is Typed
    ${look}=    Set Variable    test -t 0 && test -t 1 && echo both; read line; echo "read $line"
    ${ended}=    Talk On A Terminal    ${{ [("both", "typed")] }}    run    --    sh    -c    ${look}
    Should Be Equal As Integers    ${ended.code}    0
    Should Contain    ${ended.stdout}    read typed

A Shell Works In A Sandbox, And Its Work Is Applied At Its End
    Set Variable Of Environment    SHELL    /bin/sh
    ${lines}=    Set Variable    ${{ [("sandbox", "echo shell > shell.txt; exit 7"), ("apply, keep or drop?", "a")] }}
    ${ended}=    Talk On A Terminal    ${lines}    shell
    Should Be Equal As Integers    ${ended.code}    7
    ${text}=    Get File    ${FOLDER}/shell.txt
    Should Be Equal    ${text}    shell\n
    Document    undo    --yes
    File Should Not Exist    ${FOLDER}/shell.txt

Ctrl-C Leaves A Plan That Can Go On Or Be Undone
    ${ended}=    Interrupt    SIGINT    run    --    sh    -c    touch started; exec sleep 300
    Should Be Equal As Integers    ${ended.code}    130
    Should Match Regexp    ${ended.stderr}    hint: .*mulligan resume .*mulligan accept .*mulligan undo
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

In Place Runs Follow Each Other, And Undo, Redo And Log Go Over All Of Them
    FOR    ${word}    IN    two    three
        ${answer}=    Document    run    --in-place    --name    ${word}    --    sh    -c    echo ${word} >> list.txt
        Should Be Equal    ${answer}[data][phase]/${answer}[data][state]    apply/applied
    END
    Document    undo    --yes
    ${text}=    Get File    ${FOLDER}/list.txt
    Should Be Equal    ${text}    two\n
    ${answer}=    Document    log
    Envelope Should Be Whole    ${answer}    log    ok    0
    Should Be Equal    ${{ [(e["handle"], e["undone"]) for e in $answer["data"]["entries"]][:2] }}    ${{ [("three", True), ("two", False)] }}
    Document    redo    --yes
    ${text}=    Get File    ${FOLDER}/list.txt
    Should Be Equal    ${text}    two\nthree\n
    It Should Be Refused    nothing_to_redo    redo    --yes
    It Should Be Refused    confirmation_missing    undo


*** Keywords ***
A Git Checkout
    Make Git Checkout
    ${folder}=    Project Folder
    Set Test Variable    ${FOLDER}    ${folder}
