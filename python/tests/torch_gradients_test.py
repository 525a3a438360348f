"""Tests of record gradients against a plain loop, for a Python with PyTorch."""

from __future__ import annotations

import copy
import unittest
from collections.abc import Callable, Sequence

import numpy as np
import torch

import tacet.torch

LOSS = torch.nn.functional.cross_entropy


class Sequence2Class(torch.nn.Module):
    """The last state of a recurrent network, or of a transformer, and a layer."""

    def __init__(self, body: torch.nn.Module) -> None:
        super().__init__()
        self.body = body
        self.out = torch.nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.body(x)
        return self.out((y[0] if isinstance(y, tuple) else y)[:, -1])


class Tied(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(11, 6)
        self.out = torch.nn.Linear(6, 11, bias=False)
        self.out.weight = self.table.weight

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.out(self.table(words).mean(1))


class Branches(torch.nn.Module):
    """Asks for a value; one part has no gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)
        self.unused = torch.nn.Linear(2, 2)
        self.scale = torch.nn.Parameter(torch.tensor(2.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(self.scale * x if float(x.detach().sum()) > 0 else -x)


def plain_sum(  # noqa: PLR0917
    net: torch.nn.Module,
    x: torch.Tensor,
    y: torch.Tensor,
    clip_norm: float,
    units: Sequence[int],
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = LOSS,
) -> np.ndarray:
    """As the definition says: one record after the other, in float64."""
    parameters = [p for p in net.parameters() if p.requires_grad]
    sums: dict[int, np.ndarray] = {}
    for i, unit in enumerate(units):
        value = loss(net(x[i : i + 1]), y[i : i + 1])
        found = torch.autograd.grad(value, parameters, allow_unused=True)
        gradient = np.concatenate([
            np.zeros(p.numel()) if g is None else g.double().numpy().ravel()
            for p, g in zip(parameters, found, strict=True)
        ])  # fmt: skip
        sums[unit] = sums.get(unit, np.zeros_like(gradient)) + gradient
    norms = {unit: float(np.linalg.norm(g)) for unit, g in sums.items()}
    return -sum(
        (g * min(1, clip_norm / norms[unit]) for unit, g in sums.items()
         if np.isfinite(norms[unit]) and norms[unit] > 0), np.zeros(sums[units[0]].shape),
    )  # fmt: skip


class ClippedGradientsTest(unittest.TestCase):
    RECORDS = 24

    def nets(self) -> list[tuple[torch.nn.Module, torch.Tensor]]:
        nn, n = torch.nn, self.RECORDS
        torch.manual_seed(1)
        images = nn.Sequential(
            nn.Conv2d(1, 8, 3), nn.GroupNorm(4, 8), nn.ReLU(inplace=True), nn.Dropout(0.5),
            nn.Flatten(), nn.Linear(288, 40), nn.LayerNorm(40), nn.Linear(40, 3),
        )  # fmt: skip
        images[0].requires_grad_(False)
        return [
            (nn.Sequential(nn.Linear(4, 600), nn.Tanh(), nn.Linear(600, 3)), torch.randn(n, 4)),
            (images, torch.randn(n, 1, 8, 8)),
            (Sequence2Class(nn.GRU(6, 8, batch_first=True)), torch.randn(n, 5, 6)),
            (Sequence2Class(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)),
             torch.randn(n, 5, 8)),
            (Tied(), torch.randint(0, 11, (n, 4))),
            (Branches(), torch.randn(n, 4)),
            (nn.Linear(4, 3).double(), torch.randn(n, 4).double()),
        ]  # fmt: skip

    def test_they_are_those_of_a_plain_loop(self) -> None:
        owners: list[Callable[[int], int]] = [lambda i: i, lambda i: i % 5, lambda i: max(i, 9)]
        for net, x in self.nets():
            y = torch.randint(0, 3, (self.RECORDS,))
            if x.is_floating_point():  # clipped, far beyond float32's squares, and not finite
                attends = isinstance(getattr(net, "body", None), torch.nn.TransformerEncoderLayer)
                x[2] *= 3 if attends else 1e3  # the loop rounds: see the next test
                x[3] *= 1e30
                x[4], x[5] = float("inf"), float("nan")
            model = tacet.torch.to_vector(net)
            for owner in owners:
                groups = [owner(i) for i in range(self.RECORDS)]
                wanted = plain_sum(net.eval(), x, y, 0.3, groups)
                found = tacet.torch.clipped_sum(
                    net, model, x, y, loss=LOSS, clip_norm=0.3, groups=groups
                )
                error = np.linalg.norm(found - wanted) / np.linalg.norm(wanted)
                self.assertLess(error, 1e-6, type(net).__name__)

    def test_large_values_of_an_attention_have_the_gradient_of_float64(self) -> None:
        # The loop in float32 is wrong by 1e-3: with a fused kernel, a softmax of large numbers
        # rounds. Batches have products of matrices in its place.
        net, x = self.nets()[3]
        x[2] *= 1e3
        y = torch.arange(self.RECORDS) % 3
        wanted = plain_sum(
            copy.deepcopy(net).double().eval(), x.double(), y, 0.3, range(self.RECORDS)
        )
        found = tacet.torch.clipped_sum(
            net, tacet.torch.to_vector(net), x, y, loss=LOSS, clip_norm=0.3
        )
        error = np.linalg.norm(found - wanted) / np.linalg.norm(wanted)
        self.assertLess(error, 1e-6 if hasattr(torch.nn, "attention") else 1e-2)

    def test_no_record_moves_the_sum_by_more_than_the_clip_norm(self) -> None:
        net = torch.nn.Linear(4, 3)
        y = torch.zeros(6, dtype=torch.long)
        for power in (-44, -38, -20, -12, -3, 0, 3, 11, 19, 25, 38):
            for clip_norm in (1e-25, 0.5, 1e10):
                x = torch.zeros(6, 4)
                x[3] = 10.0**power
                model = tacet.torch.to_vector(net)
                groups = [0, 0, 0, 1, 0, 0]
                found = tacet.torch.clipped_sum(
                    net, model, x, y, loss=LOSS, clip_norm=clip_norm, groups=groups
                )
                x[3] = float("nan")
                without = tacet.torch.clipped_sum(
                    net, model, x, y, loss=LOSS, clip_norm=clip_norm, groups=groups
                )
                moved = np.linalg.norm(found.astype(np.float64) - without)
                self.assertLessEqual(moved, clip_norm * 1.00001, f"1e{power}, {clip_norm}")

    def test_the_rounding_of_the_others_does_not_move_it_either(self) -> None:
        # Large partial sums that cancel. A sum in float32 moves by 1e-5 more than the record's
        # gradient, and by 1e-2 with 10^6 records, which is more than an agreement keeps for it.
        net = torch.nn.Linear(1, 1, bias=False)
        half = np.random.default_rng(0).uniform(0.3, 1, 1024).astype(np.float32)
        x = torch.tensor(np.concatenate([half, half[::-1]]))[:, None]
        y = torch.cat([torch.ones(1024), -torch.ones(1024)])

        def total(chosen: np.ndarray) -> float:
            return float(
                tacet.torch.clipped_sum(
                    net, tacet.torch.to_vector(net), x[chosen], y[chosen],
                    loss=lambda outputs, signs: (outputs[:, 0] * signs).sum(), clip_norm=1,
                )[0]
            )  # fmt: skip

        chosen = np.ones(2048, dtype=bool)
        every = total(chosen)
        chosen[15] = False
        self.assertLess(abs(abs(every - total(chosen)) - float(half[15])), 1e-6)

    def test_equal_records_count_as_often_as_they_occur(self) -> None:
        torch.manual_seed(1)
        net = torch.nn.Linear(40, 30)
        x, y = torch.randn(6, 40), torch.arange(6)
        chosen = torch.tensor([0, 1, 1, 2, 3, 3, 3, 5, *[4] * 40])
        for groups in (list(range(len(chosen))), [max(i, 3) for i in range(len(chosen))]):
            wanted = plain_sum(net, x[chosen], y[chosen], 0.3, groups)
            found = tacet.torch.clipped_sum(
                net, tacet.torch.to_vector(net), x[chosen], y[chosen], loss=LOSS, clip_norm=0.3,
                groups=groups,
            )  # fmt: skip
            error = np.linalg.norm(found - wanted) / np.linalg.norm(wanted)
            self.assertLess(error, 1e-6)

    def test_records_and_targets_may_have_no_values(self) -> None:
        torch.manual_seed(1)
        for width in (0, 4):
            net = torch.nn.Linear(width, 3)
            x, y = torch.randn(5, width), torch.zeros(5, 0)

            def loss(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
                return outputs.square().sum() + targets.sum()

            found = tacet.torch.clipped_sum(
                net, tacet.torch.to_vector(net), x, y, loss=loss, clip_norm=0.3
            )
            wanted = plain_sum(net, x, y, 0.3, range(5), loss)
            np.testing.assert_allclose(found, wanted, atol=1e-6)

    def test_an_error_of_the_loss_arrives(self) -> None:
        net = torch.nn.Linear(4, 3)

        def broken(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
            raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            tacet.torch.clipped_sum(
                net, tacet.torch.to_vector(net), torch.zeros(2, 4), torch.zeros(2), loss=broken,
                clip_norm=1,
            )


if __name__ == "__main__":
    unittest.main()
