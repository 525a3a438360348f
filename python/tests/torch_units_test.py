"""Tests that a unit moves the sum by its clip norm, whatever the module does with the units."""

from __future__ import annotations

import random
import time
import unittest
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import torch

import tacet
import tacet.torch
from tacet.torch_clients import UnitTraining, rows_of, units_of
from tacet.torch_records import RecordGradients
from tacet.torch_state import seeded
from tacet.torch_sums import Total

nn = torch.nn
functional = torch.nn.functional
CROSS_ENTROPY = functional.cross_entropy
RECORDS = 30
PRIVACY = tacet.Privacy(noise_multiplier=2, delta=1e-3)
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def product(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return (outputs * targets).sum()


class Scratch(nn.Module):
    """Copies each input into the same memory."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(300, 300, bias=False)
        self.memory = torch.zeros(1, 300, dtype=torch.float64)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        self.memory.copy_(rows)
        return self.layer(self.memory)


class Starts(nn.Module):
    """Keeps the mean of the first rows that it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 2)
        self.mean: torch.Tensor | None = None

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        if self.mean is None:
            self.mean = rows.detach().mean(0)
        return self.layer(rows - self.mean)


class StartsParameter(nn.Module):
    """Sets a trained parameter from the first rows that it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 2)
        self.shift = nn.Parameter(torch.zeros(8))
        self.started = False

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        if not self.started:
            self.shift.data.copy_(-rows.mean(0))
            self.started = True
        return self.layer(rows + self.shift)


class Random(nn.Module):
    """Adds random numbers of PyTorch, NumPy or Python."""

    def __init__(self, numbers: Callable[[], torch.Tensor]) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(8, 4), nn.Linear(4, 8)
        self.numbers = numbers

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return self.last(self.first(rows) * self.numbers())


class Cancels(nn.Module):
    """Adds and subtracts rows of a layer, for which products of rows lose digits."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(300, 300, bias=False)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        signs = torch.tensor([1.0, -1.0, 1.0, -1.0])
        return (self.layer(rows) * signs[None, :, None]).sum(1)


class WritesFrozen(nn.Module):
    """Writes the mean of the data into a frozen parameter, past its version counter."""

    def __init__(self, *, memory: bool) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.seen = nn.Parameter(torch.zeros(4), requires_grad=False)
        self.memory = memory

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        if self.memory:
            self.seen.data = rows.detach().mean(0)
        else:
            self.seen.data.copy_(rows.detach().mean(0))
        return self.layer(rows)


