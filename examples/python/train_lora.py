#!/usr/bin/env python3
"""Trains adapters of low rank (LoRA) of a frozen transformer, each record protected, with PyTorch.

usage: train_lora.py

The transformer is public; here its parameters are drawn. Linear layers of its blocks get adapters,
and these and a last layer are all that is trained and sent. Each site holds sentences of its own,
here invented ones.
"""
import torch
from torch import nn

import tacet
import tacet.torch

WORDS, LENGTH, WIDTH, RANK, SITES = 50, 7, 32, 4, 4


class Adapter(nn.Module):
    """A frozen linear layer, and two small ones whose product is added to it."""

    def __init__(self, layer: nn.Linear):
        super().__init__()
        self.layer = layer
        self.down = nn.Linear(layer.in_features, RANK, bias=False)
        self.up = nn.Linear(RANK, layer.out_features, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) + self.up(self.down(x))


class Block(nn.Module):
    """Attention of four heads and two layers, each added to its input."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])
        self.heads, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query, key, value = (
            part.unflatten(-1, (4, -1)).transpose(1, 2)
            for part in self.heads(self.norms[0](x)).chunk(3, -1)
        )
        found = nn.functional.scaled_dot_product_attention(query, key, value)
        x = x + self.out(found.transpose(1, 2).flatten(2))
        return x + self.narrow(nn.functional.gelu(self.wide(self.norms[1](x))))


class Classifier(nn.Module):
    """Words and their places in, two blocks, logits of two classes out."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(Block(), Block())
        self.last = nn.Linear(WIDTH, 2)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        x = self.words(words) + self.places(torch.arange(LENGTH))
        return self.last(self.blocks(x).mean(1))


def with_adapters() -> Classifier:
    """The frozen transformer with adapters, and a last layer to train."""
    torch.manual_seed(1)
    net = Classifier().requires_grad_(False)
    for block in net.blocks:
        block.heads, block.wide = Adapter(block.heads), Adapter(block.wide)
    net.last.requires_grad_(True)
    return net


def sentences(site: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Sentences, and whether most of their words are of the first half."""
    draws = torch.Generator().manual_seed(site)
    words = torch.randint(0, WORDS, (count, LENGTH), generator=draws)
    return words, ((words < WORDS // 2).sum(1) > LENGTH // 2).long()


def main() -> None:
    torch.set_num_threads(1)  # more only cost, in a network as small
    net = with_adapters()
    run = tacet.torch.fit(
        net, [sentences(site, 300) for site in range(SITES)], nn.functional.cross_entropy,
        privacy=tacet.Privacy(target_epsilon=4, record_rate=0.2), unit="record", rounds=8,
        learning_rate=4, momentum=0.5,
    )
    trained = sum(p.numel() for p in net.parameters() if p.requires_grad)
    print(f"{trained} of {sum(p.numel() for p in net.parameters())} parameters are sent")
    words, classes = sentences(-1, 1000)  # of nobody
    right = float((net.eval()(words).argmax(1) == classes).float().mean())
    print(f"accuracy {right:.2f} at epsilon {run.epsilon:.1f}")


if __name__ == "__main__":
    main()
