"""A user who goes back in the conversation with an agent: the files of what was left behind are offered, or follow."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mulligan.adapters.agents.transcripts import conversation_of
from tests.agents.test_hook import entries, plain
from tests.commands.program import data_of
from tests.support.fake_agent import FakeAgent

pytestmark = pytest.mark.processes_measured

__all__ = ["plain"]  # a fixture
START = "the start of the conversation"
RECORDED = Path(__file__).with_name("transcript_with_rewind.jsonl")
RESTARTED = Path(__file__).with_name("transcript_with_restart.jsonl")


class Talker(FakeAgent):
    """An agent that writes a transcript, as Claude Code does."""

    transcript: Path
    leaf: str | None = None
    written = 0

    def hook(self, event: str, *, fault: str = "", **fields: object) -> tuple[int, dict[str, Any]]:
        return super().hook(event, fault=fault, transcript_path=str(self.transcript), **fields)

    def say(self, text: str, after: str | None = None) -> str:
        """Let the user type something, after an older record of the conversation if one is named; return its id."""
        self.prompt(text)
        parent = None if after == START else after or self.leaf
        return self.write("user", f"{self.session}-p{self.prompts}", parent)

    def write(self, type: str, prompt: str | None, parent: str | None) -> str:
        self.written += 1
        self.leaf = f"r{self.written}"
        record = {"type": type, "uuid": self.leaf, "parentUuid": parent, "promptId": prompt, "content": "x"}
        with self.transcript.open("a") as stream:
            stream.write(json.dumps(record) + "\n")
        return self.leaf

    def make(self, name: str) -> dict[str, Any]:
        """Make a file in a call; return the answer to the event before it."""
        answer = super().hook(
            "PreToolUse",
            tool_name="Bash",
            tool_use_id=name,
            tool_input={"command": name},
            transcript_path=str(self.transcript),
        )[1]
        self.run(f"echo {name} > {name}")
        self.after(name, name)
        self.write("assistant", None, self.leaf)
        return answer


@pytest.fixture
def talker(plain: Path, tmp_path: Path) -> Talker:
    agent = Talker(plain)
    agent.transcript = tmp_path / "transcript.jsonl"
    agent.start()
    agent.say("first")
    assert agent.make("one") == {}
    agent.stop()
    return agent


def test_files_of_prompts_that_were_left_behind_are_offered_once(talker: Talker, plain: Path) -> None:
    back_to = talker.leaf
    for name in ("two", "three"):
        talker.say(name)
        assert talker.make(name) == {}
        talker.stop()
    talker.say("another way", after=back_to)
    said = talker.make("four")["systemMessage"]
    assert "mulligan undo --only 2 --only 3" in said
    assert talker.make("five") == {}
    talker.stop()
    talker.say("and on")
    assert talker.make("six") == {}
    data_of(plain, "undo", "--only", "2", "--only", "3", "--yes")
    assert sorted(os.listdir(plain)) == [".mulligan", "a.txt", "five", "four", "one", "six"]


def test_files_follow_the_conversation_where_that_is_set(talker: Talker, plain: Path) -> None:
    data_of(plain, "config", "set", "agent.follow-conversation", "true")
    talker.say("second")
    talker.make("two")
    talker.stop()
    talker.say("from the start", after=START)
    assert "mulligan redo" in talker.make("three")["systemMessage"]
    assert sorted(os.listdir(plain)) == [".mulligan", "a.txt", "three"]
    (undo, mine, *gone) = entries(plain)
    assert (mine["title"], undo["kind"], [e["undone"] for e in gone]) == (
        "from the start",
        "undo",
        [True, True],
    )


def test_what_cannot_follow_is_offered_with_the_reason(talker: Talker, plain: Path) -> None:
    data_of(plain, "config", "set", "agent.follow-conversation", "true")
    (plain / "one").write_text("the user's\n")
    talker.say("from the start", after=START)
    said = talker.make("two")["systemMessage"]
    assert "mulligan undo --only 1" in said
    assert (plain / "one").read_text() == "the user's\n"


def test_a_record_that_is_missing_takes_nothing_back(talker: Talker, plain: Path) -> None:
    data_of(plain, "config", "set", "agent.follow-conversation", "true")
    talker.say("second", after="a record that was never written")
    assert talker.make("two") == {}
    talker.stop()
    back_to = talker.leaf
    talker.say("third")
    talker.make("three")
    talker.stop()
    talker.say("another way", after=back_to)
    assert "mulligan redo" in talker.make("four")["systemMessage"]
    assert sorted(os.listdir(plain)) == [".mulligan", "a.txt", "four", "one", "two"]


def test_an_agent_that_only_talks_is_noticed_when_it_stops(talker: Talker) -> None:
    talker.say("another way", after=START)
    assert "--only 1" in talker.hook("Stop")[1]["systemMessage"]


def test_opencode_says_itself_that_the_user_went_back(plain: Path) -> None:
    def tell(hook: str, **facts: object) -> dict[str, Any]:
        session = FakeAgent(plain, "ses_1", "opencode")
        session.words = (*session.words, hook)
        return session.hook(hook, hook=hook, directory=str(plain), session="ses_1", **facts)[1]

    call = {"tool": "bash", "sessionID": "ses_1", "callID": "c1"}
    tell("session.created", properties={"info": {"id": "ses_1"}})
    tell("chat.message", input={}, output={"message": {"id": "msg_1"}, "parts": [{"text": "make b"}]})
    tell("tool.execute.before", input=call, output={"args": {"command": "x"}})
    (plain / "b.txt").write_text("b")
    tell("tool.execute.after", input=call, output={})
    went_back = {"properties": {"sessionID": "ses_1", "info": {"revert": {"messageID": "msg_1"}}}}
    assert "mulligan undo --only 1" in tell("session.updated", **went_back)["message"]
    assert tell("session.updated", **went_back) == {}
    assert tell("session.updated", properties={"sessionID": "ses_1", "info": {}}) == {}


def test_the_recorded_transcript_shows_what_was_left_behind() -> None:
    found = conversation_of(str(RECORDED), "9dbf87f1-f8c8-458b-9dc6-d13f99736950")
    assert found is not None
    assert "98c6c483-6722-44db-9662-8bf7e4e36ab0" in found.written - found.prompts
    assert "947eecee-5707-4d91-80bd-e1a08e35a21b" in found.prompts
    assert conversation_of(str(RECORDED), "not there") is None


def test_a_long_transcript_is_read_from_its_end(tmp_path: Path) -> None:
    records = [{"type": "user", "uuid": "a", "promptId": "p1"}]
    records += [{"type": "user", "uuid": "b", "parentUuid": "a", "promptId": "p2"}]
    filler = [{"type": "x", "text": "y" * 1000} for _ in range(1500)]
    last = {"type": "user", "uuid": "c", "parentUuid": "a", "promptId": "p3"}
    file = tmp_path / "t"
    file.write_text("".join(json.dumps(r) + "\n" for r in [*records, *filler, last]))
    found = conversation_of(str(file), "p3")
    assert found is not None
    assert (found.prompts, found.written) == ({"p1", "p3"}, {"p1", "p2", "p3"})


def test_what_is_not_a_transcript_says_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "missing", Path("/dev/zero"), Path("a\0b")):
        assert conversation_of(str(path), "p") is None
    circle = [{"type": "user", "uuid": "a", "parentUuid": "b", "promptId": "p"}]
    circle += [{"type": "user", "uuid": "b", "parentUuid": "a", "promptId": "q"}]
    (tmp_path / "circle").write_text("\n".join(map(json.dumps, circle)))
    assert conversation_of(str(tmp_path / "circle"), "p") is not None


_LINES = st.one_of(
    st.binary(max_size=50),
    st.dictionaries(
        st.sampled_from(["type", "uuid", "parentUuid", "promptId", "other"]),
        st.one_of(
            st.none(), st.integers(), st.sampled_from(["user", "p", "q", "a", "b"]), st.lists(st.none())
        ),
    ).map(lambda each: json.dumps(each).encode()),
    st.just(b"[" * 100_000),
    st.just(b'{"promptId": "\\ud800"}'),
)


@given(lines=st.lists(_LINES, max_size=8))
def test_a_hostile_transcript_does_no_harm(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    file = tmp_path_factory.mktemp("hostile") / "t"
    file.write_bytes(b"\n".join(lines))
    found = conversation_of(str(file), "p")
    assert found is None or found.prompts <= found.written | {"p"}


def test_a_return_to_before_the_first_prompt_leaves_all_prompts_behind() -> None:
    records = [json.loads(line) for line in RESTARTED.read_text().splitlines()]
    prompts = list(dict.fromkeys(each["promptId"] for each in records if "promptId" in each))
    first, second, again = prompts
    found = conversation_of(str(RESTARTED), again)
    assert found is not None
    assert (found.prompts, found.written) == ({again}, set(prompts))
    earlier = conversation_of(str(RESTARTED), second)
    assert earlier is not None
    assert earlier.prompts == {first, second}


def test_an_undo_of_all_is_offered_after_a_return_to_before_the_first_prompt(
    talker: Talker, plain: Path
) -> None:
    talker.say("again")
    with talker.transcript.open("a") as stream:
        lines = talker.transcript.read_text().splitlines()
        again = json.loads(lines[-1]) | {"uuid": "again", "turnPosition": {"promptIndex": 1}}
        back = {"type": "last-prompt", "leafUuid": "00000000-0000-0000-0000-000000000000", "explicit": True}
        stream.write(f"{json.dumps(again)}\n{json.dumps(back)}\n")
    assert "mulligan undo --only 1" in talker.make("two")["systemMessage"]
    data_of(plain, "undo", "--only", "1", "--yes")
    assert sorted(os.listdir(plain)) == [".mulligan", "a.txt", "two"]
