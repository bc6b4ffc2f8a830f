"""A plan to which everything happens that a report tells of, with names and outputs that mean harm."""

from pathlib import Path

import mulligan

SCRIPT = "<script>document.title=/owned/.source</script>"
NAME = f"</title>{SCRIPT}"
ODD_FILE = b"caf\xe9 <b>.txt"  # not UTF-8
LINES = 1_000  # of a file, and of an output: more than is shown

PLAN = f"""
name: "{NAME}"
description: "Move the API to v2 & keep <clients> happy"
variables: {{version: "2.0"}}
steps:
  - name: "bump <b>"
    tool: write_file
    args: {{path: VERSION, content: "${{{{ version }}}}\\n"}}
    checkpoint: draft
  - name: choose a parser
    decision:
      question: "Which parser? {SCRIPT}"
      chosen: lark
      alternatives: [ply, "<i>hand-written</i>"]
      rationale: Error messages that people understand
  - name: rewrite
    tool: shell
    args:
      command: |
        sed 1s/v1/v2/ api.txt > moved.txt; rm api.txt
        printf x > "$(printf 'caf\\351 <b>.txt')"
        printf '\\0binary' > image; mkdir empty
        seq 1 {LINES} > numbers.txt
        head -c 300000 /dev/zero | tr '\\0' x > large.txt
        printf '\\033[31mred\\033[0m \\033]0;title\\007{SCRIPT} \\033 \\342\\200\\256 bidi\\r\\n'
        seq 1 {LINES}
  - name: parts
    subplans:
      plans:
        - name: docs & more
          steps: [{{name: write, tool: write_file, args: {{path: README.md, content: "# v2\\n"}}}}]
        - {{name: client, steps: [{{name: write, tool: python, args: {{function: "helper:help"}}}}]}}
  - name: test
    tool: shell
    args: {{command: "echo 1 != 2 '{SCRIPT}' >&2; false"}}
"""
FILES = {
    "VERSION": "1.0\n",
    "api.txt": "".join(f"GET /v1/users/{number}\n" for number in range(40)),
    "helper.py": f"def help(context):\n    context.log('a word {SCRIPT}')\n    return {{'made': ['client']}}\n",
    "plan.yaml": PLAN,
}


def eventful_project(folder: Path) -> mulligan.Project:
    """Run the plan: it fails, is corrected, fails again, is rolled back, goes on, and fails once more."""
    for name, text in FILES.items():
        (folder / name).write_text(text)
    project = mulligan.init(folder)
    project.config.set("sandbox.isolate", "off")  # what tools may write is not what is looked at here
    assert project.execute(folder / "plan.yaml").state == "errored"
    decision = next(node for node in project.tree(NAME).children if node.type == "decision")
    project.correct(decision.id, guidance=f"use ply {SCRIPT}", choose="ply")
    project.rollback(NAME, "draft")
    project.resume(NAME)
    return project
