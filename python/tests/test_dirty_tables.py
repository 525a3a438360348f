"""Four hospitals' tables with twelve kinds of dirt: each is read as the hospitals agreed."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacet
from tacet import statistics
from tacet.statistics import Cells

SEEDS = 40
HELD = 0.85  # least share of the 95 % intervals: one question's is below with probability 0.3 %

VALUES = [
    "sex one-of=F|f|Female,M|m|Male",
    "smoker one-of=1|TRUE|True|ja,0|FALSE|False|nein",
    "age at-least=90",
    "crp at-most=0.5",
    "spo2 unit=% range=0..100",
    "height range=100..230",
    "born date",
    "admitted date",
]
OPTIONS = {
    "target_epsilon": 4.0,
    "unit": "person",
    "person_column": "patient",
    "max_units": 600,
    "missing": ["", "n/a", "-", ".", "unknown"],
    "values": VALUES,
    "derived": ["years = years from born to 2025-01-01"],
}
# The files of each hospital write what the sites agreed on in these ways.
SITES = """
[site.aachen]
csv_thousands = "comma"

[site.bonn]
csv_decimal = "comma"
csv_thousands = "point"
csv_spellings = ["born date=day.month.year", "admitted date=day.month.year"]

[site.celle]
csv_spellings = ["sex one-of=F|weiblich,M|maennlich", "born date=month/day/year",
                 "admitted date=month/day/year"]
