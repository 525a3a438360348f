"""Tests of tacet.torch.fit, for a Python with PyTorch, which has no pytest."""

from __future__ import annotations

import contextlib
import copy
import importlib
import io
import logging
import multiprocessing
import sys
import unittest
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

import tacet
import tacet.torch
from tacet.torch_clients import UnitTraining, units_of
from tacet.torch_clients import rows_of as rows_of_dataset

LOSS = torch.nn.functional.cross_entropy
CLIENT = tacet.Privacy(noise_multiplier=2, delta=1e-3)


def make_net() -> torch.nn.Module:
    torch.manual_seed(1)
    return torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Dropout(0.2), torch.nn.Linear(8, 2)
    )


def rows_of(client: int, count: int = 20) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(count, 4, generator=torch.Generator().manual_seed(client))
    return x, (x[:, 0] > 0).long()


SITES = [rows_of(client) for client in range(6)]


class Pairs(torch.utils.data.Dataset):  # type: ignore[misc]
    """Rows one by one."""

    def __init__(self, inputs: torch.Tensor, targets: torch.Tensor) -> None:
        self.inputs, self.targets = inputs, targets

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, place: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.inputs[place], self.targets[place]


def bits(module: torch.nn.Module) -> list[bytes]:
    return [value.numpy().tobytes() for value in module.state_dict().values()]


