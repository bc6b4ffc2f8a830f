*** Settings ***
Documentation       A git checkout is worked on in a sandbox with a git directory of its own.
Resource            program.resource
Test Setup          Make Git Checkout
Test Teardown       Remove Project Folder


*** Test Cases ***
The Repository Of The User Is Left Alone And Every Checkpoint Is A Commit
    ${before}=    Git    status    --porcelain    --branch
    ${refs}=    Git    for-each-ref    refs/heads    refs/tags    refs/stash
    ${file}=    Plan File    agent
    ${answer}=    Document    plan    execute    ${file}
    ${sandbox}=    Set Variable    ${answer}[data][sandboxes][0]
    Should Be Equal    ${sandbox}[strategy]    git_worktree
    Should Be Equal    ${sandbox}[branch]    main
    ${log}=    Git    -C    ${sandbox}[path]    log    -1    --format\=%s
    Should Be Equal    ${log}    agent
    ${list}=    Document    checkpoint    list    agent
    FOR    ${checkpoint}    IN    @{list}[data][checkpoints]
        ${commit}=    Git    --git-dir    ${sandbox}[git_dir]    rev-parse
        ...    refs/checkpoints/${checkpoint}[checkpoint_id]
        Should Be Equal    ${commit}    ${checkpoint}[sandbox_ref]
    END
    Document    plan    rollback    --yes    agent    first
    ${tags}=    Git    -C    ${sandbox}[path]    tag
    Should Be Equal    ${tags}    ${EMPTY}
    ${mine}=    Git    -C    ${sandbox}[path]    status    --porcelain    --branch
    Should Be Equal    ${mine}    ${before}
    ${after}=    Git    status    --porcelain    --branch
    Should Be Equal    ${after}    ${before}
    ${now}=    Git    for-each-ref    refs/heads    refs/tags    refs/stash
    Should Be Equal    ${now}    ${refs}
