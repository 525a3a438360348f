"""Directory of a new run."""

from __future__ import annotations

import contextlib
import itertools
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .arguments import path_of
from .errors import AlreadyExistsError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["run_folder"]


@contextlib.contextmanager
def run_folder(out: Any, *, resume: bool | None = None) -> Iterator[Path]:
    """Path for a run's directory; a context, at whose failing end no empty new one is left.

    Args:
        out: the directory. None: a new one below ``runs/``, named by the time.
        resume: whether a run in ``out`` goes on. None: this kind of run cannot.

    Raises:
        ValueError: ``resume`` is True without ``out``.
        AlreadyExistsError: ``out`` is not empty, and no run in it goes on.
    """
    if out is None:
        if resume:
            text = "resume=True goes on with the run in out: name its directory"
            raise ValueError(text)
        path = _new_folder()
    else:
        path = path_of("out", out)
        if not resume and path.is_dir() and any(path.iterdir()):
            going_on = "" if resume is None else ", or go on with resume=True"
            text = f"out = {str(path)!r} is not empty: choose another directory{going_on}"
            raise AlreadyExistsError(text)
    try:
        yield path
    except BaseException:
        if out is None:
            with contextlib.suppress(OSError):  # something was written
                path.rmdir()
        raise


def _new_folder() -> Path:
    """Make a folder; runs that begin at the same time get others."""
    name = time.strftime("%Y%m%d-%H%M%S")
    for number in itertools.count(1):
        path = Path("runs") / (name if number == 1 else f"{name}-{number}")
        with contextlib.suppress(FileExistsError):
            path.mkdir(parents=True)
            return path
    raise AssertionError  # the count has no end
