"""PyTorch modules in a federation: training in a simulation, vectors, local steps, clipped sums.

Import it by name: ``import tacet.torch``. Needs PyTorch, which the package does not install.

Parameters travel in the order of ``module.named_parameters()``, those with ``requires_grad``.
Buffers are not sent unless they are named: they are then averaged, noised and clipped together with
the parameters. A module with running statistics, such as batch norm's, is refused: they would hold
the data's means. `private` returns a copy with group norm in its place.
"""

from .torch_fit import fit
from .torch_modules import private
from .torch_training import clipped_sum, train_local
from .torch_vectors import load_vector, to_vector

__all__ = ["clipped_sum", "fit", "load_vector", "private", "to_vector", "train_local"]
