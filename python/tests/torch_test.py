"""Tests of tacet.torch for Debian's Python with python3-torch, which has no pytest."""

from __future__ import annotations

import copy
import functools
import math
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

import numpy as np
import torch
from live_federation import LiveFederation, at_once

import tacet
import tacet.torch


def small_net() -> torch.nn.Module:
    torch.manual_seed(1)
    return torch.nn.Sequential(
        torch.nn.Linear(4, 6), torch.nn.GroupNorm(1, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3)
    )


def batch(rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(2)
    return (
        torch.randn(rows, 4, generator=generator),
        torch.randint(0, 3, (rows,), generator=generator),
    )


LOSS = torch.nn.CrossEntropyLoss()


class VectorTest(unittest.TestCase):
    def test_a_vector_returns(self) -> None:
        net = small_net()
        vector = tacet.torch.to_vector(net)
        self.assertEqual(vector.shape, (4 * 6 + 6 + 12 + 6 * 3 + 3,))
        tacet.torch.load_vector(net, vector * 2)
        np.testing.assert_array_equal(tacet.torch.to_vector(net), vector * 2)

    def test_buffers_are_sent_only_by_name(self) -> None:
        net = small_net()
        net[1].register_buffer("shift", torch.zeros(6))  # type: ignore[index]
        net[1].register_buffer("scale", torch.ones(6))  # type: ignore[index]
        net[1].register_buffer("count", torch.tensor(0))  # type: ignore[index]
        names = ("1.shift", "1.scale")
        vector = tacet.torch.to_vector(net, buffers=names)
        self.assertEqual(len(vector), len(tacet.torch.to_vector(net)) + 12)
        vector[-1] = 7
        tacet.torch.load_vector(net, vector, buffers=names)
        self.assertEqual(float(net[1].scale[-1]), 7)  # type: ignore[index]
        with self.assertRaisesRegex(ValueError, "no buffer '1.mean'; the module has 1.shift"):
            tacet.torch.to_vector(net, buffers=["1.mean"])
        with self.assertRaisesRegex(TypeError, "1.count holds torch.int64"):
            tacet.torch.to_vector(net, buffers=["1.count"])

    def test_wrong_vectors_are_refused(self) -> None:
        net = small_net()
        before = tacet.torch.to_vector(net)
        with self.assertRaisesRegex(ValueError, "the module has 63 values"):
            tacet.torch.load_vector(net, before[:-1])
        np.testing.assert_array_equal(tacet.torch.to_vector(net), before)
        for value in (float("nan"), float("inf"), float("-inf")):
            with torch.no_grad():
                net[0].weight[0, 0] = value  # type: ignore[index]
            with self.assertRaisesRegex(ValueError, r"0.weight\[0, 0\] is not a finite number"):
                tacet.torch.to_vector(net)
        with torch.no_grad():
            net[0].weight[0, 0] = 3e38  # type: ignore[index]  # its square is not finite
        self.assertEqual(tacet.torch.to_vector(net)[0], np.float32(3e38))
        with self.assertRaisesRegex(tacet.InvalidArgumentError, "parameters on meta: sums in"):
            tacet.torch.to_vector(torch.nn.Linear(2, 2, device="meta"))
        for parameter in net.parameters():
            parameter.requires_grad_(False)
        with self.assertRaisesRegex(ValueError, "no parameter that is trained"):
            tacet.torch.to_vector(net)


class ClippedSumTest(unittest.TestCase):
    """The logistic model's gradients in closed form are the oracle."""

    def setUp(self) -> None:
        torch.manual_seed(3)
        self.net = torch.nn.Linear(4, 3)
        self.model = tacet.torch.to_vector(self.net)
        self.inputs, self.targets = batch(30)
        self.inputs[7] *= 50

    def record_gradients(self) -> np.ndarray:
        x = self.inputs.numpy().astype(np.float64)
        weights, biases = self.model[:12].reshape(3, 4), self.model[12:]
        logits = x @ weights.T + biases
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        error = p - np.eye(3)[self.targets.numpy()]
        return np.concatenate([(error[:, :, None] * x[:, None, :]).reshape(30, 12), error], axis=1)

    def clipped(self, groups: Any, clip_norm: float = 0.5) -> np.ndarray:
        return tacet.torch.clipped_sum(
            self.net, self.model, self.inputs, self.targets,
            loss=LOSS, clip_norm=clip_norm, groups=groups,
        )

    def expected(self, groups: list[int], clip_norm: float = 0.5) -> np.ndarray:
        gradients = self.record_gradients()
        total = np.zeros(15)
        for group in sorted(set(groups)):
            unit = sum(g for g, of in zip(gradients, groups, strict=True) if of == group)
            total -= unit * min(1, clip_norm / np.linalg.norm(unit))
        return total

    def test_each_record_is_clipped(self) -> None:
        np.testing.assert_allclose(self.clipped(None), self.expected(list(range(30))), atol=1e-5)

    def test_a_persons_records_are_clipped_together(self) -> None:
        for groups in ([0] * 30, [i % 4 for i in range(30)], [0] * 27 + [1, 2, 3]):
            np.testing.assert_allclose(self.clipped(groups), self.expected(groups), atol=1e-5)
            most = 0.5 * len(set(groups))
            self.assertLessEqual(float(np.linalg.norm(self.clipped(groups))), most * 1.00001)

    def test_persons_in_any_container_are_clipped_together(self) -> None:
        persons = [i % 4 for i in range(30)]
        expected = self.expected(persons)
        for groups in (
            torch.tensor(persons),
            torch.tensor(persons, dtype=torch.float32),
            np.array(persons),
            [f"patient {person}" for person in persons],
            [("north", person) for person in persons],
            iter(persons),
        ):
            np.testing.assert_allclose(self.clipped(groups), expected, atol=1e-5)

    def test_a_person_of_any_number_of_records_moves_the_sum_by_the_clip_norm(self) -> None:
        self.targets[:] = 0  # all gradients point the same way
        self.inputs[:] = self.inputs[7]
        for groups in (torch.zeros(30), torch.zeros(30, dtype=torch.int64), np.zeros(30)):
            self.assertLessEqual(float(np.linalg.norm(self.clipped(groups))), 0.5 * 1.00001)
        for groups in (list(torch.zeros(30)), np.full(30, np.nan), torch.full((30,), np.nan)):
            with self.assertRaisesRegex(tacet.InvalidArgumentError, "groups: row 0 has"):
                self.clipped(groups)

    def test_one_record_of_any_size_moves_the_sum_by_its_clip_norm(self) -> None:
        without = self.clipped(None)
        for scale in (1e-3, 1.0, 1e6, float("inf"), float("nan")):
            self.inputs[3] = scale
            moved = float(np.linalg.norm(self.clipped(None) - without))
            self.assertLessEqual(moved, 2 * 0.5 * 1.00001)

    def test_misuse_is_an_error(self) -> None:
        with self.assertRaisesRegex(ValueError, "clip_norm is 0"):
            self.clipped(None, 0)
        with self.assertRaisesRegex(ValueError, "groups has 2 values for 30 rows"):
            self.clipped([1, 2])
        inputs, self.inputs = self.inputs, self.inputs.to("meta")
        with self.assertRaisesRegex(tacet.InvalidArgumentError, "are on meta, and .* on cpu: move"):
            self.clipped(None)
        self.inputs = inputs
        self.targets = self.targets[:-1]
        with self.assertRaisesRegex(ValueError, "give one of each a record"):
            self.clipped(None)
        empty = tacet.torch.clipped_sum(
            self.net, self.model, self.inputs[:0], self.targets[:0], loss=LOSS, clip_norm=1
        )
        np.testing.assert_array_equal(empty, np.zeros(15))


PROGRAM = """
[data]
path = "data"
held_out = 0.0
sites = {sites}
[model]
name = "{name}"
input_shape = [{side}, {side}]
hidden = [12]
start = "start.f32"
[training]
precision = "f32"
[federation]
rounds = 1
cohort = {cohort}
[privacy]
unit = "{unit}"
record_rate = 1.0
clip_norm = 0.5
coordinate_bound = 5.0
noise_multiplier = 2
[run]
no_noise = true
no_encryption = true
no_quantisation = true
"""


def smallest_gap(net: torch.nn.Sequential, images: np.ndarray) -> float:
    """The least difference of the two largest values of a pooling window, in double precision."""
    values = torch.from_numpy(images / 255)[:, None]
    gap = math.inf
    for layer in copy.deepcopy(net).double():
        if isinstance(layer, torch.nn.MaxPool2d):
            windows = values.unfold(2, 2, 2).unfold(3, 2, 2).flatten(-2)
            largest = windows.topk(2).values
            gap = min(gap, float((largest[..., 0] - largest[..., 1]).detach().min()))
        values = layer(values)
    return gap


class SumOfTheProgramTest(unittest.TestCase):
    """One round of the program without noise: its step is the sum of all clipped gradients."""

    RECORDS = 24  # of six clients

    def step_of_the_program(self, folder: Path, name: str, side: int, unit: str) -> np.ndarray:
        config = PROGRAM.format(
            name=name, side=side, unit=unit,
            sites=2 if unit == "person" else 0, cohort=2 if unit == "person" else 6,
        )  # fmt: skip
        (folder / "run.toml").write_text(config)
        done = subprocess.run(
            [os.environ["TACET_PROGRAM"], "simulate", "--config", "run.toml",
             "--out", f"run-{unit}"],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        after = np.fromfile(folder / f"run-{unit}" / "model.f32", dtype="<f4")
        before = np.fromfile(folder / "start.f32", dtype="<f4")
        units = 6 if unit == "person" else self.RECORDS
        return (after.astype(np.float64) - before) * units  # the average is over expected units

    def images_without_near_ties(self, side: int, net: torch.nn.Module) -> np.ndarray:
        """Images whose pooling does not depend on rounding.

        Where the two largest of a window differ by less than a sum's rounding, two programs may
        choose differently, and a filter's gradient moves to another pixel.
        """
        for seed in range(100):
            generator = np.random.default_rng(seed)
            images = generator.integers(0, 256, (self.RECORDS, side, side), dtype=np.uint8)
            images[3] = 0  # a small gradient, which is not clipped as much
            if smallest_gap(net, images[np.arange(self.RECORDS) != 3]) > 2e-7:
                return images
        raise AssertionError("no images without near ties")

    def compare(self, name: str, side: int, net: torch.nn.Module) -> None:
        images = self.images_without_near_ties(side, net)
        generator = np.random.default_rng(7)
        labels = generator.integers(0, 3, self.RECORDS, dtype=np.uint8)
        labels[0] = 2  # there are as many classes as the largest label + 1
        persons = np.arange(self.RECORDS) % 6
        model = tacet.torch.to_vector(net)
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            (folder / "data").mkdir()
            model.astype("<f4").tofile(folder / "start.f32")
            for stem, kind, array in (
                ("images-idx3-ubyte", 8, images),
                ("labels-idx1-ubyte", 8, labels),
                ("clients-idx1-int", 12, persons.astype(">i4")),
            ):
                head = bytes([0, 0, kind, array.ndim]) + np.array(array.shape, ">u4").tobytes()
                (folder / "data" / stem).write_bytes(head + array.tobytes())
            for unit in ("record", "person"):
                own = tacet.torch.clipped_sum(
                    net, model, torch.from_numpy(images.astype(np.float32) / 255)[:, None],
                    torch.from_numpy(labels.astype(np.int64)), loss=LOSS,
                    clip_norm=0.5 * (1 - 2**-8), groups=None if unit == "record" else persons,
                )  # fmt: skip
                self.assertGreater(float(np.linalg.norm(own)), 0.5)
                told = self.step_of_the_program(folder, name, side, unit)
                error = float(np.linalg.norm(told - own) / np.linalg.norm(own))
                self.assertLess(error, 1e-5, f"{name}, {unit}")

    def test_logistic(self) -> None:
        torch.manual_seed(4)
        self.compare("logistic", 6, torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.Linear(36, 3)
        ))  # fmt: skip

    def test_mlp(self) -> None:
        torch.manual_seed(5)
        self.compare("mlp", 6, torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.Linear(36, 12), torch.nn.ReLU(), torch.nn.Linear(12, 3)
        ))  # fmt: skip

    def test_femnist_cnn(self) -> None:
        torch.manual_seed(6)
        self.compare("femnist-cnn", 28, torch.nn.Sequential(
            torch.nn.Conv2d(1, 128, 5, padding=2), torch.nn.MaxPool2d(2), torch.nn.ReLU(),
            torch.nn.Conv2d(128, 64, 3, padding=1), torch.nn.MaxPool2d(2), torch.nn.ReLU(),
            torch.nn.Flatten(), torch.nn.Linear(3136, 128), torch.nn.ReLU(),
            torch.nn.Linear(128, 3),
        ))  # fmt: skip


