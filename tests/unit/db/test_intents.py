"""Rows of intents: their text is that of every earlier version, which may have to finish them."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import ValidationError

from mulligan.adapters.db.database_file import sqlite_database
from mulligan.domain.plans.intent import (
    ApplyWork,
    CorrectionWork,
    Intent,
    IntentKind,
    RestoreWork,
    RollbackWork,
    SandboxWork,
    StepReturnWork,
    UnapplyWork,
    UndoWork,
    Work,
)
from mulligan.domain.plans.plan import PlanFailure, State
from mulligan.domain.text.ids import GroupId, IntentId, PlanId
from mulligan.rows.database import Database
from tests.unit.domain.test_correction import CORRECTION
from tests.unit.examples import NOON, a_plan

PLAN = PlanId("01K00000000000000000000001")
FAILED = PlanFailure(message="no", step="s", tool=None, checkpoint="c")
RETURN: dict[str, object] = {
    "target": "g",
    "way_back": True,
    "before": "b",
    "spare": None,
    "ends_children": True,
    "spared_children": ["01K00000000000000000000002"],
    "state": "queued",
    "failure": None,
    "log": {"reason": "rollback"},
    "correction": None,
    "at_seq": 0,
    "phase": "execute",
    "undoes": None,
    "redoes": None,
    "locations": [],
}
NEW = {"undoes": None, "redoes": None}
WORKS: dict[str, tuple[Work, dict[str, object]]] = {
    "sandbox": (SandboxWork(resources=("a", "b")), {"resources": ["a", "b"]}),
    "apply": (ApplyWork(locations=("/a",)), {"locations": ["/a"], **NEW}),
    "unapply": (UnapplyWork(locations=("/a",), undoes=3), {"locations": ["/a"], "undoes": 3, "redoes": None}),
    "restore": (
        RestoreWork(locations=("/a",), source=GroupId("g")),
        {"locations": ["/a"], "source": "g", **NEW},
    ),
    "rollback": (
        RollbackWork(
            target=GroupId("g"),
            way_back=True,
            before=GroupId("b"),
            ends_children=True,
            spared_children=(PlanId("01K00000000000000000000002"),),
            state=State.QUEUED,
            log={"reason": "rollback"},
        ),
        RETURN,
    ),
    "undo": (
        UndoWork(target=GroupId("g"), state=State.QUEUED, log={}, undoes=3, at_seq=7, locations=("/a",)),
        {
            **{name: value for name, value in RETURN.items() if name != "correction"},
            "way_back": False,
            "before": None,
            "ends_children": False,
            "spared_children": [],
            "log": {},
            "at_seq": 7,
            "undoes": 3,
            "locations": ["/a"],
        },
    ),
    "return": (
        StepReturnWork(target=GroupId("g"), spare=GroupId("s"), state=State.ERRORED, failure=FAILED, log={}),
        {
            **RETURN,
            "way_back": False,
            "before": None,
            "spare": "s",
            "ends_children": False,
            "spared_children": [],
            "state": "errored",
            "failure": {"message": "no", "step": "s", "tool": None, "checkpoint": "c"},
            "log": {},
        },
    ),
    "correction": (
        CorrectionWork(target=GroupId("g"), state=State.QUEUED, log={}, correction=CORRECTION),
        {
            **RETURN,
            "way_back": False,
            "before": None,
            "ends_children": False,
            "spared_children": [],
            "log": {},
            "correction": {
                "correction_id": CORRECTION.correction_id,
                "plan_id": CORRECTION.plan_id,
                "mode": CORRECTION.mode.value,
                "decision_id": CORRECTION.decision_id,
                "intervention_id": CORRECTION.intervention_id,
                "guidance": CORRECTION.guidance,
                "chosen": CORRECTION.chosen,
                "redefines": CORRECTION.redefines,
                "attempt": CORRECTION.attempt,
                "superseded_decisions": list(CORRECTION.superseded_decisions),
                "cancelled_child_plans": list(CORRECTION.cancelled_child_plans),
                "restored_checkpoint": CORRECTION.restored_checkpoint,
                "created_at": CORRECTION.created_at.isoformat().replace("+00:00", "Z"),
            },
        },
    ),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "mulligan.db"


@pytest.fixture
def database(file: Path) -> Iterator[Database]:
    database = sqlite_database(file)
    with database.writing() as db:
        db.plans.add(a_plan())
    yield database
    database.close()


def test_there_is_a_row_of_every_kind() -> None:
    assert set(WORKS) == {kind.value for kind in IntentKind}


@pytest.mark.parametrize("kind", WORKS)
def test_the_text_of_a_row_stays_what_it_was(database: Database, file: Path, kind: str) -> None:
    work, document = WORKS[kind]
    intent = Intent(intent_id=IntentId("i"), plan_id=PLAN, work=work, created_at=NOON)
    with database.writing() as db:
        db.intents.add(intent)
    with closing(sqlite3.connect(file)) as plain:
        row = plain.execute("SELECT kind, data_json, definition_json FROM intents").fetchone()
    assert row == (kind, json.dumps(document, sort_keys=True, separators=(",", ":")), None)
    with database.reading() as db:
        assert db.intents.list(PLAN) == [intent]
        assert intent.kind is IntentKind(kind)
        assert intent.target == document.get("target")


def test_a_return_of_a_version_that_knew_no_children_is_read(database: Database, file: Path) -> None:
    newer = (
        "ends_children",
        "spared_children",
        "correction",
        "at_seq",
        "phase",
        "undoes",
        "redoes",
        "locations",
    )
    text = json.dumps({key: value for key, value in RETURN.items() if key not in newer})
    with closing(sqlite3.connect(file)) as plain, plain:
        plain.execute(
            "INSERT INTO intents (intent_id, plan_id, seq, kind, data_json, created_at) VALUES (?, ?, 1, ?, ?, ?)",
            ("i", PLAN, "rollback", text, NOON.isoformat()),
        )
    with database.reading() as db:
        (intent,) = db.intents.list(PLAN)
    assert intent.work == RollbackWork(
        target=GroupId("g"),
        way_back=True,
        before=GroupId("b"),
        state=State.QUEUED,
        log={"reason": "rollback"},
    )


@pytest.mark.parametrize(("kind", "text"), [("apply", "{}"), ("rollback", '{"target": 1}'), ("other", "{}")])
def test_a_row_that_makes_no_sense_is_refused(database: Database, file: Path, kind: str, text: str) -> None:
    with closing(sqlite3.connect(file)) as plain, plain:
        plain.execute(
            "INSERT INTO intents (intent_id, plan_id, seq, kind, data_json, created_at) VALUES (?, ?, 1, ?, ?, ?)",
            ("i", PLAN, kind, text, NOON.isoformat()),
        )
    with database.reading() as db, pytest.raises(ValidationError):
        db.intents.list(PLAN)
