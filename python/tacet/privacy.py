"""Privacy of a federation: its guarantee, and the noise that a wanted epsilon needs.

Letters are those of the documentation: M clients, K of them in a cohort, T rounds, clip norm S,
noise multiplier sigma / S.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict, overload

from . import _core
from .arguments import number_of, short, text_of, truth_of, whole_number_of

if TYPE_CHECKING:
    from typing import Unpack

__all__ = [
    "Accountant",
    "FederationOptions",
    "Guarantee",
    "GuaranteeRow",
    "Neighbouring",
    "Observer",
    "Privacy",
    "Sampling",
    "Unit",
    "calibrate",
    "guarantee",
]

Unit = Literal["client", "person", "record"]
Neighbouring = Literal["replace-one", "zero-out"]
Sampling = Literal["none", "fixed-size", "poisson"]
Accountant = Literal[
    "moments",
    "rdp",
    "pld",
    "fixed-size-tight",
    "fixed-order-rdp",
    "gaussian-filter",
    "budget",
]
Observer = Literal[
    "external",
    "participant-in-cohort",
    "participant-out-of-cohort",
    "colluders",
    "cohort-aware",
    "traffic-aware",
    "coalition",
    "server-with-key-holder",
    "participant-published",
]

GuaranteeRow = _core.GuaranteeRow


class FederationOptions(TypedDict, total=False):
    """Options of a federation, all optional but ``clients`` and the noise.

    ``include/tacet/federation_options.h`` gives meaning, range, default and trade-off of each.
    """

    clients: int
    """M, number of clients (sites for the units person and record)."""
    cohort: int | None
    """K, clients that are drawn for a round. Default: all."""
    min_participants: int | None
    """K_min: an aggregate of fewer uploads is never decrypted. Default: all but ``max_absent``."""
    max_absent: int | None
    """Uploads that may be missing from a round, where ``min_participants`` is not given.

    Default: 1 up to 8 uploads, 4 of 20, 16 of 61 and more; 1 where cohorts of fixed size are drawn.
    """
    sampling: Sampling | None
    """Draw of the cohort. Default: poisson with dummy uploads where K < M, else fixed-size."""
    dummy_uploads: bool | None
    """Clients that were not drawn upload zeros and noise."""
    max_participations: int | None
    """Attempts to which one client gives its data at most. Default: no limit."""
    rounds: int
    """T, number of rounds. Default: 1."""
    clip_norm: float
    """S, L2 norm to which one contribution is clipped. Default: 1."""
    noise_multiplier: float
    """sigma / S: standard deviation of the noise in the sum, over the clip norm."""
    noise_stddev: float
    """sigma itself, in units of an update, in place of ``noise_multiplier``."""
    coordinate_bound: float | None
    """b, bound of one coordinate's absolute value. Default: the clip norm."""
    scale: float
    """s, step of the quantisation. Default: 1e-4."""
    unit: Unit
    """Data that the guarantee hides. Default: client."""
    neighbouring: Neighbouring
    """Pairs of data sets that must look alike. Default: replace-one."""
    colluders: int
    """c, clients that may pool their knowledge."""
    delta: float
    """delta of the guarantee. Default: 1e-5."""
    record_rate: float | None
    """q, for the units person and record: probability that a site draws a record (person)."""
    expected_batch: float | None
    """B, for the units person and record: divisor of the sum."""
    appearances: int | None
    """Most sites at which one record (person) appears. Default: one."""
    committee_seats: int | None
    """n, number of committee seats. Default: chosen by the number of clients."""
    corrupt_seats: int | None
    """f, seats that may collude with the server. Default: chosen by the number of seats."""


_NOISE = ("noise_multiplier", "noise_stddev", "target_epsilon")
# Largest coordinate of a site's sum, times the root of the number of parameters, in clip norms. The
# agreement permits 2^14. It is a constant: the units of the sites are data.
_LARGEST = 16_000
# Steps of the quantisation in a clip norm. A site's quantisation adds a variance of about the step
# times the largest coordinate: half a squared clip norm over the root of the number of parameters.
_STEPS = 2**15

