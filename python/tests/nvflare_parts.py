"""Executor and recording aggregator of the NVFLARE test, loaded by the simulator's processes."""

import pathlib
import pickle

import numpy as np
from nvflare.apis.dxo import DXO, DataKind, MetaKey, from_shareable
from nvflare.apis.event_type import EventType
from nvflare.apis.executor import Executor
from nvflare.apis.filter import Filter
from nvflare.apis.fl_constant import FLContextKey

from tacet.nvflare import TacetAggregator

INITIAL = {"layer.bias": np.full(5, 0.25, np.float32), "layer.weight": np.zeros((3, 2), np.float32)}
STEP = 0.3


def trained_by(site):
    """What the bias is after one round of this site."""
    return INITIAL["layer.bias"] + np.float32(STEP - 0.01 * site)


class Steps(Executor):
    """Adds a step of its own; `fault` names what it does wrong."""

    def __init__(self, fault: str = ""):
        super().__init__()
        self.fault = fault

    def execute(self, task_name, shareable, fl_ctx, abort_signal):
        site = int(fl_ctx.get_identity_name().split("-")[1])
        given = from_shareable(shareable)
        assert given.data_kind == DataKind.WEIGHTS
        step = np.float32(STEP - 0.01 * site)
        kind, meta = DataKind.WEIGHTS, {MetaKey.NUM_STEPS_CURRENT_ROUND: 1, "loss": 0.125}
        model = {name: given.data[name] + step for name in INITIAL}
        if self.fault == "differences":
            kind = DataKind.WEIGHT_DIFF
            model = {name: np.full_like(tensor, step) for name, tensor in INITIAL.items()}
        elif self.fault == "weights":
            meta = {MetaKey.NUM_STEPS_CURRENT_ROUND: 137}
        elif self.fault == "integers":
            model["layer.bias"] = model["layer.bias"].astype(np.int64)
        elif self.fault == "shapes":
            model["layer.weight"] = model["layer.weight"].T
        elif self.fault == "names":
            model["secret"] = model.pop("layer.bias")
        elif self.fault == "nan":
            model["layer.bias"][0] = np.nan
        elif self.fault == "metrics":
            kind, model = DataKind.METRICS, {"accuracy": 0.5}
        return DXO(kind, data=model, meta=meta).to_shareable()


class NoModel(Filter):
    """A client without the model filter, whose executor trains on zeros of its own."""

    def process(self, shareable, fl_ctx):
        return DXO(DataKind.WEIGHTS, data=dict(INITIAL)).update_shareable(shareable)


class RecordingAggregator(TacetAggregator):
    """Writes down everything that reaches the server, and what it makes of it."""

    def __init__(self, terms: str, record: str):
        super().__init__(terms)
        self.record = record

    def accept(self, shareable, fl_ctx):
        with pathlib.Path(self.record).open("ab") as file:
            file.write(pickle.dumps(dict(shareable)))
        return super().accept(shareable, fl_ctx)

    def handle_event(self, event_type, fl_ctx):
        super().handle_event(event_type, fl_ctx)
        if event_type == EventType.BEFORE_TASK_DATA_FILTER:
            name = fl_ctx.get_peer_context().get_identity_name()
            fields = fl_ctx.get_prop(FLContextKey.TASK_DATA)["tacet.fields"]
            line = f"task of {name}: round {fields['round']}, {len(fields['outcomes'])} outcomes\n"
            with pathlib.Path(self.record + ".log").open("a", encoding="utf-8") as file:
                file.write(line)

    def aggregate(self, fl_ctx):
        result = super().aggregate(fl_ctx)
        with pathlib.Path(self.record + ".log").open("a", encoding="utf-8") as file:
            file.writelines(
                line + "\n" for line in [*self.relay.failures, f"round {self.relay.round}"]
            )
        with pathlib.Path(self.record).open("ab") as file:
            file.write(pickle.dumps((dict(result), self.relay.outcomes)))
        return result
