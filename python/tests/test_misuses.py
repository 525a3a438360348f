"""Misuses of the package: each error names what is wrong and says what to do."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from conftest import DIMENSION, Round

import tacet
from tacet import secagg, statistics
from tacet.sklearn import FederatedClassifier, FederatedRegressor

D = 50
WEAK = tacet.Privacy(noise_multiplier=2.0, delta=1e-3)
PERSONS = tacet.Privacy(
    noise_multiplier=4.0, delta=1e-3, unit="person", record_rate=0.5, coordinate_bound=5.0
)
ROWS = np.zeros((6, 2))
LABELS = [0, 1] * 3
TABLES = {"north": {"age": [40, 50]}, "south": {"age": [60, 70]}}

Misuse = Callable[[Path, Round], Any]


def simulate(out: Path, **changed: Any) -> tacet.Run:
    options: dict[str, Any] = {
        "train": lambda model, client, round_: np.zeros_like(model),
        "clients": 6,
        "initial": np.zeros(D, dtype=np.float32),
        "privacy": WEAK,
        "rounds": 1,
        "out": out,
        **changed,
    }
    return tacet.simulate(**options)


def ask(path: Path, tables: Any = TABLES, questions: Any = None, **changed: Any) -> Any:
    asked = [statistics.count()] if questions is None else questions
    options = {"target_epsilon": 1, "max_units": 5, "out": path / "answers", **changed}
    return statistics.ask(tables, asked, **options)


def fit(rows: Any, labels: Any, **options: Any) -> Any:
    settings: dict[str, Any] = {"noise_multiplier": 9, "classes": [0, 1], "rounds": 1}
    of_rows = {"clients": options.pop("clients", range(6)), "member": options.pop("member", None)}
    return FederatedClassifier(**{**settings, **options}).fit(rows, labels, **of_rows)


def ran(path: Path, _: Round, **changed: Any) -> tacet.Run:
    return simulate(**{"out": path / "run", **changed})


def trained(update: Callable[[Any], Any]) -> Misuse:
    return lambda path, _: simulate(path / "run", train=lambda model, client, round_: update(model))


def keys(members: Round) -> list[secagg.MemberPublicKey]:
    return [key.public_key for key in members.keys]


def seal(update: Any) -> Misuse:
    return lambda _, r: r.clients[0].seal(r.attempt, update)


def second_close(_: Path, r: Round) -> None:
    r.seal_all([np.zeros(DIMENSION, dtype=np.float32)] * 3)
    r.server.close()
    r.server.close()


def member(path: Path, **changed: Any) -> tacet.Member:
    options = {"home": path / "home", "server": "127.0.0.1:1", "data": path, **changed}
    return tacet.Member(**options)


def file_of(path: Path, content: bytes = b"text") -> Path:
    (path / "file").write_bytes(content)
    return path / "file"


def of_units(model: Any, client: int, units: list[int], clip_norm: float) -> Any:
    return np.zeros_like(model)


def session(**changed: Any) -> tacet.Session:
    return tacet.Session(**{"budget_epsilon": 3, "unit": "record", **changed})


def fit_regressor(labels: Any, **options: Any) -> Any:
    settings = {"noise_multiplier": 9, "target_bounds": (0, 1), "rounds": 1, **options}
    return FederatedRegressor(**settings).fit(ROWS, labels, clients=range(6))


def run_twice(path: Path, r: Round) -> None:
    ran(path, r)
    ran(path, r)


def asked_twice(path: Path, _: Round) -> None:
    ask(path)
    ask(path)


def resumed_otherwise(path: Path, r: Round) -> None:
    ran(path, r, rounds=1)
    ran(path, r, rounds=2, resume=True)


MISUSES: list[tuple[str, Misuse, type[Exception], str]] = [
    # Guarantees
    ("no noise", lambda *_: tacet.guarantee(clients=9, cohort=5, rounds=2), ValueError,
     "noise_multiplier and noise_stddev are both missing: give one of them"),
    ("unknown option", lambda *_: tacet.guarantee(epsilon=3), TypeError,  # type: ignore[call-arg]
     "there is no option 'epsilon'. The options are clients, "),
    ("target as text", lambda *_: tacet.calibrate(target_epsilon="2", clients=9), TypeError,  # type: ignore[call-overload]
     "target_epsilon = '2': wanted a number"),
    ("target NaN", lambda *_: tacet.calibrate(target_epsilon=np.nan, clients=9, cohort=5, rounds=1),
     ValueError, "the target epsilon is nan, expected a finite number above 0"),
    ("found what", lambda *_: tacet.calibrate(target_epsilon=2, find="sigma"), ValueError,  # type: ignore[call-overload]
     "find = 'sigma' is not one of noise_multiplier, rounds, cohort"),
    ("rate as text", lambda *_: tacet.guarantee(
        clients=9, cohort=5, rounds=2, noise_multiplier=4
    ).explain(false_positive_rate="1"), TypeError,  # type: ignore[arg-type]
     "false_positive_rate = '1': wanted a number"),
    ("noise and target", lambda *_: tacet.Privacy(noise_multiplier=1, target_epsilon=1), ValueError,
     "noise_multiplier and target_epsilon are given: give one of noise_multiplier, noise_stddev, "
     "target_epsilon"),
    ("neither of them", lambda *_: tacet.Privacy(), ValueError,
     "the noise is missing: give one of noise_multiplier, noise_stddev, target_epsilon"),
    # Simulations: arguments
    ("epsilon as privacy", lambda p, r: ran(p, r, privacy=8), TypeError,
     "privacy is of type int: give tacet.Privacy(target_epsilon=...)"),
    ("no privacy", lambda p, r: ran(p, r, privacy=None), TypeError,
     "privacy is of type NoneType: give tacet.Privacy(target_epsilon=...)"),
    ("train as text", lambda p, r: ran(p, r, train="train.py"), TypeError,
     "train = 'train.py': wanted a function, called as train(model, client, round)"),
    ("train of one argument", lambda p, r: ran(p, r, train=lambda model: model), TypeError,
     "train takes other arguments: it is called as train(model, client, round)"),
    ("train of clients for persons", lambda p, r: ran(p, r, privacy=PERSONS), TypeError,
     "train takes other arguments: it is called as train(model, client, units, clip_norm)"),
    ("clients as text", lambda p, r: ran(p, r, clients="six"), TypeError,
     "clients = 'six': wanted a whole number of 0 or more"),
    ("clients below 0", lambda p, r: ran(p, r, clients=-1), TypeError,
     "clients = -1: wanted a whole number of 0 or more"),
    ("unit unknown", lambda p, r: ran(p, r, train=of_units, privacy=tacet.Privacy(
        noise_multiplier=2, unit="patient", coordinate_bound=2)), ValueError,  # type: ignore[arg-type]
     'unknown unit "patient": expected client, person or record'),
    ("persons without units", lambda p, r: ran(p, r, train=of_units, privacy=PERSONS), ValueError,
     "with unit person they must be given for 6"),
    ("units as texts", lambda p, r: ran(
        p, r, train=of_units, privacy=PERSONS, units=["5"] * 6), TypeError,
     "units = '5': wanted a whole number of 0 or more"),
    ("units is a number", lambda p, r: ran(p, r, units=5), TypeError,
     "units = 5: wanted a list of whole numbers"),
    ("persons without a rate", lambda p, r: ran(
        p, r, train=of_units, units=[5] * 6, privacy=tacet.Privacy(
            noise_multiplier=2, unit="person", coordinate_bound=2)), ValueError,
     "record_rate is 0, it must be above 0 and at most 1"),
    ("threads as text", lambda p, r: ran(p, r, threads="2"), TypeError,
     "threads = '2': wanted a whole number of 0 or more"),
    ("no rounds", lambda p, r: ran(p, r, rounds=None), TypeError,
     "rounds = None: wanted a whole number of 0 or more"),
    ("cohort of a half", lambda p, r: ran(p, r, cohort=2.5), TypeError,
     "cohort = 2.5: wanted a whole number of 1 or more"),
    ("spare attempts below 0", lambda p, r: ran(p, r, spare_attempts=-1), TypeError,
     "spare_attempts = -1: wanted a whole number of 0 or more"),
    ("seed as text", lambda p, r: ran(p, r, seed="1"), TypeError,
     "seed = '1': wanted a whole number of 0 or more"),
    ("insecure seed as text", lambda p, r: ran(p, r, insecure_seed="1"), TypeError,
     "insecure_seed = '1': wanted a whole number of 0 or more"),
    ("architecture is a number", lambda p, r: ran(p, r, architecture=5), TypeError,
     "architecture = 5: wanted a text"),
    ("resumed without a name", lambda p, r: ran(p, r, out=None, resume=True), ValueError,
     "resume=True continues the run in out: name its directory"),
    ("rate as text", lambda p, r: ran(p, r, learning_rate="0.1"), TypeError,
     "learning_rate = '0.1': wanted a number"),
    ("rate NaN", lambda p, r: ran(p, r, learning_rate=np.nan), ValueError,
     "server.learning_rate is nan, it must be a positive number"),
    ("momentum", lambda p, r: ran(p, r, momentum=1), ValueError,
     "server.momentum is 1, it must be at least 0 and below 1"),
    ("evaluation never", lambda p, r: ran(p, r, evaluate_every=0), ValueError,
     "evaluate_every is 0, it must be at least 1"),
    ("initial as list", lambda p, r: ran(p, r, initial=[0.0]), TypeError,
     "initial: wanted a one-dimensional array of float32, got list"),
    ("initial of integers", lambda p, r: ran(p, r, initial=np.zeros(D, dtype=int)), TypeError,
     'convert it with .astype("float32") if that is meant'),
    ("initial of two axes", lambda p, r: ran(p, r, initial=np.zeros((5, 10))), ValueError,
     "initial has 2 dimensions: wanted one. Flatten it"),
    ("initial NaN", lambda p, r: ran(p, r, initial=np.full(D, np.nan)), ValueError,
     "the initial model: parameter 0 is not a finite number"),
    ("out is a file", lambda p, r: simulate(file_of(p)), tacet.TacetError,
     "file: Not a directory"),
    ("out is used", run_twice, tacet.AlreadyExistsError,
     "is not empty: choose another directory, or continue with resume=True"),
    ("other settings", resumed_otherwise, tacet.FailedPreconditionError, "federation.rounds"),
    # Simulations: the user's functions
    ("update as list", trained(list), TypeError,
     "the update of client 0: wanted a one-dimensional array of float32, got list"),
    ("no update", trained(lambda _: None), TypeError, "got NoneType"),
    ("update of float16", trained(lambda m: m.astype(np.float16)), TypeError,
     'convert it with .astype("float32") if that is meant'),
    ("update is cut", trained(lambda m: m[:-1]), ValueError,
     "has 49 values, the model has 50: return new minus old parameters"),
    ("update NaN", trained(lambda m: m + np.nan), tacet.InvalidArgumentError,
     "the update of client 0: value 0 is nan, not a finite number; correct its training"),
    ("update infinite", trained(lambda m: np.append(m[:-1], np.float32(-np.inf))),
     tacet.InvalidArgumentError, "the update of client 0: value 49 is -inf, not a finite number"),
    ("update overflows", trained(lambda m: np.full(D, 1e300)), tacet.InvalidArgumentError,
     "value 0 is inf, not a finite number"),
    ("update of big endian", trained(lambda m: m.astype(">f4")), TypeError,
     'of float32, got one of dtype(\'>f4\'); numpy.asarray(..., dtype="float32") makes one'),
    ("update of objects", trained(lambda m: m.astype(object)), TypeError,
     "of float32, got one of dtype('O'); numpy.asarray"),
    ("update is empty", trained(lambda m: m[:0]), ValueError, "has 0 values, the model has 50"),
    ("update is masked", trained(lambda m: np.ma.masked_array(m, mask=True)), TypeError,
     "the values below its mask would be taken: fill them in with .filled(0)"),
    ("update is unaligned", trained(lambda m: np.frombuffer(
        b"0" + m.tobytes(), dtype=np.uint8)[1:].view(np.float32)), ValueError,
     "is not aligned in memory: copy it with .copy()"),
    ("model is changed", trained(lambda m: m.fill(1)), ValueError, "read-only"),
    ("evaluation is a number", lambda p, r: ran(p, r, evaluate=lambda m: 1.0), TypeError,
     "evaluate(model) must return a dict with accuracy, loss and samples"),
    ("evaluation of text", lambda p, r: ran(p, r, evaluate=lambda m: {"accuracy": "good"}),
     TypeError, "evaluate(model): accuracy = 'good': wanted a number"),
    ("evaluation of -1 samples", lambda p, r: ran(p, r, evaluate=lambda m: {"samples": -1}),
     TypeError, "evaluate(model): samples = -1: wanted a whole number from 0"),
    ("evaluate is a number", lambda p, r: ran(p, r, evaluate=1), TypeError,
     "evaluate = 1: wanted a function, called as evaluate(model)"),
    ("on_round is a number", lambda p, r: ran(p, r, on_round=1), TypeError,
     "on_round = 1: wanted a function, called as on_round(figures)"),
    ("on_round of no argument", lambda p, r: ran(p, r, on_round=lambda: None), TypeError,
     "on_round takes other arguments: it is called as on_round(figures)"),
    ("resume as text", lambda p, r: ran(p, r, resume="yes"), TypeError,
     "resume = 'yes': wanted True or False"),
    ("progress as text", lambda p, r: ran(p, r, progress="yes"), TypeError,
     "progress = 'yes': wanted True or False"),
    ("no initial model", lambda p, r: ran(p, r, initial=None), TypeError,
     "initial is None: wanted a one-dimensional array of float32"),
    ("sampling is a number", lambda *_: tacet.Privacy(noise_multiplier=2, sampling=3), TypeError,  # type: ignore[arg-type]
     "sampling = 3: wanted a text"),
    ("dummies as text", lambda *_: tacet.Privacy(noise_multiplier=2, dummy_uploads="no"), TypeError,  # type: ignore[arg-type]
     "dummy_uploads = 'no': wanted True or False"),
    ("noise as text", lambda *_: tacet.Privacy(noise_multiplier="2"), TypeError,  # type: ignore[arg-type]
     "noise_multiplier = '2': wanted a number"),
    ("colluders below 0", lambda *_: tacet.Privacy(noise_multiplier=2, colluders=-1), TypeError,
     "colluders = -1: wanted a whole number of 0 or more"),
    ("too many clients", lambda p, r: ran(p, r, clients=10**12), ValueError,
     "clients is 1000000000000, it must be from 1 to 16777216"),
    ("out is NUL", lambda *_: simulate(Path("a\0b")), ValueError, "leave out NUL"),
    ("out is broken", lambda *_: simulate(Path("a\udcff")), ValueError, "broken characters"),
    ("evaluation of another name", lambda p, r: ran(p, r, evaluate=lambda m: {"f1": 1}), ValueError,
     'evaluate(model) returned "f1"; known are accuracy, loss, samples and auc'),
    # Runs
    ("no run", lambda p, _: tacet.open_run(p / "none"), FileNotFoundError,
     "holds no finished run: give the directory of a run's `out`, and end a run"),
    ("run is a file", lambda p, _: tacet.open_run(file_of(p)), FileNotFoundError,
     "holds no finished run"),
    # Building blocks
    ("seal a list", seal([0.0] * DIMENSION), TypeError, "got list"),
    ("seal integers", seal(np.zeros(DIMENSION, dtype=int)), TypeError, "convert it with .astype"),
    ("seal another length", seal(np.zeros(3, dtype=np.float32)), ValueError,
     "update has 3 values, the manifest says 100"),
    ("attempt as number", lambda _, r: r.clients[0].seal(0, np.zeros(DIMENSION)), TypeError,  # type: ignore[arg-type]
     "seal(self, attempt: AttemptId, update: object)"),
    ("round too late", lambda _, r: r.clients[0].seal(
        secagg.AttemptId(99), np.zeros(DIMENSION)), ValueError,
     "round 99 was not agreed: the agreement has rounds 0 to 2"),
    ("another's key", lambda _, r: secagg.Client(r.agreement, 1, r.keys[0], r.epoch_key),
     ValueError, "use the key whose public half was agreed, or agree again"),
    ("round below 0", lambda *_: secagg.AttemptId(-1), TypeError,
     "round = -1: wanted a whole number from 0 to 4294967295"),
    ("member below 0", lambda _, r: r.server.submit(-1, b""), TypeError,
     "member = -1: wanted a whole number from 0"),
    ("dimension below 0", lambda _, r: secagg.agree(
        members=keys(r), dimension=-1, noise_multiplier=4), TypeError,
     "dimension = -1: wanted a whole number of 0 or more"),
    ("vote for no bytes", lambda _, r: r.clients[0].seat(r.attempt, []).vote(b"", b""),
     tacet.DataLossError, "hand on the messages of this attempt unchanged, or run another attempt"),
    ("sum of no bytes", lambda _, r: r.clients[0].decrypt(r.attempt, b"", [], []),
     tacet.DataLossError, "hand on the messages of this attempt unchanged, or run another attempt"),
    ("exchange key twice", lambda _, r: secagg.agree(members=[*keys(r)[:2], secagg.MemberPublicKey(
        keys(r)[2].signing, keys(r)[0].exchange, keys(r)[2].kem)],
        dimension=5, noise_multiplier=4), ValueError,
     "members 0 and 2 have the same public key"),
    ("no such member", lambda _, r: secagg.Client(r.agreement, 99, r.keys[0], r.epoch_key),
     ValueError, "member is 99, the agreement has members 0 to 2"),
    ("secret keys agreed", lambda _, r: secagg.agree(
        members=r.keys, dimension=5, noise_multiplier=4), TypeError,  # type: ignore[arg-type]
     "members[0] is of type MemberKey: wanted a MemberPublicKey, which is the public_key"),
    ("one key thrice", lambda _, r: secagg.agree(
        members=keys(r)[:1] * 3, dimension=5, noise_multiplier=4), ValueError,
     "members 0 and 1 have the same public key: each member makes a key of its own"),
    ("one member", lambda _, r: secagg.agree(
        members=keys(r)[:1], dimension=5, noise_multiplier=4), ValueError,
     "the federation needs 2 members or more, it has 1"),
    ("no dimension", lambda _, r: secagg.agree(
        members=keys(r), dimension=0, noise_multiplier=4), ValueError,
     "dimension is 0, it must be from 1 to"),
    ("no such seat", lambda _, r: secagg.agree(
        members=keys(r), dimension=5, noise_multiplier=4, committee=[9]), ValueError,
     "each seat needs another member"),
    ("upload of no bytes", lambda _, r: r.server.submit(2, b""), tacet.DataLossError,
     "; have the member send the upload of its seal again, or leave it out"),
    ("closed too early", lambda _, r: r.server.close(), tacet.FailedPreconditionError,
     "has 0 uploads, 3 are needed"),
    ("closed twice", second_close, tacet.FailedPreconditionError, "closed"),
    ("unmasked before the vote", lambda _, r: r.clients[0].seat(r.attempt, []).unmask([]),
     tacet.FailedPreconditionError, "this member has not voted in round 0 attempt 0"),
    ("acknowledged without a nonce", lambda _, r: r.clients[0].seat(
        r.attempt, [], acknowledged=True), ValueError,
     "an acknowledged upload has a nonce: give that of the seal"),
    ("journal without methods", lambda _, r: r.clients[0].seat(
        r.attempt, [], journal={}), TypeError,
     "a journal needs the methods record(key, message) and find(key)"),
    ("key is pickled", lambda _, r: pickle.dumps(r.keys[0]), TypeError,
     "MemberKey is not pickled or copied, since it holds a secret: store expose_secret()"),
    ("key is copied", lambda _, r: copy.deepcopy(r.epoch_key), TypeError,
     "EpochKey is not pickled or copied, since it holds a secret: store expose_secret()"),
    ("secret is cut", lambda *_: secagg.EpochKey.from_secret(b"x"), ValueError,
     "the epoch key has 1 bytes, expected 32"),
    # Live members
    ("records below 0", lambda p, _: member(p, records=-1), TypeError,
     "records = -1: wanted a whole number of 0 or more"),
    ("records as text", lambda p, _: member(p, records="5"), TypeError,
     "records = '5': wanted a whole number of 0 or more"),
    ("persons of a half", lambda p, _: member(p, persons=0.5), TypeError,
     "persons = 0.5: wanted a whole number of 0 or more"),
    ("no server", lambda p, _: member(p, server=None), TypeError, "server = None: wanted a text"),
    ("no data", lambda p, _: member(p, data=None), TypeError,
     "data = None: wanted a text or a pathlib.Path"),
    ("budget as text", lambda p, _: member(p, budget_epsilon="5"), TypeError,
     "budget_epsilon = '5': wanted a number"),
    ("rule is a number", lambda p, _: member(p, ledger_rule=1), TypeError,
     "ledger_rule = 1: wanted a text"),
    ("home without an identity", lambda p, _: tacet.Member(
        p / "home", server="127.0.0.1:1", data=file_of(p), key_file=p / "file"), ValueError,
     "home holds no identity: `tacet client request` makes one"),
    # Statistics
    ("no tables", lambda p, _: ask(p, {}), ValueError,
     "tables is empty: give a table for each site"),
    ("missing is a text", lambda p, _: ask(p, missing="NA"), TypeError,
     "missing = 'NA': wanted a list of texts"),
    ("categories are a text", lambda p, _: ask(p, questions=[
        statistics.histogram("sex", statistics.Cells(categories="fm"))]), TypeError,
     "categories = 'fm': wanted a list of numbers and texts"),
    ("edges without cells", lambda *_: statistics.histogram("age", [0, 50]), TypeError,  # type: ignore[arg-type]
     "cells = [0, 50]: wanted Cells(edges=...), or Cells(categories=...)"),
    ("columns without bounds", lambda *_: statistics.table1(["age"]), TypeError,  # type: ignore[arg-type]
     "columns = ['age']: wanted a mapping, (low, high) or None by the column's name"),
    ("one bound of a column", lambda *_: statistics.normalise({"age": 3}), TypeError,  # type: ignore[dict-item]
     "columns['age'] = 3: wanted a list of two numbers, (low, high)"),
    ("three bounds of a column", lambda *_: statistics.normalise({"age": (1, 2, 3)}), TypeError,  # type: ignore[dict-item]
     "columns['age'] = (1, 2, 3): wanted two numbers, (low, high)"),
    ("bound NaN", lambda p, _: ask(p, questions=[statistics.mean("age", low=0, high=np.nan)]),
     TypeError, "high = nan: wanted a text, a finite number, or a list of them"),
    ("condition as text", lambda *_: statistics.count(where="age >= 40"), TypeError,
     "where = 'age >= 40': wanted a list of texts"),
    ("condition is a number", lambda *_: statistics.count(where=[3]), TypeError,  # type: ignore[list-item]
     "where = 3: wanted a text"),
    ("unknown key of a question", lambda *_: statistics.count(weight=1), TypeError,  # type: ignore[call-arg]
     "unknown key weight: expected one of name, where, sites, share"),
    ("unknown option of a query", lambda p, _: ask(p, epsilon=1), TypeError,
     "ask has no option 'epsilon'; they are target_epsilon, noise_multiplier, "),
    ("one question", lambda p, _: ask(p, questions=statistics.count()), TypeError,
     "wanted a list of questions, such as [count()]"),
    ("questions as texts", lambda p, _: ask(p, questions=["count"]), TypeError,
     "'count' is no question: make one with count, mean, histogram"),
    ("no unit in a query", lambda p, _: ask(p, unit=None), TypeError,
     "unit = None: wanted a text"),
    ("no appearances", lambda p, _: ask(p, appearances=0), TypeError,
     "appearances = 0: wanted a whole number of 1 or more"),
    ("column is a text", lambda p, _: ask(p, {"north": {"age": "abc"}}), TypeError,
     "site 'north', column 'age': wanted a list or an array with a value for each row, not 'abc'"),
    ("column is a number", lambda p, _: ask(p, {"north": {"age": 3}}), TypeError,
     "site 'north', column 'age': wanted a list or an array with a value for each row, not 3"),
    ("query of bytes", lambda p, _: statistics.ask_file(TABLES, file_of(p, b"\xff\xfe")),
     ValueError, "is no text in UTF-8: invalid start byte at byte 0"),
    ("release of a number", lambda *_: statistics.open_release(3), TypeError,  # type: ignore[arg-type]
     "path = 3: wanted a text or a pathlib.Path"),
    ("epsilon as text in a query", lambda p, _: ask(p, target_epsilon="1"), TypeError,
     "target_epsilon = '1': wanted a number"),
    ("units of a half", lambda p, _: ask(p, max_units=1.5), TypeError,
     "max_units = 1.5: wanted a whole number of 0 or more"),
    ("threads below 0", lambda p, _: ask(p, threads=-1), TypeError,
     "threads = -1: wanted a whole number of 0 or more"),
    ("bound as text", lambda *_: statistics.mean("age", low="0", high=9), TypeError,  # type: ignore[arg-type]
     "low = '0': wanted a number"),
    ("answers are used", asked_twice, tacet.AlreadyExistsError,
     "is not empty: choose another directory"),
    ("no questions", lambda p, _: ask(p, questions=[]), ValueError,
     "the query has 0 questions, expected from 1 to 64"),
    ("no such column", lambda p, _: ask(p, questions=[statistics.mean("sex", low=0, high=1)]),
     tacet.NotFoundError, 'the table has no column "sex", which the query reads'),
    ("bounds are swapped", lambda p, _: ask(p, questions=[statistics.mean("age", low=9, high=1)]),
     ValueError, "has the bounds 9 and 1, expected finite numbers, the lower first"),
    ("too few units", lambda p, _: ask(p, max_units=1), tacet.BudgetError,
     "the query has to be made for larger sites"),
    ("one table without a site", lambda p, _: ask(p, np.zeros(2, dtype=[("age", "f8")])), TypeError,
     "tables is of type ndarray: give {name: table}, or the path of CSV files"),
    ("table is a number", lambda p, _: ask(p, {"north": 3}), TypeError,
     "wanted a mapping, a structured array or a DataFrame, not int"),
    ("no answers", lambda p, _: statistics.open_release(p), FileNotFoundError,
     "holds no answers: give the run directory (`out`) of a query that has ended"),
    # Sessions
    ("budget as text in a session", lambda *_: session(budget_epsilon="3"), TypeError,
     "budget_epsilon = '3': wanted a number"),
    ("no budget", lambda *_: session(budget_epsilon=0), ValueError,
     "budget_epsilon = 0: wanted a finite number above 0"),
    ("endless budget", lambda *_: session(budget_epsilon=np.inf), ValueError,
     "budget_epsilon = inf: wanted a finite number above 0"),
    ("unit of a session", lambda *_: session(unit="row"), ValueError,
     'unknown unit "row": expected client, person or record'),
    ("delta of a session", lambda *_: session(delta=1), ValueError,
     "delta is 1, expected a probability above 0 and below 1"),
    ("neighbours of a session", lambda *_: session(neighbouring="add-remove"), ValueError,
     'unknown neighbouring "add-remove": expected replace-one or zero-out'),
    ("session is a number", lambda p, _: ask(p, session=3), TypeError,
     "session = 3: wanted a tacet.Session or None"),
    ("session of another unit", lambda p, r: ran(p, r, session=session()), ValueError,
     "unit is client in this run and record in the session: epsilons of different units do not add "
     "up. Give the run the session's unit"),
    ("session of other neighbours", lambda p, _: ask(p, session=session(neighbouring="zero-out")),
     ValueError, "neighbouring is replace-one in this run and zero-out in the session: give"),
    ("session without protection", lambda p, _: ask(p, session=session(), insecure_seed=1),
     ValueError, "a session counts only runs that protect. Leave out one of them"),
    ("session too small", lambda p, _: ask(p, session=session(budget_epsilon=0.1)),
     tacet.BudgetError, "it would fit with a target_epsilon of 0.079"),
    ("session resumed", lambda p, r: ran(p, r, session=session(unit="client"), resume=True),
     ValueError, "Begin another run, or continue without a session"),
    ("session is pickled", lambda *_: pickle.dumps(session()), TypeError,
     "a Session is not pickled: another process would spend its budget again"),
    # Estimators
    ("classes are a text", lambda *_: fit(ROWS, LABELS, classes="01"), TypeError,
     "classes = '01': wanted a list of values"),
    ("one class", lambda *_: fit(ROWS, LABELS, classes=[0]), ValueError,
     "classes = [0]: wanted two or more"),
    ("bounds are a number", lambda *_: fit(ROWS, LABELS, bounds=3), ValueError,
     "bounds: wanted (low, high), each a number or one for each column of the array X"),
    ("bounds are texts", lambda *_: fit(ROWS, LABELS, bounds=("0", "1")), ValueError,
     "bounds of column 0 = ('0', '1'): wanted two numbers, the first one smaller"),
    ("bounds in disorder", lambda *_: fit(ROWS, LABELS, bounds=(3, 1)), ValueError,
     "bounds of column 0 = (3, 1): wanted two numbers, the first one smaller"),
    ("bounds of no column", lambda *_: fit(
        pandas.DataFrame({"age": [0.0] * 6}), LABELS, bounds={"age": (0, 1), "sex": (0, 1)}),
     ValueError, "bounds has 'sex', which is no column of X: they are age"),
    ("column twice", lambda *_: fit(pandas.DataFrame(ROWS, columns=["a", "a"]), LABELS),
     ValueError, "X has the column 'a' twice"),
    ("rows of texts", lambda *_: fit([["a", "b"]] * 6, LABELS), ValueError,
     "X holds values that are no numbers"),
    ("rows of other lengths", lambda *_: fit([[1], [1, 2]] * 3, LABELS), ValueError,
     "X: its rows have different lengths"),
    ("rows are complex", lambda *_: fit(ROWS * 1j, LABELS), TypeError,
     "X holds complex numbers: give their real and imaginary parts as columns"),
    ("rows without columns", lambda *_: fit(np.zeros((6, 0)), LABELS), ValueError,
     "X has no columns: give at least one"),
    ("labels of fewer rows", lambda *_: fit(ROWS, [0, 1]), ValueError,
     "X has 6 rows, y has shape (2,): wanted (6,)"),
    ("clients as text", lambda *_: fit(ROWS, LABELS, clients="abcdef"), ValueError,
     "clients is of type str: wanted one identifier for each row"),
    ("clients as number", lambda *_: fit(ROWS, LABELS, clients=6), ValueError,
     "clients is of type int: wanted one identifier for each row"),
    ("no step", lambda *_: fit(ROWS, LABELS, local_steps=0, unit="client"), TypeError,
     "local_steps = 0: wanted a whole number of 1 or more"),
    ("clip norm below 0", lambda *_: fit(ROWS, LABELS, clip_norm=-1), ValueError,
     "clip_norm = -1: wanted a finite number above 0"),
    ("endless rate", lambda *_: fit(ROWS, LABELS, learning_rate=np.inf), ValueError,
     "learning_rate = inf: wanted a finite number above 0"),
    ("home as member", lambda *_: fit(ROWS, LABELS, clients=None, member="home"), TypeError,
     "member = 'home': wanted a tacet.Member"),
    ("score of fewer labels", lambda *_: fit(ROWS, LABELS, insecure_seed=1).score(ROWS, [0]),
     ValueError, "X has 6 rows, y has shape (1,): wanted (6,)"),
    ("target without bounds", lambda *_: fit_regressor(LABELS, target_bounds=None), ValueError,
     "give target_bounds: they cannot be taken from the data"),
    ("one target bound", lambda *_: fit_regressor(LABELS, target_bounds=3), TypeError,
     "target_bounds = 3: wanted a list of two numbers, (low, high)"),
    ("target bounds in disorder", lambda *_: fit_regressor(LABELS, target_bounds=(3, 1)),
     ValueError, "target_bounds = (3, 1): wanted two numbers, the first one smaller"),
    ("target NaN", lambda *_: fit_regressor([0, 1, np.nan, 0, 1, 0]), ValueError,
     "y holds 1 values that are not finite, the first in row 2: leave such rows out"),
    ("target of texts", lambda *_: fit_regressor(list("abcdef")), ValueError,
     "y holds values that are no numbers"),
    ("not fitted", lambda *_: FederatedClassifier(target_epsilon=1).predict(
        np.zeros((3, 2))), ValueError, "the FederatedClassifier is not fitted: call fit first"),
    ("unknown label", lambda *_: fit(np.zeros((6, 2)), [0, 1, 2, 0, 1, 2]), ValueError,
     "y holds [2], which are not among classes"),
    ("no clients", lambda *_: fit(np.zeros((6, 2)), [0, 1] * 3, clients=None), ValueError,
     "give clients for a simulation, or member for a live federation"),
    ("rows of one axis", lambda *_: fit(np.zeros(6), [0, 1] * 3), ValueError,
     "X has shape (6,), wanted (rows, n_features)"),
    ("classifier without noise", lambda *_: fit(np.zeros((6, 2)), [0, 1] * 3,
                                                noise_multiplier=None),
     ValueError, "the noise is missing: give one of noise_multiplier"),
    ("unknown parameter", lambda *_: FederatedClassifier().set_params(epsilon=1), ValueError,
     "there is no parameter 'epsilon'; they are target_epsilon, noise_multiplier, "),
]  # fmt: skip


@pytest.mark.parametrize(
    ("misuse", "kind", "text"),
    [pytest.param(*case, id=name.replace(" ", "-")) for name, *case in MISUSES],
)
def test_the_error_says_what_to_do(
    misuse: Misuse, kind: type[Exception], text: str, tmp_path: Path, whole_round: Round
) -> None:
    with np.errstate(all="ignore"), pytest.raises(kind, match=re.escape(text)):
        misuse(tmp_path, whole_round)


def test_a_misuse_leaves_no_run_behind(tmp_path: Path) -> None:
    """A wrong argument is refused before anything is written or charged."""
    for changed in ({"privacy": 8}, {"clients": "six"}, {"learning_rate": "x"}, {"rounds": 0}):
        with pytest.raises((TypeError, ValueError)):
            simulate(tmp_path / "run", **changed)
        assert not (tmp_path / "run").exists()
