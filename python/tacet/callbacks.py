"""Functions of the user, which threads of the library call.

``threading`` knows a thread that it did not start as a ``_DummyThread``. A child that forks in such
a thread, like a worker of a PyTorch ``DataLoader``, ends with exit code 1. So the function runs in
a thread that Python started.
"""

from __future__ import annotations

import os
import threading
import warnings
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

__all__ = ["in_executor", "in_python_thread", "warning_of_forks"]

_Result = TypeVar("_Result")
_training: set[int] = set()  # threads that train


def in_executor(
    executor: Executor, function: Callable[..., _Result]
) -> Callable[..., _Result]:
    """Return ``function`` for calls that an executor runs, and that wait for it.

    Args:
        executor: runs the calls, perhaps in other processes.
        function: pickled for them.
    """

    def called(*arguments: Any) -> _Result:
        result = executor.submit(function, *arguments).result()
        flags = getattr(result, "flags", None)
        if flags is not None and not flags.aligned:  # an array of Dask lies where its message ends
            copied: _Result = result.copy()  # type: ignore[attr-defined]
            return copied
        return result

    return called


def in_python_thread(function: Callable[..., _Result]) -> Callable[..., _Result]:
    """Return ``function`` for calls from any thread: it runs in one that Python started.

    A thread of Python calls it directly. Any other thread starts a thread and waits for it, which
    takes about 0.1 ms. What ``function`` returns or raises, the caller returns or raises.
    """

    def called(*arguments: Any) -> _Result:
        if not isinstance(threading.current_thread(), threading._DummyThread):
            return function(*arguments)
        returned: list[_Result] = []
        raised: list[BaseException] = []

        def work() -> None:
            try:
                returned.append(function(*arguments))
            except BaseException as error:  # also sys.exit(): the caller raises it
                raised.append(error)

        # At the exit Python waits for it as little as for a thread of the library.
        thread = threading.Thread(target=work, name="tacet", daemon=True)
        thread.start()
        thread.join()
        if raised:
            raise raised.pop()
        return returned.pop()

    return called


def warning_of_forks(train: Callable[..., _Result]) -> Callable[..., _Result]:
    """Return ``train``, which warns where a process is forked while other threads train, too.

    What these threads lock stays locked in the child. PyTorch locks its random numbers, and each
    worker of a ``DataLoader`` begins with them.
    """

    def trained(*arguments: Any) -> _Result:
        _training.add(threading.get_ident())
        try:
            return train(*arguments)
        finally:
            _training.discard(threading.get_ident())

    return trained


def _warn_of_fork() -> None:
    if len(_training) > 1:
        text = (
            f"a process is forked while {len(_training)} threads train. It hangs if it needs what "
            "another thread has locked, such as PyTorch's random numbers. Give the DataLoader "
            'multiprocessing_context="forkserver", or simulate with threads=1 or an executor of '
            "processes"
        )
        warnings.warn(text, RuntimeWarning, stacklevel=2)


os.register_at_fork(before=_warn_of_fork, after_in_child=_training.clear)
