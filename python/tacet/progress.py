"""Progress bar of a simulation, in a terminal or a notebook; needs tqdm."""

from __future__ import annotations

import importlib
import sys
import warnings
from typing import Any

from .arguments import truth_of

__all__ = ["RoundBar"]


def _is_watched() -> bool:
    """Return whether somebody sees a bar: in a terminal or a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def _bar_class() -> Any:
    """Class of tqdm for this place; None when tqdm is not installed."""
    try:
        with warnings.catch_warnings():
            # Without ipywidgets a notebook gets the terminal's bar.
            warnings.simplefilter("ignore")
            return importlib.import_module("tqdm.auto").tqdm
    except ModuleNotFoundError:
        return None


class RoundBar:
    """A bar over rounds; a context, in which `tell` takes the figures of each round.

    Args:
        rounds: number of rounds.
        show: True, False, or None: where somebody sees it and tqdm is installed.

    Raises:
        ModuleNotFoundError: ``show`` is True, and there is no tqdm.
    """

    def __init__(self, rounds: int, *, show: bool | None) -> None:
        self._bar: Any = None
        wanted = _is_watched() if show is None else truth_of("progress", show)
        made = _bar_class() if wanted else None
        if show and made is None:
            text = "a progress bar needs tqdm: pip install tqdm, or leave out progress=True"
            raise ModuleNotFoundError(text, name="tqdm")
        if made is not None:
            self._bar = made(total=rounds, unit="round", dynamic_ncols=True)

    def __enter__(self) -> RoundBar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def tell(self, line: dict[str, Any]) -> None:
        """Show a finished round: its number, accuracy and the epsilon charged so far."""
        if self._bar is None:
            return
        shown = {
            key: f"{line[key]:.3g}"
            for key in ("accuracy", "charged_epsilon")
            if line.get(key) is not None
        }
        self._bar.set_postfix(shown, refresh=False)
        # A run that is resumed begins later.
        self._bar.update(line["round"] + 1 - self._bar.n)
