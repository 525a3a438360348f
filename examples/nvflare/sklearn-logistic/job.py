"""The job: clients train `client.py`, a server averages."""

import argparse

from nvflare.app_opt.sklearn import SklearnFedAvgRecipe
from nvflare.recipe import SimEnv


def main():
    """Run the job in NVFLARE's simulator."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--n_clients", type=int, default=3)
    parser.add_argument("--num_rounds", type=int, default=2)
    args = parser.parse_args()
    recipe = SklearnFedAvgRecipe(
        name="sklearn-logistic",
        min_clients=args.n_clients,
        num_rounds=args.num_rounds,
        model_params={"n_classes": 2, "n_features": 4},
        train_script="client.py",
        train_args="--max_iter 5",
    )
    run = recipe.execute(SimEnv(num_clients=args.n_clients))
    print("Result can be found in:", run.get_result())


if __name__ == "__main__":
    main()
