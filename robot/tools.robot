*** Settings ***
Documentation       Listing tools, looking at one, and trusting those of one's own.
Resource            program.resource
Test Setup          A Project With Tools Of Its Own
Test Teardown       Remove Project Folder


*** Variables ***
${TOOLS}            SEPARATOR=\n
...                 import mulligan
...                 ${EMPTY}
...                 def take_down(context, arguments, result):
...                 ${SPACE * 4}context.log("took down " + result)
...                 ${EMPTY}
...                 @mulligan.tool(side_effects=["external"], undo=take_down, timeout=300)
...                 def publish(context, title: str, times: int = 1):
...                 ${SPACE * 4}"Publish a page."
...                 ${SPACE * 4}return title * times
...                 ${EMPTY}
...                 @mulligan.tool(side_effects=["external"], writes=False)
...                 def mail(context, to: str):
...                 ${SPACE * 4}"Send a mail."
...                 ${EMPTY}
${PLAN FILE}        SEPARATOR=\n
...                 name: site
...                 steps:
...                 ${SPACE * 2}- {name: put, tool: publish, args: {title: one}}
...                 ${SPACE * 2}- {name: tell, tool: mail, args: {to: Ada}}
...                 ${EMPTY}


*** Test Cases ***
Every Tool Is Listed With What It Declares And Where It Is From
    ${answer}=    Document    tool    list
    Envelope Should Be Whole    ${answer}    tool list    warn    0
    ${found}=    Evaluate    {t["name"]: t["origin"] for t in $answer["data"]["tools"]}
    Should Be Equal    ${found}[shell]    built in
    Dictionary Should Not Contain Key    ${found}    publish
    Should Be Equal    ${answer}[data][tools_file][status]    untrusted
    Should Contain    ${answer}[messages][0]    mulligan tool trust
    Should Have Fields    ${answer}[data][tools_file]    path    status    sha256    size_bytes    problem
    Should Have Fields    ${answer}[data][tools][0]    name    summary    origin    arguments    resource_types
    ...    writes    read_only    checkpointable    idempotent    side_effects    timeout    undo    doc
    Document    tool    trust    --yes
    ${answer}=    Document    tool    list
    Envelope Should Be Whole    ${answer}    tool list    ok    0
    Should Be Equal    ${answer}[data][tools_file][status]    trusted
    ${ended}=    Run    tool    list
    Should Match Regexp    ${ended.stdout}    publish +tools.py +writes, undo, external +Publish a page.
    Should Match Regexp    ${ended.stdout}    write_file +built in +writes, idempotent

A Tool Is Shown In Full
    Document    tool    trust    -y
    ${answer}=    Document    tool    show    publish
    ${wanted}=    Evaluate    [dict(name="title", type="text", required=True), dict(name="times", type="whole number", required=False)]
    Should Be Equal    ${answer}[data][arguments]    ${wanted}
    Should Be Equal    ${answer}[data][timeout]    ${300}
    Should Be True    ${answer}[data][undo]
    Should Be True    ${answer}[data][checkpointable]
    ${ended}=    Run    tool    show    mail
    Should Contain    ${ended.stdout}    mail (tools.py)
    Should Match Regexp    ${ended.stdout}    side_effects: external
    Should Match Regexp    ${ended.stdout}    to +text +required
    ${answer}=    Document    tool    show    python
    Should Be Equal    ${answer}[data][origin]    built in
    It Should Be Refused    tool_unknown    tool    show    nonesuch

Trust Is Asked For On A Terminal And Needs Yes Without One
    It Should Be Refused    confirmation_missing    tool    trust
    ${ended}=    Answer On A Terminal    n    tool    trust
    Should Be Equal As Integers    ${ended.code}    3
    Should Contain    ${ended.stdout}    is not trusted yet
    Should Contain    ${ended.stdout}    sha256
    Should Not Contain    ${ended.stdout}    Publish a page
    It Should Be Refused    tools_untrusted    tool    show    publish
    ${ended}=    Answer On A Terminal    y    tool    trust
    Should Be Equal As Integers    ${ended.code}    0
    Should Contain    ${ended.stdout}    is trusted from now on
    Should Contain    ${ended.stdout}    Publish a page
    ${answer}=    Document    tool    trust
    Should Have Fields    ${answer}[data]    path    sha256    tools
    Document    tool    show    publish
    Write Home File    tools.py    import mulligan
    It Should Be Refused    tools_untrusted    tool    show    publish

A Plan Asks For Trust On A Terminal And Runs Then
    ${file}=    Write Plan    site    ${PLAN FILE}
    It Should Be Refused    tools_untrusted    plan    execute    ${file}
    ${ended}=    Answer On A Terminal    n    plan    execute    ${file}
    Should Be Equal As Integers    ${ended.code}    3
    ${ended}=    Answer On A Terminal    y    plan    execute    ${file}
    Should Be Equal As Integers    ${ended.code}    0
    ${answer}=    Document    plan    list
    Length Should Be    ${answer}[data][plans]    1

What Cannot Be Undone Is Listed Before The Question
    Document    tool    trust    --yes
    ${file}=    Write Plan    site    ${PLAN FILE}
    Document    plan    execute    ${file}
    ${ended}=    Answer On A Terminal    n    plan    rollback    site    first
    Should Be Equal As Integers    ${ended.code}    3
    Should Match Regexp    ${ended.stdout}    (?s)to be undone: publish in step 'put'.*cannot be undone: mail in step 'tell'.*\\[y/N\\]
    ${answer}=    Document    plan    rollback    site    first    --yes
    Should Be Equal    ${answer}[data][impact][irreversible][0]    mail in step 'tell'
    Should Be Equal    ${answer}[data][impact][undo][0]    publish in step 'put'
    ${log}=    Document    plan    log    site
    ${types}=    Evaluate    [e["type"] for e in $log["data"]["events"]]
    List Should Contain Value    ${types}    tool_undone

Without A Tools File There Is Nothing To Trust
    ${home}=    Project Home
    Remove File    ${home}/tools.py
    It Should Be Refused    not_found    tool    trust    --yes
    ${answer}=    Document    tool    list
    Should Be Equal    ${answer}[data][tools_file][status]    missing


*** Keywords ***
A Project With Tools Of Its Own
    ${folder}=    Make Project Folder
    Set Suite Variable    ${FOLDER}    ${folder}
    Document    init
    Write Home File    tools.py    ${TOOLS}