@dataclass(frozen=True, kw_only=True, repr=False)
class Privacy:
    """Protection of a training: the mechanism, the unit and the guarantee that is wanted.

    Give one of ``noise_multiplier`` (sigma / S), ``noise_stddev`` (sigma, in units of an update)
    and ``target_epsilon``, for which the least noise is found. The other fields are those of
    `FederationOptions`. Unless ``sampling`` is given, nobody learns who takes part in a round of
    fewer than all clients: each tosses a coin, and all upload.

    >>> Privacy(noise_multiplier=6, clip_norm=1 / 3)
    Privacy(noise_multiplier=6, clip_norm=0.333)
    """

    noise_multiplier: float | None = None
    noise_stddev: float | None = None
    target_epsilon: float | None = None
    clip_norm: float = 1.0
    delta: float = 1e-5
    unit: Unit = "client"
    neighbouring: Neighbouring = "replace-one"
    sampling: Sampling | None = None
    dummy_uploads: bool | None = None
    max_participations: int | None = None
    min_participants: int | None = None
    max_absent: int | None = None
    colluders: int = 0
    coordinate_bound: float | None = None
    scale: float = 1e-4
    record_rate: float | None = None
    expected_batch: float | None = None
    appearances: int | None = None

    def __repr__(self) -> str:
        given = (
            f"{field.name}={short(value)}"
            for field in fields(self)
            if (value := getattr(self, field.name)) != field.default
        )
        return f"Privacy({', '.join(given)})"

    def __post_init__(self) -> None:
        """Check the types, and that the noise is given in one way."""
        for field in fields(self):
            value = getattr(self, field.name)
            kind = str(field.type).removesuffix(" | None")
            if kind == "float" and value is not None:
                number_of(field.name, value)
            elif kind == "int" and value is not None:
                object.__setattr__(self, field.name, whole_number_of(field.name, value))
            elif kind == "bool" and value is not None:
                truth_of(field.name, value)
            elif value is not None or field.default is not None:
                text_of(field.name, value)
        given = [name for name in _NOISE if getattr(self, name) is not None]
        if len(given) != 1:
            text = (
                f"{' and '.join(given) or 'the noise'} {'are given' if given else 'is missing'}: "
                f"give one of {', '.join(_NOISE)}"
            )
            raise ValueError(text)
        if self.dummy_uploads is False and self.sampling is None:
            text = "dummy_uploads is False: choose sampling, fixed-size or poisson, too"
            raise ValueError(text)

    def options(
        self, *, clients: int, rounds: int, cohort: int | None = None
    ) -> FederationOptions:
        """Options of a federation with this protection, with the noise that reaches the target.

        Args:
            clients: M, from 1.
            rounds: T, from 1.
            cohort: K, at most `clients`; None: all.

        Raises:
            ValueError: no noise reaches `target_epsilon`, or a value is out of range.
        """
        given: dict[str, Any] = asdict(self)
        target = given.pop("target_epsilon")
        options = FederationOptions(clients=clients, rounds=rounds, cohort=cohort)
        options.update({key: value for key, value in given.items() if value is not None})  # type: ignore[typeddict-item]
        if target is not None:
            options["noise_multiplier"] = calibrate(target_epsilon=target, **options)
        return options


def unit_sum_bounds(privacy: Privacy, parameters: int) -> Privacy:
    """Return ``privacy`` with a clamp on a site's sum of clipped updates, and steps that suit it.

    For the units record and person. The clamp is a constant, 16,000 clip norms over the root of the
    number of parameters: it depends on no site's data.

    Args:
        privacy: without ``coordinate_bound``.
        parameters: their number, d.

    >>> unit_sum_bounds(Privacy(noise_multiplier=2, unit="record"), 6400).coordinate_bound
    200.0
    """
    bound = _LARGEST * privacy.clip_norm / parameters**0.5
    return replace(privacy, coordinate_bound=bound, scale=privacy.clip_norm / _STEPS)


