"""The saver has all capabilities that LangGraph's own conformance suite knows, on every database."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate

import mulligan
from mulligan.langgraph import MulliganSaver
from tests.support.shared_database import new_address


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_all_capabilities_pass(tmp_path: Path, kind: str) -> None:
    project = mulligan.init(tmp_path, database=None if kind == "sqlite" else new_address())

    @checkpointer_test(name="mulligan")
    async def saver() -> AsyncIterator[MulliganSaver]:
        yield MulliganSaver(project)

    report = asyncio.run(validate(saver))
    failed = [failure for result in report.results.values() for failure in result.failures]
    assert failed == []
    assert report.conformance_level() == "FULL"
    assert all(result.detected for result in report.results.values())
