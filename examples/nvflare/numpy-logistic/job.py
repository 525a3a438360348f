"""The job: clients train `client.py`, a server averages."""

import argparse

from nvflare.app_common.np.recipes.fedavg import NumpyFedAvgRecipe
from nvflare.recipe import SimEnv


def main():
    """Run the job in NVFLARE's simulator."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--n_clients", type=int, default=3)
    parser.add_argument("--num_rounds", type=int, default=2)
    args = parser.parse_args()
    recipe = NumpyFedAvgRecipe(
        name="numpy-logistic",
        min_clients=args.n_clients,
        num_rounds=args.num_rounds,
        model=[[0.0, 0.0, 0.0, 0.0]],
        train_script="client.py",
        train_args="--steps 30",
    )
    run = recipe.execute(SimEnv(num_clients=args.n_clients))
    print("Result can be found in:", run.get_result())


if __name__ == "__main__":
    main()
