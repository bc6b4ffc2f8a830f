"""A machine has an id that is made once, in the folder of the user's settings."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mulligan.adapters.homes.host_file import host_in
from mulligan.errors import SettingInvalid, SystemFailed
from mulligan.wiring.surroundings import Surroundings, host_of
from mulligan.wiring.system_clock import UlidSource

IDS = UlidSource()


def test_it_is_made_once_whoever_comes_first(tmp_path: Path) -> None:
    file = tmp_path / "settings" / "host"
    with ThreadPoolExecutor(8) as threads:
        found = set(threads.map(lambda _: host_in(file, IDS.new, "build-7"), range(8)))
    assert len(found) == 1
    assert found.pop()[1] == "build-7"
    assert os.listdir(file.parent) == ["host"]


def test_its_name_is_for_people_to_change(tmp_path: Path) -> None:
    host, _ = host_in(tmp_path / "host", IDS.new, "build-7")
    (tmp_path / "host").write_text(f"{host}\n  the big one \n")
    assert host_in(tmp_path / "host", IDS.new, "x") == (host, "the big one")
    (tmp_path / "host").write_text(host)
    assert host_in(tmp_path / "host", IDS.new, "x") == (host, host)


def test_one_that_is_damaged_is_not_replaced_silently(tmp_path: Path) -> None:
    (tmp_path / "host").write_text("half an i")
    with pytest.raises(SettingInvalid) as refused:
        host_in(tmp_path / "host", IDS.new, "x")
    assert refused.value.facts["key"] == "core.host"


def test_where_it_cannot_be_made_the_setting_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemFailed) as failed:
        host_in(tmp_path / "file" / "host", IDS.new, "x")
    assert "MULLIGAN_CORE_HOST" in str(failed.value.next_step)


def test_the_setting_is_stronger_than_the_file(tmp_path: Path) -> None:
    around = Surroundings(environ={}, folder=tmp_path, user_settings=tmp_path / "config.toml", options={})
    assert host_of(around, "pod-3", IDS.new) == ("pod-3", "pod-3")
    assert not (tmp_path / "host").exists()
    assert host_of(around, None, IDS.new)[0] == (tmp_path / "host").read_text().split("\n")[0]
