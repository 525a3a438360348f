"""Accountants: epsilon that each states for the published setting, or for the nearest it can take.

The mechanism: 1000 of 3,596 clients drawn without replacement, 100 rounds, noise of 6 clip norms in
the sum, one client replaced by another (sensitivity of two clip norms), delta 1e-5.
"""

import contextlib
import importlib.metadata
import io
import sys

from peer_measure import report, seconds

CLIENTS, COHORT, ROUNDS, NOISE, DELTA = 3596, 1000, 100, 6.0, 1e-5
OTHER = "of another mechanism: Poisson cohorts, a client added or removed"


def dp_accounting() -> tuple[float, str]:
    import dp_accounting as dpa

    drawn = dpa.SampledWithoutReplacementDpEvent(CLIENTS, COHORT, dpa.GaussianDpEvent(NOISE / 2))
    accountant = dpa.rdp.RdpAccountant(
        neighboring_relation=dpa.NeighboringRelation.REPLACE_ONE)
    accountant.compose(dpa.SelfComposedDpEvent(drawn, ROUNDS))
    return accountant.get_epsilon(DELTA), "a bound (RDP; its PLD accountant refuses such cohorts)"


def prv_accountant() -> tuple[float, str]:
    from prv_accountant import PoissonSubsampledGaussianMechanism, PRVAccountant

    accountant = PRVAccountant(
        prvs=PoissonSubsampledGaussianMechanism(sampling_probability=COHORT / CLIENTS,
                                                noise_multiplier=NOISE),
        max_self_compositions=ROUNDS, eps_error=0.01, delta_error=1e-10)
    return accountant.compute_epsilon(delta=DELTA, num_self_compositions=[ROUNDS])[2], \
        f"a bound {OTHER}"


def opacus() -> tuple[float, str]:
    from opacus.accountants import RDPAccountant

    accountant = RDPAccountant()
    for _ in range(ROUNDS):
        accountant.step(noise_multiplier=NOISE, sample_rate=COHORT / CLIENTS)
    return accountant.get_epsilon(delta=DELTA), f"a bound (RDP) {OTHER}"


def pfl() -> tuple[float, str]:
    from pfl.privacy import PLDPrivacyAccountant

    accountant = PLDPrivacyAccountant(
        num_compositions=ROUNDS, sampling_probability=COHORT / CLIENTS, mechanism="gaussian",
        noise_parameter=NOISE, delta=DELTA)
    return accountant.epsilon, f"a bound (PLD) {OTHER}"


# Package, name, function, why it protects no sum.
PEERS = {
    "dp-accounting": ("dp-accounting", dp_accounting, "an accountant"),
    "prv-accountant": ("prv-accountant", prv_accountant, "an accountant"),
    "opacus": ("Opacus", opacus, "it protects records of one trainer; it adds nobody's updates"),
    "pfl": ("pfl", pfl, "it simulates: central noise, updates in the clear"),
}


def main(package: str) -> None:
    name, function, reason = PEERS[package]
    with contextlib.redirect_stdout(io.StringIO()):
        _, (epsilon, kind) = seconds(function)
    report({
        "name": name, "version": importlib.metadata.version(package),
        "epsilon": float(epsilon), "epsilon_is": kind,
        "reasons": {column: reason for column in (
            "protect_s", "add_s", "decrypt_s", "upload_bytes", "download_bytes", "wrong_values",
            "reads_update", "drop_outs", "noise_inside", "memory_mb")},
        "memory_mb": None,
    })


if __name__ == "__main__":
    main(sys.argv[1])