class FitTest(unittest.TestCase):
    def test_a_model_is_learnt_for_each_unit(self) -> None:
        sites = [rows_of(client, 100) for client in range(5)]
        x, y = rows_of(99, 1000)
        for unit, options in (
            ("record", {}),
            ("person", {"persons": [
                [f"{site}-{row // 2}" for row in range(100)] for site in range(5)]}),
        ):  # fmt: skip
            net = make_net()
            run = tacet.torch.fit(
                net, sites, LOSS, privacy=tacet.Privacy(target_epsilon=8), unit=unit, rounds=6,
                learning_rate=8, **options,
            )
            self.assertLessEqual(run.epsilon or np.inf, 8)
            self.assertEqual(run.summary["unit"], unit)
            self.assertGreater(float((net.eval()(x).argmax(1) == y).float().mean()), 0.75)
        net = make_net()
        many = [rows_of(client, 20) for client in range(80)]
        run = tacet.torch.fit(
            net, many, LOSS, privacy=tacet.Privacy(target_epsilon=20, delta=1e-3), epochs=4,
            optimizer=lambda p: torch.optim.Adam(p, lr=0.02), batch_size=10, rounds=4,
        )
        self.assertEqual(run.summary["unit"], "client")
        self.assertGreater(float((net.eval()(x).argmax(1) == y).float().mean()), 0.75)

    def test_evaluate_is_told_the_released_module_bit_for_bit(self) -> None:
        x, _ = rows_of(7)
        told: list[bytes] = []
        modes: list[bool] = []

        def evaluate(module: torch.nn.Module) -> tacet.Evaluation:
            told.append(module(x).numpy().tobytes())
            modes.append(module.training)
            return {"accuracy": 0.5, "samples": 20}

        for unit in ("client", "record"):
            net = make_net()
            run = tacet.torch.fit(
                net, SITES, LOSS, privacy=CLIENT, unit=unit, rounds=2, evaluate=evaluate
            )
            fresh = make_net().eval()
            tacet.torch.load_vector(fresh, run.model)
            with torch.no_grad():
                self.assertEqual(fresh(x).numpy().tobytes(), told[-1])
            self.assertNotEqual(told[-1], told[-2])
            self.assertTrue(net.training)
            self.assertEqual(bits(net), bits(fresh))
        self.assertEqual(modes, [False] * 6)  # before the first round, too

    def test_a_run_repeats_with_its_seed(self) -> None:
        net = make_net()

        def model(seed: int) -> np.ndarray:
            return tacet.torch.fit(
                copy.deepcopy(net), SITES, LOSS, privacy=CLIENT, rounds=2, seed=seed,
                insecure_seed=3, batch_size=5,
            ).model

        torch.manual_seed(9)
        once = model(1)
        number = float(torch.rand(1))
        torch.manual_seed(10)
        np.testing.assert_array_equal(once, model(1))
        self.assertGreater(float(np.abs(once - model(2)).max()), 0)
        torch.manual_seed(9)
        self.assertEqual(number, float(torch.rand(1)))  # the caller's stream goes its own way

    def test_the_sum_of_units_is_that_of_clipped_sum(self) -> None:
        net = make_net()
        model = tacet.torch.to_vector(net)
        rows = [rows_of_dataset(client, site) for client, site in enumerate(SITES)]
        # Rows of a person are spelled in two ways, and lie apart from each other.
        persons = [[f"{site}0{row % 5}" if row < 9 else site * 100.0 + row % 5 for row in range(20)]
                   for site in range(1, 7)]  # fmt: skip
        for listed, groups in ((None, None), (persons, [row % 5 for row in range(20)])):
            training = UnitTraining(net, rows, units_of(rows, listed, 1), LOSS, 1)
            count = 20 if listed is None else 5
            self.assertEqual(training.counts(), [count] * 6)
            for units in (range(count), [1, 4], [3], []):
                drawn = [row for row in range(20) if row % count in units]
                wanted = tacet.torch.clipped_sum(
                    net, model, SITES[2][0][drawn], SITES[2][1][drawn], loss=LOSS, clip_norm=0.1,
                    groups=None if groups is None else [groups[row] for row in drawn],
                )  # fmt: skip
                found = training(model, 2, list(units), 0.1)
                np.testing.assert_allclose(found, wanted, atol=1e-7)
                self.assertLessEqual(float(np.linalg.norm(found)), 0.1001 * len(units))

    def test_a_session_is_charged_and_refuses(self) -> None:
        session = tacet.Session(budget_epsilon=3, unit="record")
        options: Any = {
            "privacy": tacet.Privacy(target_epsilon=2, delta=1e-5), "unit": "record",
            "session": session, "rounds": 2,
        }  # fmt: skip
        net = make_net()
        tacet.torch.fit(net, SITES, LOSS, **options)
        self.assertGreater(session.spent(), 1.9)
        before = bits(net)
        with self.assertRaises(tacet.BudgetError):
            tacet.torch.fit(net, SITES, LOSS, **options)
        self.assertEqual(bits(net), before)

    def test_datasets_of_items_give_the_same(self) -> None:
        for unit in ("client", "record"):
            models = [
                tacet.torch.fit(
                    make_net(), sites, LOSS, privacy=CLIENT, unit=unit, rounds=1, insecure_seed=3
                ).model
                for sites in (
                    SITES,
                    [Pairs(*site) for site in SITES],
                    [torch.utils.data.TensorDataset(*site) for site in SITES],
                    [[values.numpy() for values in site] for site in SITES],
                )
            ]
            for model in models[1:]:
                np.testing.assert_array_equal(model, models[0])

    def test_a_client_without_rows_gives_nothing(self) -> None:
        empty = (torch.zeros(0, 4), torch.zeros(0, dtype=torch.long))
        for unit in ("client", "record"):
            run = tacet.torch.fit(
                make_net(), [*SITES, empty], LOSS, privacy=CLIENT, unit=unit, rounds=1
            )
            self.assertEqual(run.summary["clients"], 7)


class Remembers(torch.nn.Module):
    """Keeps what it saw in an attribute, and adds it to what it sees next."""

    kinds: ClassVar[list[int]] = []  # of rows that a module has seen

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 2)
        self.seen: list[torch.Tensor] = []

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        self.seen.append(rows.detach())
        every = torch.cat(self.seen)
        self.kinds.append(len(every.unique(dim=0)))
        return self.layer(rows + every.mean(0))


