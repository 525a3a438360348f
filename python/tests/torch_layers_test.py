"""Tests of gradients of records in batches, for a Python with PyTorch, which has no pytest."""

from __future__ import annotations

import threading
import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.utils.checkpoint
from torch_gradients_test import plain_sum

import tacet
import tacet.torch
from tacet.torch_records import RecordGradients

nn = torch.nn
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
CROSS_ENTROPY = nn.functional.cross_entropy


class Net(nn.Module):
    """A module whose forward is a function of the module and the rows."""

    def __init__(
        self, forward: Callable[[Net, torch.Tensor], torch.Tensor], **parts: nn.Module
    ) -> None:
        super().__init__()
        self._forward = forward
        for name, part in parts.items():
            self.add_module(name, part)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return self._forward(self, rows)


def skips(net: Net, x: torch.Tensor) -> torch.Tensor:
    y = net.first(x)
    return net.last(net.middle(y) if float(x.detach().sum()) > 0 else y)


def cross_attention(net: Net, x: torch.Tensor) -> torch.Tensor:
    return net.last(net.attention(x[:, :2], x, x)[0].flatten(1))


def tied(net: Net, words: torch.Tensor) -> torch.Tensor:
    return nn.functional.linear(net.table(words).mean(1), net.table.weight)[:, :3]


def writes_into_outputs(net: Net, x: torch.Tensor) -> torch.Tensor:
    y = net.first(x)
    y.mul_(2)
    y[:, :2] = 0
    return net.last(y)


def wide(inputs: int = 40) -> nn.Linear:
    return nn.Linear(inputs, 40)


