"""Key files that a power cut, a full disk or another process meets while they are written."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

import tacet
from tacet import key_files
from tacet.secagg import FileJournal, MemberKey


class CutError(Exception):
    pass


def cut(*_: Any) -> None:
    raise CutError


@pytest.mark.parametrize("step", ["write", "fsync", "link"])
def test_a_write_that_is_cut_leaves_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "unlock.key"
    with monkeypatch.context() as patch:
        if step == "write":
            patch.setattr(os, "urandom", lambda _: FailingBytes())
        else:
            patch.setattr(os, step, cut)
        with pytest.raises((CutError, TypeError)):
            key_files.make_key_file(path)
    assert list(tmp_path.iterdir()) == []
    key_files.make_key_file(path)
    assert len(path.read_bytes()) == 32
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


class FailingBytes:
    """Content that no file takes."""


def test_a_key_and_its_entry_in_the_folder_are_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    sync, link = os.fsync, os.link

    def told_sync(handle: int) -> None:
        sync(handle)
        steps.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")

    def told_link(name: Any, path: Any) -> None:
        link(name, path)
        steps.append("name")

    monkeypatch.setattr(os, "fsync", told_sync)
    monkeypatch.setattr(os, "link", told_link)
    key_files.make_key_file(tmp_path / "unlock.key")
    assert steps == ["file", "name", "folder"]
    steps.clear()
    key_files.write_member_key(
        tmp_path / "member.key", MemberKey.generate(), key_file=tmp_path / "unlock.key"
    )
    assert steps == ["file", "name", "folder"]
    steps.clear()
    FileJournal(tmp_path / "journal").record("question", b"answer")
    assert steps == ["file", "name", "folder"]


def test_one_of_several_writers_makes_the_key(tmp_path: Path) -> None:
    path, start = tmp_path / "unlock.key", threading.Barrier(8, timeout=60)
    made: list[bytes] = []
    refused: list[str] = []

    def make() -> None:
        start.wait()
        try:
            key_files.make_key_file(path)
            made.append(path.read_bytes())
        except tacet.AlreadyExistsError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [path.read_bytes()]
    assert len(refused) == 7
    assert all("never written over: name another file" in text for text in refused)
    assert list(tmp_path.iterdir()) == [path]
