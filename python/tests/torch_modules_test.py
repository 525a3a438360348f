"""Tests of modules with running statistics, for a Python with PyTorch, which has no pytest."""

from __future__ import annotations

import math
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch

import tacet
import tacet.torch

LOSS = torch.nn.functional.cross_entropy


def sgd(parameters: object) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=0.1)


def with_batch_norm() -> torch.nn.Module:
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))


def private_rows() -> tuple[torch.Tensor, torch.Tensor]:
    rows = torch.randn(40, 4, generator=torch.Generator().manual_seed(0)) * 3 + 50
    return rows, (rows[:, 0] > 50).long()


class Averages(torch.nn.Module):
    """Moves buffers towards what it sees, as statistics of a user's own do."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("seen", torch.tensor(0))
        self.register_buffer("mask", torch.tensor([-math.inf, math.nan]))
        self.counts = False

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        if self.counts:
            self.seen += len(rows)
        else:
            self.mean = 0.9 * self.mean + 0.1 * rows.mean(0).detach()
        return rows


class Cached(torch.nn.Module):
    """Keeps a table by size, as rotary embeddings do."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.zeros(1), persistent=False)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        self.register_buffer("table", torch.ones(len(rows)), persistent=False)
        return rows


class RunningStatisticsTest(unittest.TestCase):
    def test_the_means_of_private_columns_stay_in_no_module(self) -> None:
        rows, targets = private_rows()
        net = with_batch_norm()
        vector = np.zeros(14, dtype=np.float32)
        text = (
            r"^0 \(BatchNorm1d\) keeps running statistics of the data in buffers, .*"
            r"Train tacet.torch.private\(module\)"
        )
        before = {name: value.clone() for name, value in net.state_dict().items()}
        for call in (
            lambda: tacet.torch.to_vector(net),
            lambda: tacet.torch.to_vector(net, buffers=["0.running_mean", "0.running_var"]),
            lambda: tacet.torch.load_vector(net, vector),
            lambda: tacet.torch.train_local(
                net, vector, [(rows, targets)], loss=LOSS, optimizer=sgd
            ),
            lambda: tacet.torch.clipped_sum(net, vector, rows, targets, loss=LOSS, clip_norm=1),
        ):
            with self.assertRaisesRegex(tacet.InvalidArgumentError, text):
                call()
        for name, value in net.state_dict().items():
            self.assertTrue(torch.equal(value, before[name]), name)

    def test_each_kind_of_running_statistics_is_named(self) -> None:
        nn = torch.nn
        for part in (
            nn.BatchNorm1d(4), nn.BatchNorm2d(4), nn.BatchNorm3d(4), nn.SyncBatchNorm(4),
            nn.LazyBatchNorm2d(), nn.InstanceNorm2d(4, track_running_stats=True),
        ):  # fmt: skip
            net = nn.ModuleDict({"deep": nn.Sequential(nn.ReLU(), part), "out": nn.Linear(4, 2)})
            with self.assertRaisesRegex(ValueError, rf"^deep.1 \({type(part).__name__}\) keeps"):
                tacet.torch.to_vector(net)
            with self.assertRaisesRegex(ValueError, r"^the module \("):
                tacet.torch.to_vector(part)
        for part in (
            nn.BatchNorm1d(4, track_running_stats=False), nn.InstanceNorm2d(4, affine=True),
            nn.GroupNorm(2, 4), nn.LayerNorm(4),
        ):  # fmt: skip
            self.assertEqual(len(tacet.torch.to_vector(part)), 8)

    def test_the_private_module_trains_and_only_its_parameters_move(self) -> None:
        rows, targets = private_rows()
        net = tacet.torch.private(with_batch_norm())
        before = {name: value.clone() for name, value in net.state_dict().items()}
        vector = tacet.torch.to_vector(net)
        update = tacet.torch.train_local(
            net, vector, [(rows, targets)], loss=LOSS, optimizer=sgd
        )
        self.assertGreater(float(np.linalg.norm(update)), 0)
        tacet.torch.load_vector(net, vector)
        self.assertEqual(
            {name: value.tolist() for name, value in net.state_dict().items()},
            {name: value.tolist() for name, value in before.items()},
        )
        total = tacet.torch.clipped_sum(net, vector, rows, targets, loss=LOSS, clip_norm=1)
        self.assertTrue(0 < np.linalg.norm(total) <= len(rows) * 1.00001)
        with tempfile.TemporaryDirectory() as folder:
            run = tacet.simulate(
                lambda model, client, round_: update, clients=4, initial=vector, rounds=1,
                privacy=tacet.Privacy(noise_multiplier=5, delta=1e-3), out=Path(folder) / "run",
            )  # fmt: skip
        tacet.torch.load_vector(net, run.model)
        np.testing.assert_array_equal(tacet.torch.to_vector(net), run.model)


