"""Whatever an agent does with git and files, every checkpoint comes back as it was, and the user's stays."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.git_checkouts import plain
from tests.support.git_world import GitProject, repository_picture, run_git, unlike
from tests.support.long_run import LONGER
from tests.support.snapshot_world import Watcher, picture

NAMES = st.sampled_from(["a", "b c", "sub/file5", "deep/er/x", "noise.log", "untracked"])
WORDS = st.sampled_from(["HEAD", "main", "other", "v1", "topic"])
ACTIONS = st.one_of(
    st.tuples(st.just("write"), NAMES),
    st.tuples(st.just("delete"), NAMES),
    st.tuples(
        st.just("git"), st.sampled_from(["add -A", "stash -u", "stash pop", "reset -q --hard", "clean -qfdx"])
    ),
    st.tuples(
        st.just("git"),
        st.sampled_from(["commit -qam x", "commit -q --amend -m y", "gc -q", "pack-refs --all"]),
    ),
    st.tuples(
        st.just("git"), st.sampled_from(["checkout -q -B topic", "config a.b c", "rm -rqf sub", "add -f ."])
    ),
    WORDS.map(lambda word: ("git", f"merge {word}")),
    WORDS.map(lambda word: ("git", f"rebase {word}")),
    WORDS.map(lambda word: ("git", f"checkout -q -f {word}")),
    WORDS.map(lambda word: ("git", f"branch -f other {word}")),
    WORDS.map(lambda word: ("git", f"tag -f v1 {word}")),
)


def act(there: Path, action: tuple[str, str], number: int) -> None:
    what, word = action
    path = there / word
    if what == "git":
        run_git(there, *word.split(), check=False)
    elif what == "delete":
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n")


@given(steps=st.lists(st.lists(ACTIONS, min_size=1, max_size=4), min_size=1, max_size=4), order=st.randoms())
@settings(max_examples=6 * LONGER, deadline=None)
def test_every_checkpoint_comes_back_as_it_was(steps, order) -> None:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        project = GitProject(base, plain(base))
        before = repository_picture(project.top)
        sandbox, _ = project.create()
        there = Path(sandbox.path)
        after, taken = None, []
        with project.kind.watch(sandbox, others_at_work=False):
            for number, actions in enumerate([[], *steps]):
                for action in actions:
                    act(there, action, number)
                after = project.publish(sandbox, number, after)
                found = run_git(Path(str(sandbox.git_dir)), "ls-tree", "-r", after.sandbox_ref)
                assert found == project.what_git_would_commit(there)
                taken.append((after, picture(there)))
            order.shuffle(taken)
            for checkpoint, seen in taken:
                project.kind.restore(sandbox, checkpoint.snapshot, Watcher())
                assert unlike(picture(there), seen) == {}
        assert unlike(repository_picture(project.top), before) == {}
        project.kind.remove(sandbox)
        assert unlike(repository_picture(project.top, pins=True), before) == {}
