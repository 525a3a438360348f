"""Tables of a paper: every name is read back as it was, whatever characters it has."""

from __future__ import annotations

import csv
import html.parser
import io
import re
import subprocess
from collections.abc import Callable
from os import environ
from pathlib import Path

import numpy as np
import pytest

import tacet
from tacet import statistics

MINUS = "\N{MINUS SIGN}"
NAMES = [
    "a & b",
    "snake_case __init__",
    "x < 5 > 3",
    "a|b||c\\|d",
    "two\nlines\r\n\r\nthree",
    "\"quoted\" 'single' ``back``",
    "=HYPERLINK(A1)",
    " @SUM(A1)",
    "+1--2",
    "[40, 50)*",
    "* $x^2$ ~ {#1} 50 % \\",
    "\\input{/etc/passwd}\\\\",
    "<script>alert(1)</script>&amp;&#124;",
    "[link](http://a.b) ![i](x) **b** <!--",
    "?`!` ,, ''",
    f"Müller ✕ ± {MINUS} 日本",
    "\x01\x1f\x7f",
]
BLANKS = str.maketrans(dict.fromkeys([*range(32), 127], " "))


class Cells(html.parser.HTMLParser):
    """Texts of a table's cells by row; anything else than a table's elements is an error."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        assert tag in {"table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td"}, tag
        if tag == "tr":
            self.rows.append([])
        if tag in {"th", "td"}:
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1] and data != "\n":
            self.rows[-1][-1] += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


def html_rows(text: str) -> list[list[str]]:
    cells = Cells()
    cells.feed(text)
    return cells.rows[1:-1]


def csv_rows(text: str) -> list[list[str]]:
    rows = list(csv.reader(io.StringIO(text)))[1:]
    for row in rows:
        for cell in row:
            assert cell.lstrip()[:1] not in ("=", "+", "-", "@")
    return [[re.sub(r"^'(?= *[=+\-@])", "", cell) for cell in row] for row in rows]


LATEX = {
    r"\textbackslash{}": "\\", r"\textasciicircum{}": "^", r"\textasciitilde{}": "~",
    r"\textless{}": "<", r"\textgreater{}": ">", r"\textbar{}": "|", r"\char34{}": '"',
    r"$\times$": "✕", r"$\pm$": "±", r"$-$": MINUS, r"$\infty$": "∞", "{[}": "[", "{]}": "]",
    "{*}": "*", "{}": "", r"\{": "{", r"\}": "}", r"\$": "$", r"\&": "&", r"\#": "#", r"\%": "%",
    r"\_": "_",
}  # fmt: skip


def latex_text(cell: str) -> str:
    """Read a cell as TeX does; a special character that is left over is an error."""
    for ligature in ("--", "``", "''", ",,", "?`", "!`"):
        assert ligature not in cell
    text = ""
    while cell:
        known = next((mark for mark in LATEX if cell.startswith(mark)), None)
        assert known is not None or cell[0] not in '\\{}$&#%_^~<>|"[]*', cell
        text += LATEX[known] if known is not None else cell[0]
        cell = cell[len(known or " ") :]
    return text


def latex_rows(text: str) -> list[list[str]]:
    body = text.split("\\hline\n")[2]
    lines = [line.removesuffix(" \\\\") for line in body.splitlines()]
    return [[latex_text(cell) for cell in re.split(r"(?<!\\) & ", line)] for line in lines]


def markdown_rows(text: str) -> list[list[str]]:
    lines = text.split("\n\n")[1].splitlines()[2:]
    rows = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines]
    special = re.compile(r"\\([!-/:-@\[-`{-~])|&#124;|([\\`*_{}\[\]<>#!~&^$@|]|://)")

    def plain(found: re.Match[str]) -> str:
        assert found[2] is None, f"{found[2]} means something in {found.string}"
        return found[1] or "|"

    return [[special.sub(plain, cell) for cell in row] for row in rows]


def effect(quantity: str, group: str, value: float | None) -> statistics.Estimate:
    low, high = (np.nan, np.nan) if value is None else (value - 1, value + 1)
    return statistics.Estimate(quantity, group, "", value, 0.25, 0.5, low, high)


@pytest.mark.parametrize(
    ("markup", "rows_of"),
    [("html", html_rows), ("csv", csv_rows), ("latex", latex_rows), ("markdown", markdown_rows)],
)
def test_every_name_is_read_back(markup: str, rows_of: Callable[[str], list[list[str]]]) -> None:
    estimates = [effect("coefficient", name, -1.5) for name in NAMES]
    estimates[0] = effect("coefficient", NAMES[0], None)
    model = statistics.Answer("\\end{table}|<b>\n", "glm", tuple(estimates), (), confidence=0.9)
    rows = rows_of(model.to_table(markup))
    assert [row[0].strip() for row in rows] == [n.translate(BLANKS).strip() for n in NAMES]
    assert rows[0][1:] == ["✕", "✕"]
    interval = f"{MINUS}1.50 ({MINUS}2.50 to {MINUS}0.500)"
    assert all(row[1:] == [interval, "0.250"] for row in rows[1:])
    assert "90" in model.to_table(markup)
    # The same as groups and rows of a table 1.
    printed = {
        "by": "a|b", "groups": NAMES,
        "rows": [{"name": name, "cells": ["-1 (2)"] * len(NAMES), "noise": "3"} for name in NAMES],
    }  # fmt: skip
    baseline = statistics.Answer("base", "table1", (), (), printed=printed)
    rows = rows_of(baseline.to_table(markup))
    assert [row[0].strip() for row in rows] == [n.translate(BLANKS).strip() for n in NAMES]
    assert all(row[1:] == [f"{MINUS}1 (2)"] * len(NAMES) + ["3"] for row in rows)


def test_other_answers_and_markups_are_refused() -> None:
    mean = statistics.Answer("age", "mean", (effect("mean", "", 1),), ())
    with pytest.raises(ValueError, match="the answer 'age' is of kind mean: only table1"):
        mean.to_table()
    with pytest.raises(tacet.InvalidArgumentError, match="expected one of html, csv"):
        mean.to_table("word")


def test_the_program_writes_the_same_tables(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    tables = {
        site: {"age": rng.integers(20, 90, 800), "sex_or|gender": rng.choice(["f&m", "<x>"], 800)}
        for site in ("north", "south")
    }
    release = statistics.ask(
        tables,
        [
            statistics.table1({"age": (20, 90)}, group="sex_or|gender", name="base"),
            statistics.glm(
                "age ~ `sex_or|gender`", {"age": (20, 90), "sex_or|gender": None}, name="model"
            ),
        ],
        values=["'sex_or|gender' one-of=f&m,<x>"], target_epsilon=20, max_units=1000,
        confidence=0.9, out=tmp_path / "run",
    )  # fmt: skip

    def written(*flags: str) -> subprocess.CompletedProcess[str]:
        command = [environ["TACET_PROGRAM"], "report", str(tmp_path / "run"), *flags]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    for markup in ("html", "latex", "markdown"):
        both = [release[name].to_table(markup) for name in ("base", "model")]
        assert written("--tables", markup).stdout == "\n".join(both)
        assert "90 " in both[1]
    one = written("--tables", "csv", "--question", "model", "--out", str(tmp_path / "t.csv"))
    assert (one.returncode, one.stdout) == (0, "")
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        assert file.read() == release["model"].to_table("csv")
    for flags, words in (
        (["--tables", "csv"], "add --question"),
        (["--tables", "word"], "expected one of html, csv"),
        (["--tables", "csv", "--question", "x"], 'no question is called "x"; there are: base, mod'),
        (["--tables", "csv", "--json"], "goes without --json"),
        (["--question", "base"], "--tables, which is missing"),
    ):
        refused = written(*flags)
        assert refused.returncode == 1
        assert words in refused.stderr
