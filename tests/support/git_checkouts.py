"""Git checkouts of every make: each function makes one, dirty in its own way, and gives its folder."""

from collections.abc import Callable
from pathlib import Path

from tests.support.git_world import run_git

Checkout = Callable[[Path], Path]


def plain(base: Path) -> Path:
    """Staged, unstaged, untracked, ignored and deleted files, modes, symlinks, an empty folder."""
    top = base / "checkout"
    (top / "sub" / "deep").mkdir(parents=True)
    run_git(base, "init", "-q", str(top))
    for number in range(6):
        (top / "sub" / f"file{number}").write_text(f"file {number}\n" * 20)
    (top / ".gitignore").write_text("*.log\nbuild/\n")
    (top / "run.sh").write_text("#!/bin/sh\n")
    (top / "run.sh").chmod(0o755)
    (top / "link").symlink_to("sub/file0")
    run_git(top, "add", "-A")
    run_git(top, "commit", "-q", "-m", "first")
    run_git(top, "tag", "-a", "v1", "-m", "one")
    run_git(top, "branch", "other")
    (top / "sub" / "file0").write_text("staged\n")
    (top / "staged new").write_text("new and staged\n")
    run_git(top, "add", "sub/file0", "staged new")
    (top / "sub" / "file1").write_text("unstaged\n")
    (top / "sub" / "file0").write_text("staged, then changed\n")
    (top / "sub" / "file2").unlink()
    run_git(top, "rm", "-q", "--cached", "sub/file3")
    (top / "sub" / "file4").chmod(0o755)
    (top / "untracked").write_text("untracked\n")
    (top / "noise.log").write_text("ignored\n")
    (top / "build").mkdir()
    (top / "build" / "out").write_text("ignored too\n")
    (top / "empty").mkdir()
    return top


def without_commit(base: Path) -> Path:
    top = base / "checkout"
    run_git(base, "init", "-q", str(top))
    (top / "staged").write_text("staged\n")
    run_git(top, "add", "staged")
    (top / "untracked").write_text("untracked\n")
    return top


def without_anything(base: Path) -> Path:
    top = base / "checkout"
    run_git(base, "init", "-q", str(top))
    return top


def detached(base: Path) -> Path:
    top = plain(base)
    run_git(top, "checkout", "-q", "--detach")
    return top


def with_stashes(base: Path) -> Path:
    top = plain(base)
    run_git(top, "stash")
    (top / "sub" / "file5").write_text("second stash\n")
    run_git(top, "stash", "-u")
    (top / "sub" / "file5").write_text("now\n")
    return top


def _two_sides(top: Path) -> None:
    run_git(top, "reset", "-q", "--hard")
    run_git(top, "checkout", "-q", "other")
    (top / "sub" / "file5").write_text("theirs\n")
    run_git(top, "commit", "-q", "-am", "theirs")
    run_git(top, "checkout", "-q", "main")
    (top / "sub" / "file5").write_text("ours\n")
    run_git(top, "commit", "-q", "-am", "ours")


def merge_half_done(base: Path) -> Path:
    top = plain(base)
    _two_sides(top)
    run_git(top, "merge", "other", check=False)
    assert "UU sub/file5" in run_git(top, "status", "--short")
    return top


def rebase_half_done(base: Path) -> Path:
    top = plain(base)
    _two_sides(top)
    run_git(top, "rebase", "other", check=False)
    assert (top / ".git" / "rebase-merge").is_dir()
    return top


def sparse(base: Path) -> Path:
    top = plain(base)
    run_git(top, "reset", "-q", "--hard")
    (top / "other").mkdir()
    (top / "other" / "file").write_text("out of sight\n")
    run_git(top, "add", "-A")
    run_git(top, "commit", "-q", "-m", "other")
    run_git(top, "sparse-checkout", "set", "sub")
    assert not (top / "other" / "file").exists()
    return top


def sparse_index(base: Path) -> Path:
    top = sparse(base)
    run_git(top, "sparse-checkout", "init", "--cone", "--sparse-index")
    return top


def sparse_by_patterns(base: Path) -> Path:
    top = sparse(base)
    run_git(top, "sparse-checkout", "set", "--no-cone", "/sub/file*", "!/sub/file5", "/run.sh")
    assert not (top / "sub" / "file5").exists()
    return top


