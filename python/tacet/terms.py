"""Terms of a federation inside another framework: a public file on which all members agree.

The file has the federation's options, the members' public keys, the shapes of the model's tensors
and a keyed digest of its initial values, and no secret. `docs/formats/frameworks.md` gives its
fields.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import DataLossError, InvalidArgumentError
from .secagg import Agreement, MemberPublicKey, agree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .key_files import StrPath
    from .secagg import EpochKey

__all__ = ["Terms", "check_finite"]

_FORMAT = "tacet framework terms 2"
_MAX_FILE_BYTES = 1 << 24
_MAX_VALUES = 1 << 28
_MAX_MEMBERS = 10_000
_MAX_AXES = 32
# Every member takes part in every round as far as epsilon counts: the framework's server draws
# the cohorts, so no sampling hides anybody from it.
_OPTIONS = frozenset(
    {
        "rounds",
        "clip_norm",
        "noise_multiplier",
        "noise_stddev",
        "coordinate_bound",
        "scale",
        "neighbouring",
        "colluders",
        "delta",
        "min_participants",
        "committee_seats",
        "corrupt_seats",
    }
)


def _flat(tensors: Sequence[NDArray[Any]]) -> NDArray[np.float32]:
    """Values of all tensors in their order, as float32 of shape (d,)."""
    if not tensors:
        text = "the model has no tensors: give those of its parameters, as NumPy arrays"
        raise InvalidArgumentError(text)
    for number, tensor in enumerate(tensors):
        if not isinstance(tensor, np.ndarray) or tensor.dtype.kind != "f":
            kind = getattr(tensor, "dtype", type(tensor).__name__)
            text = (
                f"tensor {number} holds {kind}: only floating-point tensors can be federated. "
                "Leave counters and other integers out of the model"
            )
            raise InvalidArgumentError(text)
        if isinstance(tensor, np.ma.MaskedArray):
            text = (
                f"tensor {number} is masked, and the values below its mask would be taken: fill "
                "them in with .filled(0)"
            )
            raise InvalidArgumentError(text)
    with np.errstate(over="ignore"):  # a value beyond float32 becomes infinite
        return np.concatenate([np.asarray(tensor, dtype=np.float32).ravel() for tensor in tensors])


def check_finite(tensors: Sequence[NDArray[Any]], vector: NDArray[np.float32]) -> None:
    """Raise unless a model can begin with these tensors, whose values are ``vector``.

    Raises:
        InvalidArgumentError: a value is not finite as float32; the text names its place.
    """
    finite = np.isfinite(vector)
    begin = 0
    for number, tensor in enumerate(tensors):
        wrong = np.argwhere(~finite[begin : begin + tensor.size].reshape(tensor.shape))
        if len(wrong) > 0:
            place = tuple(map(int, wrong[0]))
            text = (
                f"the initial model: tensor {number} holds {float(tensor[place])} at "
                f"{list(place)}, which float32 cannot hold: begin with finite values up to 3.4e38"
            )
            raise InvalidArgumentError(text)
        begin += tensor.size


@dataclass(frozen=True)
class Terms:
    """Checked terms; compare `digest` with the other members before the first round.

    Attributes:
        federation: `FederationOptions` of a federation in which all members take part.
        members: public keys; a member's number is its place.
        shapes: shape of each tensor of the model.
        names: name of each tensor, for frameworks that have them; empty where they do not.
        initial_digest: `EpochKey.initial_model_digest` of the initial model's values: the server,
            which sees the terms, cannot confirm guesses of them.
        spare_attempts: failed attempts that are permitted in all rounds together.
        server_learning_rate: factor of the average that is added to the model.
        agreement: the same for `tacet.secagg`.
    """

    federation: dict[str, Any]
    members: tuple[MemberPublicKey, ...]
    shapes: tuple[tuple[int, ...], ...]
    initial_digest: bytes
    names: tuple[str, ...] = ()
    spare_attempts: int = 10
    server_learning_rate: float = 1.0
    agreement: Agreement = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Check everything and make the agreement."""
        unknown = sorted(set(self.federation) - _OPTIONS)
        if unknown:
            text = (
                f"{unknown[0]} is not an option of a federation inside another framework; the "
                f"options are {', '.join(sorted(_OPTIONS))}"
            )
            raise InvalidArgumentError(text)
        if not 0 < len(self.members) <= _MAX_MEMBERS:
            text = f"there are {len(self.members)} members; 1 to {_MAX_MEMBERS} are possible"
            raise InvalidArgumentError(text)
        if not 0 < self.dimension <= _MAX_VALUES:
            text = f"the model has {self.dimension} values; 1 to {_MAX_VALUES} are possible"
            raise InvalidArgumentError(text)
        if self.names and len(set(self.names)) != len(self.shapes):
            text = (
                f"there are {len(self.shapes)} tensors and {len(set(self.names))} names of them: "
                "name each, differently"
            )
            raise InvalidArgumentError(text)
        if not (math.isfinite(self.server_learning_rate) and self.server_learning_rate > 0):
            text = f"server_learning_rate is {self.server_learning_rate}, it must be above 0"
            raise InvalidArgumentError(text)
        agreement = agree(
            members=self.members,
            dimension=self.dimension,
            spare_attempts=self.spare_attempts,
            context=json.dumps(
                {
                    "format": _FORMAT,
                    "initial": self.initial_digest.hex(),
                    "names": self.names,
                    "server_learning_rate": self.server_learning_rate,
                    "shapes": self.shapes,
                },
                sort_keys=True,
            ),
            **self.federation,
        )
        object.__setattr__(self, "agreement", agreement)

    @property
    def dimension(self) -> int:
        """d, number of values of the model."""
        return sum(math.prod(shape) for shape in self.shapes)

    @property
    def rounds(self) -> int:
        """T, number of rounds."""
        return int(self.federation.get("rounds", 1))

    @property
    def digest(self) -> str:
        """SHA-256 over all of it, in hexadecimal digits."""
        return self.agreement.digest.hex()

    @classmethod
    def for_model(
        cls,
        initial: Sequence[NDArray[Any]],
        *,
        members: Sequence[MemberPublicKey],
        epoch_key: EpochKey,
        names: Sequence[str] = (),
        spare_attempts: int = 10,
        server_learning_rate: float = 1.0,
        **federation: Any,
    ) -> Terms:
        """Terms for a model that begins with ``initial``, floating-point tensors.

        ``epoch_key`` is the one that every site joins with.

        Raises:
            InvalidArgumentError: names the value that is wrong, its range and the remedy; also a
                value of ``initial`` that is not finite.
        """
        vector = _flat(initial)
        check_finite(initial, vector)
        return cls(
            federation=federation,
            members=tuple(members),
            shapes=tuple(tuple(map(int, np.shape(tensor))) for tensor in initial),
            initial_digest=epoch_key.initial_model_digest(vector),
            names=tuple(names),
            spare_attempts=spare_attempts,
            server_learning_rate=server_learning_rate,
        )

    def vector_of(self, tensors: Sequence[NDArray[Any]]) -> NDArray[np.float32]:
        """Values of a model's tensors as float32 of shape (d,), a copy.

        Raises:
            InvalidArgumentError: another number of tensors, another shape, or a tensor that is
                masked or does not hold floating-point values.
        """
        shapes = tuple(tuple(map(int, np.shape(tensor))) for tensor in tensors)
        if shapes != self.shapes:
            text = (
                f"the tensors have shapes {list(shapes)}: give the agreed ones, {list(self.shapes)}"
            )
            raise InvalidArgumentError(text)
        return _flat(tensors)

    def tensors_of(self, vector: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        """Tensors of a vector of shape (d,), copies."""
        tensors = []
        begin = 0
        for shape in self.shapes:
            end = begin + math.prod(shape)
            tensors.append(vector[begin:end].reshape(shape).copy())
            begin = end
        return tensors

    def save(self, path: StrPath) -> None:
        """Write the file."""
        Path(path).write_text(
            json.dumps(
                {
                    "format": _FORMAT,
                    "federation": self.federation,
                    "members": [
                        {"signing": key.signing.hex(), "exchange": key.exchange.hex()}
                        for key in self.members
                    ],
                    "shapes": self.shapes,
                    "names": self.names,
                    "initial": self.initial_digest.hex(),
                    "spare_attempts": self.spare_attempts,
                    "server_learning_rate": self.server_learning_rate,
                },
                indent=1,
            )
            + "\n",
            encoding="utf-8",
        )

    @classmethod
    def load(cls, path: StrPath) -> Terms:
        """Read and check the file.

        Raises:
            DataLossError: the file is not one of terms.
            InvalidArgumentError: a value is out of its range.
        """
        with Path(path).open("rb") as file:
            content = file.read(_MAX_FILE_BYTES + 1)
        if len(content) > _MAX_FILE_BYTES:
            text = (
                f"{path} has more than {_MAX_FILE_BYTES} bytes: give a file that Terms.save wrote"
            )
            raise DataLossError(text)
        try:
            return cls(**_fields_of(json.loads(content)))
        except InvalidArgumentError:
            raise
        except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
            text = f"{path} is not a file of terms: {error}. Give a file that Terms.save wrote"
            raise DataLossError(text) from None


def _fields_of(parsed: Any) -> dict[str, Any]:
    """Arguments of `Terms` from a parsed file."""
    wanted = {
        "format": str,
        "federation": dict,
        "members": list,
        "shapes": list,
        "names": list,
        "initial": str,
        "spare_attempts": int,
        "server_learning_rate": (int, float),
    }
    if not isinstance(parsed, dict) or parsed.get("format") != _FORMAT:
        text = f'the field "format" is not "{_FORMAT}"'
        raise ValueError(text)
    if parsed.keys() != wanted.keys():
        text = f"the fields are not {', '.join(wanted)}"
        raise ValueError(text)
    for name, kind in wanted.items():
        if not isinstance(parsed[name], kind) or isinstance(parsed[name], bool):  # type: ignore[arg-type]
            text = f'the field "{name}" has another type'
            raise TypeError(text)
    shapes = tuple(tuple(shape) for shape in parsed["shapes"])
    if any(len(shape) > _MAX_AXES for shape in shapes):
        text = f"a shape has more than {_MAX_AXES} axes"
        raise ValueError(text)
    for size in (size for shape in shapes for size in shape):
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= _MAX_VALUES:
            text = "a shape is not a list of sizes"
            raise ValueError(text)
    if not all(isinstance(name, str) for name in parsed["names"]):
        text = 'the field "names" does not list texts'
        raise ValueError(text)
    initial = bytes.fromhex(parsed["initial"])
    if len(initial) != 32:
        text = 'the field "initial" is not a digest'
        raise ValueError(text)
    return {
        "federation": parsed["federation"],
        "members": tuple(
            MemberPublicKey(bytes.fromhex(key["signing"]), bytes.fromhex(key["exchange"]))
            for key in parsed["members"]
        ),
        "shapes": shapes,
        "initial_digest": initial,
        "names": tuple(parsed["names"]),
        "spare_attempts": parsed["spare_attempts"],
        "server_learning_rate": float(parsed["server_learning_rate"]),
    }
