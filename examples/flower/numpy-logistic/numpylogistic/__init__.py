"""Logistic regression with NumPy."""
