"""Simulation of a federation whose clients train a model of the caller's own.

Every update is clipped, noised, sealed, added and decrypted as in a live federation. The run
directory is that of ``tacet simulate``: ``tacet report`` and ``tacet audit`` read it.
"""

from __future__ import annotations

import html
import importlib
import json
import os
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from . import _core
from .answer_plot import axes_of
from .arguments import (
    function_of,
    is_true,
    list_of,
    number_of,
    path_of,
    text_of,
    truth_of,
    whole_number_of,
)
from .callbacks import in_executor, in_python_thread, warning_of_forks
from .privacy import Privacy
from .progress import RoundBar
from .run_folder import run_folder
from .session import Session, budget_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Evaluation", "Run", "TrainClient", "TrainUnits", "open_run", "simulate"]


# Figures of a round in `Run.to_frame`, by their names in metrics.jsonl.
_FIGURES = ("accuracy", "loss", "auc", "cohort_size", "attempts", "charged_epsilon")


class Evaluation(TypedDict, total=False):
    """Quality of a model on samples that no client trained on.

    Leave out what was not measured: it is None in the run's figures. A figure needs ``samples``.
    """

    accuracy: float
    """Share of correct samples, in [0, 1]."""
    loss: float
    """Mean loss, finite; in nats for cross-entropy."""
    samples: int
    """Number of samples, above 0."""
    auc: float
    """Area under the ROC curve, for two classes, in [0, 1]."""


class TrainClient(Protocol):
    """Training on all data of one client, for unit client."""

    def __call__(
        self, model: NDArray[np.float32], client: int, round: int, /
    ) -> NDArray[np.float32]:
        """Return the update, new minus old parameters: float32 of shape (d,).

        ``model`` is read-only. The update is clipped afterwards.
        """


class TrainUnits(Protocol):
    """Training on drawn records (persons) of one client, for the units record and person."""

    def __call__(
        self, model: NDArray[np.float32], client: int, units: list[int], clip_norm: float, /
    ) -> NDArray[np.float32]:
        """Return the sum of the drawn units' updates, each clipped to ``clip_norm``: shape (d,).

        An update of a unit is the negative gradient of the loss, for a person added over the
        person's records. ``units`` are places below the client's number of units. ``clip_norm``
        is the agreed one less 2^-8 of it, which rounding of the sum may use: add in float64.
        """


