"""The acts of the page: each is previewed, agreed to and done, and what it did is on disk."""

import re
from html import unescape
from pathlib import Path

import pytest

import mulligan
from mulligan.page.acts.act_arguments import ActArguments
from mulligan.page.acts.act_jobs import ActJob, ActJobs
from mulligan.page.acts.act_table import Act
from tests.page.served import Visit, visit
from tests.page.test_http_api import checked
from tests.page.worlds import simple_project

HELLO = ["sh", "-c", "echo Hello > greeting.txt"]
PLAN = """
name: work
steps:
  - {name: choose, decision: {question: Which?, chosen: French, alternatives: [Italian]}}
  - {name: write, run: 'echo Bonjour > greeting.txt'}
  - {name: check, run: 'test -e allowed || exit 3'}
"""
QUESTION = """
name: asks
steps:
  - {name: choose, decision: {question: Which one?, alternatives: [left, right]}}
  - {name: write, run: 'echo done > answer.txt'}
"""
CLASH = """
name: clash
steps:
  - name: parts
    subplans:
      plans:
        - {name: one, steps: [{name: w, tool: write_file, args: {path: greeting.txt, content: "one\\n"}}]}
        - {name: two, steps: [{name: w, tool: write_file, args: {path: greeting.txt, content: "two\\n"}}]}
  - {name: after, run: 'cp greeting.txt after.txt'}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "work"


@pytest.fixture
def project(folder: Path) -> mulligan.Project:
    return simple_project(folder)


def greeting(folder: Path) -> str:
    return (folder / "greeting.txt").read_text()


def test_apply_undo_redo_and_unapply(folder: Path, project: mulligan.Project) -> None:
    project.run_command(HELLO, name="hello")
    project.close()

    async def body(visitor: Visit) -> None:
        preview = await visitor.seen("/act/apply", plan="hello")
        assert "greeting.txt" in preview
        assert "mulligan apply hello" in preview
        assert greeting(folder) == "Hey there\n"
        assert "changed." in await visitor.agree("/act/apply?plan=hello")
        assert greeting(folder) == "Hello\n"
        assert "is undone" in await visitor.agree("/act/undo?what=2")
        assert greeting(folder) == "Hey there\n"
        assert "is brought back" in await visitor.agree("/act/redo")
        assert greeting(folder) == "Hello\n"
        assert "taken out" in await visitor.agree("/act/unapply?plan=hello")
        assert greeting(folder) == "Hey there\n"

    visit(folder, body)


def test_restore_rollback_label_and_remove(folder: Path, project: mulligan.Project) -> None:
    project.run_command(HELLO, name="hello")
    project.close()

    async def body(visitor: Visit) -> None:
        assert "1 path came back" in await visitor.agree("/act/restore?checkpoint=hello&paths=greeting.txt")
        assert greeting(folder) == "Hello\n"
        assert "1 path came back" in await visitor.agree("/act/restore?checkpoint=hello@1&paths=greeting.txt")
        assert greeting(folder) == "Hey there\n"
        assert "came back" in await visitor.agree("/act/restore?entry=1")
        assert greeting(folder) == "Hello\n"
        assert "has the name" in await visitor.agree("/act/label?plan=hello", label="nice")
        assert project.checkpoints.show("nice")[0].label == "nice"
        assert "went to hello@1" in await visitor.agree("/act/rollback?plan=hello&checkpoint=@1")
        assert project.read_path("latest", "greeting.txt") == b"Hey there\n"
        assert "forgotten" in await visitor.agree("/act/remove?plan=hello")
        assert [plan.handle for plan in project.plans()] == []
        freed = await visitor.agree("/act/gc")
        assert "were freed" in freed
        assert "All is well" in await visitor.agree("/act/doctor")

    visit(folder, body)
    project.close()


def test_a_failed_plan_is_resumed_corrected_and_accepted(folder: Path, project: mulligan.Project) -> None:
    (folder / "plan.yaml").write_text(PLAN)
    assert project.execute(folder / "plan.yaml").state == "errored"

    async def body(visitor: Visit) -> None:
        page = await visitor.seen("/plan", name="work")
        assert 'href="/act/resume?plan=work"' in page
        failed = await visitor.agree("/act/resume?plan=work")
        assert "exit status 3" in failed
        assert "failed" in failed
        corrected = await visitor.agree("/act/correct?decision=work/d1&choose=Italian&execute=false")
        assert "attempt 2 begins" in corrected
        assert project.status("work").attempt == 2
        assert "is complete" in await visitor.agree("/act/accept?plan=work")
        assert project.status("work").state == "complete"
        cancelled = await visitor.agree("/act/cancel?plan=work&reason=enough")
        assert "cancelled for good" in cancelled
        assert project.status("work").state == "cancelled"

    visit(folder, body)
    project.close()


def test_a_question_is_answered_with_one_of_its_alternatives(folder: Path, project: mulligan.Project) -> None:
    (folder / "asks.yaml").write_text(QUESTION)
    project.execute(folder / "asks.yaml")

    async def body(visitor: Visit) -> None:
        assert "Which one?" in await visitor.seen("/")
        page = unescape(await visitor.seen("/plan", name="asks"))
        assert "/act/answer?plan=asks&choice=right" in page
        assert "got its answer: right" in await visitor.agree("/act/answer?plan=asks&choice=right")
        assert project.status("asks").state == "complete"

    visit(folder, body)
    project.close()


def test_conflicts_of_child_plans_are_marked_as_solved(folder: Path, project: mulligan.Project) -> None:
    (folder / "clash.yaml").write_text(CLASH)
    project.execute(folder / "clash.yaml")

    async def body(visitor: Visit) -> None:
        page = await visitor.seen("/plan", name="clash")
        assert "1 conflict" in page
        refused = await visitor.agree("/act/resolve?plan=clash&paths=greeting.txt")
        assert "markers" in refused
        sandbox = Path(project.status("clash").sandboxes[0].path)
        (sandbox / "greeting.txt").write_text("both\n")
        assert "No conflict is left" in await visitor.agree("/act/resolve?plan=clash&paths=greeting.txt")
        assert "clash: complete" in await visitor.agree("/act/resume?plan=clash")

    visit(folder, body)
    project.close()


def test_a_file_in_conflict_is_edited(folder: Path, project: mulligan.Project) -> None:
    (folder / "greeting.txt").write_bytes(b"Hey there\r\n")
    (folder / "clash.yaml").write_text(
        CLASH.replace('one\\n"', '<one>\\r\\n"').replace('two\\n"', 'two\\r\\n"')
    )
    project.execute(folder / "clash.yaml")
    file = Path(project.status("clash").sandboxes[0].path) / "greeting.txt"
    conflict = {"plan": "clash", "path": "greeting.txt"}

    async def body(visitor: Visit) -> None:
        assert "/conflict?plan=clash&amp;path=greeting.txt" in await visitor.seen("/plan", name="clash")
        page = await visitor.seen("/conflict", **conflict)
        assert "&lt;one&gt;" in page
        assert "<one>" not in page
        assert "mulligan plan resolve clash greeting.txt --with FILE" in page
        fields = dict(re.findall(r'name="(act_token|seen)" value="([^"]+)"', page))

        async def save(content: str, **others: str) -> tuple[int, str]:
            answer = await visitor.client.post(
                "/conflict", params=conflict, data={**fields, "content": content, **others}
            )
            return answer.status_code, answer.headers.get("location") or answer.text

        before = file.read_bytes()
        assert (await save("mine\r\n", act_token="other"))[0] == 403
        status, said = await save("<<<<<<< x\r\nmine\r\n")
        assert (status, "markers_left" in said, "&lt;&lt;&lt;&lt;&lt;&lt;&lt; x" in said) == (409, True, True)
        status, said = await save("my <work>\r\n", seen="1-other")
        assert (status, "conflict_changed" in said, "my &lt;work&gt;" in said) == (409, True, True)
        assert (await save("x" * ((1 << 20) + 1)))[0] == 400
        assert file.read_bytes() == before
        answer = (await visitor.get("/api/conflict", **conflict)).json()
        described = (await visitor.get("/api/openapi.json")).json()
        responses = described["paths"]["/api/conflict"]["get"]["responses"]
        checked(described, responses["200"]["content"]["application/json"]["schema"], answer)
        found = answer["data"]
        assert found["theirs"]["content"] == "two\r\n"
        preview = await visitor.act("edit", **conflict, content="mine\n", seen=found["seen"], dry_run=True)
        assert preview["touches"] == [{"action": "changed", "where": "workspace", "name": "greeting.txt"}]
        assert file.read_bytes() == before
        status, place = await save("both\r\nof <them>\r\n")
        assert status == 303
        assert "No conflict is left" in await visitor.seen(place)
        assert file.read_bytes() == b"both\r\nof <them>\r\n"
        assert (await visitor.get("/conflict", **conflict)).status_code == 409

    visit(folder, body)
    assert not project.status("clash").conflicts
    project.close()


def test_a_variant_is_picked(folder: Path, project: mulligan.Project) -> None:
    project.try_variants(variants={"one": "echo 1 > n.txt", "two": "echo 2 > n.txt; exit 1"}, name="try")

    async def body(visitor: Visit) -> None:
        page = unescape(await visitor.seen("/plan", name="try"))
        pick = re.findall(r'href="(/act/pick[^"]+)"', page)
        assert len(pick) == 2
        assert "takes over 1 file" in await visitor.seen(pick[0])
        assert "has the result of one" in await visitor.agree(pick[0])
        assert project.variants("try").picked == "one"

    visit(folder, body)
    project.close()


def test_what_changed_since_the_preview_is_shown_again(folder: Path, project: mulligan.Project) -> None:
    project.run_command(HELLO, name="hello")
    project.close()

    async def body(visitor: Visit) -> None:
        page = await visitor.agree("/act/apply?plan=hello", seen="of another preview")
        assert "look again" in page
        assert greeting(folder) == "Hey there\n"

    visit(folder, body)


def test_a_refusal_says_what_to_do_and_does_nothing(folder: Path, project: mulligan.Project) -> None:
    project.close()

    async def body(visitor: Visit) -> None:
        page = await visitor.seen("/act/undo")
        assert 'role="alert"' in page
        assert '<button class="button first' not in page
        assert "<button" in await visitor.seen("/act/label")
        assert (await visitor.get("/act/nonsense")).status_code == 400
        token = (await visitor.get("/api/session")).json()["token"]
        for data in ({}, {"label": ""}, {"label": "x", "unknown": "y"}):
            answer = await visitor.client.post("/act/label", data={**data, "act_token": token})
            assert answer.status_code == 400
        assert (await visitor.get("/job", number=7)).status_code == 400

    visit(folder, body)


@pytest.mark.parametrize(
    ("address", "typed"),
    [
        ("/act/label?plan=hello", {"label": "nice"}),
        ("/act/pick", {"variant": "one"}),  # where an advice leads to
    ],
)
def test_what_has_to_be_typed_is_typed_before_anything_else(
    folder: Path, project: mulligan.Project, address: str, typed: dict[str, str]
) -> None:
    project.run_command(HELLO, name="hello")
    project.try_variants(variants={"one": "touch one", "two": "touch two"}, name="try")
    project.close()

    async def body(visitor: Visit) -> None:
        page = await visitor.seen(address)
        assert 'role="alert"' not in page
        assert "act_token" not in page
        assert ">Preview</button>" in page
        for name in typed:
            assert f'name="{name}"' in page
        done = await visitor.agree(address if "?" in address else f"{address}?", **typed)
        assert 'chip good">done' in done

    visit(folder, body)


def test_a_correction_asks_before_it_refuses(folder: Path, project: mulligan.Project) -> None:
    (folder / "work.yaml").write_text(PLAN)
    project.execute(folder / "work.yaml")
    project.close()

    async def body(visitor: Visit) -> None:
        page = await visitor.seen("/act/correct?decision=work/d1")
        assert 'role="alert"' not in page
        assert ">Preview</button>" in page
        assert 'role="alert"' in await visitor.seen("/act/correct?decision=work/d1&mode=revert&choose=")

    visit(folder, body)


def test_texts_for_people_have_no_ids(folder: Path, project: mulligan.Project) -> None:
    (folder / "work.yaml").write_text(PLAN)
    plan_id = project.execute(folder / "work.yaml").plan_id
    project.close()

    async def body(visitor: Visit) -> None:
        page = await visitor.seen(f"/act/resume?plan={plan_id}")
        assert "work goes on from work@" in page
        assert "mulligan resume work<" in page
        refused = await visitor.seen(f"/act/apply?plan={plan_id}")
        for text in (page, refused):
            assert plan_id not in re.sub(r"<[^>]*>", "", text)

    visit(folder, body)


def test_no_token_of_acts_gets_into_an_address(folder: Path, project: mulligan.Project) -> None:
    """Of a form that is sent with GET, all fields are in the address; of a button, only that of the one pressed."""
    project.run_command(HELLO, name="hello")
    project.close()

    async def body(visitor: Visit) -> None:
        page = await visitor.seen("/act/apply?plan=hello")
        assert ">Preview again</button>" in page
        assert re.findall(r'<(\w+) [^>]*name="act_token"', page) == ["button"]

    visit(folder, body)


def test_an_act_at_work_is_shown_and_can_be_interrupted(folder: Path, project: mulligan.Project) -> None:
    (folder / "long.yaml").write_text(
        "name: long\nsteps:\n  - {name: wait, run: 'echo begun; [ -e done ] || sleep 600'}\n"
    )
    project.create(folder / "long.yaml")
    project.close()

    async def body(visitor: Visit) -> None:
        import anyio

        page = await visitor.seen("/act/resume", plan="long")
        fields = dict(
            re.findall(r'<(?:input type="hidden"|button [^>]*) name="([^"]*)" value="([^"]*)"', page)
        )
        sent = await visitor.client.post("/act/resume", data=fields)
        place = sent.headers["location"]
        while "begun" not in (page := await visitor.seen(place)):
            await anyio.sleep(0.05)
        assert "Interrupt" in page
        assert "running" in page
        assert "step started: wait" in await visitor.seen(f"{place}&part=yes")
        await visitor.client.post(
            "/job/interrupt", params={"number": 1}, data={"act_token": fields["act_token"]}
        )
        job = visitor.jobs.find(1)
        assert job is not None
        assert await job.ended()
        assert "interrupted" in await visitor.seen(place)

    visit(folder, body)
    assert project.status("long").state == "queued"
    project.close()


def test_nothing_else_is_taken_back_than_what_was_agreed_to(
    folder: Path, project: mulligan.Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something newer is applied after the last look, just before the act begins."""
    for name in ("hello", "late"):
        project.run_command(["sh", "-c", f"echo {name} > {name}.txt"], name=name)
    project.apply("hello")
    start = ActJobs.start

    def start_late(jobs: ActJobs, act: Act, wish: ActArguments) -> ActJob:
        mulligan.open(folder).apply("late")
        return start(jobs, act, wish)

    async def body(visitor: Visit) -> str:
        monkeypatch.setattr(ActJobs, "start", start_late)
        return await visitor.agree("/act/undo")

    assert "since the preview" in visit(folder, body)
    assert (folder / "hello.txt").exists()
    assert (folder / "late.txt").exists()
