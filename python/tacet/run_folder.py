"""Directory of a new run."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .arguments import path_of
from .errors import AlreadyExistsError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["run_folder"]


@contextlib.contextmanager
def run_folder(out: Any, *, resume: bool | None = None) -> Iterator[Path]:
    """Path for a run's directory; a context.

    Args:
        out: the directory. None: a temporary one of this user alone, which the context's end
            removes.
        resume: whether a run in ``out`` continues. None: this kind of run cannot.

    Raises:
        ValueError: ``resume`` is True without ``out``.
        AlreadyExistsError: ``out`` is not empty, and no run in it continues.
    """
    if out is None:
        if resume:
            text = "resume=True continues the run in out: name its directory"
            raise ValueError(text)
        with tempfile.TemporaryDirectory(prefix="tacet-") as folder:
            yield Path(folder)
        return
    path = path_of("out", out)
    if not resume and path.is_dir() and any(path.iterdir()):
        going_on = "" if resume is None else ", or continue with resume=True"
        text = f"out = {str(path)!r} is not empty: choose another directory{going_on}"
        raise AlreadyExistsError(text)
    yield path
