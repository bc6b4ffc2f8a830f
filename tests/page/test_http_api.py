"""The HTTP API of the page: what it answers is what its OpenAPI document says, and errors are problem documents."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.page.served import Visit, visit
from tests.page.worlds import simple_project
from tests.report.eventful import NAME

LOOKS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("timeline", {}),
    ("timeline", {"limit": 2, "before": 5, "kind": "step", "agent": NAME, "path": "api.txt"}),
    ("entry", {"number": 1}),
    ("plans", {"waiting": "true"}),
    ("plans", {}),
    ("status", {"plan": NAME}),
    ("progress", {"plan": NAME}),
    ("log", {"plan": NAME, "limit": 5, "after": 2}),
    ("outputs", {"plan": NAME}),
    ("checkpoints", {"plan": NAME, "superseded": "true"}),
    ("diff", {"plan": NAME, "path": "api.txt", "hidden": "true"}),
    ("diff", {"entry": 1}),
    ("diff", {"old": "draft", "new": "latest"}),
    ("tree", {"checkpoint": "draft"}),
    ("gc", {}),
)


def checked(document: Any, schema: Any, value: Any) -> None:
    """Fail unless a value is what a schema of the document says."""
    jsonschema.Draft202012Validator({**schema, "components": document["components"]}).validate(value)


def test_every_look_answers_what_its_schema_says(made: Path) -> None:
    async def body(visitor: Visit) -> None:
        document = (await visitor.get("/api/openapi.json")).json()
        assert document["openapi"] == "3.1.0"
        assert {look for look, _ in LOOKS} | {"variants", "conflict"} == {
            name.removeprefix("/api/") for name, methods in document["paths"].items() if "get" in methods
        }
        for name, query in LOOKS:
            answer = await visitor.get(f"/api/{name}", **query)
            assert answer.status_code == 200, (name, answer.text)
            responses = document["paths"][f"/api/{name}"]["get"]["responses"]
            schema = responses["200"]["content"]["application/json"]["schema"]
            try:
                checked(document, schema, answer.json())
            except jsonschema.ValidationError as exc:
                pytest.fail(f"{name}: {list(exc.absolute_path)} {exc.message}")

    visit(made, body)


def test_a_schema_would_see_what_is_wrong(made: Path) -> None:
    """Else the silence of the test above would prove nothing."""

    async def body(visitor: Visit) -> None:
        document = (await visitor.get("/api/openapi.json")).json()
        answer = (await visitor.get("/api/status", plan=NAME)).json()
        responses = document["paths"]["/api/status"]["get"]["responses"]
        answer["data"]["steps"][0]["index"] = "one"
        with pytest.raises(jsonschema.ValidationError):
            checked(document, responses["200"]["content"]["application/json"]["schema"], answer)

    visit(made, body)


def test_errors_are_problem_documents_with_next_steps_as_data(made: Path) -> None:
    async def body(visitor: Visit) -> None:
        document = (await visitor.get("/api/openapi.json")).json()
        for address, query, status, kind in (
            ("/api/status", {"plan": "nothing"}, 404, "plan_not_found"),
            ("/api/status", {}, 400, "usage_wrong"),
            ("/api/status", {"plan": "x", "more": "y"}, 400, "usage_wrong"),
            ("/api/nothing", {}, 400, "usage_wrong"),
            ("/api/timeline", {"kind": "nothing"}, 400, "usage_wrong"),
            ("/api/diff", {"old": "draft"}, 400, "usage_wrong"),
            ("/api/variants", {"plan": NAME}, 409, "plan_not_a_try"),
        ):
            answer = await visitor.get(address, **query)
            assert (answer.status_code, answer.json()["kind"]) == (status, kind), answer.text
            assert answer.headers["content-type"] == "application/problem+json"
            checked(document, {"$ref": "#/components/schemas/Problem"}, answer.json())
        steps = (await visitor.get("/api/tree", checkpoint="draft", path="nowhere")).json()["next_steps"]
        assert steps[0]["operation"] == "list_tree"
        assert steps[0]["command"].startswith("mulligan list ")

    visit(made, body)


def test_refused_requests_are_problem_documents_too(made: Path) -> None:
    async def body(visitor: Visit) -> None:
        await visitor.enter()
        document = (await visitor.get("/api/openapi.json")).json()
        client, token = visitor.client, await visitor.token()
        other = {"host": "evil.example"}
        answers = {
            403: await client.post("/api/acts/undo", json={}),
            404: await client.get("/api/nothing/here"),
            405: await client.get("/api/acts/undo"),
            414: await client.get("/api/timeline", params={"path": "x" * 20_000}),
            421: await client.get("/api/timeline", headers=other),
        }
        assert answers[405].headers["allow"] == "POST"
        refused = await client.post("/api/acts/undo", content=b"x", headers={**token, "content-length": "x"})
        answers[413] = refused
        client.cookies.clear()
        answers[401] = await client.get("/api/timeline")
        for status, answer in answers.items():
            assert answer.status_code == status
            assert answer.headers["content-type"] == "application/problem+json"
            problem = answer.json()
            assert (problem["status"], problem["kind"]) == (status, "request_refused")
            checked(document, {"$ref": "#/components/schemas/Problem"}, problem)

    visit(made, body, inside=False)


def test_the_document_is_exact_about_what_programs_send(made: Path) -> None:
    async def body(visitor: Visit) -> None:
        document = (await visitor.get("/api/openapi.json")).json()
        assert document["components"]["securitySchemes"]["session"]["name"] == visitor.access.cookie
        kinds = next(
            parameter["schema"]
            for parameter in document["paths"]["/api/timeline"]["get"]["parameters"]
            if parameter["name"] == "kind"
        )
        checked(document, kinds, "prompt")
        with pytest.raises(jsonschema.ValidationError):
            checked(document, kinds, "nothing")
        for act, needs_body in (("label", True), ("undo", False)):
            sent = document["paths"][f"/api/acts/{act}"]["post"]["requestBody"]
            assert sent["required"] == needs_body
        label = document["paths"]["/api/acts/label"]["post"]["requestBody"]["content"]["application/json"]
        checked(document, label["schema"], {"plan": "x", "label": "y", "dry_run": True})
        with pytest.raises(jsonschema.ValidationError):
            checked(document, label["schema"], {"plan": "x", "label": "y", "unknown": 1})

    visit(made, body)


def test_a_restore_without_paths_is_refused(made: Path) -> None:
    async def body(visitor: Visit) -> None:
        for asked in ({}, {"sandbox": True}, {"checkpoint": "draft"}):
            for dry_run in (True, False):
                given = {**asked, "dry_run": dry_run}
                answer = await visitor.client.post(
                    "/api/acts/restore", json=given, headers=await visitor.token()
                )
                assert (answer.status_code, answer.json()["kind"]) == (400, "usage_wrong"), given
        both = {"checkpoint": "draft", "entry": 1, "paths": ["a"], "dry_run": True}
        answer = await visitor.client.post("/api/acts/restore", json=both, headers=await visitor.token())
        assert answer.json()["kind"] == "usage_wrong"

    visit(made, body)


def test_a_program_does_acts_with_their_previews(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    project = simple_project(folder)
    project.run_command(["sh", "-c", "echo Hello > greeting.txt"], name="hello")
    project.close()

    async def body(visitor: Visit) -> None:
        document = (await visitor.get("/api/openapi.json")).json()
        preview = await visitor.act("apply", plan="hello", dry_run=True)
        assert [touched["name"] for touched in preview["touches"]] == ["greeting.txt"]
        assert preview["command"] == "mulligan apply hello"
        assert (folder / "greeting.txt").read_text() == "Hey there\n"
        headers = await visitor.token()
        done = await visitor.client.post("/api/acts/apply", json={"plan": "hello"}, headers=headers)
        responses = document["paths"]["/api/acts/apply"]["post"]["responses"]
        checked(document, responses["200"]["content"]["application/json"]["schema"], done.json())
        assert (folder / "greeting.txt").read_text() == "Hello\n"
        again = await visitor.client.post("/api/acts/apply", json={"plan": "hello"}, headers=headers)
        assert (again.status_code, again.json()["kind"]) == (409, "plan_already_applied")
        # Real files that others changed since: a conflict is an error with what it would have touched.
        (folder / "greeting.txt").write_text("Mine\n")
        conflict = await visitor.client.post("/api/acts/undo", json={}, headers=headers)
        assert (conflict.status_code, conflict.json()["kind"]) == (409, "apply_conflicted")
        assert conflict.json()["data"]["touches"][0]["action"] == "conflict"
        for content, name in ((b"{", "undo"), (b"[]", "undo"), (b'{"what": 1}', "undo"), (b"{}", "nothing")):
            answer = await visitor.client.post(f"/api/acts/{name}", content=content, headers=headers)
            assert answer.status_code == 400, content
        commit = await visitor.client.post(
            "/api/acts/apply", json={"plan": "hello", "commit": True, "dry_run": True}, headers=headers
        )
        assert commit.json()["kind"] == "plan_already_applied"

    visit(folder, body)
