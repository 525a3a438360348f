"""Ridge regression with NumPy."""
