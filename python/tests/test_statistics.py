from __future__ import annotations

import dataclasses
import datetime
import importlib.util
import json
import math
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tacet
from tacet import statistics
from tacet.statistics import Cells

ROOT = Path(__file__).resolve().parents[2]
HOSPITALS = ROOT / "examples" / "hospitals"
DAYS = Cells(low=0, high=1500, bins=15)
SEX = ["b one-of=f,m"]

QUESTIONS = [
    statistics.count(name="women", where=["sex = f"]),
    statistics.total("age", low=20, high=100, name="years", where=["age >= 40", "sex = m"]),
    statistics.mean("age", low=20, high=100, name="age", sites=["aachen", "bonn"]),
    statistics.variance("cholesterol", low=100, high=400, name="cholesterol"),
    statistics.normalise({"age": (20, 100), "cholesterol": (100, 400)}, name="scales"),
    statistics.histogram("cholesterol", Cells(edges=[0, 180, 220, 500]), name="levels"),
    statistics.crosstab(
        "sex", Cells(categories=["f", "m"]), "died", Cells(categories=[0, 1]), name="deaths"
    ),
    statistics.quantiles("age", Cells(low=20, high=100, bins=16), at=[0.5], name="median"),
    statistics.survival(
        "days", DAYS, event="died", event_value=1, group="sex", groups=["f", "m"], name="survival"
    ),
    statistics.evaluation(
        "risk", Cells(bins=10), label="disease", positive=1, name="risk", share=2.0
    ),
    statistics.regression(
        {"age": (20, 100), "cholesterol": (100, 400)}, label="disease", positive=1, name="slopes"
    ),
    statistics.glm(
        "cholesterol ~ age + sex", {"age": (20, 100), "sex": None, "cholesterol": (100, 400)},
        name="model", share=4.0,
    ),
    statistics.proportion("disease", 1, group="sex", name="ill"),
    statistics.median("age", Cells(low=20, high=100, bins=16), group="sex", name="middle"),
    statistics.mean("age", low=20, high=100, group="sex", groups=["m", "f"], name="by sex"),
    statistics.table1(
        {"age": (20, 100), "sex": None}, group="disease", groups=[0, 1], name="baseline"
    ),
]


def rows_of(name: str) -> dict[str, list[Any]]:
    """The table of a hospital as Python has it: numbers, texts, None."""
    lines = (HOSPITALS / f"{name}.csv").read_text().splitlines()
    names = lines[0].split(",")
    rows = [line.split(",") for line in lines[1:]]

    def value(column: str, text: str) -> Any:
        if column in ("patient", "sex"):
            return text
        return None if text in ("", "?") else float(text)

    return {
        column: [value(column, row[place]) for row in rows] for place, column in enumerate(names)
    }


SITES = ("aachen", "bonn", "celle", "dresden")


