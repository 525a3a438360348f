"""Logistic regression on invented patients: model, data and training."""

import numpy as np

EFFECTS = np.array([1.5, -1.0, 0.5])


def initial_weights():
    """Weights and bias, public."""
    return [np.zeros(3, dtype=np.float32), np.zeros(1, dtype=np.float32)]


def load_data(partition):
    """Rows and outcomes of one site."""
    rng = np.random.default_rng(partition)
    x = np.clip(rng.normal(size=(200, 3)), -2, 2)
    return x, (x @ EFFECTS + rng.logistic(size=200) > 0).astype(float)


def train(weights, data, steps, rate):
    """Take steps of gradient descent in place; returns the loss."""
    x, y = data
    for _ in range(steps):
        error = 1 / (1 + np.exp(-(x @ weights[0] + weights[1]))) - y
        weights[0] -= (rate * x.T @ error / len(y)).astype(np.float32)
        weights[1] -= np.float32(rate * error.mean())
    return evaluate(weights, data)


def evaluate(weights, data):
    """Mean logistic loss."""
    x, y = data
    score = x @ weights[0] + weights[1]
    return float(np.mean(np.logaddexp(0, score) - y * score))
