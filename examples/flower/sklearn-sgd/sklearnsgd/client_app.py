"""Client of the app."""

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from sklearnsgd.task import evaluate, get_params, load_data, new_model, set_params, train

app = ClientApp()


@app.train()
def train_model(msg: Message, context: Context) -> Message:
    """Train on the site's data."""
    model = set_params(new_model(), msg.content["arrays"].to_numpy_ndarrays())
    data = load_data(context.node_config["partition-id"])
    steps, rate = context.run_config["local-steps"], msg.content["config"]["lr"]
    loss = train(model, data, steps, rate)
    metrics = MetricRecord({"train_loss": loss, "num-examples": len(data[1])})
    content = RecordDict({"arrays": ArrayRecord(get_params(model)), "metrics": metrics})
    return Message(content=content, reply_to=msg)


@app.evaluate()
def evaluate_model(msg: Message, context: Context) -> Message:
    """Evaluate on the site's data."""
    model = set_params(new_model(), msg.content["arrays"].to_numpy_ndarrays())
    data = load_data(context.node_config["partition-id"])
    metrics = MetricRecord({"loss": evaluate(model, data), "num-examples": len(data[1])})
    return Message(content=RecordDict({"metrics": metrics}), reply_to=msg)