def lfs_pointers(base: Path) -> Path:
    """Attributes and pointers of LFS, as a clone has them where LFS is not installed."""
    top = plain(base)
    (top / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 5\n"
    (top / "large.bin").write_text(pointer)
    run_git(top, "add", ".gitattributes", "large.bin")
    run_git(top, "commit", "-q", "-m", "lfs", "--", ".gitattributes", "large.bin")
    (top / "new.bin").write_text(pointer.replace("0", "1"))
    return top


def filtered(base: Path) -> Path:
    """A clean and smudge filter of the user's own configuration, as LFS is one."""
    top = plain(base)
    run_git(top, "config", "filter.upper.clean", "tr a-z A-Z")
    run_git(top, "config", "filter.upper.smudge", "tr A-Z a-z")
    (top / ".gitattributes").write_text("*.up filter=upper\n")
    (top / "word.up").write_text("quiet\n")
    run_git(top, "add", "-A")
    run_git(top, "commit", "-q", "-m", "filtered")
    (top / "word.up").write_text("changed\n")
    return top


def autocrlf(base: Path) -> Path:
    top = plain(base)
    run_git(top, "config", "core.autocrlf", "true")
    (top / "dos.txt").write_bytes(b"one\r\ntwo\r\n")
    run_git(top, "add", "-A")
    run_git(top, "commit", "-q", "-m", "line ends")
    (top / "dos2.txt").write_bytes(b"one\r\nthree\r\n")
    return top


def linked_worktree(base: Path) -> Path:
    main = plain(base / "of-main")
    top = base / "checkout"
    run_git(main, "worktree", "add", "-q", "-b", "linked", str(top), "HEAD")
    (top / "sub" / "file5").write_text("in the linked one\n")
    run_git(top, "config", "extensions.worktreeConfig", "true")
    run_git(top, "config", "--worktree", "user.email", "linked@example.com")
    return top


def worktree_of_bare(base: Path) -> Path:
    run_git(base, "clone", "-q", "--bare", str(plain(base / "origin")), str(base / "store.git"))
    top = base / "checkout"
    run_git(base / "store.git", "worktree", "add", "-q", str(top), "main")
    (top / "new").write_text("new\n")
    return top


def _with_submodule(base: Path) -> Path:
    library = plain(base / "library")
    run_git(library, "reset", "-q", "--hard")
    top = plain(base)
    run_git(top, "submodule", "--quiet", "add", str(library), "lib/inner")
    run_git(top, "commit", "-q", "-am", "submodule")
    return top


def submodules(base: Path) -> Path:
    top = _with_submodule(base)
    (top / "lib" / "inner" / "sub" / "file5").write_text("changed in the submodule\n")
    (top / "lib" / "inner" / "staged there").write_text("staged in the submodule\n")
    run_git(top / "lib" / "inner", "add", "staged there")
    return top


def is_submodule(base: Path) -> Path:
    """The checkout is itself a submodule: its `.git` is a file, its configuration has `core.worktree`."""
    top = _with_submodule(base / "outer") / "lib" / "inner"
    assert (top / ".git").is_file()
    (top / "sub" / "file5").write_text("changed\n")
    return top


def inner_repository(base: Path) -> Path:
    top = plain(base)
    inner = top / "vendor" / "inner"
    run_git(base, "init", "-q", str(inner))
    (inner / "file").write_text("inner\n")
    run_git(inner, "add", "-A")
    run_git(inner, "commit", "-q", "-m", "inner")
    (inner / "file").write_text("inner, changed\n")
    run_git(base, "init", "-q", str(top / "vendor" / "unborn"))
    (top / "vendor" / "unborn" / "file").write_text("nothing committed\n")
    return top


def worktree_inside(base: Path) -> Path:
    top = plain(base)
    run_git(top, "worktree", "add", "-q", "-b", "inside", str(top / "trees" / "inside"), "HEAD")
    return top


def borrowing(base: Path) -> Path:
    origin = plain(base / "origin")
    top = base / "checkout"
    run_git(base, "clone", "-q", "--shared", str(origin), str(top))
    alternates = top / ".git" / "objects" / "info" / "alternates"
    alternates.write_text("../../../origin/checkout/.git/objects\n")  # relative, as git allows at one level
    (top / "new").write_text("new\n")
    return top


def packed_refs(base: Path) -> Path:
    top = plain(base)
    run_git(top, "pack-refs", "--all", "--prune")
    run_git(top, "gc", "-q")
    return top


def shallow(base: Path) -> Path:
    origin = plain(base / "origin")
    run_git(origin, "reset", "-q", "--hard")
    for number in range(3):
        run_git(origin, "commit", "-q", "--allow-empty", "-m", f"more {number}")
    top = base / "checkout"
    run_git(base, "clone", "-q", "--depth=2", f"file://{origin}", str(top))
    (top / "new").write_text("new\n")
    return top


def partial(base: Path) -> Path:
    origin = plain(base / "origin")
    run_git(origin, "config", "uploadpack.allowFilter", "true")
    for number in range(3):
        (origin / "untracked").write_text(f"{number}\n")
        run_git(origin, "add", "untracked")
        run_git(origin, "commit", "-q", "-m", f"more {number}")
    top = base / "checkout"
    run_git(base, "clone", "-q", "--filter=blob:none", f"file://{origin}", str(top))
    (top / "new").write_text("new\n")
    return top


def partial_and_sparse(base: Path) -> Path:
    """Blobs out of sight were never fetched, and the remote cannot be reached."""
    origin = plain(base / "origin")
    run_git(origin, "reset", "-q", "--hard")
    (origin / "far").mkdir()
    (origin / "far" / "file").write_text("far\n")
    run_git(origin, "add", "-A")
    run_git(origin, "commit", "-q", "-m", "far")
    run_git(origin, "config", "uploadpack.allowFilter", "true")
    top = base / "checkout"
    run_git(base, "clone", "-q", "--filter=blob:none", "--sparse", f"file://{origin}", str(top))
    run_git(top, "sparse-checkout", "set", "sub")
    origin.rename(base / "out of reach")
    (top / "sub" / "new").write_text("new\n")
    return top


def signing(base: Path) -> Path:
    top = plain(base)
    run_git(top, "config", "commit.gpgSign", "true")
    run_git(top, "config", "tag.gpgSign", "true")
    run_git(top, "config", "gpg.program", "/bin/false")
    return top


def split_index(base: Path) -> Path:
    top = plain(base)
    run_git(top, "update-index", "--split-index")
    return top


def index_version_4(base: Path) -> Path:
    top = plain(base)
    run_git(top, "update-index", "--index-version=4")
    return top


def untracked_cache(base: Path) -> Path:
    top = plain(base)
    run_git(top, "config", "core.untrackedCache", "true")
    run_git(top, "update-index", "--untracked-cache")
    run_git(top, "status")
    return top


def intent_to_add(base: Path) -> Path:
    top = plain(base)
    run_git(top, "add", "-N", "untracked")
    return top


def sha256(base: Path) -> Path:
    top = base / "checkout"
    run_git(base, "init", "-q", "--object-format=sha256", str(top))
    (top / "file").write_text("one\n")
    run_git(top, "add", "-A")
    run_git(top, "commit", "-q", "-m", "first")
    (top / "file").write_text("two\n")
    (top / "new").write_text("new\n")
    return top


def odd_names(base: Path) -> Path:
    top = plain(base)
    for name in ("new\nline", 'quo"te', '"quoted.up', "tab\t", "-dash", "\udcff bytes", "ünï"):
        (top / name).write_text(name, "utf-8", "surrogateescape")
    run_git(top, "add", "-A")
    return top


def git_dir_elsewhere(base: Path) -> Path:
    top = plain(base)
    run_git(top, "init", "-q", "--separate-git-dir", str(base / "elsewhere"))
    assert (top / ".git").is_file()
    return top


def configured(base: Path) -> Path:
    """Settings that lead back to the checkout, run programs, or include other files."""
    top = plain(base)
    (top / ".git" / "more").write_text("[user]\n\temail = included@example.com\n")
    run_git(top, "config", "include.path", "more")
    run_git(top, "config", "core.hooksPath", str(top / "hooks"))
    run_git(top, "config", "core.excludesFile", str(top / ".git" / "info" / "more-excludes"))
    (top / ".git" / "info" / "more-excludes").write_text("*.tmp\n")
    (top / "x.tmp").write_text("ignored by another file\n")
    run_git(top, "config", "core.fsmonitor", "false")
    run_git(top, "config", 'branch.a"b\\c.description', "one\ntwo\t#three")
    run_git(top, "config", "alias.here", f"!ls {top}/sub; true")
    with (top / ".git" / "config").open("a") as config:
        config.write("[color]\n\tui\n")  # a name without value is true
    return top


CHECKOUTS: dict[str, Checkout] = {
    made.__name__.replace("_", " "): made
    for made in (
        *(plain, without_commit, without_anything, detached, with_stashes, merge_half_done, rebase_half_done),
        *(
            sparse,
            sparse_by_patterns,
            sparse_index,
            lfs_pointers,
            filtered,
            autocrlf,
            linked_worktree,
            worktree_of_bare,
            submodules,
        ),
        *(is_submodule, inner_repository, worktree_inside, borrowing, packed_refs, shallow, partial, signing),
        *(sparse_by_patterns, lfs_pointers, partial_and_sparse),
        *(split_index, index_version_4, untracked_cache, intent_to_add, sha256, odd_names),
        *(git_dir_elsewhere, configured),
    )
}
