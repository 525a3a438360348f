#!/usr/bin/env python3
"""Trains the model `logistic` for `tacet client run --train-with`, with NumPy.

usage: train_logistic.py [--data FILE.csv] [--classes C] [--rate R] [--epochs N] MODEL RESULT ROUND

FILE.csv has one sample a line: its inputs, then its class from 0 on. MODEL holds the parameters that
the round starts from, RESULT takes the new ones: little-endian float32, first the weights
[class][input], then the biases [class].
"""
import argparse

import numpy as np


def train(weights, biases, inputs, labels, rate, epochs):
    """Full-batch gradient descent on the mean cross-entropy."""
    wanted = np.eye(len(biases))[labels]
    for _ in range(epochs):
        scores = inputs @ weights.T + biases
        scores -= scores.max(axis=1, keepdims=True)
        shares = np.exp(scores)
        shares /= shares.sum(axis=1, keepdims=True)
        error = (shares - wanted) / len(labels)
        weights = weights - rate * (error.T @ inputs)
        biases = biases - rate * error.sum(axis=0)
    return weights, biases


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="samples.csv")
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--rate", type=float, default=0.5)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("model")
    parser.add_argument("result")
    parser.add_argument("round", type=int)
    arguments = parser.parse_args()

    table = np.loadtxt(arguments.data, delimiter=",", ndmin=2)
    inputs, labels = table[:, :-1], table[:, -1].astype(int)
    parameters = np.fromfile(arguments.model, dtype="<f4").astype(np.float64)
    split = arguments.classes * inputs.shape[1]
    if parameters.size != split + arguments.classes:
        parser.error(f"{parameters.size} parameters do not fit {inputs.shape[1]} inputs "
                     f"and {arguments.classes} classes")
    weights, biases = train(parameters[:split].reshape(arguments.classes, -1), parameters[split:],
                            inputs, labels, arguments.rate, arguments.epochs)
    np.concatenate([weights.ravel(), biases]).astype("<f4").tofile(arguments.result)


if __name__ == "__main__":
    main()
