Feature: Words that people read
  Text names plans by handles and checkpoints by numbers, never by ids, whatever happens; --ids adds them. States and kinds
  are in plain words. Every command that a hint names works when it is pasted.

  Background:
    Given a project folder
      | path  | content |
      | a.txt | one\n   |
    And the project has the plan file "tour"
      """
      steps:
        - {name: write, tool: write_file, args: {path: a.txt, content: "two\n"}, checkpoint: written}
        - {name: pick, decision: {question: Which?, chosen: this, alternatives: [that]}}
        - {name: use, tool: shell, args: {command: 'echo $MULLIGAN_OUTPUT_PICK > b.txt; echo used'}}
      """
    And the project has the plan file "fails"
      """
      steps:
        - {name: good, tool: write_file, args: {path: c.txt, content: "c\n"}}
        - {name: bad, tool: shell, args: {command: 'echo left > d.txt; echo why >&2; exit 3'}}
      """
    And the project has the plan file "clash"
      """
      steps:
        - name: parts
          subplans:
            plans:
              - {name: mine, steps: [{tool: write_file, args: {path: a.txt, content: "mine\n"}}]}
              - {name: yours, steps: [{tool: write_file, args: {path: a.txt, content: "yours\n"}}]}
      """

  Scenario: a plan that goes well is looked at, taken back, corrected and applied
    When a reader types
      | line                                                               |
      | plan create tour.yaml                                              |
      | status                                                             |
      | plan execute tour                                                  |
      | plan execute tour                                                  |
      | status                                                             |
      | list --format rich                                                 |
      | log                                                                |
      | plan tree --format rich                                            |
      | checkpoint list                                                    |
      | show tour@3                                                        |
      | show written --format rich                                         |
      | diff                                                               |
      | diff --stat                                                        |
      | checkpoint diff tour@1 tour@-1 --name-only                         |
      | checkpoint prune tour --keep 3 --dry-run                           |
      | checkpoint verify                                                  |
      | checkpoint create tour --label written                             |
      | rollback tour                                                      |
      | rollback tour written                                              |
      | rollback tour@99                                                   |
      | rollback tour@2                                                    |
      | rollback --dry-run tour@2                                          |
      | rollback --yes tour@2                                              |
      | log --format rich                                                  |
      | status                                                             |
      | apply tour                                                         |
      | resume --dry-run                                                   |
      | resume                                                             |
      | undo                                                               |
      | undo --yes                                                         |
      | plan tree --show-superseded                                        |
      | checkpoint list --all                                              |
      | resume -v                                                          |
      | correct pcik --mode revert --guidance other                        |
      | correct pick --mode revert --guidance other --choose that          |
      | correct pick --mode revert --guidance other --choose that --dry-run |
      | correct pick --mode revert --guidance other --choose that --yes    |
      | correct tour/d1 --mode revert --guidance again --yes               |
      | diff --correction tour/c1                                          |
      | diff --correction tour/c9                                          |
      | status                                                             |
      | apply                                                              |
      | apply --dry-run                                                    |
      | apply --yes                                                        |
      | apply --yes tour                                                   |
      | undo --yes tour                                                    |
      | rollback --yes tour@2                                              |
      | resume tour                                                        |
      | cancel tour                                                        |
      | unapply --yes                                                      |
      | status tour                                                        |
      | checkpoint delete tour@1                                           |
      | doctor                                                             |
      | gc                                                                 |
    Then no id and no word of documents was shown, and every command that was named works

  Scenario: what fails, conflicts or is refused
    When a reader types
      | line                                                  |
      | plan execute fails.yaml                               |
      | status                                                |
      | log                                                   |
      | plan tree --show-superseded                           |
      | checkpoint list --all                                 |
      | apply fails                                           |
      | resume                                                |
      | undo --yes                                            |
      | undo --yes                                            |
      | undo --yes                                            |
      | cancel fails                                          |
      | status fails                                          |
      | resume fails                                          |
      | apply fails                                           |
      | plan execute clash.yaml                               |
      | status                                                |
      | status clash.mine                                     |
      | list                                                  |
      | log                                                   |
      | resume clash                                          |
      | plan resolve clash                                    |
      | plan resolve clash nothing                            |
      | apply clash.mine                                      |
      | cancel clash.mine                                     |
      | rollback clash first                                  |
      | run -- sh -c 'echo x > x.txt; exit 3'                 |
      | status                                                |
      | run --name edit -- sh -c 'echo edited > a.txt'        |
      | status edit                                           |
      | nonsense                                              |
      | rnu                                                   |
      | status nobody                                         |
      | rollback edit nothing                                 |
      | checkpoint show nothing                               |
      | checkpoint diff edit@1 clash@1                        |
      | diff edit --from clash@1                              |
      | plan report edit --html edit.html                     |
      | plan report edit --html edit.html                     |
    And the real "a.txt" is changed to "theirs\n"
    And a reader types
      | line              |
      | apply --yes edit  |
      | status edit       |
      | resume edit       |
      | cancel edit       |
      | list              |
    Then no id and no word of documents was shown, and every command that was named works

  Scenario: ids are added on request
    Given the plan file "tour" was executed
    When a reader types
      | line                      |
      | status --ids              |
      | list --ids                |
      | checkpoint list --ids     |
      | plan tree --ids           |
      | apply --yes --ids tour    |
      | undo --yes --ids tour     |
    Then every answer has an id beside its word, and every command that was named works
