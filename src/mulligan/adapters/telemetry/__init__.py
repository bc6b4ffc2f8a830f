"""OpenTelemetry, which an installation may be without: `work_spans` is the only module that knows it."""
