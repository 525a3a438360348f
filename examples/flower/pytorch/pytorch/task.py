"""A small network of PyTorch on invented points: model, data and training."""

import torch
from torch import nn


class Net(nn.Module):
    """Two layers; its initial values are public."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
        generator = torch.Generator().manual_seed(0)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator) / 2)

    def forward(self, x):
        """Logit of each point."""
        return self.layers(x)[:, 0]


def load_data(partition):
    """Points and classes of one site."""
    generator = torch.Generator().manual_seed(1000 + partition)
    x = torch.rand((200, 2), generator=generator) * 2 - 1
    return x, (x[:, 0] * x[:, 1] > 0).float()


def train(net, data, steps, rate):
    """Take steps of gradient descent; returns the loss."""
    optimizer = torch.optim.SGD(net.parameters(), lr=rate)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(net(data[0]), data[1])
        loss.backward()
        optimizer.step()
    return loss.item()


def evaluate(net, data):
    """Logistic loss."""
    with torch.no_grad():
        return nn.functional.binary_cross_entropy_with_logits(net(data[0]), data[1]).item()
