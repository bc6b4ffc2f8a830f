Feature: Going on with a plan that stopped
  From the last good restore point; what is discarded is kept, and said.

  Scenario: a plan that failed goes on with a mended file
    Given a project folder
    And a plan "mended"
      """
      steps:
        - {name: one, tool: shell, args: {command: "tally one; echo 1 > one"}}
        - {name: two, tool: shell, args: {command: "tally two; false"}}
      """
    And the plan was executed
    And a plan file "better.yaml" with the same name
      """
      steps:
        - {name: one, tool: shell, args: {command: "tally one; echo 1 > one"}}
        - {name: two, tool: shell, args: {command: "tally better; echo 2 > two"}}
        - {name: three, tool: shell, args: {command: "tally three"}}
      """
    When the plan is resumed with "--plan better.yaml"
    Then it succeeds
    And the plan is "execute/complete"
    And the steps are done, done, done
    And the steps ran: one, two, better, three
    And the log tells "from_step"
    And the sandbox holds "one two"

  Scenario: a file whose completed steps, name or resources are others is refused
    Given a project folder
    And a plan "other"
      """
      steps:
        - {name: one, tool: shell, args: {command: "tally one"}}
        - {name: two, tool: shell, args: {command: "false"}}
      """
    And the plan was executed
    And how everything stands is remembered
    And a plan file "changed.yaml" with the same name
      """
      steps:
        - {name: one, tool: shell, args: {command: "tally another"}}
        - {name: two, tool: shell, args: {command: "true"}}
      """
    When the plan is resumed with "--plan changed.yaml"
    Then it is refused with "plan_file_differs"
    And the error says "step 1"
    And nothing has changed
    Given a plan file "shorter.yaml" with the same name
      """
      resources: {sub: {type: fs-directory, location: .}}
      steps:
        - {name: one, tool: shell, args: {command: "tally one"}}
      """
    When the plan is resumed with "--plan shorter.yaml"
    Then it is refused with "plan_file_differs"
    And the error says "resources"
    And nothing has changed
    And the steps ran: one

  Scenario: it is said beforehand where a plan would go on, and what would be discarded
    Given a project folder
    And a plan "cut"
      """
      config: {sandbox.checkpoint.auto-create-on: []}
      steps:
        - {name: one, tool: shell, args: {command: "tally one; echo 1 > one"}, checkpoint: marked}
        - {name: two, tool: shell, args: {command: "tally two; echo 2 > two"}}
        - {name: three, tool: shell, args: {command: "tally three; hold"}}
      """
    And the plan is being executed and holds
    And its process was killed
    And how everything stands is remembered
    When the plan is resumed with "--dry-run"
    Then it succeeds
    And a message says "at step 2 (two)"
    And a message says "1 path, would be kept in a checkpoint and discarded"
    And a message says "run again, because no checkpoint follows them: two"
    And it would continue from step 1
    And nothing has changed
    When the held are released
    And the plan is resumed with ""
    Then it succeeds
    And it went on from step 1 and discarded something
    And a message says "run again, because no checkpoint follows them: two"
    And the steps ran: one, two, three, two, three

  Scenario: a plan is taken over from a process that hangs
    Given a project folder
    And a plan "hung"
      """
      steps:
        - {name: one, tool: shell, args: {command: "tally one; echo 1 > one"}}
        - {name: two, tool: shell, args: {command: "tally two; echo half > two; hold; echo 2 > two"}}
      """
    And the plan is being executed and holds
    And its process hangs
    When the plan is resumed with ""
    Then it is refused with "plan_busy"
    And the hint says "--take-over"
    When the held are released
    And the plan is resumed with "--take-over"
    Then it succeeds
    And the process that hung is ended
    And it went on from step 1 and discarded something
    And in the sandbox "two" reads "2\n"
    And the steps ran: one, two, two

  Scenario: a plan that is complete is not run again
    Given a project folder
    And a plan "done"
      """
      steps: [{name: one, tool: shell, args: {command: tally one}}]
      """
    And the plan was executed
    When the plan is resumed with ""
    Then it is refused with "plan_already_complete"
    When the plan is resumed with "--dry-run"
    Then it is refused with "plan_already_complete"
    When the plan is resumed with "--dry-run --take-over"
    Then it is a usage error, "usage_wrong"
    And the steps ran: one
