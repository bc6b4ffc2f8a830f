"""A shared project with plans to submit, and what becomes of them."""

import json
from pathlib import Path

import psycopg

from mulligan.config.database_address import parts_of
from tests.commands.program import data_of
from tests.support.worker_thread import wait_until


def shared_project(folder: Path, address: str) -> Path:
    """Make a shared project whose steps may count, outside of it, how often they ran."""
    folder.mkdir()
    (folder / "notes.txt").write_text("first\n")
    data_of(folder, "init", "--database", address)
    data_of(folder, "config", "set", "sandbox.isolate", "off")
    data_of(folder, "config", "set", "sandbox.at", "own-path")
    return folder


def rows_of(address: str, statement: str) -> list[tuple[object, ...]]:
    parts = parts_of(address)
    with psycopg.connect(parts.conninfo, options=f"-c search_path={parts.schema}", autocommit=True) as raw:
        found = raw.execute(statement.encode())
        return found.fetchall() if found.description else []


def plan_file(project: Path, name: str, *commands: str) -> str:
    """Write a plan whose steps run these commands; return its file."""
    steps = [{"name": f"step {number}", "run": command} for number, command in enumerate(commands, 1)]
    (project / f"{name}.yaml").write_text(json.dumps({"name": name, "steps": steps}))
    return f"{name}.yaml"


def state_of(project: Path, plan: str) -> str:
    status = data_of(project, "status", plan)
    return "submitted" if status["phase"] == "strategize" else str(status["state"])


def becomes(project: Path, plan: str, state: str) -> None:
    wait_until(lambda: state_of(project, plan) == state, f"{plan} is {state}")


def is_closed(address: str, plan_id: str) -> bool:
    rows = rows_of(address, f"SELECT closed FROM submissions WHERE plan_id = '{plan_id}'")
    return rows == [(1,)]
