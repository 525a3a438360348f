"""Client of the job."""

import argparse

import numpy as np
import nvflare.client as flare
from sklearn.linear_model import LogisticRegression


def load_data(site):
    """Inputs and classes of one site."""
    rng = np.random.default_rng(200 + site)
    x = np.clip(rng.normal(size=(120, 4)), -2, 2)
    return x, (x[:, 0] - x[:, 1] + rng.logistic(size=120) > 0).astype(int)


def main():
    """Train whenever the server asks."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--max_iter", type=int, default=5)
    args = parser.parse_args()
    flare.init()
    data = load_data(int(flare.get_site_name().split("-")[1]))
    while flare.is_running():
        received = flare.receive()
        print(f"round {received.current_round}")
        model = LogisticRegression(warm_start=True, max_iter=args.max_iter)
        model.classes_ = np.array([0, 1])
        model.coef_, model.intercept_ = received.params["coef"], received.params["intercept"]
        model.fit(*data)
        params = {"coef": model.coef_, "intercept": model.intercept_}
        metrics = {"accuracy": model.score(*data)}
        flare.send(flare.FLModel(params=params, params_type="FULL", metrics=metrics))


if __name__ == "__main__":
    main()