@dataclass(frozen=True)
class Run:
    """A finished run.

    Attributes:
        path: its directory; None: it was not kept.
        model: parameters after the last round, float32 of shape (d,).
        summary: content of ``summary.json`` (docs/formats/run-directory.md).
        rounds: a dictionary for each round: the lines of ``metrics.jsonl``.
    """

    path: Path | None
    model: NDArray[np.float32]
    summary: dict[str, Any]
    rounds: list[dict[str, Any]]

    @property
    def epsilon(self) -> float | None:
        """Epsilon of the worst observer; None without a guarantee.

        It covers all attempts that the agreement permits, at most the agreement's budget. A run
        that ended early has the same epsilon: its end may depend on its models.
        """
        worst: dict[str, Any] | None = self.summary["privacy"].get("worst")
        return None if worst is None else worst["epsilon"]

    @property
    def charged_epsilon(self) -> float | None:
        """Epsilon of the attempts that were made; None without a guarantee.

        A forecast: it would hold for a run that was fixed beforehand to end with them.
        """
        charged: float | None = self.summary["charged_epsilon"]
        return charged

    def to_frame(self) -> Any:
        """Return the figures of the rounds as a pandas DataFrame, indexed by the round from 1.

        Columns are those of ``metrics.jsonl`` that are numbers for a person: "accuracy", "loss",
        "auc" (where it was measured), "cohort_size", "attempts", "charged_epsilon" and "seconds".

        Raises:
            ModuleNotFoundError: there is no pandas.
        """
        try:
            pandas = importlib.import_module("pandas")
        except ModuleNotFoundError:
            text = "a frame needs pandas: pip install pandas, or read run.rounds"
            raise ModuleNotFoundError(text, name="pandas") from None
        lines = [
            {
                **{key: line.get(key) for key in _FIGURES},
                "seconds": (line["seconds"] or {}).get("total"),
            }
            for line in self.rounds
        ]
        numbers = [line["round"] + 1 for line in self.rounds]
        index = pandas.Index(numbers, name="round")
        frame = pandas.DataFrame(lines, index=index, columns=[*_FIGURES, "seconds"])
        return frame.astype(float).astype({"cohort_size": int, "attempts": int})

    def _facts(self) -> list[tuple[str, str]]:
        """Names and texts of what a reader of the run wants to know first."""
        summary = self.summary
        worst = summary["privacy"].get("worst")
        if worst is None:
            guarantee = "none"
        else:
            guarantee = (
                f"epsilon {worst['epsilon']:.3g} at delta {summary['delta']:.3g} for each "
                f"{summary['unit']}, against {worst['observer']}"
            )
        facts = [("guarantee", guarantee)]
        if summary["labels"]:
            facts.append(("protects nobody", ", ".join(summary["labels"])))
        facts += [
            ("clients", f"{summary['clients']}, {summary['cohort']} in a round"),
            ("rounds", str(len(self.rounds))),
        ]
        if summary["stopped"]:
            facts.append(("stopped", summary["stopped"]))
        facts += [
            (key, f"{summary[key]:.3g}")
            for key in ("accuracy", "loss", "auc")
            if summary.get(key) is not None
        ]
        return [*facts, ("directory", "not kept" if self.path is None else str(self.path))]

    def _repr_html_(self) -> str:
        """Return the run as a table, which notebooks show."""
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
            for name, text in self._facts()
        )
        return f"<table>{rows}</table>"

    def plot(self, axes: Any = None) -> Any:
        """Draw accuracy, loss and charged epsilon over the rounds; needs matplotlib.

        A notebook shows the figure. In a program, ``run.plot().figure.savefig("run.png")`` stores
        it; no display is needed.

        Args:
            axes: matplotlib axes to draw into. None: new ones.

        Returns:
            The axes.
        """
        axes = axes_of(axes)
        numbers = [line["round"] + 1 for line in self.rounds]
        for key in ("accuracy", "loss"):
            points = [
                (number, line[key])
                for number, line in zip(numbers, self.rounds, strict=True)
                if line[key] is not None
            ]
            if points:
                axes.plot(*zip(*points, strict=True), label=key)
        charged = [line["charged_epsilon"] for line in self.rounds]
        axes.plot(numbers, charged, "--", label="charged epsilon")
        axes.set_xlabel("round")
        axes.legend()
        return axes

    def __repr__(self) -> str:
        kept = "not kept" if self.path is None else self.path
        epsilon = "none" if self.epsilon is None else f"{self.epsilon:.3g}"
        return f"<Run {kept}, {len(self.rounds)} rounds, epsilon {epsilon}>"


def train_function_of(train: Any, unit: str) -> Callable[..., NDArray[np.float32]]:
    """Return the user's training; TypeError unless it is a function that takes what it gets.

    Args:
        train: as the user gave it.
        unit: of the federation, on which the arguments depend.
    """
    rest = ("round",) if unit == "client" else ("units", "clip_norm")
    return function_of("train", train, "model", "client", *rest)


def open_run(path: str | os.PathLike[str]) -> Run:
    """Read and check a finished run, of this package or of the program.

    Args:
        path: the run directory (`out`).

    Raises:
        FileNotFoundError: the directory holds no finished run.
        DataLossError: a file is damaged, or contradicts the others; the text names it.
    """
    folder = path_of("path", path)
    if not (folder / "summary.json").is_file():
        text = (
            f"{folder} holds no finished run: give the directory of a run's `out`, and end a run "
            "that was stopped with resume=True"
        )
        raise FileNotFoundError(text)
    model, summary, rounds, _ = _core.read_run(str(folder))
    return Run(folder, model, json.loads(summary), [json.loads(line) for line in rounds])


