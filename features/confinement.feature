Feature: Confinement
  Tools write their plan's sandboxes, temporary folders and what the user lists, and nothing else.

  Background:
    Given a project folder
      | path | content |
      | real | as was  |
    And a plan "reaching"
      """
      steps:
        - {name: inside, tool: shell, args: {command: "echo x > made; echo x > $(mktemp); tally inside"}}
        - {name: outside, tool: shell, args: {command: "echo x > $HOME/new; test -e $HOME/new"}}
      """

  Scenario: a step that writes outside fails, and the error says what was stopped and which setting allows it
    When the plan is executed
    Then it fails with "step_failed"
    And the message says "/home/new was stopped"
    And the message says "to `sandbox.writable`"
    And the steps ran: inside
    And the log tells "was stopped"

  Scenario: what the user lists can be written
    Given the environment says MULLIGAN_HOME="../homes"
    And a plan "listed"
      """
      config: {sandbox.writable: ["~"]}
      steps:
        - {name: home, tool: shell, args: {command: "echo x > $HOME/new; test -e $HOME/new"}}
      """
    When the plan is executed
    Then it succeeds

  Scenario: nothing is stopped where isolation is off
    Given the environment says MULLIGAN_SANDBOX_ISOLATE="off"
    When the plan is executed
    Then it succeeds

  Scenario: the real folder and the project home stay as they are
    Given a plan "hostile"
      """
      config: {sandbox.isolate: required, sandbox.at: own-path}
      steps:
        - name: project
          tool: shell
          args: {command: "cd ../../..; for f in $REAL/real mulligan.db; do ! rm -f $f && ! sh -c \"echo x >> $f\" || exit 1; done"}
      """
    And the real folder is remembered
    When the plan is executed
    Then it succeeds
    And the real folder is as remembered, to modes and times

  Scenario: a folder that holds the project home cannot be listed
    Given the command line says -c sandbox.writable=/
    When the plan is executed
    Then it is a usage error, "setting_invalid"
    And no plan is recorded

  Scenario: the homes of other projects cannot be listed, and a write into one is never answered with that advice
    Given the environment says MULLIGAN_HOME="../homes"
    And the user types "init" first
    And a plan "into-another"
      """
      steps:
        - {name: one, run: 'touch "$PROJECT/../homes/another-1/mulligan.db"; test -e nothing'}
      """
    And there is a folder "../homes/another-1"
    When the plan is executed
    Then it fails with "step_failed"
    And the message says "another-1/mulligan.db was stopped"
    And no advice names "sandbox.writable"
    When the user types "-c sandbox.writable=~/../homes/another-1 run -- true"
    Then it ends with 125 and "setting_invalid"
