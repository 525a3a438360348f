"""Linear regression by SGD of scikit-learn: model, data and training."""

import numpy as np
from sklearn.linear_model import SGDRegressor


def new_model():
    """Model with public initial values."""
    model = SGDRegressor()
    model.coef_, model.intercept_ = np.zeros(4), np.zeros(1)
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
    rng = np.random.default_rng(300 + partition)
    x = np.clip(rng.normal(size=(120, 4)), -2, 2)
    return x, x @ np.array([0.4, -0.2, 0.1, 0.0]) + rng.normal(scale=0.1, size=120)


def train(model, data, steps, rate):
    """Fit from the present parameters; returns the loss."""
    model.set_params(eta0=rate)
    for _ in range(steps):
        model.partial_fit(*data)
    return evaluate(model, data)


def evaluate(model, data):
    """Mean squared error."""
    x, y = data
    return float(np.mean((model.predict(x) - y) ** 2))
