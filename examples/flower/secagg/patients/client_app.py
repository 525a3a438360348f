"""Client of the app."""

from flwr.app import Context
from flwr.client import NumPyClient
from flwr.client.mod import secaggplus_mod
from flwr.clientapp import ClientApp

from patients.task import load_data, train


class PatientClient(NumPyClient):
    """One site's client."""

    def __init__(self, data):
        self.data = data

    def fit(self, parameters, config):
        """Train on the site's data."""
        return train(parameters, self.data), len(self.data[0]), {}


def client_fn(context: Context):
    """Client of the site whose number is in the node's configuration."""
    data = load_data(int(context.node_config["partition-id"]))
    return PatientClient(data).to_client()


app = ClientApp(client_fn=client_fn, mods=[secaggplus_mod])