"""

QUESTIONS = [
    statistics.count(name="spellings", where=["sex = F"]),
    statistics.count(name="truth values", where=["smoker = 1"]),
    statistics.mean("cost", low=0, high=20_000, name="marks"),
    statistics.count(name="formats"),
    statistics.mean("sbp", low=60, high=220, name="missing"),
    statistics.count(name="limits", where=["age >= 90"]),
    statistics.mean("crp", low=0, high=50, name="detection"),
    statistics.mean("spo2", low=70, high=100, name="units"),
    statistics.count(name="dates", where=["admitted >= 2024-07-01"]),
    statistics.mean("years", low=0, high=110, name="ages of births"),
    statistics.crosstab(
        "sex", Cells(categories=["F", "M"]), "smoker", Cells(categories=[0, 1]), name="repeated"
    ),
    statistics.mean("height", low=100, high=230, name="typing errors"),
    statistics.histogram(
        "ward", Cells(categories=["surgical", "medical", "icu"]), name="one site's"
    ),
]


class Patients:
    """Patients of a hospital, and the tables in which it writes them."""

    def __init__(self, rng: np.random.Generator, site: str, first: int) -> None:
        n = int(rng.integers(300, 400))
        self.site = site
        self.number = first + np.arange(n)
        self.woman = rng.random(n) < 0.55
        self.smoker = rng.random(n) < 0.3
        self.cost = np.round(rng.gamma(2, 2500, n), 2)
        self.sbp = np.round(rng.normal(130, 20, n), 1)
        self.has_sbp = rng.random(n) > 0.05
        self.age = rng.integers(40, 96, n)
        self.crp = np.round(rng.exponential(4, n), 1)
        self.spo2 = rng.integers(80, 101, n)
        self.born = [
            datetime.date(1925, 1, 1) + datetime.timedelta(int(day))
            for day in rng.integers(0, 29_000, n)
        ]
        self.admitted = [
            datetime.date(2024, 1, 1) + datetime.timedelta(int(day))
            for day in rng.integers(0, 366, n)
        ]
        self.height = np.round(rng.normal(170, 9, n), 1)
        self.mistyped = rng.random(n) < 0.02
        icu = rng.random(n) < 0.2
        self.ward = np.where(rng.random(n) < 0.5, "surgical", "medical").astype(object)
        if site == "dresden":
            self.ward[icu] = "icu"
        # Rows of a person: one, or the same three times.
        self.copies = np.where(rng.random(n) < 0.1, 3, 1) if site == "dresden" else np.ones(n, int)

    def number_text(self, value: float, digits: int = 1, thousands: bool = False) -> str:
        text = f"{value:,.{digits}f}" if thousands else f"{value:.{digits}f}"
        return text.translate(str.maketrans(",.", ".,")) if self.site == "bonn" else text

    def day_text(self, day: datetime.date) -> str:
        forms: dict[str, Callable[[datetime.date], str]] = {
            "aachen": lambda day: day.isoformat(),
            "bonn": lambda day: f"{day.day}.{day.month}.{day.year}",
            "celle": lambda day: f"{day.month:02}/{day.day:02}/{day.year}",
            "dresden": lambda day: f"{day.isoformat()} 08:15:00",
        }
        return forms[self.site](day)

    def row(self, i: int, copy: int) -> dict[str, str]:
        of_site = ["aachen", "bonn", "celle", "dresden"].index(self.site)
        number = int(self.number[i])
        spellings = [f"{number:08}", f"{number}.0", f"{number}", f" {number}"]
        women = [["F", "f", "weiblich", "Female"], ["M", "m", "maennlich", "Male"]]
        smokers = [["TRUE", "ja", "1", "True"], ["FALSE", "nein", "0", "False"]]
        old = ["> 89", ">= 90", "90+", ">89"]
        height = float(self.height[i]) * (10 if self.mistyped[i] else 1)
        return {
            "patient": spellings[(of_site + copy) % 4],
            "sex": women[0 if self.woman[i] else 1][of_site],
            "smoker": smokers[0 if self.smoker[i] else 1][of_site],
            "cost": self.number_text(float(self.cost[i]), 2, self.site in ("aachen", "bonn")),
            "sbp": (
                self.number_text(float(self.sbp[i]))
                if self.has_sbp[i]
                else ["n/a", "-", ".", "unknown"][of_site]
            ),
            "age": old[of_site] if self.age[i] > 89 else f"{self.age[i]}",
            "crp": "<0.5" if self.crp[i] < 0.5 and of_site != 1 else self.number_text(self.crp[i]),
            "spo2": f"{self.spo2[i]}{[' %', '%', '', ' %'][of_site]}",
            "born": self.day_text(self.born[i]),
            "admitted": self.day_text(self.admitted[i]),
            "height": self.number_text(height),
            "ward": str(self.ward[i]),
        }

    def write(self, folder: Path) -> None:
        rows = [
            self.row(i, copy) for i in range(len(self.number)) for copy in range(self.copies[i])
        ]
        names = list(rows[0])
        lines = [names] + [list(row.values()) for row in rows]
        if self.site == "aachen":  # R's write.csv
            lines = [["" if i == 0 else str(i), *line] for i, line in enumerate(lines)]
            text = "".join(",".join(f'"{field}"' for field in line) + "\n" for line in lines)
        elif self.site == "bonn":  # a spreadsheet's
            text = "\ufeff" + "".join(";".join(line) + "\r\n" for line in lines)
        elif self.site == "celle":
            text = "".join("\t".join(line) + "\n" for line in lines)
        else:  # pandas, with a column of its own
            lines = [["" if i == 0 else str(i - 1), *line, "x"] for i, line in enumerate(lines)]
            text = "".join(",".join(line) + ",\n" for line in lines)
        ending = "tsv" if self.site == "celle" else "csv"
        (folder / f"{self.site}.{ending}").write_text(text, encoding="utf-8", newline="")


def truths(hospitals: list[Patients]) -> dict[tuple[str, str, str, str], float]:
    """Return the right value of each estimate by question, quantity, group and place."""

    def all_of(name: str) -> np.ndarray[Any, Any]:
        return np.concatenate([np.asarray(getattr(hospital, name)) for hospital in hospitals])

    woman, smoker = all_of("woman"), all_of("smoker")
    crp = np.concatenate(
        [np.where((h.crp < 0.5) & (h.site != "bonn"), 0.5, h.crp) for h in hospitals]
    )
    day = datetime.date(2025, 1, 1)
    years = [
        day.year - born.year - ((day.month, day.day) < (born.month, born.day))
        for hospital in hospitals
        for born in hospital.born
    ]
    ward = all_of("ward")
    return {
        ("spellings", "count", "", ""): woman.sum(),
        ("truth values", "count", "", ""): smoker.sum(),
        ("marks", "mean", "", ""): all_of("cost").clip(0, 20_000).mean(),
        ("formats", "count", "", ""): len(woman),
        ("missing", "mean", "", ""): all_of("sbp").clip(60, 220)[all_of("has_sbp")].mean(),
        ("limits", "count", "", ""): (all_of("age") >= 90).sum(),
        ("detection", "mean", "", ""): crp.clip(0, 50).mean(),
        ("units", "mean", "", ""): all_of("spo2").mean(),
        ("dates", "count", "", ""): (all_of("admitted") >= datetime.date(2024, 7, 1)).sum(),
        ("ages of births", "mean", "", ""): np.mean(years),
        ("repeated", "count", "F", "1"): (woman & smoker).sum(),
        ("typing errors", "mean", "", ""): all_of("height")[~all_of("mistyped")].mean(),
        ("one site's", "count", "", "icu"): (ward == "icu").sum(),
    }


def write_tables(folder: Path, seed: int) -> list[Patients]:
    """Write the tables of four hospitals."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    hospitals = [
        Patients(rng, site, 1000 * (place + 1))
        for place, site in enumerate(("aachen", "bonn", "celle", "dresden"))
    ]
    for hospital in hospitals:
        hospital.write(folder)
    return hospitals


