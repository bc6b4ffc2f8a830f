Feature: The tool python
  A function in the sandbox, with a StepContext: memory, decisions, checkpoints, outputs.

  Scenario: what a function is given and what it can record
    Given a project folder
    And the real file "agent.py"
      """
      def begin(context, count):
          context.state["count"] = count
          context.log(f"began with {context.variables['mode']}")
          print("printed, not returned")
          return {"count": count, "guidance": context.guidance}


      def go_on(context):
          work = context.path("workspace") / "work"
          work.write_text("before")
          context.record_decision("Go on?", chosen="yes", alternatives=["no"], rationale="it works", mood="good")
          work.write_text("after")
          context.checkpoint("half way", mood="better")
          work.write_text("done")
          context.state["count"] += context.outputs["begin"]["count"]
          return context.state["count"]
      """
    And a plan "python"
      """
      variables: {mode: earnest}
      steps:
        - {name: begin, tool: python, args: {function: "agent:begin", kwargs: {count: 20}}}
        - {name: go on, tool: python, args: {function: "agent:go_on"}}
        - {name: tell, tool: write_file, args: {path: told, content: "${{ steps.begin.output }} ${{ steps.go on.output }}"}}
      """
    When the plan is executed
    Then it succeeds
    And the live groups are
      | checkpoint_type | label    | step_index | modified |
      | pre_execute     | None     | 0          | True     |
      | before_step     | None     | 0          | False    |
      | before_step     | None     | 1          | False    |
      | decision        | None     | 1          | True     |
      | manual          | half way | 1          | True     |
      | before_step     | None     | 2          | True     |
      | post_execute    | None     | 3          | True     |
    And in the sandbox "told" reads "{"count":20,"guidance":""} 40"
    And in the sandbox "work" reads "done"
    And the files of "half way" hold "work" reading "after"
    And the files of the decision group hold
      | path | content |
      | work | before  |
    And the log tells "began with earnest"
    And the metadata of "half way" has mood "better"
    When the plan is rolled back to its newest decision group
    Then it succeeds
    And its impact is 0 decisions and 2 tool calls
    And in the sandbox "work" reads "before"
    And the counts of the execution are
      | count of  | is |
      | decisions | 1  |

  Scenario: a function that raises, hangs or spawns nothing fails its step
    Given a project folder
    And the real file "agent.py"
      """
      import time


      def wrong(context):
          raise ValueError("gave up")


      def slow(context):
          time.sleep(300)


      def spawn(context):
          context.spawn([])
      """
    And how each of these steps ends
      | step                                                              | says          |
      | {tool: python, args: {function: "agent:wrong"}}                   | gave up       |
      | {tool: python, args: {function: "agent:nobody"}}                  | nobody        |
      | {tool: python, args: {function: "missing:f"}}                     | missing       |
      | {tool: python, timeout: 1, args: {function: "agent:slow"}}        | took longer   |
      | {tool: python, args: {function: "agent:spawn"}}                   | at least one  |
    Then each ended so, with the sandbox as the real folder

  Scenario: a module that the plan changed is read anew
    Given a project folder
    And the real file "agent.py"
      """
      def version(context):
          return "one"
      """
    And a plan "anew"
      """
      steps:
        - {name: first, tool: python, args: {function: "agent:version"}, checkpoint: read once}
        - {name: change, tool: edit_file, args: {path: agent.py, old: one, new: two}}
        - {name: second, tool: python, args: {function: "agent:version"}}
        - {name: tell, tool: write_file, args: {path: told, content: "${{ steps.first.output }} ${{ steps.second.output }}"}}
      """
    When the plan is executed
    Then it succeeds
    And in the sandbox "told" reads "one two"
