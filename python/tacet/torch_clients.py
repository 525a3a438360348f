"""Clients of a simulated federation that train a PyTorch module on datasets of their own."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch.utils.data import Dataset, TensorDataset, default_collate

from .errors import InvalidArgumentError
from .owners import owner_numbers, unit_rows
from .torch_state import fresh_copies, seeded
from .torch_training import clipped_sum, train_local

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["ClientTraining", "Loss", "UnitTraining", "rows_of", "units_of"]

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
Pair = tuple[torch.Tensor, torch.Tensor]


class Rows(Protocol):
    """Rows of one client."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def take(self, places: NDArray[np.intp], seed: int | None = None) -> Pair:
        """Return inputs and targets of one row or more, each along the first axis.

        Args:
            places: of the rows.
            seed: fixes the random numbers with which a dataset makes an item, for each item by
                itself. None: the process's streams.
        """


@dataclass(frozen=True)
class _Table:
    inputs: torch.Tensor
    targets: torch.Tensor

    def __len__(self) -> int:
        return len(self.inputs)

    def take(self, places: NDArray[np.intp], seed: int | None = None) -> Pair:
        chosen = torch.from_numpy(places)
        return (
            self.inputs[chosen.to(self.inputs.device)],
            self.targets[chosen.to(self.targets.device)],
        )


@dataclass(frozen=True)
class _Items:
    name: str
    dataset: Any

    def __len__(self) -> int:
        return len(self.dataset)

    def take(self, places: NDArray[np.intp], seed: int | None = None) -> Pair:
        made = default_collate([self._item(int(place), seed) for place in places])
        if not (isinstance(made, list | tuple) and len(made) == 2):
            text = f"{self.name}: its items are not pairs (input, target): wrap it in one that is"
            raise InvalidArgumentError(text)
        return made[0], made[1]

    def _item(self, place: int, seed: int | None) -> Any:
        if seed is None:
            return self.dataset[place]
        with seeded(torch.nn.Module(), seed):
            return self.dataset[place]


def rows_of(number: int, dataset: Any) -> Rows:
    """Return the rows of a client's dataset.

    Args:
        number: of the client, for errors.
        dataset: a pair (inputs, targets) of tensors or arrays with one row for each record, or a
            PyTorch dataset with a length, whose items are pairs.

    Raises:
        InvalidArgumentError: it is neither.
    """
    name = f"datasets[{number}]"
    if isinstance(dataset, TensorDataset) and len(dataset.tensors) == 2:
        dataset = dataset.tensors
    if isinstance(dataset, tuple | list) and len(dataset) == 2:
        try:
            inputs, targets = (torch.as_tensor(values) for values in dataset)
        except (TypeError, ValueError, RuntimeError) as error:
            text = f"{name}: the inputs or targets are no array of numbers: {error}"
            raise InvalidArgumentError(text) from None
        if inputs.ndim == 0 or targets.ndim == 0 or len(inputs) != len(targets):
            text = (
                f"{name} has inputs of shape {tuple(inputs.shape)} and targets of shape "
                f"{tuple(targets.shape)}: give one of each a record"
            )
            raise InvalidArgumentError(text)
        return _Table(inputs, targets)
    if not (isinstance(dataset, Dataset) and hasattr(dataset, "__len__")):
        text = (
            f"{name} is of type {type(dataset).__name__}: give a pair (inputs, targets), or a "
            "torch.utils.data.Dataset with a length, one for each client"
        )
        raise InvalidArgumentError(text)
    return _Items(name, dataset)


