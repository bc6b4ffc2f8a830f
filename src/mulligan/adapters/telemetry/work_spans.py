"""Runs and steps of a worker as spans of OpenTelemetry: where its SDK is installed and OTEL_ variables ask for it.

The worker is configured as any program: OTEL_TRACES_EXPORTER names the exporter (`otlp` where only an endpoint is
set), OTEL_EXPORTER_OTLP_ENDPOINT its address, OTEL_SERVICE_NAME the service, OTEL_SDK_DISABLED switches it off.
"""

from __future__ import annotations

from contextlib import contextmanager
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from contextlib import AbstractContextManager

    from mulligan.domain.plans.plan import Plan
    from mulligan.domain.text.json_value import Json

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_NAMES = {"otlp": ("otlp_proto_http", "otlp_proto_grpc")}  # of exporters, by what OTEL_TRACES_EXPORTER says


class WorkSpans(Protocol):
    """Reports what a worker does."""

    def run_of(self, plan: Plan, host: str) -> AbstractContextManager[None]:
        """Report a run of a plan, until the block ends."""
        ...

    def event(self, event: str, facts: Mapping[str, Json]) -> None:
        """Report what happened: steps of a plan become spans of their own."""

    def close(self) -> None:
        """Send what is still to be sent."""


def work_spans(environ: Mapping[str, str]) -> WorkSpans:
    """Return what reports spans; what reports nothing, where nobody asked or the SDK is not installed."""
    wanted = environ.get("OTEL_TRACES_EXPORTER") or ("otlp" if any(map(environ.get, _ENDPOINTS)) else "none")
    disabled = environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    installed = find_spec("opentelemetry") is not None and find_spec("opentelemetry.sdk") is not None
    if wanted == "none" or disabled or not installed:
        return Unreported()
    names = _NAMES.get(wanted, (wanted,))
    found = [
        each for name in names for each in entry_points(group="opentelemetry_traces_exporter", name=name)
    ]
    return ReportedSpans(found[0].load()()) if found else Unreported()


class Unreported:
    """Reports nothing."""

    @contextmanager
    def run_of(self, plan: Plan, host: str) -> Generator[None]:
        yield

    def event(self, event: str, facts: Mapping[str, Json]) -> None:
        """Report nothing."""

    def close(self) -> None:
        """Send nothing."""


class ReportedSpans:
    """Reports spans through an exporter."""

    def __init__(self, exporter: Any) -> None:
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        self._provider = TracerProvider()  # it reads OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("mulligan")
        self._runs: dict[str, Any] = {}  # spans, by plan
        self._steps: dict[str, Any] = {}
        self._hosts: dict[str, str] = {}

    @contextmanager
    def run_of(self, plan: Plan, host: str) -> Generator[None]:
        about = {"mulligan.plan": plan.plan_id, "mulligan.handle": plan.handle, "host.name": host}
        with self._tracer.start_as_current_span("plan", attributes=about) as span:
            self._runs[plan.plan_id], self._hosts[plan.plan_id] = span, host
            try:
                yield
            finally:
                self._end_step(plan.plan_id, "interrupted")
                del self._runs[plan.plan_id], self._hosts[plan.plan_id]

    def event(self, event: str, facts: Mapping[str, Json]) -> None:
        from opentelemetry.trace import set_span_in_context

        plan = str(facts.get("plan"))
        run = self._runs.get(plan)
        if run is None:
            return
        if event == "step_started":
            about = {"mulligan.plan": plan, "mulligan.step": str(facts.get("step"))}
            about["host.name"] = self._hosts[plan]
            self._steps[plan] = self._tracer.start_span("step", set_span_in_context(run), attributes=about)
        elif event in ("step_done", "step_failed"):
            self._end_step(plan, event.removeprefix("step_"))
        else:
            named = {name: str(value) for name, value in facts.items()}
            run.add_event(event, named)

    def close(self) -> None:
        self._provider.shutdown()

    def _end_step(self, plan: str, how: str) -> None:
        if (span := self._steps.pop(plan, None)) is not None:
            from opentelemetry.trace import StatusCode

            span.set_attribute("mulligan.outcome", how)
            if how == "failed":
                span.set_status(StatusCode.ERROR)
            span.end()
