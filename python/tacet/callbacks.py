"""Functions of the user, which threads of the library call.

``threading`` knows a thread that it did not start as a ``_DummyThread``. A child that forks in such
a thread, like a worker of a PyTorch ``DataLoader``, ends with exit code 1. So the function runs in
a thread that Python started.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

__all__ = ["in_executor", "in_python_thread"]

_Result = TypeVar("_Result")


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
