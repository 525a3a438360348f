"""Client of the job."""

import argparse

import numpy as np
import nvflare.client as flare


def load_data(site):
    """Measurements of one site."""
    return np.random.default_rng(site).normal(loc=[0.2, -0.1, 0.3], scale=0.2, size=(100, 3))


def main():
    """Train whenever the server asks."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--weight", type=float, default=0.5)
    args = parser.parse_args()
    flare.init()
    data = load_data(int(flare.get_site_name().split("-")[1]))
    while flare.is_running():
        received = flare.receive()
        print(f"round {received.current_round}")
        weights = received.params["numpy_key"]
        weights = weights + args.weight * (data.mean(axis=0, keepdims=True) - weights)
        model = flare.FLModel(
            params={"numpy_key": weights.astype(np.float32)},
            params_type="FULL",
            metrics={"mean": float(data.mean())},
            current_round=received.current_round,
        )
        flare.send(model)


if __name__ == "__main__":
    main()
