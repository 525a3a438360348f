"""Models and attempts that a site of another framework refuses before anything is charged."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacet
from tacet.secagg import EpochKey
from tacet.site import Site, enrol
from tacet.terms import Terms

INITIAL = [np.zeros((2, 3), np.float32), np.zeros(4, np.float32)]
OPTIONS: dict[str, Any] = {"rounds": 2, "noise_multiplier": 2, "min_participants": 2}


def with_value(value: float, dtype: type = np.float64) -> list[np.ndarray]:
    tensors = [tensor.astype(dtype) for tensor in INITIAL]
    tensors[0][1, 2] = value
    return tensors


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300, -3.5e38])
def test_an_initial_model_that_is_not_finite_is_refused(tmp_path: Path, value: float) -> None:
    key_file = tmp_path / "unlock.key"
    keys = [Site.create(tmp_path / str(i), key_file=key_file) for i in range(2)]
    epoch_key = EpochKey.generate()
    text = r"tensor 0 holds .* at \[1, 2\], which float32 cannot hold"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(tacet.InvalidArgumentError, match=text):
            Terms.for_model(with_value(value), members=keys, epoch_key=epoch_key, **OPTIONS)
        # Terms that another program made with such a model.
        bad = [np.asarray(tensor, np.float32) for tensor in with_value(np.nan)]
        terms = Terms(
            federation=OPTIONS,
            members=tuple(keys),
            shapes=((2, 3), (4,)),
            initial_digest=epoch_key.initial_model_digest(
                np.concatenate([tensor.ravel() for tensor in bad])
            ),
        )
        terms.save(tmp_path / "terms.json")
        with pytest.raises(tacet.InvalidArgumentError, match=text):
            Site.join(
                tmp_path / "0",
                tmp_path / "terms.json",
                digest=terms.digest,
                epoch_key=epoch_key,
                initial=bad,
                key_file=key_file,
            )
    assert not (tmp_path / "0" / "state.json").exists()


def test_the_largest_float32_is_an_initial_value(tmp_path: Path) -> None:
    enrol(tmp_path / "sites", with_value(float(np.finfo(np.float32).max)), sites=2, **OPTIONS)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    enrol(tmp_path / "sites", INITIAL, sites=2, **OPTIONS)
    return Site(tmp_path / "sites" / "site-0", key_file=tmp_path / "sites" / "unlock.key")


@pytest.mark.parametrize("mask", [False, True])
def test_masked_tensors_are_refused_and_charge_nothing(site: Site, mask: bool) -> None:
    trained = [np.ma.masked_array(tensor, mask=mask) for tensor in INITIAL]
    with pytest.raises(tacet.InvalidArgumentError, match=r"tensor 0 is masked, .* fill them in"):
        site.seal(0, site.model_digest, trained)
    with pytest.raises(tacet.InvalidArgumentError, match="tensor 0 is masked"):
        Terms.for_model(
            trained, members=site.terms.members, epoch_key=EpochKey.generate(), **OPTIONS
        )
    assert site.charged_attempts == 0
    assert site.seal(0, site.model_digest, INITIAL).finite


@pytest.mark.parametrize("attempt", [0.5, -1, "0", None, True])
def test_an_attempt_that_is_no_whole_number_charges_nothing(site: Site, attempt: Any) -> None:
    with pytest.raises(TypeError, match=r"attempt = .*: wanted a whole number of 0 or more"):
        site.seal(attempt, site.model_digest, INITIAL)
    with pytest.raises(TypeError, match="attempt = "):
        site.check_attempt(attempt)
    assert site.charged_attempts == 0


def test_numbers_and_arrays_of_numpy_are_taken(site: Site) -> None:
    trained = [np.asfortranarray(INITIAL[0].astype(">f8")), INITIAL[1].astype(np.float16)]
    assert site.seal(np.int64(0), site.model_digest, trained).finite  # type: ignore[arg-type]
    # A matrix stays one when it is flattened.
    matrix = [np.asmatrix(INITIAL[0]), INITIAL[1]]
    assert site.seal(1, site.model_digest, matrix).finite
    assert site.charged_attempts == 2
    # What is no finite update is sealed as zeros, and told to the site alone.
    assert not site.seal(2, site.model_digest, with_value(np.nan)).finite
