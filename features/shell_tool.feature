Feature: The tool shell
  Any command, in the sandbox; the step is over when all its processes are.

  Scenario: folder, environment, arguments and output
    Given a project folder
      | path     | content |
      | sub/here | x       |
    And a plan "shell"
      """
      variables: {greeting: "good day; rm -rf ."}
      steps:
        - {name: in a folder, tool: shell, args: {command: "ls > list; echo $WHO", cwd: sub, env: {WHO: me}}}
        - {name: literal, tool: shell, args: {argv: [sh, -c, 'printf "%s\n" "$@"', sh, "${{ greeting }}", "$HOME"]}}
        - {name: last line, tool: shell, args: {command: "printf 'a\\nb\\n\\n'"}}
        - name: outputs
          tool: shell
          args: {command: 'printf "[%s]" "$MULLIGAN_OUTPUT_IN_A_FOLDER" "$MULLIGAN_OUTPUT_LITERAL" "$MULLIGAN_OUTPUT_LAST_LINE" > outputs'}
      """
    When the plan is executed
    Then it succeeds
    And in the sandbox "sub/list" reads "here\nlist\n"
    And in the sandbox "outputs" reads "[me][good day; rm -rf .\n$HOME][a\nb\n]"

  Scenario: what a command leaves running is ended and reported
    Given a project folder
    And a plan "leftovers"
      """
      steps:
        - name: leave
          tool: shell
          args: {command: "setsid sh -c 'echo $$ > $NOTES/far; exec sleep 321' & (sleep 321 & echo $! > $NOTES/near); while ! [ -s $NOTES/far ]; do sleep 0.01; done"}
        - {name: next, tool: shell, args: {command: tally next}}
      """
    When the plan is executed
    Then it succeeds
    And the process noted as "far" is ended
    And the process noted as "near" is ended
    And the log tells "sleep 321"
    And a message says "left running and ended"
    And the steps ran: next

  Scenario: a step that takes too long is ended with all its processes
    Given a project folder
    And a plan "slow"
      """
      steps:
        - {name: slow, tool: shell, timeout: 5, args: {command: "echo half > half; echo $$ > $NOTES/slow; sleep 321; tally never"}}
      """
    When the plan is executed
    Then it fails with "step_failed"
    And the error says "took longer than 5 s"
    And the process noted as "slow" is ended
    And the sandbox is empty
    And no step ran
