"""Page of runs, as ``tacet report`` writes it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from . import programs
from .arguments import path_of
from .simulation import Run

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

__all__ = ["folder_of", "report"]


def folder_of(run: Run | str | os.PathLike[str]) -> Path:
    """Return the directory of a run.

    Raises:
        ValueError: nothing of the run was kept.
    """
    if not isinstance(run, Run):
        return path_of("run", run)
    if run.path is None:
        text = "this run was not kept: give tacet.simulate a directory with out=..."
        raise ValueError(text)
    return run.path


def report(
    runs: Run | str | os.PathLike[str] | Sequence[Run | str | os.PathLike[str]],
    *,
    out: str | os.PathLike[str] | None = None,
) -> Path:
    """Write the HTML page of a run, or of several runs that it compares.

    The page is one file that needs no network: accuracy, privacy, time and bytes.

    Args:
        runs: a run or its directory, or a list of them.
        out: path of the page. None: ``report.html`` in the run's directory, for several runs in the
            current one.

    Returns:
        The path of the page.

    Raises:
        ProgramError: a directory holds no run, or the page cannot be written.
        ValueError: nothing of a run was kept.
    """
    one = isinstance(runs, Run | str) or hasattr(runs, "__fspath__")
    folders = [folder_of(run) for run in cast("Sequence[Any]", [runs] if one else runs)]
    if not folders:
        text = "runs is empty: give a run or its directory"
        raise ValueError(text)
    first = folders[0] if len(folders) == 1 else Path()
    path = first / "report.html" if out is None else path_of("out", out)
    programs.call("report", "--out", path, "--", *folders)
    return path
