"""Logistic regression with scikit-learn."""
