"""Client of the job."""

import argparse

import nvflare.client as flare
import torch
from model import Net
from torch import nn


def load_data(site):
    """Points and classes of one site."""
    generator = torch.Generator().manual_seed(1000 + site)
    x = torch.rand((200, 2), generator=generator) * 2 - 1
    return x, (x[:, 0] * x[:, 1] > 0).float()


def main():
    """Train whenever the server asks."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    flare.init()
    data = load_data(int(flare.get_site_name().split("-")[1]))
    while flare.is_running():
        received = flare.receive()
        print(f"round {received.current_round}")
        net = Net()
        net.load_state_dict(received.params)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(args.steps):
            optimizer.zero_grad()
            loss = nn.functional.binary_cross_entropy_with_logits(net(data[0])[:, 0], data[1])
            loss.backward()
            optimizer.step()
        flare.send(flare.FLModel(params=net.state_dict(), metrics={"loss": loss.item()}))


if __name__ == "__main__":
    main()
