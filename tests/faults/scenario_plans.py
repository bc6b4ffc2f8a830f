"""The plan files of the scenario."""

MAIN = """\
name: main
config: {sandbox.cleanup: on_terminal}
resources:
  code: {type: fs-directory, location: code}
  data: {type: fs-directory, location: data}
steps:
  - name: change
    tool: shell
    args:
      command: |
        echo change >> "$PLACE/ran"
        rm -r gone old; mkdir -p made/deep; echo 1 > made/file; ln made/file made/same; chmod 750 tool
  - {name: large, tool: shell, args: {command: 'head -c 70000 /dev/zero | tr "\\0" x'}}
  - {name: use, tool: shell, args: {command: 'wc -c < "$MULLIGAN_OUTPUT_LARGE_FILE" > size'}}
  - {name: pick, decision: {question: Which?, chosen: this, alternatives: [that]}}
  - {name: rows, tool: write_file, resource: data, args: {path: rows, content: "1,2,3"}}
  - name: flaky
    tool: shell
    retries: 1
    args: {command: 'echo half > made/half; test -e "$PLACE/tried" || { touch "$PLACE/tried"; exit 1; }'}
  - {name: milestone, checkpoint: here}
  - name: gate
    tool: shell
    args:
      command: |
        echo gate >> "$PLACE/ran"
        rm -r made; chmod 500 empty; chmod 700 tool; echo > broken; test -e "$PLACE/open"
  - {name: last, tool: shell, args: {command: 'echo last >> "$PLACE/ran"; echo FIRST $MULLIGAN_OUTPUT_PICK > last'}}
"""
ADDED = """\
name: added
steps:
  - {name: one, tool: shell, args: {command: 'echo added.one >> "$PLACE/ran"; echo "$MULLIGAN_GUIDANCE" >> last'}}
  - {name: two, tool: shell, args: {command: 'echo added.two >> "$PLACE/ran"; mkdir more; echo 2 > more/two'}}
"""
IN_PLACE = """\
name: in-place
config: {sandbox.strategy: in_place}
resources: {real: {type: fs-directory, location: real}}
steps:
  - {name: edit, tool: shell, args: {command: 'rm gone other\\ name; echo new > kept; mkdir made; ln kept made/kept'}}
"""
SMALL = """\
name: NAME
resources: {code: {type: fs-directory, location: code}}
steps:
  - {name: one, tool: shell, args: {command: 'echo NAME.one >> "$PLACE/ran"; echo 1 > one; rm -r old'}}
  - {name: two, tool: shell, args: {command: 'echo NAME.two >> "$PLACE/ran"; echo 2 > two; rm gone'}}
"""
SHOWN = """\
name: NAME
resources:
  site: {type: fs-directory, location: site}
  rows: {type: sqlite, location: site/rows.db}
steps:
  - {name: change, tool: shell, args: {command: 'echo NAME > text; rm -f gone; mkdir -p made; echo > made/NAME'}}
  - {name: rows, tool: sql, resource: rows, args: {statements: ["insert into t values ('NAME')"]}}
"""
HALF = """\
name: half
resources: {code: {type: fs-directory, location: code}}
steps:
  - {name: one, run: 'echo half.one >> "$PLACE/ran"; echo 1 > one; rm -r old'}
  - {name: two, run: 'echo 2 > two; rm gone; exit 1'}
"""
# It works in what the cancelled plan left.
AGAIN = """\
name: again
resources: {data: {type: fs-directory, location: data}}
steps:
  - {name: one, run: 'echo again.one >> "$PLACE/ran"; cp large copy; echo 1 > one'}
"""
ASKING = """\
name: asking
resources: {code: {type: fs-directory, location: code}}
steps:
  - {name: one, run: 'echo asking.one >> "$PLACE/ran"; echo 1 > one'}
  - {name: which, decision: {question: Which?, alternatives: [this, that]}}
  - {name: two, run: 'echo asking.two >> "$PLACE/ran"; echo $MULLIGAN_OUTPUT_WHICH > two'}
"""
# A process that is asked to stop while its step runs: the parent of the launcher's guardian is the program. A
# confined step could not signal it.
STOPPED = """\
name: stopped
config: {sandbox.isolate: 'off'}
resources: {code: {type: fs-directory, location: code}}
steps:
  - {name: one, tool: write_file, args: {path: one, content: "1"}}
  - name: two
    tool: shell
    args:
      command: |
        echo 2 > two
        parent() { cut -d' ' -f4 "/proc/$1/stat"; }
        test -e "$PLACE/asked" || { touch "$PLACE/asked"; kill -TERM $(parent $(parent $PPID)); sleep 30; }
"""
# Children that run at once; the third overlaps with the first, and with NOTHING none does.
FAMILY = """\
name: NAME
resources: {kin: {type: fs-directory, location: kin}}
steps:
  - name: parts
    subplans:
      max_parallel: 2
      plans:
        - name: NAME-left
          steps:
            - {name: do, tool: shell, args: {command: 'echo NAME-left.do >> "$PLACE/ran"; echo left >> tool; rm gone'}}
        - name: NAME-right
          steps:
            - {name: one, tool: shell, args: {command: 'echo NAME-right.one >> "$PLACE/ran"; mkdir new; echo > new/1'}}
            - {name: two, tool: shell, args: {command: 'echo NAME-right.two >> "$PLACE/ran"; echo 2 > new/2'}}
        - name: NAME-third
          steps:
            - {name: do, tool: shell, args: {command: 'echo NAME-third.do >> "$PLACE/ran"; OVERLAP'}}
  - {name: after, tool: shell, args: {command: 'echo NAME.after >> "$PLACE/ran"; cat tool new/* > all'}}
"""
