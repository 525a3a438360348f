"""Training of linear models: gradients of single units, each clipped by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["CENTRE", "LinearModel", "Site", "logistic_error", "probabilities", "squared_error"]

# Weight of the learned centre of the columns in a unit's contribution.
CENTRE = 0.3


def logistic_error(
    scores: NDArray[np.float64], targets: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Negative gradient of the cross-entropy in the scores, shape (rows, outputs).

    One output is the score of the second of two classes, with targets of 0 and 1.
    """
    return targets - probabilities(scores)


def squared_error(scores: NDArray[np.float64], targets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Negative gradient of half the squared error in the scores, shape (rows, outputs)."""
    return targets - scores


def probabilities(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logistic function of one output, softmax of several, shape (rows, outputs)."""
    found: NDArray[np.float64]
    if scores.shape[1] == 1:
        found = 0.5 * (1 + np.tanh(0.5 * scores))
        return found
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    found = shifted / shifted.sum(axis=1, keepdims=True)
    return found


@dataclass(frozen=True)
class Site:
    """Rows of one site.

    Attributes:
        rows: encoded rows, shape (rows, width).
        targets: shape (rows, outputs).
        starts: for unit person, the first row of each person, whose rows follow each other. None:
            each row is a unit.
    """

    rows: NDArray[np.float64]
    targets: NDArray[np.float64]
    starts: NDArray[np.intp] | None = None

    @property
    def units(self) -> int:
        """Number of records or persons."""
        return len(self.rows if self.starts is None else self.starts)

    def drawn(self, units: list[int]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Places of the units' rows, and the first of each unit's rows among them."""
        chosen = np.asarray(units, dtype=np.intp)
        if self.starts is None:
            return chosen, np.arange(len(chosen))
        ends = np.append(self.starts[1:], len(self.rows))
        spans = [np.arange(self.starts[unit], ends[unit]) for unit in chosen]
        first = np.cumsum([0, *map(len, spans[:-1])])
        return np.concatenate(spans) if spans else chosen, first


@dataclass(frozen=True)
class LinearModel:
    """Scores W (x - m) + b of encoded rows x.

    Parameters are W by output, then b, then, for the units record and person, the centre m in units
    of ``centre_step``. The columns' means follow from bounds badly, and a constant that all rows
    share slows the descent down. So m is trained, too, under the same clipping and noise.

    Attributes:
        width: columns of an encoded row.
        outputs: scores of a row.
        error: negative gradient of the loss in the scores.
        centre_step: factor of m; 0: there is no m.
    """

    width: int
    outputs: int
    error: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
    centre_step: float = 0.0

    @property
    def parameters(self) -> int:
        """Number of parameters, d."""
        centre = self.width if self.centre_step else 0
        return self.outputs * (self.width + 1) + centre

    def parts(
        self, model: NDArray[np.floating[Any]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """W of shape (outputs, width), b of shape (outputs,) and m of shape (width,)."""
        wide = model.astype(np.float64)
        weights, biases, centre = np.split(
            wide, [self.outputs * self.width, self.outputs * (self.width + 1)]
        )
        if not self.centre_step:
            centre = np.zeros(self.width)
        return (
            weights.reshape(self.outputs, self.width),
            biases,
            np.clip(centre * self.centre_step, -1, 1),
        )

    def sum_of_clipped(
        self, model: NDArray[np.float32], site: Site, units: list[int], clip_norm: float
    ) -> NDArray[np.float32]:
        """Sum of the drawn units' gradients, each clipped to ``clip_norm``, shape (d,)."""
        places, first = site.drawn(units)
        if len(places) == 0:
            return np.zeros(self.parameters, dtype=np.float32)
        weights, biases, centre = self.parts(model)
        rows = site.rows[places] - centre
        errors = self.error(rows @ weights.T + biases, site.targets[places])
        if site.starts is None:  # the norm of an outer product is that of its factors
            inner, centres = (errors**2).sum(axis=1), CENTRE**2 * (rows**2).sum(axis=1)
            squares = inner * ((rows**2).sum(axis=1) + 1) + centres * bool(self.centre_step)
            factors = _factors(squares, clip_norm)[:, None]
            parts = [(errors * factors).T @ rows, (errors * factors).sum(axis=0)]
            if self.centre_step:
                parts.append(CENTRE * (rows * factors).sum(axis=0))
            return _joined(parts)
        whole = np.zeros(self.parameters)
        for span in np.split(np.arange(len(places)), first[1:]):
            parts = [errors[span].T @ rows[span], errors[span].sum(axis=0)]
            if self.centre_step:
                parts.append(CENTRE * rows[span].sum(axis=0))
            one = np.concatenate([part.ravel() for part in parts])
            whole += one * _factors(np.array([one @ one]), clip_norm)
        return whole.astype(np.float32)

    def local_update(
        self, model: NDArray[np.float32], site: Site, steps: int, rate: float
    ) -> NDArray[np.float32]:
        """Change of the parameters by gradient steps on all rows of a site, shape (d,)."""
        new = model.astype(np.float64)
        for _ in range(steps):
            weights, biases, _ = self.parts(new)
            errors = self.error(site.rows @ weights.T + biases, site.targets) / len(site.rows)
            new += rate * np.concatenate([(errors.T @ site.rows).ravel(), errors.sum(axis=0)])
        return (new - model).astype(np.float32)


def _factors(squares: NDArray[np.float64], clip_norm: float) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.minimum(1, clip_norm / np.sqrt(np.maximum(squares, 1e-300)))
    return found


def _joined(parts: list[NDArray[np.float64]]) -> NDArray[np.float32]:
    return np.concatenate([part.ravel() for part in parts]).astype(np.float32)
