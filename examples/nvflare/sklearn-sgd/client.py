"""Client of the job."""

import argparse

import numpy as np
import nvflare.client as flare
from sklearn.linear_model import SGDRegressor


def load_data(site):
    """Inputs and outcomes of one site."""
    rng = np.random.default_rng(300 + site)
    x = np.clip(rng.normal(size=(120, 4)), -2, 2)
    return x, x @ np.array([0.4, -0.2, 0.1, 0.0]) + rng.normal(scale=0.1, size=120)


def main():
    """Train whenever the server asks."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--eta0", type=float, default=0.01)
    args = parser.parse_args()
    flare.init()
    data = load_data(int(flare.get_site_name().split("-")[1]))
    while flare.is_running():
        received = flare.receive()
        print(f"round {received.current_round}")
        model = SGDRegressor(learning_rate="constant", eta0=args.eta0)
        model.coef_, model.intercept_ = received.params["coef"], received.params["intercept"]
        model.partial_fit(*data)
        params = {"coef": model.coef_, "intercept": model.intercept_}
        metrics = {"r2": model.score(*data)}
        flare.send(flare.FLModel(params=params, params_type="FULL", metrics=metrics))


if __name__ == "__main__":
    main()