@pytest.fixture
def sites(tmp_path: Path) -> Path:
    """The hospitals' ways to write their files."""
    path = tmp_path / "sites.toml"
    path.write_text(SITES, encoding="utf-8")
    return path


def test_each_kind_of_dirt_is_read_right(tmp_path: Path, sites: Path) -> None:
    held: dict[str, int] = {}
    for seed in range(SEEDS):
        hospitals = write_tables(tmp_path / str(seed), seed)
        with pytest.warns(UserWarning, match="outside the agreed range 100..230"):
            release = statistics.ask(
                tmp_path / str(seed), QUESTIONS, sites=sites, insecure_seed=seed + 1, **OPTIONS
            )
        for (question, quantity, group, at), truth in truths(hospitals).items():
            (estimate,) = release[question].find(quantity, group=group, at=at)
            assert estimate.value is not None
            held[question] = held.get(question, 0) + (estimate.low <= truth <= estimate.high)
    assert len(held) == len(QUESTIONS)
    assert min(held.values()) >= HELD * SEEDS, held


def without(line: str) -> dict[str, Any]:
    """Return the options where the hospitals forgot one line of what they agree on."""
    return OPTIONS | {"values": [each for each in VALUES if each != line]}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("admitted date", r'"admitted" holds dates: say so .* values = \["admitted date"\]'),
        ("sex one-of=F|f|Female,M|m|Male", r'values column "sex" has; list all .* values = '),
    ],
)  # fmt: skip
def test_a_comparison_without_agreement_is_refused(
    tmp_path: Path, sites: Path, line: str, told: str
) -> None:
    write_tables(tmp_path / "tables", 1)
    with pytest.raises(tacet.InvalidArgumentError, match=told):
        statistics.ask(tmp_path / "tables", QUESTIONS, sites=sites, **without(line))


@pytest.mark.parametrize(
    ("line", "question", "told"),
    [
        ("spo2 unit=% range=0..100", "units", r'"spo2".*: \d+ values are no finite.* unit=mg'),
        ("age at-least=90", "limits", r'"age".*: \d+ values are no finite.* at-least=90'),
    ],
)  # fmt: skip
def test_numbers_without_agreement_are_told_and_left_out(
    tmp_path: Path, sites: Path, line: str, question: str, told: str
) -> None:
    write_tables(tmp_path / "tables", 1)
    with pytest.warns(UserWarning, match=told):
        release = statistics.ask(
            tmp_path / "tables", QUESTIONS, sites=sites, insecure_seed=1, **without(line)
        )
    assert release[question]["left out"].too_many
