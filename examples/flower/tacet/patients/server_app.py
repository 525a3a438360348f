"""Server of the app."""

from flwr.app import Context
from flwr.common import ndarrays_to_parameters
from flwr.server import LegacyContext, ServerConfig
from flwr.server.strategy import FedAvg
from tacet.flower import DefaultWorkflow, TacetWorkflow
from flwr.serverapp import Grid, ServerApp

from patients.task import initial_weights

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Train for some rounds."""
    strategy = FedAvg(
        min_available_clients=int(context.run_config["num-clients"]),
        fraction_evaluate=0.0,
        initial_parameters=ndarrays_to_parameters(initial_weights()),
    )
    rounds = int(context.run_config["num-server-rounds"])
    legacy = LegacyContext(context, config=ServerConfig(num_rounds=rounds), strategy=strategy)
    fit_workflow = TacetWorkflow(context.run_config["terms"])
    DefaultWorkflow(fit_workflow=fit_workflow)(grid, legacy)
