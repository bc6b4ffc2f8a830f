"""The guard of the page: which requests are answered, and that no other page can have anything done."""

from pathlib import Path

import pytest

from tests.page.served import HOME, PORT, Visit, visit
from tests.page.worlds import simple_project

SECRET = "Hey there"
OTHERS = (
    {"host": "evil.example"},
    {"host": f"evil.example:{PORT}"},
    {"host": f"127.0.0.1:{PORT + 1}"},
    {"host": "127.0.0.1"},
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": f"http://127.0.0.1:{PORT + 1}"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("guard") / "work"
    project = simple_project(folder)
    project.run_command(["sh", "-c", "echo Hello > greeting.txt"], name="hello")
    project.close()
    return folder


def test_the_address_opens_the_page_once(folder: Path) -> None:
    async def body(visitor: Visit) -> None:
        closed = await visitor.get("/")
        assert closed.status_code == 401
        assert "start it again" in closed.text
        opened = await visitor.get("/", token=visitor.access.token)
        cookie = opened.headers["set-cookie"]
        assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
        assert cookie.startswith(f"mulligan-{PORT}=")
        assert (await visitor.get("/")).status_code == 200
        known = await visitor.get("/", token=visitor.access.token)
        assert (known.status_code, known.headers["location"]) == (303, "/")
        visitor.client.cookies.clear()
        again = await visitor.get("/", token=visitor.access.token)
        assert again.status_code == 401

    visit(folder, body, inside=False)


@pytest.mark.parametrize("headers", OTHERS, ids=lambda h: " ".join(f"{k}={v}" for k, v in h.items()))
def test_a_refused_request_does_not_use_the_token_up(folder: Path, headers: dict[str, str]) -> None:
    async def body(visitor: Visit) -> None:
        query = {"token": visitor.access.token}
        refused = await visitor.client.get("/", params=query, headers=headers)
        if "sec-fetch-site" in headers:  # a link in a terminal that is a page itself
            assert refused.status_code == 200
            return
        assert refused.status_code in (403, 421)
        assert "set-cookie" not in refused.headers
        assert (await visitor.client.head("/", params=query)).status_code == 401
        await visitor.enter()

    visit(folder, body, inside=False)


@pytest.mark.parametrize("headers", OTHERS, ids=lambda h: " ".join(f"{k}={v}" for k, v in h.items()))
def test_another_page_sees_nothing_and_can_do_nothing(folder: Path, headers: dict[str, str]) -> None:
    async def body(visitor: Visit) -> None:
        acting = headers | await visitor.token()
        for address in ("/", "/api/timeline", "/api/session", "/events", "/static/page.js", "/act/undo"):
            answer = await visitor.client.get(address, headers=headers)
            assert answer.status_code in (403, 421), address
            assert "hello" not in answer.text
            assert "access-control-allow-origin" not in answer.headers
        for address in ("/act/undo", "/api/acts/undo", "/api/acts/remove"):
            answer = await visitor.client.post(address, json={"plan": "hello"}, headers=acting)
            assert answer.status_code in (403, 421), address
        assert (await visitor.get("/api/status", plan="hello")).json()["data"]["state"] == "complete"

    visit(folder, body)


def test_an_act_needs_the_token_of_the_page(folder: Path) -> None:
    async def body(visitor: Visit) -> None:
        for address in ("/act/undo", "/api/acts/undo", "/job/interrupt"):
            for headers in ({}, {"x-mulligan-token": "x" * 64}, {"x-mulligan-token": b"\xe9"}):
                answer = await visitor.client.post(address, json={}, headers=headers)
                assert answer.status_code == 403
            answer = await visitor.client.post(address, data={"act_token": "nonsense"})
            assert answer.status_code == 403
            fields = "&".join(f"a{n}=1" for n in range(11_000))
            form = {"content-type": "application/x-www-form-urlencoded"}
            assert (await visitor.client.post(address, content=fields, headers=form)).status_code == 403

    visit(folder, body)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(folder: Path, method: str) -> None:
    async def body(visitor: Visit) -> None:
        assert (await visitor.client.request(method, "/")).status_code == 405

    visit(folder, body)


def test_requests_are_bounded(folder: Path) -> None:
    async def body(visitor: Visit) -> None:
        assert (await visitor.get("/", path="x" * 20_000)).status_code == 414
        lie = {"content-length": "99999999999"}
        assert (await visitor.client.post("/act/undo", content=b"x", headers=lie)).status_code == 413
        nonsense = {"content-length": "many"}
        assert (await visitor.client.post("/act/undo", content=b"x", headers=nonsense)).status_code == 413

        async def endless():
            for _ in range(50):
                yield b"x" * (1 << 20)

        assert (await visitor.client.post("/act/undo", content=endless())).status_code == 413
        assert (await visitor.get("/", before="9" * 30)).status_code == 400

    visit(folder, body)


def test_every_answer_forbids_what_the_page_does_not_need(folder: Path) -> None:
    async def body(visitor: Visit) -> None:
        for address in ("/", "/plans", "/static/page.css", "/api/gc", "/nothing/here", "/act/nothing"):
            answer = await visitor.get(address)
            policy = dict(
                part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";")
            )
            assert policy["default-src"] == "'none'"
            assert "unsafe" not in str(policy)
            assert policy["frame-ancestors"] == "'none'"
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cache-control"] == "no-store"
            for inline in (" style=", "<script>", "<style", " onclick="):
                assert inline not in answer.text, address
            assert "http://" not in answer.text.replace(HOME, "").replace("http://www.w3.org/2000/svg", "")

    visit(folder, body)


def test_a_cookie_that_is_not_ours_opens_nothing(folder: Path) -> None:
    async def body(visitor: Visit) -> None:
        for cookie in (
            "mulligan-8765=guess",
            "nonsense",
            "a(b=c",
            "mulligan-8765=",
            "a=b; ;=;",
            'mulligan-8765="\\400"',
        ):
            answer = await visitor.client.get("/", headers={"cookie": cookie})
            assert answer.status_code == 401

    visit(folder, body, inside=False)