class CountsClasses(torch.nn.Module):
    """A loss that weighs classes by how often it has seen them."""

    def __init__(self) -> None:
        super().__init__()
        self.counts = [1.0, 1.0]

    def forward(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        for target in targets.tolist():
            self.counts[target] += 1
        return LOSS(outputs, targets, weight=1 / torch.tensor(self.counts), reduction="sum")


class NothingIsLeftTest(unittest.TestCase):
    """No state of a client's training reaches another client, the next round or the user."""

    def test_each_round_begins_with_an_optimizer_without_state(self) -> None:
        states: list[int] = []
        rates: list[float] = []

        class Watched(torch.optim.Adam):  # type: ignore[misc]
            def step(self, closure: Any = None) -> Any:
                states.append(len(self.state))
                rates.append(self.param_groups[0]["lr"])
                return super().step(closure)

        tacet.torch.fit(
            make_net(), SITES, LOSS, privacy=CLIENT, rounds=3, batch_size=10,
            optimizer=lambda p: Watched(p, lr=0.8),
            scheduler=lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.5),
        )  # fmt: skip
        self.assertEqual(states, [0, 4] * 18)  # two minibatches of six clients in three rounds
        np.testing.assert_allclose(rates, [0.8] * 12 + [0.4] * 12 + [0.2] * 12)

    def test_no_client_sees_what_another_left_in_the_module(self) -> None:
        net = Remembers()
        Remembers.kinds.clear()
        sites = [(torch.full((3, 4), float(c)), torch.full((3,), c % 2)) for c in range(4)]
        for unit in ("client", "record"):
            tacet.torch.fit(net, sites, LOSS, privacy=CLIENT, unit=unit, rounds=2)
        self.assertEqual(set(Remembers.kinds), {1})
        self.assertEqual(net.seen, [])

    def test_a_module_or_a_loss_that_remembers_is_refused(self) -> None:
        for net, loss in ((Remembers(), LOSS), (make_net(), CountsClasses())):
            text = (
                rf"^the module \({type(net).__name__}\) or the loss keeps something of the data: "
                "with the same parameters, a loss is another one after"
            )
            for options in ({"batch_size": 5}, {"unit": "record"}):
                with self.assertRaisesRegex(tacet.InvalidArgumentError, text):
                    tacet.torch.fit(net, SITES, loss, privacy=CLIENT, rounds=1, **options)

    def test_the_users_module_never_runs_on_the_data(self) -> None:
        net = make_net()
        net[0].register_forward_pre_hook(  # type: ignore[index]
            lambda part, inputs: self.assertIsNot(part, net[0])  # type: ignore[index]
        )
        tacet.torch.fit(net, SITES, LOSS, privacy=CLIENT, rounds=1)

    def test_frozen_parameters_are_shared_and_not_written(self) -> None:
        net = make_net()
        net[0].requires_grad_(False)  # type: ignore[index]
        frozen = net[0].weight  # type: ignore[index]

        def loss(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
            frozen.data.add_(0)
            with torch.no_grad():
                frozen.add_(outputs.mean())
            return LOSS(outputs, targets)

        with self.assertRaisesRegex(
            tacet.InvalidArgumentError, "the frozen parameter 0.weight was written"
        ):
            tacet.torch.fit(net, SITES, loss, privacy=CLIENT, rounds=1)
        run = tacet.torch.fit(net, SITES, LOSS, privacy=CLIENT, rounds=1)
        self.assertEqual(len(run.model), 18)

    def test_a_fit_that_fails_changes_nothing(self) -> None:
        net = make_net()
        before = bits(net)

        def loss(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
            raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            tacet.torch.fit(net, SITES, loss, privacy=CLIENT, rounds=1)
        self.assertEqual(bits(net), before)


class GuideTest(unittest.TestCase):
    def test_the_program_of_the_guide_runs_and_its_call_is_short(self) -> None:
        root = Path(__file__).parents[2]
        sys.path.insert(0, str(root / "tools"))
        try:
            run_guide = importlib.import_module("run_guide")
        finally:
            sys.path.remove(str(root / "tools"))
        text = (root / "docs" / "guide" / "python.md").read_text(encoding="utf-8")
        program = next(
            content for _, _, mark, content in run_guide.blocks(text)
            if mark == ("file", "fit_module.py")
        )  # fmt: skip
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(program, "fit_module.py", "exec"), {"__name__": "guide"})
        self.assertRegex(printed.getvalue(), r"accuracy 0\.[89]\d, epsilon 2\.00\n")
        used = program[program.index("module = ") :].splitlines()
        self.assertLessEqual(len(used), 10)


class MisuseTest(unittest.TestCase):
    def test_what_does_not_fit_is_named(self) -> None:
        x, y = SITES[0]
        iterable = type("Stream", (torch.utils.data.IterableDataset,), {"__iter__": iter})()
        person = tacet.Privacy(noise_multiplier=2, unit="person")
        for text, changed in (
            (r"datasets is one dataset", {"datasets": Pairs(x, y)}),
            (r"datasets\[0\] is of type Tensor: give a pair", {"datasets": [x, y]}),
            (r"datasets\[1\] is of type Stream", {"datasets": [(x, y), iterable]}),
            (r"datasets\[0\] has inputs of shape \(20, 4\) and targets of shape \(19,\)",
             {"datasets": [(x, y[:19])]}),
            (r"datasets\[0\]: the inputs or targets are no array", {"datasets": [(x, ["a"] * 20)]}),
            (r"datasets\[0\]: its items are not pairs", {"datasets": [
                torch.utils.data.TensorDataset(x, x, y)] * 3}),
            ("privacy is of type float", {"privacy": 2.0}),
            ("unit = 'record', and privacy has unit 'person'",
             {"privacy": person, "unit": "record"}),
            ("optimizer is for unit client: with unit record the server steps",
             {"unit": "record", "optimizer": lambda p: torch.optim.SGD(p, lr=1)}),
            ("batch_size is for unit client", {"unit": "record", "batch_size": 3}),
            ("give persons, the person of each row", {"unit": "person"}),
            ("give persons, the person of each row", {"persons": [[1] * 20] * 6}),
            ("persons has 1 lists for 6 clients", {"unit": "person", "persons": [[1] * 20]}),
            (r"persons\[0\]: row 3 has None", {"unit": "person", "persons": [
                [1, 1, 1, None, *[2] * 16]] * 6}),
            ("one has rows at 6 clients, and appearances permits 1",
             {"unit": "person", "persons": [[1] * 20] * 6}),
            ("batch_size = 0: wanted a whole number of 1 or more", {"batch_size": 0}),
            ("unexpected keyword argument 'epoch'", {"epoch": 3}),
        ):  # fmt: skip
            options: dict[str, Any] = {"datasets": SITES, "privacy": CLIENT, "rounds": 1, **changed}
            with self.subTest(text), self.assertRaisesRegex((ValueError, TypeError), text):
                tacet.torch.fit(make_net(), options.pop("datasets"), LOSS, **options)

    def test_a_module_with_running_statistics_is_refused_by_name(self) -> None:
        net = torch.nn.Sequential(torch.nn.BatchNorm1d(4), make_net())
        with self.assertRaisesRegex(tacet.InvalidArgumentError, r"^0 \(BatchNorm1d\) keeps"):
            tacet.torch.fit(net, SITES, LOSS, privacy=CLIENT)
        tacet.torch.fit(tacet.torch.private(net), SITES, LOSS, privacy=CLIENT, rounds=1)


class LoggedRows(torch.utils.data.Dataset):  # type: ignore[misc]
    """Rows of a client; each worker that makes one tells it to the log."""

    def __init__(self, client: int) -> None:
        self.rows = rows_of(client)

    def __len__(self) -> int:
        return len(self.rows[0])

    def __getitem__(self, place: int) -> tuple[torch.Tensor, torch.Tensor]:
        if torch.utils.data.get_worker_info() is None:
            raise AssertionError("no worker of a DataLoader makes this row")
        logging.getLogger("rows").info("row %d", place)
        return self.rows[0][place], self.rows[1][place]


class WorkersTest(unittest.TestCase):
    def test_workers_of_a_data_loader_serve_a_training(self) -> None:
        multiprocessing.set_forkserver_preload(["torch"])
        for threads, start in ((1, "fork"), (2, "forkserver")):

            def train(
                model: np.ndarray, client: int, round_: int, start: str = start
            ) -> np.ndarray:
                logging.getLogger("train").info("client %d", client)
                loader = torch.utils.data.DataLoader(
                    LoggedRows(client), batch_size=10, num_workers=2, persistent_workers=True,
                    multiprocessing_context=start, timeout=300,
                )  # fmt: skip
                return tacet.torch.train_local(
                    make_net(), model, [*loader, *loader], loss=LOSS,
                    optimizer=lambda p: torch.optim.SGD(p, lr=0.1),
                )  # fmt: skip

            with self.subTest(start):
                run = tacet.simulate(
                    train, clients=2, initial=tacet.torch.to_vector(make_net()), privacy=CLIENT,
                    rounds=1, threads=threads,
                )  # fmt: skip
                self.assertEqual(len(run.rounds), 1)
                self.assertGreater(float(np.abs(run.model).max()), 0)


if __name__ == "__main__":
    unittest.main()