class UnitsTest(unittest.TestCase):
    """Sums with clip norm 1, with a unit, without it, and with another one in its place."""

    def clipped(
        self, net: nn.Module, x: torch.Tensor, y: torch.Tensor, loss: Loss
    ) -> np.ndarray:
        model = tacet.torch.to_vector(net)
        found = tacet.torch.clipped_sum(net, model, x, y, loss=loss, clip_norm=1)
        return found.astype(np.float64)

    def test_memory_that_a_module_uses_again_holds_no_waiting_record(self) -> None:
        torch.manual_seed(0)
        net = Scratch().double()
        x = 1e-3 * torch.randn(RECORDS, 300, dtype=torch.float64)
        y = torch.randn(RECORDS, 300, dtype=torch.float64)
        x[-1] *= 1e6
        every = self.clipped(net, x, y, product)
        rest = self.clipped(net, x[:-1], y[:-1], product)
        self.assertLessEqual(float(np.linalg.norm(every - rest)), 1.00001)

    def test_the_first_record_starts_nothing(self) -> None:
        torch.manual_seed(0)
        x, y = torch.randn(RECORDS, 8), torch.arange(RECORDS) % 2
        for net, text in (
            (Starts(), "keeps something of the data"),
            (StartsParameter(), "the parameter shift was written"),
        ):
            before = tacet.torch.to_vector(net)
            with self.assertRaisesRegex(tacet.InvalidArgumentError, text):
                self.clipped(net, x, y, CROSS_ENTROPY)
            np.testing.assert_array_equal(tacet.torch.to_vector(net), before)

    def test_a_record_that_starts_a_module_starts_it_for_itself(self) -> None:
        # The gradients of records, before the refusal at the end.
        torch.manual_seed(0)
        net = Starts()
        x, y = torch.randn(RECORDS, 8), torch.arange(RECORDS) % 2
        other = x.clone()
        other[0] *= -20

        def of_second(rows: torch.Tensor) -> bytes:
            net.mean = None
            parameters = list(net.parameters())
            records = RecordGradients(net, CROSS_ENTROPY, parameters, rows, y)
            if records.at_once > 0:
                pieces = records.pieces([0, 1]).taken([1])
                return b"".join(values.numpy().tobytes() for values in pieces.tensors())
            totals = [Total(parameters), Total(parameters)]
            for record, total in enumerate(totals):
                records.add_to(total, [record])
            return totals[1].flat().tobytes()

        self.assertEqual(of_second(x), of_second(other))
        self.assertIsNone(net.mean)

    def test_what_a_function_keeps_is_started_by_no_record(self) -> None:
        torch.manual_seed(0)
        x, y = torch.randn(RECORDS, 8), torch.arange(RECORDS) % 2
        net = nn.Linear(8, 2)

        def loss_that_starts() -> Loss:
            kept: list[torch.Tensor] = []

            def loss(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
                kept.append(outputs.detach())
                return 50 * CROSS_ENTROPY(outputs - kept[0], targets)

            return loss

        every = self.clipped(net, x, y, loss_that_starts())
        for row in (0, RECORDS - 1):
            other = x.clone()
            other[row] *= -100
            moved = self.clipped(net, other, y, loss_that_starts()) - every
            self.assertLessEqual(float(np.linalg.norm(moved)), 2.00001)

    def test_random_numbers_of_a_record_do_not_follow_from_the_others(self) -> None:
        torch.manual_seed(0)
        x = torch.randn(RECORDS, 8)
        y = torch.randn(RECORDS, 8)

        def far(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
            return 100 * functional.mse_loss(outputs, targets)

        for name, numbers in (
            ("normal", lambda: torch.randn(4)),
            ("dropout", lambda: functional.dropout(torch.ones(4))),
            ("Python", lambda: torch.tensor(random.gauss(0, 1))),
            ("NumPy", lambda: torch.tensor(np.random.randn(4), dtype=torch.float32)),
        ):
            net = Random(numbers)
            sums = []
            for chosen in (slice(0, None), slice(1, None)):
                with seeded(net, 1):
                    sums.append(self.clipped(net, x[chosen], y[chosen], far))
            moved = float(np.linalg.norm(sums[0] - sums[1]))
            self.assertLessEqual(moved, 1.00001, name)
            norm = float(np.linalg.norm(sums[0]))
            with seeded(net, 2):  # the caller's stream has no say
                np.testing.assert_array_equal(self.clipped(net, x, y, far), sums[0])
            self.assertGreater(norm, 1, name)

    def test_records_have_random_numbers_of_their_own(self) -> None:
        seen: list[float] = []

        def numbers() -> torch.Tensor:
            seen.append(float(torch.rand(1)))
            return torch.ones(4)

        net = Random(numbers)
        x = torch.arange(16.0).reshape(2, 8)
        clipped = self.clipped(net, x, x, functional.mse_loss)
        self.assertGreater(float(np.linalg.norm(clipped)), 0)
        self.assertEqual(len(set(seen[-6:])), 3, seen)

    def test_no_record_chooses_how_the_others_gradients_are_computed(self) -> None:
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(300, 300, bias=False), nn.Linear(300, 10, bias=False))
        x, y = torch.randn(RECORDS, 300), torch.randn(RECORDS, 10)

        def decayed(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
            weight = net[1].weight
            return functional.mse_loss(outputs, targets) + 0.5 * weight.pow(2).sum()

        base = torch.randn(RECORDS, 1, 300)
        tokens = 1e5 * base + 0.1 * torch.randn(RECORDS, 4, 300)
        signs = torch.randn(RECORDS, 300).abs()
        for model, rows, targets, loss, first in (
            (net, x, y, decayed, 1e6 * x[:1]),
            (Cancels(), tokens, signs, lambda o, t: 100 * product(o, t), torch.randn(1, 4, 300)),
        ):
            every = self.clipped(model, rows, targets, loss)
            other = self.clipped(model, torch.cat([first, rows[1:]]), targets, loss)
            rest = self.clipped(model, rows[1:], targets[1:], loss)
            self.assertLessEqual(float(np.linalg.norm(every - rest)), 1.00001)
            self.assertLessEqual(float(np.linalg.norm(other - rest)), 1.00001)

    def test_hooks_of_parameters_are_refused(self) -> None:
        net = nn.Linear(8, 2)
        net.weight.register_hook(lambda gradient: gradient.clamp(-1, 1))
        text = "the parameter weight has a hook"
        x, y = torch.randn(4, 8), torch.zeros(4, dtype=torch.long)
        with self.assertRaisesRegex(tacet.InvalidArgumentError, text):
            self.clipped(net, x, y, CROSS_ENTROPY)
        with self.assertRaisesRegex(tacet.InvalidArgumentError, text):
            tacet.torch.fit(net, [(x, y)] * 2, CROSS_ENTROPY, privacy=PRIVACY, unit="record")


class Augmented(torch.utils.data.Dataset):  # type: ignore[misc]
    """Rows that are made with random numbers."""

    def __init__(self, rows: torch.Tensor) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.rows[place] * torch.randn(8), torch.tensor(place % 2)


class UsersModuleTest(unittest.TestCase):
    """A fit leaves the released parameters in the user's module, and nothing else."""

    def sites(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        generator = torch.Generator().manual_seed(1)
        return [
            (torch.randn(10, 4, generator=generator) + 7, torch.arange(10) % 2) for _ in range(3)
        ]

    def test_frozen_parameters_have_their_values_and_memory_afterwards(self) -> None:
        for memory in (False, True):
            for unit in ("client", "record"):
                net = WritesFrozen(memory=memory)
                place = net.seen.data_ptr()
                with self.assertRaisesRegex(
                    tacet.InvalidArgumentError, "the frozen parameter seen was written"
                ):
                    tacet.torch.fit(
                        net, self.sites(), CROSS_ENTROPY, privacy=PRIVACY, unit=unit, rounds=1
                    )
                self.assertEqual(net.seen.tolist(), [0, 0, 0, 0])
                self.assertEqual(net.seen.data_ptr(), place)

    def test_a_loss_of_the_users_module_leaves_no_gradient_in_it(self) -> None:
        class Encoder(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.encoder, self.decoder = nn.Linear(4, 3), nn.Linear(3, 4)

            def forward(self, rows: torch.Tensor) -> torch.Tensor:
                return self.encoder(rows)

        for unit in ("client", "record"):
            net = Encoder()

            def loss(outputs: torch.Tensor, targets: torch.Tensor, net: Encoder = net) -> Any:
                return functional.mse_loss(net.decoder(outputs), targets)

            sites = [(x, x) for x, _ in self.sites()]
            tacet.torch.fit(net, sites, loss, privacy=PRIVACY, unit=unit, rounds=1)
            self.assertEqual([p.grad for p in net.parameters()], [None] * 4)

    def test_a_training_that_fails_leaves_no_step_and_no_gradient(self) -> None:
        net = start()
        model = tacet.torch.to_vector(net)
        x, y = self.sites()[0]
        with self.assertRaises((IndexError, RuntimeError)):
            tacet.torch.train_local(
                net, model, [(x, y), (x, y + 7)], loss=CROSS_ENTROPY,
                optimizer=lambda p: torch.optim.SGD(p, lr=0.1),
            )  # fmt: skip
        np.testing.assert_array_equal(tacet.torch.to_vector(net), model)
        self.assertEqual([p.grad for p in net.parameters()], [None] * 2)

    def test_random_items_of_a_dataset_do_not_follow_from_the_others(self) -> None:
        training = UnitTraining(
            nn.Linear(8, 2), [rows_of(0, Augmented(torch.ones(3, 8)))],
            units_of([rows_of(0, Augmented(torch.ones(3, 8)))], None, 1), CROSS_ENTROPY, 1,
        )  # fmt: skip
        model = np.zeros(18, dtype=np.float32)
        both, first, last = (training(model, 0, units, 1e6) for units in ([0, 2], [0], [2]))
        np.testing.assert_allclose(both, first + last, atol=1e-6)

    def test_a_loss_with_a_state_is_copied(self) -> None:
        class Keeps:
            mean: float | None = None

            def __call__(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
                self.mean = float(outputs.detach().mean())
                return CROSS_ENTROPY(outputs, targets)

        for unit in ("client", "record"):
            loss = Keeps()
            tacet.torch.fit(
                nn.Linear(4, 2), self.sites(), loss, privacy=PRIVACY, unit=unit, rounds=1
            )
            self.assertIsNone(loss.mean)

    def test_threads_take_turns_with_the_random_numbers(self) -> None:
        inside: list[int] = []
        most: list[int] = []

        net = nn.Linear(1, 1)  # it draws random numbers itself

        def draw(number: int) -> float:
            with seeded(net, number):
                inside.append(number)
                most.append(len(inside))
                time.sleep(1e-3)  # others would come in here
                drawn = float(torch.rand(1000).sum())
                inside.pop()
                return drawn

        with ThreadPoolExecutor(4) as threads:
            drawn = list(threads.map(draw, range(40)))
        self.assertEqual(max(most), 1)
        self.assertEqual(drawn, [draw(number) for number in range(40)])

    def test_trainings_travel_to_other_processes(self) -> None:
        with ProcessPoolExecutor(1) as processes:
            models = [
                tacet.torch.fit(
                    start(), self.sites(), CROSS_ENTROPY, privacy=PRIVACY, rounds=1,
                    insecure_seed=3, **options,
                ).model
                for options in ({}, {"executor": processes})
            ]  # fmt: skip
        np.testing.assert_array_equal(models[0], models[1])


def start() -> nn.Module:
    torch.manual_seed(1)
    return nn.Linear(4, 2)


if __name__ == "__main__":
    unittest.main()
