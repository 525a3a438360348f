"""Linear regression by SGD with scikit-learn."""
