*** Settings ***
Documentation       How much differs, which paths, and only some of them; long lists are cut for people and whole in documents.
Resource            program.resource
Suite Setup         A Run That Changed Many Files
Suite Teardown      Remove Project Folder


*** Test Cases ***
A Difference Is Summed Up, Listed, And Limited To Paths
    ${ended}=    Run    diff    --stat    --    a.txt    docs
    Should Be Equal    ${ended.stdout}    a.txt${SPACE*6}|${SPACE*3}1 +\ndocs/b.txt |${SPACE*3}2 +-\n2 files differ: 2 lines inserted, 1 deleted\n
    ${ended}=    Run    diff    --name-only    --    :!many
    Should Be Equal    ${ended.stdout}    a.txt\ndocs/b.txt\n
    ${ended}=    Run    diff    --    docs
    Should Contain    ${ended.stdout}    -two\n+2\n
    Should Not Contain    ${ended.stdout}    a.txt
    ${answer}=    Document    diff    --    many
    Length Should Be    ${answer}[data][files]    100

Long Lists Are Cut, And Say What Shows The Rest
    FOR    ${line}    IN    rollback --dry-run many @1    undo --dry-run    apply --dry-run
        @{words}=    Split String    ${line}
        ${ended}=    Run    @{words}
        Should Be Equal As Integers    ${ended.code}    0
        ${lines}=    Get Line Count    ${ended.stdout}
        Should Be True    ${lines} < 40
        ${rest}=    Get Regexp Matches    ${ended.stdout}    and (\\d+) more: mulligan (.*)    1    2
        Should Not Be Empty    ${rest}
        @{words}=    Split String    ${rest}[0][1]
        ${ended}=    Run    @{words}
        Should Contain    ${ended.stdout}    102 files differ
    END
    ${answer}=    Document    rollback    --dry-run    many    @1
    ${files}=    Evaluate    [c for c in $answer["data"]["changes_reverted"] if c["file"] != "many"]
    Length Should Be    ${files}    102


*** Keywords ***
A Run That Changed Many Files
    Make Project Folder
    ${command}=    Set Variable    mkdir many; cd many; seq 100 | while read n; do echo $n > $n; done
    Document    run    --name    many    --    sh    -c    echo more >> a.txt; echo 2 > docs/b.txt; ${command}
