*** Settings ***
Documentation       Each trigger takes exactly its groups. Three values are set in every place alone: on the command
...                 line, in the plan file, in the environment, for the project, for the user; the others in one each.
Resource            program.resource
Test Setup          Make Project Folder
Test Teardown       Remove Project Folder
Test Template       Set Anywhere, It Takes


*** Variables ***
${KEY}              sandbox.checkpoint.auto-create-on
@{PLACES}           command line    plan file    environment    project file    user file
${STEPS}            SEPARATOR=\n
...                 rollback_policy: {on_failure: keep}
...                 steps:
...                 ${SPACE*2}- {name: write, tool: write_file, args: {path: a, content: a}}
...                 ${SPACE*2}- {name: mark, checkpoint: here}
...                 ${SPACE*2}- {name: fail, tool: shell, args: {command: "echo b > b; false"}}


*** Test Cases ***    TRIGGER    GROUPS
after_step, Set Anywhere    after_step
...    pre_execute    after_step    manual    after_step
None At All, Set Anywhere    \[]
...    pre_execute    manual
Two Together, Set Anywhere    on_error,after_step
...    pre_execute    after_step    manual    after_step    on_error
before_step    before_step
...    pre_execute    before_step    before_step    manual    before_step
...    places=command line
on_tool_write    on_tool_write
...    pre_execute    on_tool_write    manual    on_tool_write
...    places=plan file
on_tool_write By Its Other Name    before_tool_execute
...    pre_execute    on_tool_write    manual    on_tool_write
...    places=environment
on_tool_write_complete    on_tool_write_complete
...    pre_execute    on_tool_write_complete    manual
...    places=project file
on_tool_write_complete By Its Other Name    after_tool_execute
...    pre_execute    on_tool_write_complete    manual
...    places=user file
on_error    on_error
...    pre_execute    manual    on_error
...    places=command line


*** Keywords ***
Set Anywhere, It Takes
    [Documentation]    The groups of a plan are these, with the trigger set in each of the places alone.
    [Arguments]    ${trigger}    @{groups}    ${places}=${PLACES}
    Document    init
    @{places}=    Evaluate    [$places] if isinstance($places, str) else $places
    FOR    ${place}    IN    @{places}
        @{options}=    Set In    ${place}    ${trigger}
        ${file}=    Plan File    plan
        ${answer}=    Document    @{options}    plan    execute    ${file}    code=1
        Should Be Equal    ${answer}[error][kind]    step_failed
        ${listed}=    Document    checkpoint    list    ${answer}[data][plan_id]
        ${types}=    Evaluate    [c["checkpoint_type"] for c in $listed["data"]["checkpoints"]]
        Should Be Equal    ${types}    ${groups}    ${trigger} set by ${place}
        Unset In    ${place}
    END
    ${verified}=    Document    checkpoint    verify
    Should Be Empty    ${verified}[data][damaged]

Set In
    [Documentation]    Write the plan, and set the trigger in one place; gives the options of the command line.
    [Arguments]    ${place}    ${trigger}
    ${words}=    Evaluate    [word for word in $trigger.strip("[]").split(",") if word]
    ${list}=    Evaluate    __import__("json").dumps($words)
    ${config}=    Set Variable If    "${place}" == "plan file"    config: {${KEY}: ${list}}    config: {}
    Write Plan    plan    name: ${place}\n${config}\n${STEPS}\n
    ${option}=    Create List    -c    ${KEY}=${trigger}
    ${none}=    Create List
    IF    "${place}" == "environment"
        Set Variable Of Environment    MULLIGAN_SANDBOX_CHECKPOINT_AUTO_CREATE_ON    ${trigger}
    ELSE IF    "${place}" == "project file"
        Document    config    set    ${KEY}    ${trigger}
    ELSE IF    "${place}" == "user file"
        Write User File    "${KEY}" = ${list}
    END
    RETURN    ${{ $option if $place == "command line" else $none }}

Unset In
    [Documentation]    Leave nothing of it behind; the user's file comes last, and goes with the folder.
    [Arguments]    ${place}
    IF    "${place}" == "environment"
        Set Variable Of Environment    MULLIGAN_SANDBOX_CHECKPOINT_AUTO_CREATE_ON
    ELSE IF    "${place}" == "project file"
        Document    config    unset    ${KEY}
    END
