*** Settings ***
Documentation       The command that hooks of coding agents call, from outside: payloads in, answers out.
Resource            program.resource
Test Setup          A Project
Test Teardown       Remove Project Folder


*** Test Cases ***
A Prompt Is Taken Back, And The Agent Learns Of It
    Hook    {"hook_event_name": "SessionStart", "source": "startup"}
    Hook    {"hook_event_name": "UserPromptSubmit", "prompt_id": "p1", "prompt": "write"}
    Hook    {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "c1", "tool_input": {"command": "x"}}
    Create File    ${FOLDER}/new.txt    new
    Hook    {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "c1", "tool_input": {"command": "x"}}
    Hook    {"hook_event_name": "Stop"}
    ${answer}=    Document    undo    --yes
    Should Be Equal    ${answer}[data][entry][kind]    prompt
    Should Be Equal    ${answer}[data][entry][title]    write
    File Should Not Exist    ${FOLDER}/new.txt
    ${said}=    Hook    {"hook_event_name": "UserPromptSubmit", "prompt_id": "p2", "prompt": "go on"}
    Should Contain    ${said}    additionalContext
    Should Contain    ${said}    new.txt

What Cannot Be Read Does Not Stop The Agent, Unless It Is Strict
    ${ended}=    Program.Run    hook    claude-code    text=nonsense
    Should Be Equal As Integers    ${ended.code}    0
    Should Contain    ${ended.stdout}    systemMessage
    ${ended}=    Program.Run    hook    --strict    claude-code    PreToolUse    text=nonsense
    Should Be Equal As Integers    ${ended.code}    2


*** Keywords ***
A Project
    Make Git Checkout
    ${folder}=    Project Folder
    Set Test Variable    ${FOLDER}    ${folder}
    Document    init

Hook
    [Documentation]    Call the hook of Claude Code with a payload, and return what it says.
    [Arguments]    ${fields}
    ${payload}=    Evaluate    json.dumps({**json.loads($fields), "session_id": "s1", "cwd": $FOLDER})    modules=json
    ${ended}=    Program.Run    hook    claude-code    text=${payload}
    Should Be Equal As Integers    ${ended.code}    0
    RETURN    ${ended.stdout}