def cases(n: int) -> dict[str, tuple[nn.Module, torch.Tensor, Loss]]:
    torch.manual_seed(1)
    x, words = torch.randn(n, 40), torch.randint(0, 30, (n, 4))
    rows, images = torch.randn(n, 3, 40), torch.randn(n, 3, 7, 7)
    encoder = nn.TransformerEncoderLayer(40, 4, 80, batch_first=True)

    def last() -> nn.Linear:
        return nn.Linear(40, 3)

    def net(forward: Callable[[Net, torch.Tensor], torch.Tensor], **parts: nn.Module) -> Net:
        return Net(forward, **{"first": wide(), "last": last(), **parts})

    mlp = net(lambda m, x: m.last(m.first(x).tanh()))

    def decayed(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return CROSS_ENTROPY(outputs, targets) + mlp.first.weight.pow(2).sum()

    return {
        "layers": (mlp, x, CROSS_ENTROPY),
        "a layer twice": (net(lambda m, x: m.last(m.first(m.first(x).tanh()))), x, CROSS_ENTROPY),
        "a layer for some": (net(skips, middle=wide()), x, CROSS_ENTROPY),
        "a layer for none": (net(lambda m, x: m.last(m.first(x)), more=wide()), x, CROSS_ENTROPY),
        "a layer by its weight": (net(lambda m, x: m.last(x @ m.first.weight)), x, CROSS_ENTROPY),
        "one weight in two ways": (
            net(lambda m, x: m.last(m.first(x) + x @ m.first.weight.T)), x, CROSS_ENTROPY),
        "a loss of weights": (mlp, x, decayed),
        "in place": (net(writes_into_outputs), x, CROSS_ENTROPY),
        "a mean over the batch": (net(lambda m, x: m.last(m.first(x - x.mean(0)))), x,
                                  CROSS_ENTROPY),
        "dropout": (nn.Sequential(wide(), nn.Dropout(0.5), last()), x, CROSS_ENTROPY),
        "tokens": (net(lambda m, x: m.last(m.first(x).tanh().mean(1))), rows, CROSS_ENTROPY),
        "table": (nn.Sequential(nn.Embedding(30, 10, padding_idx=3), nn.Flatten(), wide(), last()),
                  words % 5, CROSS_ENTROPY),
        "tied": (Net(tied, table=nn.Embedding(30, 10)), words, CROSS_ENTROPY),
        "attention": (net(lambda m, x: m.last(m.body(x)[:, 0]), body=encoder), rows,
                      CROSS_ENTROPY),
        "cross attention": (Net(cross_attention, attention=nn.MultiheadAttention(
            40, 2, batch_first=True), last=nn.Linear(80, 3)), rows, CROSS_ENTROPY),
        "images": (nn.Sequential(
            nn.Conv2d(3, 24, 3, stride=2, padding=(1, 0)), nn.GroupNorm(4, 24), nn.ReLU(True),
            nn.Conv2d(24, 40, (2, 1), dilation=2), nn.Flatten(), nn.LazyLinear(3)), images,
            CROSS_ENTROPY),
        "signals": (nn.Sequential(
            nn.Conv1d(3, 24, 9, stride=4, padding=2, dilation=2), nn.Tanh(), nn.Flatten(),
            nn.LazyLinear(40), nn.LayerNorm(40), last()), rows, CROSS_ENTROPY),
        "groups of channels": (nn.Sequential(
            nn.Conv2d(3, 9, 3, groups=3, padding="same"), nn.Flatten(), nn.LazyLinear(3)), images,
            CROSS_ENTROPY),
    }  # fmt: skip


class UsesOfLayersTest(unittest.TestCase):
    RECORDS = 40

    def test_sums_are_those_of_a_plain_loop(self) -> None:
        y = torch.randint(0, 3, (self.RECORDS,), generator=torch.Generator().manual_seed(1))
        for name, (net, x, loss) in cases(self.RECORDS).items():
            net.eval()(x[:1])  # lazy layers
            model = tacet.torch.to_vector(net)
            for groups in (list(range(self.RECORDS)), [i % 3 for i in range(self.RECORDS)]):
                with self.subTest(name, persons=len(set(groups))):
                    wanted = plain_sum(net, x, y, 0.3, groups, loss)
                    found = tacet.torch.clipped_sum(
                        net, model, x, y, loss=loss, clip_norm=0.3, groups=groups
                    )
                    error = np.linalg.norm(found - wanted) / np.linalg.norm(wanted)
                    self.assertLess(error, 1e-6)

    def test_rows_that_cancel_do_not_pass_the_clip_norm(self) -> None:
        # Three rows of a record are large and add up to zero, and the fourth is what is left of its
        # weights' gradient. Products of rows lose its norm in rounding: they say 0 for half of the
        # seeds, and the bias alone is within the clip norm.
        for seed in range(20):
            torch.manual_seed(seed)
            net = nn.Linear(256, 64)
            large = 2.0**9 * torch.randint(0, 2**24, (2, 256))
            large[1].neg_()
            rows = torch.cat([large, -large.sum(0, keepdim=True), 100 * torch.randn(1, 256)])
            self.assertEqual(float(rows[:3].sum(0).abs().max()), 0)
            x = torch.stack([torch.ones(4, 256), rows])
            both, first = (
                tacet.torch.clipped_sum(
                    net, tacet.torch.to_vector(net), x[:count], torch.zeros(count),
                    loss=lambda outputs, _: outputs.sum(), clip_norm=33,
                )
                for count in (2, 1)
            )  # fmt: skip
            self.assertLessEqual(float(np.linalg.norm(both - first)), 33 * 1.00001)

    def test_what_cancels_in_a_unit_takes_no_digits_from_the_others(self) -> None:
        # Rows of one record, or records of one person, are large and cancel but for a small rest.
        # The sum of all units forgets the others' gradients while it holds one of them alone.
        class Scale(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.scale = nn.Parameter(torch.zeros(8))

            def forward(self, rows: torch.Tensor) -> torch.Tensor:
                return rows * self.scale

        def loss(outputs: torch.Tensor, factors: torch.Tensor) -> torch.Tensor:
            return (outputs * factors[..., None]).sum()

        torch.manual_seed(1)
        table = nn.Sequential(nn.Embedding(3, 8), nn.Linear(8, 8, bias=False))
        for name, net, rows in (
            ("a parameter", Scale(), torch.randn(36, 8)),
            ("rows of persons", nn.Linear(64, 48, bias=False), torch.randn(36, 64)),
            ("rows of a record", nn.Linear(16, 16, bias=False), torch.randn(36, 40, 16)),
            ("a table", table, torch.randint(0, 3, (36, 4))),
        ):
            groups = np.arange(36) // 3
            for large in (1e16, 1e30):
                x = rows.clone()
                y = torch.ones(x.shape[:-1] if x.is_floating_point() else x.shape)
                if name == "rows of a record":
                    x[15, 0], x[15, 1] = large, -large
                elif name == "a table":
                    x[16], y[15], y[16] = x[15], large, -large
                else:
                    x[15], x[16] = large, -large
                every, rest = (
                    tacet.torch.clipped_sum(
                        net, tacet.torch.to_vector(net), x[chosen], y[chosen], loss=loss,
                        clip_norm=1, groups=groups[chosen],
                    ).astype(np.float64)
                    for chosen in (groups >= 0, groups != 5)
                )  # fmt: skip
                moved = float(np.linalg.norm(every - rest))
                self.assertLessEqual(moved, 1 + 2**-20, f"{name}, {large}")

    def test_gradients_that_a_module_or_a_loss_computes_are_followed(self) -> None:
        # Penalties on a slope, for some records: the weights of a layer are in its slope, too.
        torch.manual_seed(1)
        x = torch.randn(6, 40)
        x[0] = -x[0].abs()

        def by_rows(net: Net, rows: torch.Tensor) -> torch.Tensor:
            with torch.enable_grad():
                rows = rows.detach().requires_grad_()
                found = net.last(net.first(rows).tanh())
                if float(rows.detach().sum()) > 0:
                    slope = torch.autograd.grad(found.sum(), rows, create_graph=True)[0]
                    found = found + slope.pow(2).sum()
            return found

        def by_weights(net: Net, rows: torch.Tensor) -> torch.Tensor:
            with torch.enable_grad():
                found = net.last(net.first(rows).tanh())
                if float(rows.sum()) > 0:
                    weight = net.first.weight
                    slope = torch.autograd.grad(found.sum(), weight, create_graph=True)[0]
                    found = found + slope.pow(2).sum()
            return found

        for forward in (by_rows, by_weights):
            net = Net(forward, first=wide(), last=nn.Linear(40, 3))
            y = torch.zeros(6)

            def loss(outputs: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
                return outputs.pow(2).sum()

            wanted = plain_sum(net, x, y, 0.3, range(6), loss)
            found = tacet.torch.clipped_sum(
                net, tacet.torch.to_vector(net), x, y, loss=loss, clip_norm=0.3
            )
            np.testing.assert_allclose(found, wanted, atol=1e-6)

    @unittest.skipUnless(hasattr(torch, "func"), "this PyTorch has no batches")
    def test_these_run_in_batches(self) -> None:
        alone = {"a layer for some", "a loss of weights"}
        y = torch.arange(self.RECORDS) % 3
        for name, (net, x, loss) in cases(self.RECORDS).items():
            net.eval()(x[:1])
            records = RecordGradients(net, loss, list(net.parameters()), x, y)
            self.assertEqual(records.at_once == 0, name in alone, name)

    @unittest.skipUnless(hasattr(torch, "func"), "this PyTorch has no batches")
    def test_batches_take_all_records_of_a_call_and_their_size_follows_from_shapes(self) -> None:
        torch.manual_seed(1)
        y = torch.arange(self.RECORDS) % 3
        net = nn.Sequential(nn.Linear(500, 1000), nn.Flatten(), nn.Linear(1, 1)).eval()
        for tokens, slots in ((2, 32), (18, 8)):
            x = torch.randn(self.RECORDS, tokens, 500)
            net[2] = nn.Linear(1000 * tokens, 3)
            x[1], y[1] = x[0], y[0]
            for rows in (x, x * 1e30):
                records = RecordGradients(net, CROSS_ENTROPY, list(net.parameters()), rows, y)
                seen = list(records.each(range(self.RECORDS)))
                sizes = [len(counts) for counts, _ in seen]
                self.assertEqual(sizes, sorted(sizes, reverse=True))  # no slot is left out
                self.assertLessEqual(sizes[0], slots)
                self.assertGreater(sizes[0], slots / 2)
                every = sorted(count for counts, _ in seen for count in counts)
                self.assertEqual(every, [1] * 38 + [2])
                for counts, pieces in seen:
                    self.assertEqual({len(t) for t in pieces.tensors()}, {len(counts)})

    @unittest.skipUnless(hasattr(torch, "func"), "this PyTorch has no batches")
    def test_a_record_gives_the_same_bits_whatever_the_others_are(self) -> None:
        y = torch.arange(self.RECORDS) % 3
        last = self.RECORDS - 1
        for name, (net, x, loss) in cases(self.RECORDS).items():
            net.eval()(x[:1])
            others = [x]
            if x.is_floating_point():
                for factor in (1e30, float("nan"), float("inf"), 0.0):
                    others.append(x * factor)
                    others[-1][last] = x[last]
            seen = set()
            for rows in others:
                records = RecordGradients(net, loss, list(net.parameters()), rows, y)
                if records.at_once == 0:
                    continue
                for order in ([last, *range(5)], [*range(35), last], [last], [0, last]):
                    pieces = records.pieces(order).taken([order.index(last)])
                    seen.add(b"".join(values.numpy().tobytes() for values in pieces.tensors()))
            self.assertLessEqual(len(seen), 1, name)

    @unittest.skipUnless(hasattr(torch, "func"), "this PyTorch has no batches")
    def test_kernels_that_round_by_place_and_size_give_the_same_bits(self) -> None:
        # Kernels may do so for other shapes, or on other machines: here each place and each size
        # of a batch rounds visibly.
        class Rounds(torch.autograd.Function):  # type: ignore[misc]
            @staticmethod
            def forward(values: torch.Tensor) -> torch.Tensor:
                return values.clone()

            @staticmethod
            def setup_context(*_: object) -> None:
                pass

            @staticmethod
            def backward(ctx: object, gradient: torch.Tensor) -> torch.Tensor:
                return gradient

            @staticmethod
            def vmap(
                info: Any, in_dims: tuple[int], values: torch.Tensor
            ) -> tuple[torch.Tensor, int]:
                values = values.movedim(in_dims[0], 0)
                errors = 2.0**-21 * (torch.arange(len(values)) + 2 / len(values))
                return values * (1 + errors.reshape(-1, *(1,) * (values.ndim - 1))), 0

        torch.manual_seed(1)
        x, y = torch.randn(self.RECORDS, 40), torch.arange(self.RECORDS) % 3
        net = Net(lambda m, x: m.last(Rounds.apply(m.first(x).tanh())), first=wide(), last=wide())
        records = RecordGradients(net, CROSS_ENTROPY, list(net.parameters()), x, y)
        self.assertGreater(records.at_once, 0)
        seen: list[set[bytes]] = [set() for _ in range(self.RECORDS)]
        every = list(range(self.RECORDS))
        for order in (every, every[20:], [7, 39]):
            pieces = records.pieces(order)
            for place, record in enumerate(order):
                found = pieces.taken([place]).tensors()
                seen[record].add(b"".join(values.numpy().tobytes() for values in found))
        self.assertEqual([len(bits) for bits in seen], [1] * self.RECORDS)

    def test_what_would_see_many_records_sees_one(self) -> None:
        # Each shrinks a gradient, or a value that is kept for it, if what it sees is large. So one
        # large record would shrink all others, and made-up ones shrink none.
        def shrinks(values: torch.Tensor) -> torch.Tensor:
            return values * (50 / values.norm().clamp(min=50))

        def hooked(net: Net, x: torch.Tensor) -> torch.Tensor:
            y = net.first(x)
            if y.requires_grad:
                y.register_hook(shrinks)
            return net.last(y.pow(2))

        def packed(net: Net, x: torch.Tensor) -> torch.Tensor:
            y = net.first(x)
            with torch.autograd.graph.saved_tensors_hooks(shrinks, lambda kept: kept):
                y = y.pow(2)
            return net.last(y)

        def checkpointed(net: Net, x: torch.Tensor) -> torch.Tensor:
            again = torch.utils.checkpoint.checkpoint
            return net.last(again(net.first, x, use_reentrant=False).pow(2))

        def plain(net: Net, x: torch.Tensor) -> torch.Tensor:
            return net.last(net.first(x).pow(2))

        def loss(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
            return outputs.pow(2).sum()

        torch.manual_seed(1)
        x, y = torch.randn(12, 40), torch.zeros(12)
        x[3] *= 100
        for forward in (hooked, packed, checkpointed, plain):
            net = Net(forward, first=wide(), last=nn.Linear(40, 3))
            if forward is plain:
                net.last.register_full_backward_hook(
                    lambda part, inputs, outputs: (shrinks(inputs[0]),)
                )
            with self.subTest(forward.__name__):
                wanted = plain_sum(net, x, y, 0.3, range(12), loss)
                found = tacet.torch.clipped_sum(
                    net, tacet.torch.to_vector(net), x, y, loss=loss, clip_norm=0.3
                )
                error = np.linalg.norm(found - wanted) / np.linalg.norm(wanted)
                self.assertLess(error, 1e-4)  # a large record rounds more

    def test_weights_that_others_use_too_have_whole_gradients(self) -> None:
        torch.manual_seed(1)
        words = torch.randint(0, 30, (12, 4))
        y = torch.arange(12) % 3
        for padding in (None, 0):
            net = Net(tied, table=nn.Embedding(30, 10, padding_idx=padding))
            wanted = plain_sum(net, words, y, 0.3, range(12))
            found = tacet.torch.clipped_sum(
                net, tacet.torch.to_vector(net), words, y, loss=CROSS_ENTROPY, clip_norm=0.3
            )
            np.testing.assert_allclose(found, wanted, atol=1e-6)

    def test_random_numbers_of_another_thread_end_no_call(self) -> None:
        torch.manual_seed(1)
        x, y = torch.randn(12, 40), torch.arange(12) % 3
        left = [0]

        def threaded(net: Net, x: torch.Tensor) -> torch.Tensor:
            left[0] -= 1
            if left[0] == 0:
                thread = threading.Thread(target=np.random.random)
                thread.start()
                thread.join()
            return net.last(net.first(x).tanh())

        net = Net(threaded, first=wide(), last=nn.Linear(40, 3))
        wanted = plain_sum(net, x, y, 0.3, range(12))
        for call in range(1, 9):  # the sixth and the seventh are batches of data
            left[0] = call
            found = tacet.torch.clipped_sum(
                net, tacet.torch.to_vector(net), x, y, loss=CROSS_ENTROPY, clip_norm=0.3
            )
            np.testing.assert_allclose(found, wanted, atol=1e-6)

    @unittest.skipUnless(hasattr(torch, "func"), "this PyTorch has no batches")
    def test_another_computation_than_with_made_up_records_is_refused(self) -> None:
        calls: list[int] = []

        def later(net: Net, x: torch.Tensor) -> torch.Tensor:
            calls.append(1)
            y = net.first(x).tanh()
            return net.last(net.first(y) if len(calls) > 5 else y)

        net = Net(later, first=wide(), last=nn.Linear(40, 3))
        x, y = torch.randn(12, 40), torch.arange(12) % 3
        with self.assertRaisesRegex(tacet.InvalidArgumentError, "other than with made-up"):
            tacet.torch.clipped_sum(
                net, tacet.torch.to_vector(net), x, y, loss=CROSS_ENTROPY, clip_norm=0.3
            )


if __name__ == "__main__":
    unittest.main()
