Feature: Decisions that wait for a person
  A decision without a choice stops the plan, which waits for an answer and holds nothing meanwhile.

  Background:
    Given a project folder
    And a plan "greeting"
      """
      steps:
        - {name: begin, run: "tally begin; touch begin"}
        - {name: language, decision: {question: "Which language?", alternatives: [French, Italian]}}
        - {name: say, run: 'tally say; echo "$MULLIGAN_OUTPUT_LANGUAGE" > said'}
      """
    And the plan was executed

  Scenario: the plan waits, and runs on with the answer
    Then it waits for an answer to "Which language?" with "French, Italian"
    And the plan is "execute/constrained"
    And the steps are done, pending, pending
    When the user types "resume greeting"
    Then it waits for an answer to "Which language?" with "French, Italian"
    When the user types "list --waiting"
    Then the plans that wait are "greeting"
    When the user types "answer greeting German"
    Then it is refused with "answer_unknown"
    When the user types "answer greeting Italian --rationale 'as agreed'"
    Then it succeeds
    And the plan is "execute/complete"
    And the steps ran: begin, say
    And in the sandbox "said" reads "Italian\n"
    And the decision "Which language?" is "Italian" because of "as agreed"
    When the user types "list --waiting"
    Then the plans that wait are ""
    When the user types "answer greeting French"
    Then it is refused with "plan_not_ready"

  Scenario: after a rollback it asks again, and a correction chooses without asking
    When the user types "answer greeting French"
    And the user types "rollback --yes greeting first"
    And the user types "resume greeting"
    Then it waits for an answer to "Which language?" with "French, Italian"
    When the user types "answer greeting French"
    And the user types "correct language --mode revert --choose Italian --guidance other --yes"
    Then it succeeds
    And the plan is "execute/complete"
    And in the sandbox "said" reads "Italian\n"

  Scenario: a plan that waits is accepted without the rest
    When the user types "accept greeting"
    Then it succeeds
    And the plan is "execute/complete"
    And the steps are done, pending, pending

  Scenario: a child plan cannot ask
    Given a plan "family"
      """
      steps:
        - subplans:
            plans:
              - name: child
                steps: [{decision: {question: "Which?"}}]
      """
    When the plan is executed
    Then it is a usage error, "plan_file_invalid"
