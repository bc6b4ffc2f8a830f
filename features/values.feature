Feature: Variables and outputs
  Values come into arguments by name, and into commands only as environment variables.

  Scenario: values in arguments and in the environment
    Given a project folder
    And a plan "values"
      """
      variables: {version: "2.0", two-words: "a b"}
      steps:
        - {name: say, tool: shell, args: {command: 'echo "$MULLIGAN_VAR_VERSION/$MULLIGAN_VAR_TWO_WORDS/${HOME:+home}/[$MULLIGAN_GUIDANCE]"'}}
        - {name: choose, decision: {question: Q, chosen: lark, alternatives: [ply]}}
        - {name: tell, tool: write_file, args: {path: "v${{ version }}", content: "${{ steps.say.output }} ${{steps.choose.output}} $HOME ${X} [${{ guidance }}]"}}
        - {name: large, tool: shell, args: {command: "head -c 70000 /dev/zero | tr '\\0' x"}}
        - {name: as a file, tool: shell, args: {command: 'test -z "$MULLIGAN_OUTPUT_LARGE" && wc -c < "$MULLIGAN_OUTPUT_LARGE_FILE" > size'}}
      """
    When the plan is executed
    Then it succeeds
    And in the sandbox "v2.0" reads "2.0/a b/home/[] lark $HOME ${X} []"
    And in the sandbox "size" reads "70000\n"

  Scenario Outline: what could become code, or names nothing, is refused before anything runs: <why>
    Given a project folder
    And a plan "refused"
      """
      variables: {version: "2.0"}
      steps:
        - {name: run, tool: shell, args: {command: tally run}}
        - <step>
      """
    When the plan is executed
    Then it is a usage error, "plan_file_invalid"
    And the error says "<says>"
    And no step ran

    Examples:
      | why            | says                  | step |
      | in a command   | MULLIGAN_VAR_VERSION  | {name: x, tool: shell, args: {command: "echo ${{ version }}"}} |
      | a later step   | does not come before  | {name: x, tool: write_file, args: {path: f, content: "${{ steps.x.output }}"}} |
