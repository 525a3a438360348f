"""Training of a module in a simulated federation: a dataset for each client in, a `Run` out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import Dataset

from .arguments import whole_number_of
from .errors import InvalidArgumentError
from .privacy import Privacy, unit_sum_bounds
from .simulation import Run, simulate
from .torch_clients import ClientTraining, UnitTraining, rows_of, units_of
from .torch_modules import check_hooks
from .torch_state import KeptValues, fresh_copies, seeded
from .torch_vectors import load_vector, to_vector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from .privacy import Unit
    from .session import Session
    from .simulation import Evaluation
    from .torch_clients import Loss

__all__ = ["fit"]

_RATE = 0.1  # of the default optimizer


def fit(
    module: torch.nn.Module,
    datasets: Sequence[Any],
    loss: Loss,
    *,
    privacy: Privacy,
    unit: Unit | None = None,
    persons: Sequence[Sequence[Any]] | None = None,
    rounds: int = 10,
    optimizer: Callable[[Iterable[torch.nn.Parameter]], torch.optim.Optimizer] | None = None,
    scheduler: Callable[[torch.optim.Optimizer], Any] | None = None,
    batch_size: int | None = None,
    epochs: int | None = None,
    buffers: Iterable[str] = (),
    evaluate: Callable[[torch.nn.Module], Evaluation] | None = None,
    session: Session | None = None,
    seed: int = 1,
    **simulation: Any,
) -> Run:
    """Train a module in a simulated federation, and load the released parameters into it.

    For unit client, a client of a round trains on minibatches by ``optimizer``, and the server adds
    the mean of the clipped updates. For the units record and person, a client adds the clipped
    gradients of the units that were drawn, in evaluation mode, and the server steps along their
    mean: give ``learning_rate`` and ``momentum``, in place of an optimizer.

    Every client of a round gets a copy of ``module`` as it was before the call and an optimizer
    without state. Momenta end with a client's round: they would belong to a model that others have
    changed meanwhile, and no other client may get them. Frozen parameters are shared.

    Args:
        module: any module whose parameters are floating-point numbers. It does not run on the
            datasets. Afterwards it has the released parameters, else it is as before, also its
            buffers and its mode.
        datasets: one for each client: a pair (inputs, targets) of tensors or arrays with records
            along the first axis, or a ``torch.utils.data.Dataset`` of pairs with a length.
        loss: ``loss(outputs, targets)``, the mean over a minibatch. For the units record and person
            it gets one record.
        privacy: mechanism and guarantee. For the units record and person, ``record_rate`` is 1
            where it is missing, and ``coordinate_bound`` 16,000 clip norms over the root of d.
        unit: data that the guarantee hides: "client", "person" or "record". None: that of
            ``privacy``.
        persons: for unit person, for each client the person of each of its rows: numbers or texts.
        rounds: T.
        optimizer: for unit client: makes the optimizer of a client's round, e.g. ``lambda p:
            torch.optim.Adam(p, lr=1e-3)``. None: SGD with learning rate 0.1.
        scheduler: for unit client: makes a scheduler of this optimizer, whose steps are rounds:
            ``lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, T_max=rounds)``.
        batch_size: for unit client: rows of a minibatch. None: 32.
        epochs: for unit client: passes over its rows in a round. None: 1.
        buffers: for unit client: names of buffers that belong to the model (`to_vector`).
        evaluate: ``evaluate(module)`` returns an `Evaluation` of a copy of the module with the
            parameters of a round, in evaluation mode and without gradients. Its figures are outside
            of epsilon.
        session: budget that the run shares with other calls.
        seed: of PyTorch's random numbers in trainings and evaluations, so of the order of rows and
            of dropout.
        **simulation: other keywords of `tacet.simulate`, such as ``cohort``, ``learning_rate``,
            ``momentum``, ``evaluate_every``, ``on_round`` and ``out``.

    Returns:
        The finished run; ``run.epsilon`` is its guarantee and ``run.model`` what ``module`` has.

    Raises:
        InvalidArgumentError: a value is wrong; the text names it. Or the module or the loss keeps
            statistics of the data.
        BudgetError: the session has too little left; nothing was spent.

    What the module, the loss, the optimizer or ``evaluate`` raise arrives here; the module is as
    before then.
    """
    names = tuple(buffers)
    initial = to_vector(module, buffers=names)
    privacy = _agreed_privacy(privacy, unit, len(initial))
    by_client = privacy.unit == "client"
    if not by_client:
        check_hooks(module)
        _refuse(
            privacy.unit,
            optimizer=optimizer,
            scheduler=scheduler,
            batch_size=batch_size,
            epochs=epochs,
            buffers=names or None,
        )
    if (privacy.unit == "person") != (persons is not None):
        text = "give persons, the person of each row, with unit person and with no other unit"
        raise InvalidArgumentError(text)
    if isinstance(datasets, Dataset | torch.Tensor):
        text = "datasets is one dataset: give a list with one for each client"
        raise InvalidArgumentError(text)
    seed = whole_number_of("seed", seed)
    rows = [rows_of(client, dataset) for client, dataset in enumerate(datasets)]
    before, loss = fresh_copies(module, loss, share_trained=False)

    def evaluated(vector: NDArray[np.float32]) -> Evaluation:
        fresh, _ = fresh_copies(before, loss, share_trained=False)
        load_vector(fresh, vector, buffers=names)
        with torch.no_grad(), seeded(fresh, seed):
            return evaluate(fresh.eval())  # type: ignore[misc]

    units: list[int] = []
    train: ClientTraining | UnitTraining
    if by_client:
        train = ClientTraining(
            before,
            rows,
            loss,
            optimizer=optimizer or _sgd,
            scheduler=scheduler,
            batch_size=whole_number_of(
                "batch_size", 32 if batch_size is None else batch_size, least=1
            ),
            epochs=whole_number_of("epochs", 1 if epochs is None else epochs, least=1),
            seed=seed,
            buffers=names,
        )
    else:
        appearances = 1 if privacy.appearances is None else privacy.appearances
        train = UnitTraining(before, rows, units_of(rows, persons, appearances), loss, seed)
        units = train.counts()
    kept = KeptValues(module)
    try:
        run = simulate(
            train,
            clients=len(rows),
            initial=initial,
            privacy=privacy,
            rounds=rounds,
            units=units,
            evaluate=None if evaluate is None else evaluated,
            session=session,
            seed=seed,
            **{"architecture": type(module).__name__, **simulation},
        )
    finally:  # what the loss of a closure may have written into the user's module
        kept.give_back()
    load_vector(module, run.model, buffers=names)
    return run


def _sgd(parameters: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=_RATE)


def _refuse(unit: str, **given: Any) -> None:
    """Refuse what is for unit client."""
    for name, value in given.items():
        if value is not None:
            text = (
                f"{name} is for unit client: with unit {unit} the server steps along the mean of "
                "clipped gradients. Give learning_rate, momentum and Privacy(record_rate=...)"
            )
            raise InvalidArgumentError(text)


def _agreed_privacy(privacy: Privacy, unit: Unit | None, parameters: int) -> Privacy:
    """Return the protection of a fit, complete.

    Args:
        privacy: the user's. For the units record and person a missing ``record_rate`` is 1, and
            missing ``coordinate_bound`` follows from the number of parameters.
        unit: of the fit; None: that of ``privacy``.
        parameters: their number, d.

    Raises:
        InvalidArgumentError: ``privacy`` names another unit.
    """
    if not isinstance(privacy, Privacy):
        text = f"privacy is of type {type(privacy).__name__}: give tacet.Privacy(...)"
        raise TypeError(text)
    if unit is not None and unit != privacy.unit:
        if privacy.unit != "client":
            text = f"unit = {unit!r}, and privacy has unit {privacy.unit!r}: give it once"
            raise InvalidArgumentError(text)
        privacy = replace(privacy, unit=unit)
    if privacy.unit == "client":
        return privacy
    if privacy.record_rate is None:
        privacy = replace(privacy, record_rate=1.0)
    if privacy.max_absent is None and privacy.min_participants is None:
        privacy = replace(privacy, max_absent=0)  # in a simulation nobody is
    if privacy.coordinate_bound is None:
        privacy = unit_sum_bounds(privacy, parameters)
    return privacy