@dataclass(frozen=True)
class ClientTraining:
    """Training of clients on minibatches, for unit client.

    Each call works on copies of the module and the loss, with an optimizer of its own. So nothing
    that a training leaves in them, such as momenta, reaches another client or the next round. A
    client's momenta would belong to a model that others have changed meanwhile, and would be a
    function of its data that nothing clips or noises.

    Attributes:
        module: as it was before the fit.
        rows: of each client.
        loss: mean loss of a minibatch.
        optimizer: makes an optimizer of parameters.
        scheduler: makes a learning-rate scheduler of an optimizer; a step is a round. None: none.
        batch_size: rows of a minibatch.
        epochs: passes over the client's rows in a round.
        seed: fixes the order of rows and the random numbers, `seeded`.
        buffers: names of buffers that belong to the model.
    """

    module: torch.nn.Module
    rows: Sequence[Rows]
    loss: Loss
    optimizer: Callable[[Iterable[torch.nn.Parameter]], torch.optim.Optimizer]
    scheduler: Callable[[torch.optim.Optimizer], Any] | None
    batch_size: int
    epochs: int
    seed: int
    buffers: tuple[str, ...]

    def __call__(
        self, model: NDArray[np.float32], client: int, round: int, /  # noqa: A002
    ) -> NDArray[np.float32]:
        """Return a client's update, as `tacet.TrainClient`."""
        if len(self.rows[client]) == 0:
            return np.zeros_like(model)
        module, loss = fresh_copies(self.module, self.loss, share_trained=False)
        with seeded(module, self.seed, client, round):
            return train_local(
                module,
                model,
                self._batches(self.rows[client]),
                loss=loss,
                optimizer=lambda parameters: self._optimizer(parameters, round),
                buffers=self.buffers,
            )

    def _batches(self, rows: Rows) -> Iterator[Pair]:
        for _ in range(self.epochs):
            order = torch.randperm(len(rows)).numpy()
            for begin in range(0, len(order), self.batch_size):
                yield rows.take(order[begin : begin + self.batch_size])

    def _optimizer(
        self, parameters: Iterable[torch.nn.Parameter], rounds: int
    ) -> torch.optim.Optimizer:
        """Make an optimizer with the learning rate that the scheduler has after some rounds."""
        made = self.optimizer(parameters)
        if self.scheduler is not None:
            with warnings.catch_warnings():  # that no step of the optimizer came before
                warnings.simplefilter("ignore", UserWarning)
                schedule = self.scheduler(made)
                for _ in range(rounds):
                    schedule.step()
        return made


@dataclass(frozen=True)
class UnitTraining:
    """Sums of clipped gradients of drawn records or persons.

    Attributes:
        module: as it was before the fit; each call works on a copy.
        rows: of each client.
        units: of each client, `unit_rows`.
        loss: of a minibatch of one record.
        seed: fixes the random numbers with which a dataset makes an item.
    """

    module: torch.nn.Module
    rows: Sequence[Rows]
    units: Sequence[tuple[NDArray[np.intp], NDArray[np.intp] | None]]
    loss: Loss
    seed: int

    def counts(self) -> list[int]:
        """Return the number of units of each client."""
        return [len(places if starts is None else starts) for places, starts in self.units]

    def __call__(
        self, model: NDArray[np.float32], client: int, units: list[int], clip_norm: float, /
    ) -> NDArray[np.float32]:
        """Return the sum over drawn units, as `tacet.TrainUnits`."""
        if not units:
            return np.zeros_like(model)
        places, starts = self.units[client]
        of_unit = np.split(places, np.arange(1, len(places)) if starts is None else starts[1:])
        chosen = [of_unit[unit] for unit in units]
        groups = np.repeat(np.arange(len(chosen)), [len(rows) for rows in chosen])
        inputs, targets = self.rows[client].take(np.concatenate(chosen), self.seed)
        module, loss = fresh_copies(self.module, self.loss, share_trained=False)
        return clipped_sum(
            module,
            model,
            inputs,
            targets,
            loss=loss,
            clip_norm=clip_norm,
            groups=None if starts is None else groups,
        )


def units_of(
    rows: Sequence[Rows], persons: Any, appearances: int
) -> list[tuple[NDArray[np.intp], NDArray[np.intp] | None]]:
    """Return the rows of each unit of each client, by their places at the client.

    Args:
        rows: of each client.
        persons: for unit person the identifiers of each client's rows. None: each row is a unit.
        appearances: clients at which one person may have rows.

    Raises:
        InvalidArgumentError: a row has no person, or a person is at too many clients.
    """
    lengths = [len(each) for each in rows]
    clients = [client for client, length in enumerate(lengths) for _ in range(length)]
    numbers = None
    if persons is not None:
        if len(persons) != len(rows):
            text = f"persons has {len(persons)} lists for {len(rows)} clients: give one for each"
            raise InvalidArgumentError(text)
        identifiers: list[Any] = []
        for client, (listed, length) in enumerate(zip(persons, lengths, strict=True)):
            of_client = listed.tolist() if hasattr(listed, "tolist") else list(listed)
            owner_numbers(f"persons[{client}]", of_client, length)
            identifiers += of_client
        numbers = owner_numbers("persons", identifiers, len(clients))
    found = unit_rows(clients, numbers, appearances=appearances, count=len(rows))
    before = np.cumsum([0, *lengths])
    return [
        (places - before[client], starts) for client, (places, starts) in enumerate(found)
    ]
