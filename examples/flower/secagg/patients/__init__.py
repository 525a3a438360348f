"""Logistic regression on invented patients."""