class FederationTest(unittest.TestCase):
    def test_modules_train_in_a_federation(self) -> None:
        net = small_net()
        initial = tacet.torch.to_vector(net)
        inputs, _ = batch(40)
        targets = (inputs[:, 0] > 0).long()

        def train(model: np.ndarray, client: int, round_: int) -> np.ndarray:
            own = slice(4 * client, 4 * client + 4)
            return tacet.torch.train_local(
                net, model, [(inputs[own], targets[own])] * 5, loss=LOSS,
                optimizer=lambda p: torch.optim.SGD(p, lr=0.5),
            )

        with tempfile.TemporaryDirectory() as folder:
            run = tacet.simulate(
                train, clients=10, initial=initial, rounds=2, out=Path(folder) / "run",
                privacy=tacet.Privacy(noise_multiplier=2, delta=1e-3), architecture=str(net),
            )
            self.assertEqual(run.model.shape, initial.shape)
            self.assertIn("GroupNorm", (run.path / "config.toml").read_text(encoding="utf-8"))

    def test_persons_of_a_users_own_module(self) -> None:
        net = torch.nn.Linear(4, 3)
        inputs, targets = batch(60)
        persons = [i // 3 for i in range(60)]  # 20 of them; 10 at each of two sites

        def train(model: np.ndarray, client: int, units: list[int], clip_norm: float) -> np.ndarray:
            drawn = [i for i in range(60) if persons[i] - 10 * client in units]
            return tacet.torch.clipped_sum(
                net, model, inputs[drawn], targets[drawn], loss=LOSS, clip_norm=clip_norm,
                groups=[persons[i] for i in drawn],
            )

        with tempfile.TemporaryDirectory() as folder:
            run = tacet.simulate(
                train, clients=2, units=[10, 10], initial=tacet.torch.to_vector(net), rounds=2,
                privacy=tacet.Privacy(
                    unit="person", record_rate=0.5, coordinate_bound=5, noise_multiplier=3,
                    delta=1e-3,
                ),
                out=Path(folder) / "run",
            )
            self.assertEqual(run.summary["unit"], "person")

    def test_persons_of_a_module_in_a_live_federation(self) -> None:
        net = torch.nn.Linear(4, 3)
        initial = tacet.torch.to_vector(net)
        inputs, targets = batch(60)
        persons = [i // 3 for i in range(60)]  # 20 of them; 10 at each of two sites
        privacy = (
            'unit = "person"\nrecord_rate = 0.5\nexpected_batch = 10\nclip_norm = 1.0\n'
            "coordinate_bound = 5.0\nnoise_multiplier = 3.0\nscale = 1e-3\n"
        )
        lengths: list[float] = []

        def train(model: np.ndarray, client: int, units: list[int], clip_norm: float) -> np.ndarray:
            drawn = [i for i in range(60) if persons[i] - 10 * client in units]
            own = torch.nn.Linear(4, 3)  # a thread's own
            total = tacet.torch.clipped_sum(
                own, model, inputs[drawn], targets[drawn], loss=LOSS, clip_norm=clip_norm,
                groups=[persons[i] for i in drawn],
            )
            lengths.append(float(np.linalg.norm(total)))
            return total

        with tempfile.TemporaryDirectory() as folder:
            federation = LiveFederation(
                Path(folder), ["north", "south"], initial, rounds=2, privacy=privacy
            )
            try:
                federation.start_server()
                sites = [
                    tacet.Member(**federation.options(name), persons=10)
                    for name in federation.sites
                ]
                runs = at_once([functools.partial(site.run, train) for site in sites])
            finally:
                federation.close()
            np.testing.assert_array_equal(runs[0].model, runs[1].model)
            self.assertEqual(runs[0].summary["unit"], "person")
            self.assertEqual(len(lengths), 4)
            self.assertTrue(all(length > 0 for length in lengths))


if __name__ == "__main__":
    unittest.main()
