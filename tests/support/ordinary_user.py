"""Running a check as an ordinary user, whoever runs the tests."""

import codecs
import ctypes
import os
import traceback
from collections.abc import Callable
from pathlib import Path

_NOBODY = 65534


def as_ordinary_user(tmp_path: Path, check: Callable[[Path], None]) -> None:
    """Run a check in a child process without privileges, in a folder of its own; its failure is ours."""
    home = tmp_path / "ordinary"
    home.mkdir(mode=0o700)
    if os.getuid() == 0:
        os.chown(home, _NOBODY, _NOBODY)
        for above in [tmp_path, *tmp_path.parents]:
            if above.stat().st_uid == 0 and not above.stat().st_mode & 0o001:
                above.chmod(
                    above.stat().st_mode | 0o001
                )  # pytest's folders are closed; passing through is enough
    for module in (codecs, ctypes):  # the child may not be able to read the interpreter's own files
        assert module.__file__
    codecs.lookup("ascii")
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(_NOBODY)
                os.setresuid(_NOBODY, _NOBODY, 0)  # a program that is started has lost the third one too
            os.umask(0o022)
            os.environ["MULLIGAN_HOME"] = str(home / "homes")
            os.environ["XDG_CONFIG_HOME"] = str(home / "settings")
            check(home)
            code = 0
        except BaseException:  # noqa: BLE001  the parent tells it
            os.write(write_end, traceback.format_exc().encode()[-60000:])
        finally:
            if os.getresuid()[2] == 0:
                os.setresuid(0, 0, 0)  # what was measured is saved in a folder of the user who runs the tests
            os._exit(code)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as told:
        report = told.read().decode()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, report