def test_all_kinds_with_the_programs_bits(tmp_path: Path) -> None:
    tables = {site: rows_of(site) for site in SITES}
    options = {
        "target_epsilon": 4.0,
        "max_units": 1000,
        "floor": 10,
        "missing": ["", "?"],
        "values": ["sex one-of=f|F,m"],
    }
    release = statistics.ask(tables, QUESTIONS, insecure_seed=5, out=tmp_path / "python", **options)
    query = tmp_path / "query.toml"
    query.write_text(statistics.query_text(QUESTIONS, **options), encoding="utf-8")
    folder = tmp_path / "tables"
    folder.mkdir()
    for site in SITES:
        (folder / f"{site}.csv").write_text((HOSPITALS / f"{site}.csv").read_text())
    done = subprocess.run(
        [os.environ["TACET_PROGRAM"], "statistics", query, "--data", folder,
         "--insecure-seed", "5", "--out", tmp_path / "program"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    by_file = statistics.ask_file(folder, query, insecure_seed=5, out=tmp_path / "file")
    for name in ("model.f32", "answers.json", "answers.csv", "query.toml"):
        told = (tmp_path / "python" / name).read_bytes()
        assert told == (tmp_path / "program" / name).read_bytes(), name
        assert told == (tmp_path / "file" / name).read_bytes(), name
    assert repr(by_file.answers) == repr(release.answers)  # NaN is not equal from Python 3.13 on
    assert release.epsilon == pytest.approx(4, abs=0.01)
    assert [answer.name for answer in release] == [question.keys["name"] for question in QUESTIONS]


def drawn(seed: int, rows: int) -> dict[str, list[Any]]:
    """People whose ages end in 0 every other time, with long-tailed costs and a stage."""
    random = np.random.default_rng(seed)
    exact = random.normal(62, 14, rows)
    heaped = np.where(random.random(rows) < 0.5, np.round(exact, -1), np.round(exact))
    return {
        "arm": [str(arm) for arm in random.choice(["drug", "placebo"], rows, p=[0.6, 0.4])],
        "age": [float(age) for age in heaped],
        "cost": [float(cost) for cost in np.exp(random.normal(7, 1, rows))],
        "stage": [str(one) for one in random.choice(["I", "II", "III"], rows, p=[0.5, 0.3, 0.2])],
    }


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """Models with a likelihood, of people whose coefficients are known."""
    random = np.random.default_rng(11)
    age = random.integers(20, 91, 6000)
    man = random.random(6000) < 0.4
    ill = random.random(6000) < 1 / (1 + np.exp(4 - 0.06 * age - 0.8 * man))
    years = random.choice([0.5, 1.0, 1.5], 6000)
    visits = random.poisson(years * np.exp(-1.5 + 0.02 * age))
    until = random.exponential(1 / np.exp(-4 + 0.03 * age))
    followed = np.minimum(until, 8)
    tables = {
        f"site{site}": {
            "age": age[site::4],
            "sex": np.where(man[site::4], "m", "f"),
            "ill": np.where(ill[site::4], "yes", "no"),
            "years": years[site::4],
            "visits": visits[site::4],
            "followed": followed[site::4],
            "died": (until <= 8)[site::4].astype(int),
        }
        for site in range(4)
    }
    questions = [
        statistics.glm(
            "ill ~ age + sex", {"age": (20, 90), "sex": None, "ill": None}, family="binomial",
            name="illness",
        ),
        statistics.glm(
            "visits ~ age", {"age": (20, 90), "years": (0.5, 1.5), "visits": (0, 10)},
            family="poisson", exposure="years", name="visits",
        ),
        statistics.cox(
            "age", {"age": (20, 90)}, time="followed", cells=statistics.Cells(high=8),
            event="died", event_value=1, profiles=["age = 70"], check=True, name="death",
        ),
    ]  # fmt: skip
    options = {
        "values": ["sex one-of=f,m", "ill one-of=no,yes"],
        "target_epsilon": 8.0,
        "max_units": 1500,
    }
    out = tmp_path_factory.mktemp("fitted") / "run"
    release = statistics.ask(tables, questions, insecure_seed=3, out=out, **options)
    return SimpleNamespace(
        release=release, tables=tables, questions=questions, options=options,
        age=age, man=man, ill=ill,
    )  # fmt: skip


def test_models_with_a_likelihood_take_four_releases(fitted: SimpleNamespace) -> None:
    release = fitted.release
    assert release.epsilon == pytest.approx(8, abs=0.01)
    # Within five stated errors: wrong for one seed in a million.
    for model, ratio_of, label, truth in (
        ("illness", "odds ratio", "age", 0.06),
        ("illness", "odds ratio", "sex = m", 0.8),
        ("visits", "rate ratio", "age", 0.02),
        ("death", "hazard ratio", "age", 0.03),
    ):
        told = next(each for each in release[model].find("coefficient") if each.group == label)
        assert told.value is not None
        assert told.standard_error is not None
        assert abs(told.value - truth) < 5 * told.standard_error
        ratio = next(each for each in release[model].find(ratio_of) if each.group == label)
        assert ratio.value == pytest.approx(np.exp(told.value))
        if model == "death":
            continue
        deviance = release[model]["deviance"].value
        null = release[model]["null deviance"].value
        assert deviance is not None
        assert null is not None
        assert 0 < deviance < null
    survival = release["death"].find("baseline survival")
    assert [each.at for each in survival] == ["1.33333", "2.66667", "8"]
    # Of age 55: the middle of its bounds.
    assert survival[2].low < np.exp(-8 * np.exp(-4 + 0.03 * 55)) < survival[2].high
    rounds = (release.path / "metrics.jsonl").read_text().splitlines()
    assert len(rounds) == 4


def test_hazards_have_profiles_and_a_check(fitted: SimpleNamespace) -> None:
    death = fitted.release["death"]
    (at_end,) = death.find("survival", group="age = 70", at="8")
    assert at_end.low < np.exp(-8 * np.exp(-4 + 0.03 * 70)) < at_end.high
    (change,) = death.find("change of coefficient", group="age")
    assert change.low < 0 < change.high  # the hazards are proportional
    assert 1e-9 < (death["proportional hazards p"].value or 0) <= 1
    axes = death.plot(what="survival")
    assert axes.get_legend().get_texts()[0].get_text() == "age = 70"
    assert death.plot(what="changes").get_xlabel() == "change of coefficient"
    with pytest.raises(ValueError, match="has no plot 'survival'; it has: coefficients"):
        fitted.release["illness"].plot(what="survival")


def test_a_model_has_covariances_and_its_risks_are_evaluated(
    fitted: SimpleNamespace, tmp_path: Path
) -> None:
    release = fitted.release
    covariance = release["illness"].cov_params()
    assert covariance.shape == (3, 3)
    errors = [release["illness"]["intercept"], *release["illness"].find("coefficient")]
    assert np.sqrt(np.diag(covariance)) == pytest.approx([each.standard_error for each in errors])
    assert np.linalg.eigvalsh(covariance).min() > 0
    assert covariance[0, 1] < 0  # ages are far from 0
    # Another query evaluates the released risks, computed at the sites.
    asked = statistics.calibration(
        fitted.questions[0], release["illness"], statistics.Cells(bins=5, high=1, low=0),
        label="ill", positive="yes", threshold=0.4, name="risks",
    )  # fmt: skip
    assert "score" not in asked.keys
    again = statistics.ask(
        fitted.tables, [asked], insecure_seed=3, out=tmp_path / "evaluated",
        **{**fitted.options, "target_epsilon": 20.0},
    )  # fmt: skip
    weights = [each.value for each in errors]
    risk = 1 / (1 + np.exp(-(weights[0] + weights[1] * fitted.age + weights[2] * fitted.man)))
    auc = np.mean(risk[fitted.ill][:, None] > risk[~fitted.ill][None, :])
    assert again["risks"]["auc"].low < auc < again["risks"]["auc"].high
    for share, low in zip(again["risks"].find("observed share"), np.arange(0, 1, 0.2), strict=True):
        inside = (risk >= low) & (risk < low + 0.2)
        assert share.value == pytest.approx(fitted.ill[inside].mean(), abs=0.05)
    with pytest.raises(ValueError, match="no logistic one"):
        statistics.calibration(
            fitted.questions[1], release["visits"], statistics.Cells(bins=5),
            label="ill", positive="yes",
        )  # fmt: skip
    with pytest.raises(ValueError, match="'visits' \\(glm\\) is no answer of a logistic model"):
        statistics.calibration(
            fitted.questions[0], release["visits"], statistics.Cells(bins=5),
            label="ill", positive="yes",
        )  # fmt: skip
    # Another reference: the coefficient of men would count for women.
    with pytest.raises(tacet.InvalidArgumentError, match="has the terms age, sex = f here"):
        statistics.ask(
            fitted.tables, [asked],
            **{**fitted.options, "values": ["ill one-of=no,yes", "sex one-of=m,f"]},
        )  # fmt: skip


def test_calibration_leaves_out_the_column_of_the_response_alone() -> None:
    columns = {"ill": None, "ill since": (0.0, 9.0), "`~": (0.0, 1.0)}
    model = statistics.glm("`ill` ~ `ill since`", columns, family="binomial")
    fitted = statistics.Answer("ill", "glm", tuple(
        statistics.Estimate(quantity, group, "", 0.5, 0.1, 0.2, 0, 1)
        for quantity, group in (
            ("intercept", ""), ("coefficient", "ill since"), ("odds ratio", "ill since"),
        )
    ), ())  # fmt: skip
    asked = statistics.calibration(
        model, fitted, statistics.Cells(bins=5), label="ill", positive="yes"
    )
    assert asked.keys["formula"] == "`ill since`"
    assert asked.keys["columns"] == ["ill since 0.0..9.0", "`~ 0.0..1.0"]
    assert asked.keys["terms"] == ["ill since"]


def test_table1_and_groups_are_near_the_truth(tmp_path: Path) -> None:
    tables = {f"site{seed}": drawn(seed, 2000) for seed in range(4)}
    every = {
        key: [value for table in tables.values() for value in table[key]] for key in tables["site0"]
    }
    release = statistics.ask(
        tables,
        [
            statistics.table1(
                {"age": (18, 100), "cost": (0, 20000), "stage": None}, group="arm", name="baseline"
            ),
            statistics.proportion("stage", "III", group="arm", name="late"),
            statistics.median("age", Cells(low=0, high=110, bins=22), name="age"),
            statistics.histogram("stage", Cells(), group="arm", name="stages"),
        ],
        values=["arm one-of=drug,placebo", "stage one-of=I,II,III"],
        target_epsilon=4,
        floor=10,
        insecure_seed=3,
        out=tmp_path / "run",
    )
    table = release["baseline"]
    for group in ("drug", "placebo"):
        mine = [arm == group for arm in every["arm"]]
        ages = np.clip(np.array(every["age"])[mine], 18, 100)
        costs = np.clip(np.array(every["cost"])[mine], 0, 20000)
        late = np.array(every["stage"])[mine] == "III"

        def near(quantity: str, at: str, truth: float, who: str = group) -> None:
            (found,) = table.find(quantity, group=who, at=at)
            assert found.value is not None
            # Seven deviations of Gaussian noise are passed once in 4e11 runs.
            assert abs(found.value - truth) < 7 * found.noise_error, (quantity, at)

        near("count", "", len(ages))
        near("mean", "age", float(np.mean(ages)))
        near("mean", "cost", float(np.mean(costs)))
        near("standard deviation", "age", float(np.std(ages)))
        near("count", "stage = III", float(np.sum(late)))
        near("proportion", "stage = III", float(np.mean(late)))
        quartiles = (("lower quartile", 0.25), ("median", 0.5), ("upper quartile", 0.75))
        for quantity, share in quartiles:
            for at, values in (("age", ages), ("cost", costs)):
                (found,) = table.find(quantity, group=group, at=at)
                assert found.low <= np.quantile(values, share) <= found.high, (quantity, at)
        (share,) = release["late"].find("proportion", group=group)
        assert share.low <= np.mean(late) <= share.high
        (cell,) = release["stages"].find("proportion", group=group, at="III")
        assert cell.value is not None
        assert abs(cell.value - np.mean(late)) < 7 * cell.noise_error
    middle = release["age"]["median"]
    assert middle.low <= np.median(every["age"]) <= middle.high
    lines = table.table()
    assert [line["characteristic"] for line in lines] == [
        "n",
        "age, mean (sd)",
        "age, median [IQR]",
        "cost, mean (sd)",
        "cost, median [IQR]",
        "stage = I, n (%)",
        "stage = II, n (%)",
        "stage = III, n (%)",
    ]
    assert list(lines[0]) == ["characteristic", "drug", "placebo", "noise"]
    (age,) = table.find("mean", group="drug", at="age")
    assert lines[1]["drug"].startswith(f"{age.value:.1f} (")
    assert "age, mean (sd)" in str(table)
    if importlib.util.find_spec("pandas") is not None:
        frame = table.frame()
        assert list(frame.columns) == ["drug", "placebo", "noise"]
        assert frame.loc["n", "drug"] == lines[0]["drug"]
    with pytest.raises(ValueError, match="'late' is of kind proportion: only table1 has a table"):
        release["late"].table()


def test_a_site_may_write_its_file_in_another_way(tmp_path: Path) -> None:
    plain, mixed, settings = tmp_path / "plain", tmp_path / "mixed", tmp_path / "sites.toml"
    for folder in (plain, mixed):
        folder.mkdir()
        for site in SITES:
            (folder / f"{site}.csv").write_text("age,sex\n61.5,f\n40,m\n")
    (mixed / "bonn.csv").write_text("age;sex\n61,5;femme\n40;homme\n")
    settings.write_text(
        "[site.bonn]\ncsv_decimal = 'comma'\ncsv_spellings = ['sex one-of=f|femme,m|homme']\n"
    )
    questions = [
        statistics.mean("age", low=0, high=100, where=["sex = f"], name="age"),
        statistics.count(where=["sex = m"], name="men"),
    ]
    options = {"target_epsilon": 4.0, "values": ["sex one-of=f,m"], "insecure_seed": 5}
    expected = statistics.ask(plain, questions, out=tmp_path / "a", **options)
    release = statistics.ask(mixed, questions, sites=settings, out=tmp_path / "b", **options)
    assert release.answers == expected.answers
    with pytest.raises(tacet.InvalidArgumentError, match="the tables are in memory"):
        statistics.ask(
            {"bonn": {"age": [1.0], "sex": ["f"]}},
            questions,
            sites=settings,
            out=tmp_path / "c",
            **options,
        )


def test_the_noise_may_be_given_in_clip_norms_or_itself(tmp_path: Path) -> None:
    tables = {site: rows_of(site) for site in SITES}
    question = [statistics.count(name="all")]
    by = {
        name: statistics.ask(tables, question, out=tmp_path / name, **{name: 8.0})
        for name in ("noise_multiplier", "noise_stddev")
    }
    # One count has clip norm 1: the same noise, the same epsilon.
    assert by["noise_stddev"].epsilon == by["noise_multiplier"].epsilon
    with pytest.raises(tacet.InvalidArgumentError, match=r"noise_multiplier 8 and .* 8: give one"):
        statistics.ask(
            tables, question, noise_multiplier=8, noise_stddev=8, out=tmp_path / "both"
        )


def test_answers_are_near_the_truth_with_errors(tmp_path: Path) -> None:
    tables = {site: rows_of(site) for site in SITES}
    women = sum(table["sex"].count("f") for table in tables.values())
    ages = [age for table in tables.values() for age in table["age"] if age is not None]
    release = statistics.ask(
        tables,
        [QUESTIONS[0], statistics.mean("age", low=20, high=100, name="age")],
        values=["sex one-of=f,m"],
        target_epsilon=2,
        max_units=1000,
        out=tmp_path / "run",
    )
    count = release["women"]["count"]
    assert count.value is not None
    assert count.noise_error > 0
    assert count.low < count.value < count.high
    # Seven deviations of Gaussian noise are passed once in 4e11 runs.
    assert abs(count.value - women) < 7 * count.noise_error
    mean = release["age"]["mean"]
    assert mean.value is not None
    assert mean.standard_error > mean.noise_error
    assert abs(mean.value - np.mean(np.clip(ages, 20, 100))) < 7 * mean.noise_error
    assert release.epsilon == pytest.approx(2, abs=0.01)
    assert release.delta == 1e-5
    assert release.noise_law == "gaussian"
    assert str(release).endswith(" at delta 1e-05, gaussian noise")
    assert "women (count)" in str(release)
    assert repr(release).endswith(f"2 answers, epsilon {release.epsilon:.3g}>")
    assert release.missing == {}
    fewer = dataclasses.replace(release, missing={"north": "budget"})
    assert "no data of north (budget)" in str(fewer)
    again = statistics.open_release(release.path)
    assert again.answers == release.answers
    written = (release.path / "answers.json").read_text()
    (release.path / "answers.json").write_text(written.replace('"value": ', '"value": 9', 1))
    with pytest.raises(tacet.DataLossError, match=r"answers\.json"):
        statistics.open_release(release.path)
    (release.path / "answers.json").write_text(written)
    audited = subprocess.run(
        [os.environ["TACET_PROGRAM"], "audit", "write", release.path, "--json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert audited.returncode == 0, audited.stderr


def test_tables_of_other_libraries(tmp_path: Path) -> None:
    structured = np.array(
        [("f", 40, 1.0), ("m", 50, math.nan), ("f", 60, 0.0)],
        dtype=[("sex", "U1"), ("age", "i4"), ("ill", "f8")],
    )

    class Frame:
        """The part of a pandas DataFrame that is used."""

        columns = ("sex", "age", "ill")

        def __getitem__(self, name: str) -> Any:
            return {
                "sex": np.array(["f", "m", "f"], dtype=object),
                "age": np.ma.masked_array([40, 50, 60], mask=[False, False, False]),
                "ill": [np.bool_(True), None, False],
            }[name]

    plain = {"sex": ["f", "m", "f"], "age": [40, 50, 60], "ill": ["1", "", "0"]}
    questions = [
        statistics.count(where=["sex = f", "age > 1", "ill = 1"], name="women"),
        statistics.mean("age", low=0, high=100, name="age"),
        statistics.histogram("ill", Cells(categories=[0, 1]), name="ill"),
    ]
    answers = [
        statistics.ask(
            {"x": table, "y": table},
            questions,
            noise_multiplier=2,
            max_units=10,
            values=["sex one-of=f,m"],
            insecure_seed=1,
            out=tmp_path / str(place),
        ).answers
        for place, table in enumerate((structured, Frame(), plain))
    ]
    assert repr(answers[0]) == repr(answers[1]) == repr(answers[2])
    release = statistics.ask(
        {"one": structured, "two": Frame(), "three": plain},
        [statistics.count(name="ill", where=["ill = 1"])],
        noise_multiplier=2,
        max_units=10,
        out=tmp_path / "run",
    )
    assert abs((release["ill"]["count"].value or 0) - 3) < 7 * release["ill"]["count"].noise_error


def counted(
    tmp_path: Path, column: Any, question: statistics.Question, **options: Any
) -> list[int]:
    """Counts in hundreds of a question about the column "b", which two sites have."""
    table = {"b": column, "other": [object()] * len(column)}
    release = statistics.ask(
        {"one": table, "two": table},
        [question],
        noise_multiplier=2,
        max_units=1000,
        insecure_seed=1,
        out=tmp_path / str(len(list(tmp_path.iterdir()))),
        **options,
    )
    (answer,) = release
    assert max(estimate.noise_error for estimate in answer.find("count")) < 50 / 7
    return [round((estimate.value or 0) / 100) for estimate in answer.find("count")]


class Nullable:
    """A column of pandas with an extension type."""

    class dtype:  # noqa: N801
        kind = "f"
        itemsize = 4

    def __init__(self, values: list[Any]) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Any:
        return iter(self._values)

    def tolist(self) -> list[Any]:
        return self._values


def test_a_float32_counts_as_the_number_that_it_is_written_with(tmp_path: Path) -> None:
    tenths = statistics.histogram("b", Cells(categories=[0.1, 0.2]))
    narrow = np.array([0.1, 0.2, 0.1, np.nan] * 100, dtype=np.float32)
    for column in (
        narrow,
        list(narrow),
        narrow.astype(np.float16),
        narrow.astype(np.float64).round(3),
        np.ma.masked_array(narrow, mask=[0, 0, 0, 1] * 100),
        Nullable([*map(float, narrow[:3]), NotAvailable()] * 100),
    ):
        assert counted(tmp_path, column, tenths) == [6, 4, 2]
    cells = Cells(categories=list(narrow[:2]))
    assert counted(tmp_path, narrow, statistics.histogram("b", cells)) == [6, 4, 2]


def packed(values: np.ndarray[Any, Any]) -> Any:
    """The same values as a field of records that are not aligned."""
    records = np.zeros(len(values), dtype=[("text", "S3"), ("b", values.dtype)])
    records["b"] = values
    return records["b"]


def test_arrays_of_every_layout_are_numbers(tmp_path: Path) -> None:
    values = np.array([1, 2, 1, 3] * 100)
    numbers = statistics.histogram("b", Cells(categories=[1, 2]))
    for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "longdouble"):
        array = values.astype(kind)
        layouts = [
            array,
            array.astype(array.dtype.newbyteorder(">")),
            np.repeat(array, 2)[::2],
            array[::-1],
            packed(array),
            np.ma.masked_array(array, mask=values == 3),
        ]
        if kind not in ("f2", "longdouble"):
            layouts.append(memoryview(array).tolist())
        array.flags.writeable = False
        for layout in layouts:
            assert counted(tmp_path, layout, numbers) == [6, 4, 2]
    masked = np.ma.masked_array(values, mask=values == 3)
    assert counted(tmp_path, masked, statistics.count(where=["b >= 1"])) == [6]


def test_a_number_can_mean_missing(tmp_path: Path) -> None:
    column = [-9, 5, 0.5, 7] * 100
    for values in (column, np.array(column), [str(value) for value in column]):
        table = {"b": values}
        release = statistics.ask(
            {"one": table, "two": table},
            [statistics.count(where=["b < 6"])],
            noise_multiplier=2,
            max_units=1000,
            missing=["-9", "0.50", "x"],
            insecure_seed=1,
            out=tmp_path / str(len(list(tmp_path.iterdir()))),
        )
        (answer,) = release
        assert round((answer["count"].value or 0) / 100) == 4


def test_numbers_of_persons_are_kept_apart(tmp_path: Path) -> None:
    """Numbers beyond 2^53, of which a float64 holds every second one at most."""
    large = np.array([2**60 + place for place in range(200)] * 2)
    for persons in (large, large.astype("u8"), large.tolist(), [str(each) for each in large]):
        table = {"person": persons, "one": np.ones(400)}
        release = statistics.ask(
            {"a": table, "b": table},
            [statistics.count(name="rows", where=["one = 1"])],
            noise_multiplier=1,
            max_units=1000,
            unit="person",
            person_column="person",
            insecure_seed=1,
            out=tmp_path / str(len(list(tmp_path.iterdir()))),
        )
        # Each of 200 persons counts once at each site.
        count = release["rows"]["count"]
        assert abs((count.value or 0) - 400) < 7 * count.noise_error
        assert count.noise_error < 400 / 7


def test_python_keeps_no_object_for_a_cell(tmp_path: Path) -> None:
    rows = 200_000
    arrays = {"b": np.linspace(0, 100, rows), "other": np.arange(rows, dtype="i4")[::-1]}
    texts = np.array(["f", "m"] * (rows // 2), dtype=object)
    tables = {"one": {**arrays, "sex": texts}, "two": {**arrays, "sex": texts}}
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        statistics.ask(
            tables,
            [statistics.mean("b", low=0, high=100, where=["other >= 0", "sex = f"])],
            values=["sex one-of=f,m"],
            noise_multiplier=2,
            max_units=rows,
            out=tmp_path / "run",
        )
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # A list of a column's values alone has 8 bytes a cell, and 32 with the values.
    assert most - before < 1_000_000 + 6 * rows


MEASURE = """
import sys
import numpy as np
from tacet import statistics

def bytes_of(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(key))

sites, columns, rows = map(int, sys.argv[1:4])
names = [f"c{number}" for number in range(columns)]

def ask(tables, out):
    conditions = [f"{name} >= 0" for name in names[1:]]
    statistics.ask(tables, [statistics.mean(names[0], low=0, high=100, where=conditions)],
                   noise_multiplier=2, max_units=rows, out=out)

def tables_of(rows):
    return {f"site {site}": {name: np.linspace(0, 100, rows) for name in names}
            for site in range(sites)}

ask(tables_of(1000), sys.argv[4] + "/small")  # what the first query needs once
tables = tables_of(rows)
with open("/proc/self/clear_refs", "w") as peak:
    peak.write("5")
before = bytes_of("VmRSS:")
ask(tables, sys.argv[4] + "/large")
print(bytes_of("VmHWM:") - before)
"""


@pytest.mark.parametrize(
    ("sites", "columns", "rows", "most"),
    # A copy of each float64, and little else: 169 MB for a million rows in place of 200,000.
    [(3, 1, 400_000, 40_000_000), (2, 10, 200_000, 60_000_000)],
)
def test_a_query_holds_each_cell_once(
    tmp_path: Path, sites: int, columns: int, rows: int, most: int
) -> None:
    """Beyond the arrays of the user: the largest resident size, of the library in C++ as well."""
    arguments = [str(each) for each in (sites, columns, rows, tmp_path)]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *arguments], capture_output=True, text=True, check=True
    )
    used = int(done.stdout)
    assert 8 * sites * columns * rows // 2 < used < most


def test_truth_values_are_1_and_0(tmp_path: Path) -> None:
    truth = [True, False, True] * 100
    for column in (truth, np.array(truth), np.where(truth, 2, 0).astype("u1").view("?")):
        assert counted(tmp_path, column, statistics.count(where=["b = 1"])) == [4]
        cells = Cells(categories=[True, False])
        assert counted(tmp_path, column, statistics.histogram("b", cells)) == [6, 4, 2]
        for question in (
            statistics.count(where=["b = True"], name="smokers"),
            statistics.count(where=["b!=false"]),
            statistics.histogram("b", Cells(categories=["True", "False"])),
            statistics.survival("other", DAYS, event="b", event_value="True"),
        ):
            with pytest.raises(tacet.InvalidArgumentError, match=r'Write "b = 1" in a condition'):
                counted(tmp_path, column, question)
    # A column of texts may hold the words.
    words = ["True", "False"] * 100
    smokers = statistics.count(where=["b = True"])
    assert counted(tmp_path, words, smokers, values=["b one-of=True|yes,False"]) == [2]


def test_texts_are_compared_by_agreed_values_alone(tmp_path: Path) -> None:
    words = ["yes", "no", "TRUE", "1"] * 100
    smokers = statistics.count(where=["b = yes"])
    agreed = ["b one-of=yes|TRUE|1,no"]
    assert counted(tmp_path, words, smokers, values=agreed) == [6]
    with pytest.raises(tacet.InvalidArgumentError, match="does not say which other values"):
        counted(tmp_path, words, smokers)
    # Nobody's value stops the query: its row is left out, and only the caller is told.
    told = r'100 values are none of the agreed yes\|1, no: "TRUE" \(100\).*count as missing'
    with pytest.warns(UserWarning, match=told):
        assert counted(tmp_path, words, smokers, values=["b one-of=yes|1,no"]) == [4]
    with pytest.warns(UserWarning, match=r'300 values are no finite numbers.*list its values'):
        assert counted(tmp_path, words, statistics.count(where=["b = 1"])) == [2]


def test_many_rows_that_were_left_out_are_marked(tmp_path: Path) -> None:
    rows = {"b": [1.0, None, 2.0, None] * 100}
    release = statistics.ask(
        dict.fromkeys(SITES, rows),
        [statistics.count(where=["b >= 1"], name="some"), statistics.count(name="all")],
        target_epsilon=10,
        max_units=400,
        out=tmp_path / "run",
    )
    left_out = release["some"]["left out"]
    assert left_out.too_many
    assert left_out.value is not None
    # 15 deviations of discrete Laplace noise are passed once in 10^10 runs.
    assert release.noise_law == "discrete-laplace"
    assert abs(left_out.value - 200 * len(SITES)) < 15 * left_out.noise_error
    share = release["some"]["left-out share"]
    assert share.value is not None
    assert abs(share.value - 0.5) < 15 * share.noise_error
    assert str(release).count("<- more than 5 % of the rows were left out") == 2
    # Nothing is read, so nothing is left out.
    assert not release["all"].find("left out")


class NotAvailable:
    """pandas.NA: nothing is known about what it equals."""

    def __ne__(self, other: object) -> NotAvailable:  # type: ignore[override]
        return self

    def __bool__(self) -> bool:
        raise TypeError

    __hash__ = None  # type: ignore[assignment]


class NotATime:
    """pandas.NaT: it differs from itself."""

    def __ne__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


def test_a_value_that_differs_from_itself_is_missing(tmp_path: Path) -> None:
    missing = [None, float("nan"), np.float32("nan"), NotAvailable(), NotATime(), np.ma.masked]
    column = ["f", "m", *missing] * 100
    others = statistics.histogram("b", Cells(categories=["f", "m"]))
    assert counted(tmp_path, column, others) == [4, 2, 2]
    assert counted(tmp_path, column, statistics.count(where=["b != f"]), values=SEX) == [2]


def test_columns_that_no_question_reads_may_hold_anything(tmp_path: Path) -> None:
    # counted() has a column of objects next to.
    assert counted(tmp_path, [object()] * 300, statistics.count()) == [6]
    column = [1] * 300
    for question in (
        statistics.count(where=["b=1"]),
        statistics.count(where=["\tb >= 1"]),
        statistics.histogram("b", Cells(edges=[0, 2])),
        statistics.normalise({"b": (0, 2)}),
    ):
        assert counted(tmp_path, column, question)[:1] == [6]


def test_suppressed_numbers_have_no_value(tmp_path: Path) -> None:
    table = {"age": [50.0] * 20}
    release = statistics.ask(
        {"a": table, "b": table},
        [statistics.mean("age", low=0, high=100, name="age")],
        target_epsilon=1,
        max_units=100,
        floor=10_000,
        out=tmp_path / "run",
    )
    mean = release["age"]["mean"]
    assert mean.suppressed
    assert mean.value is None
    assert math.isnan(mean.low)
    assert "suppressed" in str(release)


def test_coefficients_have_an_error_of_the_noise_alone(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    tables = {
        name: {"x": random.uniform(-1, 1, 400), "ill": random.integers(0, 2, 400)} for name in "ab"
    }
    release = statistics.ask(
        tables,
        [statistics.regression({"x": (-1, 1)}, label="ill", positive=1, name="slopes")],
        target_epsilon=20,
        max_units=400,
        out=tmp_path / "run",
    )
    (slope,) = release["slopes"].find("coefficient", group="x")
    assert slope.value is not None
    assert slope.noise_error > 0
    assert math.isnan(slope.standard_error)
    assert math.isnan(slope.low)
    assert math.isnan(slope.high)
    line = next(line for line in str(release).splitlines() if "coefficient x" in line)
    assert line.endswith(f"{slope.value:.6g}")


TABLE: dict[str, list[Any]] = {"age": [50, 60], "sex": ["f", "m"]}
COUNT = [statistics.count(name="all")]
AGES = [statistics.mean("age", low=0, high=100)]


@pytest.mark.parametrize(
    "case",
    [
        ({"a": TABLE}, COUNT, {}, tacet.InvalidArgumentError, "give one of them, above 0"),
        (
            {"a": TABLE, "b": {"age": [1], "sex": []}}, COUNT, {"target_epsilon": 1},
            tacet.InvalidArgumentError, 'site "b": column "sex" has 0 rows, "age" has 1',
        ),
        (
            {"a": TABLE, "b": TABLE},
            [statistics.mean("weight", low=0, high=1)], {"target_epsilon": 1},
            tacet.NotFoundError, "weight",
        ),
        (
            {"a": TABLE, "b": TABLE},
            [statistics.count(sites=["c"])], {"target_epsilon": 1},
            tacet.NotFoundError, 'there is no site "c"',
        ),
        ({"a": TABLE, "b": [1, 2]}, COUNT, {"target_epsilon": 1}, TypeError, "'b': wanted a map"),
        (
            {"a": {"age": [object()]}}, AGES, {"target_epsilon": 1},
            TypeError, "site 'a', column 'age': .* is no number and no text",
        ),
        (
            {"a": {"age": [np.zeros(2)]}}, AGES, {"target_epsilon": 1},
            TypeError, "site 'a', column 'age': .* is no number and no text",
        ),
        (
            {"a": {"age": np.zeros((2, 2))}}, AGES, {"target_epsilon": 1},
            TypeError, "site 'a', column 'age': it has 2 dimensions",
        ),
        (
            {"a": {"age": np.zeros(2, dtype="datetime64[ns]")}}, AGES, {"target_epsilon": 1},
            TypeError, "site 'a', column 'age': it holds dates. Say so in the query",
        ),
        (
            {"a": {"age": np.zeros(2, dtype="timedelta64[s]")}}, AGES, {"target_epsilon": 1},
            TypeError, "site 'a', column 'age': times are no numbers",
        ),
        ({"a": TABLE, "b": TABLE}, ["count"], {"target_epsilon": 1}, TypeError, "is no question"),
        (
            {"a": TABLE, "b": TABLE}, COUNT, {"target_epsilon": 1, "unit": "row"},
            tacet.InvalidArgumentError, "row",
        ),
        ({"a": TABLE, "b": TABLE}, COUNT, {"epsilon": 1}, TypeError, "epsilon"),
        (Path("/nowhere"), COUNT, {"target_epsilon": 1}, tacet.NotFoundError, "nowhere"),
        (
            {"a": TABLE, "b": TABLE}, [statistics.Question({"kind": "guess"})],
            {"target_epsilon": 1}, tacet.InvalidArgumentError, "guess",
        ),
        (
            {"a": TABLE, "b": TABLE},
            [statistics.histogram("age", Cells(edges=[0, math.inf]))], {"target_epsilon": 1},
            TypeError, "finite",
        ),
    ],
)  # fmt: skip
def test_misuse_is_an_error(
    tmp_path: Path, case: tuple[Any, Any, dict[str, Any], type[Exception], str]
) -> None:
    tables, questions, options, error, text = case
    with pytest.raises(error, match=text):
        statistics.ask(tables, questions, out=tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


def test_questions_and_answers_name_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="wanted a list of texts"):
        statistics.count(where="sex = f")
    with pytest.raises(TypeError, match="unknown key whre: expected one of name, where"):
        statistics.count(whre=["sex = f"])  # type: ignore[call-arg]
    odd = 'a "quoted" \\ name\n\t\x7f\U0001f600'
    release = statistics.ask(
        {"a": TABLE, "b": TABLE},
        [statistics.histogram("sex", Cells(categories=["f", "m"]), name=odd)],
        noise_multiplier=2,
        max_units=10,
        out=tmp_path / "run",
    )
    assert list(release.answers) == [odd]
    with pytest.raises(KeyError, match=r"no question is called .*age"):
        release["age"]
    with pytest.raises(KeyError, match=r"has no single .*mean"):
        release[odd]["mean"]
    assert [cell.at for cell in release[odd].find("count")] == ["", "f", "m"]
    with pytest.raises(tacet.AlreadyExistsError):
        statistics.ask({"a": TABLE, "b": TABLE}, COUNT, target_epsilon=1, out=release.path)
    lines = json.loads((release.path / "summary.json").read_text())
    assert lines["model"] == "query"


class ZonedDates:
    """The part of a pandas Series of dates with a time zone that is used: an array of datetimes."""

    class dtype:  # noqa: N801
        """A column that is no array of NumPy."""

        kind = "M"

    def __init__(self, days: list[datetime.date | None]) -> None:
        zone = datetime.timezone(datetime.timedelta(hours=2))
        night = datetime.time(0, 5, tzinfo=zone)
        self.values = [day and datetime.datetime.combine(day, night) for day in days]

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, *, copy: bool | None = None) -> Any:
        return np.array(self.values, dtype=object)


def test_dates_come_in_many_forms() -> None:
    """Dates of NumPy and of datetime, with and without a time, and texts, are the same days."""
    days = ["1950-05-17", "1980-02-29", None, "2001-12-31"] * 50
    dates = [None if day is None else datetime.date.fromisoformat(day) for day in days]
    forms: dict[str, Any] = {
        "texts": days,
        "with times": [day and f"{day}T23:59:59.5+02:00" for day in days],
        "numpy": np.array([day or "NaT" for day in days], dtype="datetime64[ns]"),
        "masked": np.ma.masked_array(
            np.array([day or "1900-01-01" for day in days], dtype="datetime64[D]"),
            [day is None for day in days],
        ),
        "dates": dates,
        "datetimes": [day and datetime.datetime(day.year, day.month, day.day, 23) for day in dates],
        "zone": ZonedDates(dates),
    }
    release = statistics.ask(
        {name: {"day of birth": values} for name, values in forms.items()},
        [
            statistics.histogram(
                "day of birth",
                Cells(edges=[datetime.date(year, 1, 1) for year in (1950, 1980, 2010)]),
                name="born",
            ),
            statistics.count(name="grown", where=["age >= 45"]),
        ],
        target_epsilon=40,
        max_units=1000,
        values=["'day of birth' date"],
        derived=["age = years from 'day of birth' to 2025-02-28"],
    )
    near = {
        release["born"].find("count", group="", at="[1950-01-01, 1980-01-01)")[0]: 350,
        release["born"].find("count", group="", at="[1980-01-01, 2010-01-01]")[0]: 700,
        release["grown"]["count"]: 350,  # on 28 February 2025 who was born on 29 February is 44
        release["grown"]["left out"]: 350,
    }
    for estimate, truth in near.items():
        assert estimate.noise_error < 5
        assert estimate.value == pytest.approx(truth, abs=8 * estimate.noise_error)
