"""Model, training and data of the app."""

import numpy as np

EFFECTS = np.array([1.5, -1.0, 0.5], dtype=np.float32)


def initial_weights():
    """Weights and bias, public."""
    return [np.zeros(3, dtype=np.float32), np.zeros(1, dtype=np.float32)]


def load_data(partition):
    """Rows and outcomes of one site."""
    rng = np.random.default_rng(partition)
    x = np.clip(rng.normal(size=(200, 3)), -2, 2).astype(np.float32)
    return x, (x @ EFFECTS + rng.logistic(size=200) > 0).astype(np.float32)


def train(weights, data, steps=30, rate=0.3):
    """Weights and bias after some steps of gradient descent."""
    (w, b), (x, y) = weights, data
    for _ in range(steps):
        error = 1 / (1 + np.exp(-(x @ w + b))) - y
        w, b = w - rate * x.T @ error / len(y), b - rate * error.mean()
    return [w.astype(np.float32), b.astype(np.float32)]
