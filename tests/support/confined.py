"""What tests of confined tools need: ways to write a file, and room for what coverage writes."""

import os
import sys
from pathlib import Path
from typing import Any

# Ways to write a file or something beside it; each ends well where nothing stops it. $1 is the file.
ATTEMPTS = {
    "write": 'echo x > "$1"',
    "append": 'echo x >> "$1"',
    "make a file beside it": 'echo x > "$1.new"',
    "make a folder beside it": 'mkdir "$1.new"',
    "make a symlink beside it": 'ln -s x "$1.new"',
    "make a fifo beside it": 'mkfifo "$1.new"',
    "link a file out": 'echo x > own; ln own "$1.new"',
    "write through a hard link": 'ln "$1" linked && echo x > linked',
    "write through a symlink": 'ln -s "$1" linked; echo x > linked',
    "truncate": 'truncate -s 0 "$1"',
    "truncate by name": f"{sys.executable} -c 'import os, sys; os.truncate(sys.argv[1], 0)' \"$1\"",
    "remove": 'rm "$1"',
    "rename": 'mv "$1" "$1.new"',
    "move out": 'echo x > own; mv own "$1"',
    "move in": 'mv "$1" own',
    "write in another session": 'setsid -w sh -c "echo x > \\"$1\\""',
    "write as a child of nobody": (
        '(sh -c "echo x > \\"$1\\" && touch out; touch over" &); until test -e over; do sleep 0.01; done; test -e out'
    ),
}


def written_by_coverage() -> list[str]:
    """The folder in which measured processes leave what they ran; none where nothing is measured."""
    file = os.environ.get("COVERAGE_FILE")
    return [str(Path(file).parent)] if file else []


def an_attempt(name: str, aim: Path, verdict: str) -> dict[str, Any]:
    """A step that tries one of them; `verdict` says how its success is judged."""
    command = f'try() {{ {ATTEMPTS[name]}; }}\ncd "$(mktemp -d -p .)"\ntry "{aim}" {verdict}'
    return {"name": f"{name}: {aim.parent.name}", "tool": "shell", "args": {"command": command}}
