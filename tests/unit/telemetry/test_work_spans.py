"""A worker reports its runs and steps to OpenTelemetry, where OTEL_ variables ask for that."""

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from mulligan.adapters.telemetry.work_spans import ReportedSpans, Unreported, work_spans
from mulligan.domain.text.ids import PlanId
from tests.unit.examples import a_plan

PLAN = PlanId("01K00000000000000000000001")


def test_a_run_is_a_span_with_a_span_for_each_step() -> None:
    exporter = InMemorySpanExporter()
    spans = ReportedSpans(exporter)
    plan = a_plan(PLAN)
    with spans.run_of(plan, "build-7"):
        spans.event("step_started", {"plan": PLAN, "step": "one"})
        spans.event("step_done", {"plan": PLAN, "step": "one"})
        spans.event("plan_state", {"plan": PLAN, "state": "processing"})
        spans.event("step_started", {"plan": PLAN, "step": "two"})
        spans.event("step_failed", {"plan": PLAN, "step": "two"})
        spans.event("step_started", {"plan": PLAN, "step": "three"})
    spans.event("step_started", {"plan": "another"})
    spans.close()
    *steps, run = exporter.get_finished_spans()
    found = [
        (dict(s.attributes or {})["mulligan.step"], dict(s.attributes or {})["mulligan.outcome"])
        for s in steps
    ]
    assert found == [("one", "done"), ("two", "failed"), ("three", "interrupted")]
    about = dict(run.attributes or {})
    assert (about["mulligan.plan"], about["host.name"]) == (PLAN, "build-7")
    assert run.context is not None
    assert {s.parent.span_id for s in steps if s.parent} == {run.context.span_id}


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"OTEL_TRACES_EXPORTER": "none"},
        {"OTEL_TRACES_EXPORTER": "console", "OTEL_SDK_DISABLED": "true"},
        {"OTEL_TRACES_EXPORTER": "no-such-exporter"},
    ],
)
def test_nothing_is_reported_unless_asked_for(environ: dict[str, str]) -> None:
    spans = work_spans(environ)
    assert isinstance(spans, Unreported)
    with spans.run_of(a_plan(PLAN), "here"):
        spans.event("step_started", {"plan": PLAN})
    spans.close()


def test_the_exporter_is_the_one_that_is_named() -> None:
    assert isinstance(work_spans({"OTEL_TRACES_EXPORTER": "console"}), ReportedSpans)
