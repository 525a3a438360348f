"""A network of PyTorch."""
