*** Settings ***
Documentation       Checkpoints inside a long step, while its program is at work.
Resource            program.resource
Test Setup          Make Project Folder
Test Teardown       Remove Project Folder


*** Test Cases ***
A Quiet Moment Of A Command Is Kept
    Document    init
    Document    config    set    sandbox.checkpoint.auto-create-on    before_step,on_quiet
    Document    config    set    sandbox.checkpoint.quiet-seconds    200ms
    Document    config    set    sandbox.at    own-path
    Document    config    set    sandbox.isolate    off
    ${folder}=    Project Folder
    ${program}=    Evaluate    pathlib.Path(sys.executable).with_name("mulligan")    modules=pathlib,sys
    ${look}=    Set Variable    ${program} --project ${folder} --format json checkpoint list long
    ${command}=    Set Variable
    ...    echo half > half; until ${look} | grep -q on_quiet; do sleep 0.1; done; echo done > half
    ${ended}=    Run    run    --name    long    --    sh    -c    ${command}
    Should Be Equal As Integers    ${ended.code}    0
    Should Not Contain    ${ended.stderr}    quiet moment
    ${listed}=    Run    checkpoint    list    long
    Should Contain    ${listed.stdout}    in a quiet moment of step 1
    ${held}=    Run    show    long@3    half
    Should Be Equal    ${held.stdout}    half\n
    ${shown}=    Document    checkpoint    show    long@3
    Should Be Equal    ${shown}[data][checkpoint_type]    on_quiet
    Should Be True    ${shown}[data][metadata][at_work]
    ${back}=    Run    rollback    --yes    long@3
    Should Contain    ${back.stdout}${back.stderr}    was at work
    ${verified}=    Document    checkpoint    verify
    Should Be Empty    ${verified}[data][damaged]

A Length Of Time That Makes No Sense Is Refused By Its Name
    Document    init
    ${answer}=    Document    -c    sandbox.checkpoint.quiet-seconds=0    run    --    true    code=125
    Should Be Equal    ${answer}[error][kind]    setting_invalid
    Should Be Equal    ${answer}[error][key]    sandbox.checkpoint.quiet-seconds