class Guarantee:
    """Epsilon of a federation for every observer and accountant, and the headline.

    Attributes:
        epsilon: smallest valid bound for the worst observer that has a guarantee; infinite when
            some observer that should have one has none.
        delta: delta of the guarantee.
        headline: the row that gives ``epsilon``; None when it is infinite.
        rows: one `GuaranteeRow` for each observer and accountant.
    """

    def __init__(self, federation: FederationOptions) -> None:
        self._federation = dict(federation)
        computed = _core.guarantee(self._federation)
        self.epsilon: float = computed.epsilon
        self.delta: float = computed.delta
        self.headline: GuaranteeRow | None = computed.headline
        self.rows: list[GuaranteeRow] = computed.rows

    def explain(self, *, false_positive_rate: float = 0.01) -> str:
        """Say the guarantee in words: what is protected, from whom, and what is not.

        Args:
            false_positive_rate: rate in (0, 1) that an attacker accepts when it claims that
                somebody was in the training data.
        """
        rate = number_of("false_positive_rate", false_positive_rate)
        return _core.explain(self._federation, rate)

    def __repr__(self) -> str:
        return f"<Guarantee epsilon {self.epsilon:.3g} at delta {self.delta:.3g}>"


def guarantee(**federation: Unpack[FederationOptions]) -> Guarantee:
    """Guarantee of a federation after its ``rounds`` releases.

    Takes 0.1 to a few seconds, without Python's lock.

    Args:
        **federation: `FederationOptions`.

    Raises:
        InvalidArgumentError: names the option that is wrong, and its range.

    >>> g = guarantee(clients=100, cohort=20, rounds=10, noise_multiplier=6, delta=1e-5)
    >>> g.headline.epsilon == g.epsilon
    True
    """
    return Guarantee(federation)


@overload
def calibrate(
    *,
    target_epsilon: float,
    find: Literal["noise_multiplier"] = ...,
    observer: Observer | None = ...,
    accountant: Accountant | None = ...,
    **federation: Unpack[FederationOptions],
) -> float: ...


@overload
def calibrate(
    *,
    target_epsilon: float,
    find: Literal["rounds", "cohort"],
    observer: Observer | None = ...,
    accountant: Accountant | None = ...,
    **federation: Unpack[FederationOptions],
) -> int: ...


def calibrate(
    *,
    target_epsilon: float,
    find: Literal["noise_multiplier", "rounds", "cohort"] = "noise_multiplier",
    observer: Observer | None = None,
    accountant: Accountant | None = None,
    **federation: Unpack[FederationOptions],
) -> float | int:
    """Find the least noise, the most rounds or the largest cohort for a wanted epsilon.

    Args:
        target_epsilon: epsilon that may be spent, above 0 and finite.
        find: the option that is returned; its value among ``federation`` is ignored.
        observer: observer against whom it must hold. None: the worst that has a guarantee.
        accountant: accountant whose figure must not exceed it. None: the smallest valid bound.
        **federation: `FederationOptions`.

    Raises:
        InvalidArgumentError: an option or the target is wrong.
        NotFoundError: no value reaches the target.

    >>> sigma = calibrate(target_epsilon=4, clients=100, cohort=20, rounds=10)
    >>> guarantee(clients=100, cohort=20, rounds=10, noise_multiplier=sigma).epsilon <= 4
    True
    """
    found = {
        "noise_multiplier": _core.calibrate_noise,
        "rounds": _core.calibrate_rounds,
        "cohort": _core.calibrate_cohort,
    }
    if text_of("find", find) not in found:
        text = f"find = {find!r} is not one of {', '.join(found)}"
        raise ValueError(text)
    return found[find](
        dict(federation),
        number_of("target_epsilon", target_epsilon),
        None if observer is None else text_of("observer", observer),
        None if accountant is None else text_of("accountant", accountant),
    )
