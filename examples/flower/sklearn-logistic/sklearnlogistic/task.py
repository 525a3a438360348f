"""Logistic regression of scikit-learn: model, data and training."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

CLASSES = np.array([0, 1])


def new_model():
    """Model with public initial values."""
    model = LogisticRegression(warm_start=True)
    model.classes_ = CLASSES
    model.coef_, model.intercept_ = np.zeros((1, 4)), np.zeros(1)
    return model


def get_params(model):
    """Parameters of the model as a list of arrays."""
    return [model.coef_, model.intercept_]


def set_params(model, params):
    """Put parameters into the model; returns it."""
    model.coef_, model.intercept_ = params
    return model


def load_data(partition):
    """Inputs and outcomes of one site."""
    rng = np.random.default_rng(200 + partition)
    x = np.clip(rng.normal(size=(120, 4)), -2, 2)
    return x, (x[:, 0] - x[:, 1] + rng.logistic(size=120) > 0).astype(int)


def train(model, data, steps, rate):
    """Fit from the present parameters; returns the loss."""
    model.set_params(max_iter=steps, C=rate).fit(*data)
    return evaluate(model, data)


def evaluate(model, data):
    """Logistic loss."""
    x, y = data
    return float(log_loss(y, model.predict_proba(x), labels=CLASSES))