class PrivateTest(unittest.TestCase):
    def test_channels_parameters_and_order_are_kept(self) -> None:
        nn = torch.nn
        net = nn.Sequential(
            nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6, eps=1e-3), nn.Conv2d(6, 64, 3),
            nn.BatchNorm2d(64, affine=False), nn.Flatten(), nn.BatchNorm1d(1024),
            nn.Linear(1024, 3),
        ).eval()  # fmt: skip
        with torch.no_grad():
            net[1].weight.uniform_(1, 2)  # type: ignore[union-attr, operator]
        net[1].bias.requires_grad_(False)  # type: ignore[union-attr, operator]
        made = tacet.torch.private(net)
        self.assertEqual([type(net[i]).__name__ for i in (1, 3, 5)],
                         ["BatchNorm2d", "BatchNorm2d", "BatchNorm1d"])  # fmt: skip
        groups = [made[i].num_groups for i in (1, 3, 5)]  # type: ignore[index, union-attr]
        self.assertEqual(groups, [3, 32, 1])
        self.assertEqual(made[1].eps, 1e-3)  # type: ignore[index, union-attr]
        self.assertFalse(made[1].training)  # type: ignore[index, union-attr]
        for (name, value), (other, copied) in zip(
            net.named_parameters(), made.named_parameters(), strict=True
        ):
            self.assertEqual((name, value.requires_grad), (other, copied.requires_grad))
            self.assertTrue(torch.equal(value, copied))
            self.assertIsNot(value, copied)
        outputs = made(torch.randn(5, 1, 8, 8))
        self.assertEqual(outputs.shape, (5, 3))
        self.assertGreater(float(outputs.detach().std(0).min()), 0)  # records still differ

    def test_groups_divide_the_channels(self) -> None:
        for channels, groups in ((1, 1), (2, 1), (3, 1), (7, 1), (12, 6), (100, 25), (512, 32)):
            made = tacet.torch.private(torch.nn.BatchNorm2d(channels))
            self.assertEqual((made.num_groups, made.num_channels), (groups, channels))

    def test_a_part_that_is_used_twice_stays_one(self) -> None:
        norm = torch.nn.BatchNorm1d(4)
        made = tacet.torch.private(torch.nn.Sequential(norm, torch.nn.Linear(4, 4), norm))
        self.assertIs(made[0], made[2])  # type: ignore[index]
        self.assertEqual(len(tacet.torch.to_vector(made)), 8 + 20)

    def test_instance_norm_takes_each_record_by_itself(self) -> None:
        norm = torch.nn.InstanceNorm2d(3, affine=True, track_running_stats=True)
        made = tacet.torch.private(torch.nn.Sequential(norm)).eval()
        images = torch.randn(4, 3, 5, 5)
        plain = torch.nn.InstanceNorm2d(3)(images)
        torch.testing.assert_close(made(images), plain)
        self.assertEqual(list(made.buffers()), [])
        self.assertTrue(norm.track_running_stats)

    def test_what_group_norm_would_silence_is_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, r"0 \(BatchNorm1d\) has one channel, .*scale its"):
            tacet.torch.private(torch.nn.Sequential(torch.nn.BatchNorm1d(1)))
        with self.assertRaisesRegex(ValueError, "no number of channels yet: call the module"):
            tacet.torch.private(torch.nn.LazyBatchNorm2d())


class BuffersThatChangeTest(unittest.TestCase):
    def setUp(self) -> None:
        self.rows, self.targets = private_rows()
        self.net = torch.nn.Sequential(Averages(), torch.nn.Linear(4, 2))

    def train(self, buffers: tuple[str, ...] = ()) -> np.ndarray:
        return tacet.torch.train_local(
            self.net, tacet.torch.to_vector(self.net, buffers=buffers),
            [(self.rows, self.targets)] * 2, loss=LOSS, optimizer=sgd, buffers=buffers,
        )  # fmt: skip

    def test_statistics_of_ones_own_are_refused_and_undone(self) -> None:
        for name in ("mean", "seen"):
            text = rf"the buffer 0.{name} of 0 \(Averages\) changed while .* Name it in buffers"
            with self.assertRaisesRegex(tacet.InvalidArgumentError, text):
                self.train()
            with self.assertRaisesRegex(tacet.InvalidArgumentError, text):
                tacet.torch.clipped_sum(
                    self.net, tacet.torch.to_vector(self.net), self.rows, self.targets, loss=LOSS,
                    clip_norm=1,
                )
            self.assertEqual(self.net[0].mean.tolist(), [0, 0, 0, 0])  # type: ignore[union-attr]
            self.assertEqual(int(self.net[0].seen), 0)  # type: ignore[union-attr, arg-type]
            self.net[0].counts = True  # type: ignore[union-attr]

    def test_a_training_that_fails_leaves_none_behind(self) -> None:
        self.targets = self.targets + 7  # no such class: the loss fails
        with self.assertRaises((IndexError, RuntimeError)):
            self.train()
        self.assertEqual(self.net[0].mean.tolist(), [0, 0, 0, 0])  # type: ignore[union-attr]

    def test_named_statistics_are_part_of_the_update(self) -> None:
        update = self.train(("0.mean",))
        np.testing.assert_allclose(update[-4:], 0.19 * self.rows.mean(0).numpy(), rtol=1e-5)

    def test_a_table_that_grows_is_none(self) -> None:
        self.net = torch.nn.Sequential(Cached(), torch.nn.Linear(4, 2))
        self.assertGreater(float(np.linalg.norm(self.train())), 0)


if __name__ == "__main__":
    unittest.main()