def simulate(
    train: TrainClient | TrainUnits,
    *,
    clients: int,
    initial: NDArray[np.float32],
    privacy: Privacy,
    rounds: int,
    cohort: int | None = None,
    units: Sequence[int] = (),
    evaluate: Callable[[NDArray[np.float32]], Evaluation] | None = None,
    evaluate_every: int = 1,
    learning_rate: float = 1.0,
    learning_rate_final: float | None = None,
    momentum: float = 0.0,
    budget_epsilon: float | None = None,
    session: Session | None = None,
    spare_attempts: int = 0,
    architecture: str = "",
    model: str = "external",
    data_name: str = "python",
    threads: int | None = None,
    executor: Executor | None = None,
    seed: int = 1,
    insecure_seed: int | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    on_round: Callable[[dict[str, Any]], object] | None = None,
    progress: bool | None = None,
) -> Run:
    """Train a model of one's own in a simulated federation.

    Args:
        train: for unit client ``train(model, client, round)``, which returns the update; for the
            units record and person ``train(model, client, units, clip_norm)``, which returns the
            sum of the drawn units' clipped updates (`TrainClient`, `TrainUnits`). Arrays are
            float32 of shape (d,); ``model`` is read-only.
        clients: M, number of clients (sites); ``train`` gets 0 to M - 1.
        initial: parameters before the first round, float32 of shape (d,).
        privacy: mechanism and guarantee.
        rounds: T.
        cohort: K, clients of a round. None: all.
        units: for the units record and person: number of records (persons) of each client.
        evaluate: ``evaluate(model)`` returns an `Evaluation`. Its figures are outside of epsilon;
            use public data, or keep them to yourself. None: no figures.
        evaluate_every: rounds between evaluations; the last round is always evaluated.
        learning_rate: of the server, factor on the average update in the first round.
        learning_rate_final: the same in the last round. None: ``learning_rate``.
        momentum: of the server, in [0, 1).
        budget_epsilon: epsilon at which the run ends early. None: no budget. It covers this run
            alone.
        session: budget that the run shares with other calls on the same data. It refuses the run
            before anything is spent. Not with ``resume`` or ``insecure_seed``.
        spare_attempts: failed attempts that are permitted in all rounds together. Epsilon covers
            them, whether they are needed or not.
        architecture: a text that names the model's architecture, kept in the run's settings.
        model: name of the model in the agreement. With the name of one of the program's models,
            parameters in its order and an ``insecure_seed``, the bits are those of ``tacet
            simulate``: cohorts and noise depend on the agreement.
        data_name: name of the data in the run's ledger.
        threads: threads that train and seal. With more than one, ``train`` runs in several threads
            of Python at a time, of which most end with the call: it must not change objects that
            they share. None: 1, or one for each worker of ``executor``.
        executor: runs ``train`` in its workers, ``threads`` calls at a time: a
            `concurrent.futures.ProcessPoolExecutor` or another `concurrent.futures.Executor`, such
            as mpi4py's and Dask's. Workers in other processes get ``train`` and its arguments
            pickled, so ``train`` is a function of a module. The result is the same as without.
        seed: stays in the settings of the run; fixes nothing that is secret.
        insecure_seed: fixes cohorts, noise and keys, for debugging: it protects nobody.
        out: run directory, which ``tacet report`` and ``tacet audit`` read. None: nothing is kept.
        resume: continue the run in ``out`` if it was begun with the same settings.
        on_round: called with the figures of each round. True ends the run after this round. Its
            epsilon stays that of all rounds, since such an end may depend on the models.
        progress: show a bar, which needs tqdm. None: in a terminal or a notebook, if tqdm is there.

    Returns:
        The finished run. Control-C ends it after the round; ``resume`` continues there.

    Raises:
        InvalidArgumentError: a value is wrong; the text names its key and its range.
        AlreadyExistsError: ``out`` holds something.
        FailedPreconditionError: a round failed in all attempts, or ``out`` has other settings.
        BudgetError: no further attempt is permitted, or the session has too little left.

    What ``train``, ``evaluate`` or ``on_round`` raise ends the run and arrives here.
    """
    if not isinstance(privacy, Privacy):
        text = (
            f"privacy is of type {type(privacy).__name__}: give tacet.Privacy(target_epsilon=...)"
        )
        raise TypeError(text)
    train_function_of(train, privacy.unit)
    if evaluate is not None:
        function_of("evaluate", evaluate, "model")
    if on_round is not None:
        function_of("on_round", on_round, "figures")
    if initial is None:
        text = "initial is None: wanted a one-dimensional array of float32"
        raise TypeError(text)
    if executor is not None and not callable(getattr(executor, "submit", None)):
        text = (
            f"executor must be a concurrent.futures.Executor or None, not of type "
            f"{type(executor).__name__}"
        )
        raise TypeError(text)
    if threads is None:
        threads = 1 if executor is None else _workers(executor)
    clients = whole_number_of("clients", clients)
    rounds = whole_number_of("rounds", rounds)
    learning_rate = number_of("learning_rate", learning_rate)
    if learning_rate_final is None:
        learning_rate_final = learning_rate
    if privacy.unit != "client" and privacy.coordinate_bound is None:
        text = (
            f"coordinate_bound is missing: with unit {privacy.unit} it is the largest coordinate "
            "of a site's sum"
        )
        raise ValueError(text)
    settings: dict[str, object] = {  # by the names of docs/formats/configuration.md
        "clip_norm": privacy.clip_norm,  # before the multiplier, which counts in it
        "coordinate_bound": privacy.clip_norm,
        **{name: value for name, value in asdict(privacy).items() if value is not None},
        "rounds": rounds,
        "cohort": clients if cohort is None else whole_number_of("cohort", cohort, least=1),
        "spare_attempts": whole_number_of("spare_attempts", spare_attempts),
        "server.learning_rate": learning_rate,
        "server.learning_rate_final": number_of("learning_rate_final", learning_rate_final),
        "momentum": number_of("momentum", momentum),
        "model.architecture": text_of("architecture", architecture),
        "model.name": text_of("model", model),
        "seed": whole_number_of("seed", seed),
        "threads": whole_number_of("threads", threads),
        "evaluate_every": whole_number_of("evaluate_every", evaluate_every),
    }
    if budget_epsilon is not None:
        settings["privacy.budget_epsilon"] = number_of("budget_epsilon", budget_epsilon)
    if insecure_seed is not None:
        settings["insecure_seed"] = whole_number_of("insecure_seed", insecure_seed)
    unit_counts = [
        whole_number_of("units", number) for number in list_of("units", units, "whole numbers")
    ]
    name = text_of("data_name", data_name)
    budget = budget_of(session)
    resume = truth_of("resume", resume)
    if budget is not None and resume:
        text = (
            "resume=True with a session: it does not know what the run spent before. Begin another "
            "run, or continue without a session"
        )
        raise ValueError(text)
    with RoundBar(rounds, show=progress) as bar, run_folder(out, resume=resume) as path:

        def told(text: str) -> bool:
            line = json.loads(text)
            bar.tell(line)
            answer = None if on_round is None else on_round(line)
            return is_true(answer)

        _core.simulate(
            settings,
            in_python_thread(
                warning_of_forks(train) if executor is None else in_executor(executor, train)
            ),
            None if evaluate is None else in_python_thread(evaluate),
            in_python_thread(told),
            initial,
            clients,
            unit_counts,
            name,
            str(path),
            resume,
            budget,
        )
        run = open_run(path)
    return run if out is not None else replace(run, path=None)


def _workers(executor: Executor) -> int:
    """Return the number of an executor's workers, where it tells, else that of the processors."""
    for name in ("_max_workers", "num_workers"):  # of Python's executors, of mpi4py's
        told = getattr(executor, name, None)
        if isinstance(told, int) and told > 0:
            return told
    return os.cpu_count() or 1
