#!/usr/bin/env python3
"""Trains adapters of low rank (LoRA) of a network in bf16 in a simulated federation, with PyTorch.

usage: train_adapters.py OUT

The network is public and frozen. A round sends the adapters alone: `tacet.torch` takes the
parameters with `requires_grad`. Each client holds sentences of its own, here invented ones.
"""
import sys

import torch

import tacet
import tacet.torch

WORDS, WIDTH, RANK, CLIENTS = 50, 16, 2, 60


class Words(torch.nn.Embedding):
    """Mean of the words' vectors."""

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return super().forward(words).mean(1)


class Adapter(torch.nn.Module):
    """A frozen layer, and the product of two small matrices in float32 that is added to it."""

    def __init__(self, layer: torch.nn.Linear):
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.down = torch.nn.Parameter(torch.randn(RANK, layer.in_features) / layer.in_features)
        self.up = torch.nn.Parameter(torch.zeros(layer.out_features, RANK))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        added = x.float() @ self.down.T @ self.up.T
        return self.layer(x) + added.to(x.dtype)


def make_network() -> torch.nn.Module:
    """The public network: words in, logits of two classes out. The adapters start at zero."""
    torch.manual_seed(1)
    network = torch.nn.Sequential(
        Words(WORDS, WIDTH),
        torch.nn.Linear(WIDTH, WIDTH),
        torch.nn.Tanh(),
        torch.nn.Linear(WIDTH, 2),
    ).bfloat16().requires_grad_(False)
    network[1], network[3] = Adapter(network[1]), Adapter(network[3])
    return network


def loss(logits: torch.Tensor, classes: torch.Tensor) -> torch.Tensor:
    """Cross-entropy in float32."""
    return torch.nn.functional.cross_entropy(logits.float(), classes)


def sentences(client: int) -> tuple[torch.Tensor, torch.Tensor]:
    """16 sentences of 6 words; the class says in which half of the words most are."""
    words = torch.randint(0, WORDS, (16, 6), generator=torch.Generator().manual_seed(client))
    return words, ((words < WORDS // 2).sum(1) > 3).long()


def main() -> None:
    torch.set_num_threads(1)  # more only cost, in a network as small
    network = make_network()

    def train(model, client, round_):
        return tacet.torch.train_local(
            network, model, [sentences(client)] * 5, loss=loss,
            optimizer=lambda adapters: torch.optim.Adam(adapters, lr=0.02),
        )

    def accuracy() -> float:
        words, classes = sentences(-1)  # of nobody
        return float((network(words).argmax(1) == classes).float().mean())

    initial = tacet.torch.to_vector(network)
    everything = sum(parameter.numel() for parameter in network.parameters())
    print(f"{len(initial)} of {everything} parameters are sent")
    run = tacet.simulate(
        train, clients=CLIENTS, initial=initial, rounds=4, out=sys.argv[1],
        privacy=tacet.Privacy(target_epsilon=8, delta=1e-3), architecture="LoRA, rank 2",
    )
    tacet.torch.load_vector(network, run.model)
    print(f"accuracy {accuracy():.2f} at epsilon {run.epsilon:.1f}")


if __name__ == "__main__":
    main()
