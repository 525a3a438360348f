"""Excel and Parquet files as tables of a query."""

import csv
import datetime
import decimal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacet import errors, statistics, table_files

ROWS: list[list[Any]] = [
    [63, "f", 2.5, True, datetime.datetime(2025, 1, 31)],
    [41, "None", None, False, datetime.datetime(2025, 2, 1, 12, 30)],
    [70, "NA", 0.1, True, None],
]
NAMES = ["age", "smoker", "crp", "died", "seen"]


def workbook(path: Path, rows: list[list[Any]], **sheets: list[list[Any]]) -> Path:
    book = openpyxl.Workbook()
    book.active.title = "table"
    for row in rows:
        book.active.append(row)
    for title, more in sheets.items():
        sheet = book.create_sheet(title)
        for row in more:
            sheet.append(row)
    book.save(path)
    return path


def test_a_workbook_keeps_numbers_texts_and_missing_values(tmp_path: Path) -> None:
    file = workbook(tmp_path / "a.xlsx", [NAMES, *ROWS[:2], [None, " ", None, None, None], ROWS[2]])
    assert table_files.read(file) == {
        "age": [63, 41, 70],
        "smoker": ["f", "None", "NA"],  # words that pandas would take for missing values
        "crp": [2.5, None, 0.1],
        "died": [True, False, True],
        "seen": ["2025-01-31", "2025-02-01 12:30:00", None],
    }


def test_a_parquet_file_keeps_them_too(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    table = pa.table(
        {
            "id": pa.array([2**53 + 1, None, 7], pa.int64()),
            "age": pa.array([63, 41, 70], pa.int32()),
            "crp": pa.array([2.5, None, 0.1], pa.float64()),
            "sex": pa.array(["f", "m", "f"]).dictionary_encode(),
            "died": pa.array([True, None, False]),
            "price": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("2.00")]),
            "day": pa.array([datetime.date(2025, 1, 31), None, None]),
            "seen": pa.array([1_738_281_600_123_456_789, None, None], pa.timestamp("ns")),
            "__index_level_0__": pa.array([0, 1, 2]),
        }
    )
    pq.write_table(table, file)
    columns = table_files.read(file)
    assert isinstance(columns["age"], np.ndarray)
    assert {name: list(values) for name, values in columns.items()} == {
        "id": [2**53 + 1, None, 7],  # not the float 2**53
        "age": [63, 41, 70],
        "crp": [2.5, None, 0.1],
        "sex": ["f", "m", "f"],
        "died": [True, None, False],
        "price": [1.5, None, 2],
        "day": ["2025-01-31", None, None],
        "seen": ["2025-01-31 00:00:00.123456", None, None],
    }


# Each would be a missing or another value without a word.
def test_cells_that_would_be_lost_are_named(tmp_path: Path) -> None:
    formulas = workbook(tmp_path / "f.xlsx", [["age", "double"], [63, "=2*A2"], [41, "=2*A3"]])
    with pytest.raises(errors.InvalidArgumentError, match=r"2 formulas have no stored .* B2"):
        table_files.read(formulas)
    book = openpyxl.load_workbook(workbook(tmp_path / "m.xlsx", [["id", "age"], [1, 2], [None, 3]]))
    book.active.merge_cells("A2:A3")
    book.save(tmp_path / "m.xlsx")
    with pytest.raises(errors.InvalidArgumentError, match=r"1 groups of cells are merged, .*A2:A3"):
        table_files.read(tmp_path / "m.xlsx")
    for rows, words in (
        ([["age", "age"], [1, 2]], "'age' is there twice"),
        ([["age", None, "sex"], [1, 2, "f"]], "column B holds values and has no name"),
        ([["age"], [1, 2]], "column B holds values and has no name"),
        ([[None], [None]], "no sheet holds anything"),
    ):
        with pytest.raises(errors.InvalidArgumentError, match=words):
            table_files.read(workbook(tmp_path / "n.xlsx", rows))


# 0.63 where other sites have 63 would be a wrong mean.
def test_percent_is_the_text_that_the_workbook_shows(tmp_path: Path) -> None:
    book = openpyxl.load_workbook(workbook(tmp_path / "p.xlsx", [["ejection"], [0.63], [0.555]]))
    book.active["A2"].number_format = "0%"
    book.active["A3"].number_format = "0.0%"
    book.save(tmp_path / "p.xlsx")
    assert table_files.read(tmp_path / "p.xlsx") == {"ejection": ["63%", "55.5%"]}


def test_the_index_of_pandas_is_no_column(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [63, 41]}, index=[5, 9])
    frame.to_excel(tmp_path / "a.xlsx")
    frame.to_parquet(tmp_path / "a.parquet")
    assert table_files.read(tmp_path / "a.xlsx") == {"age": [63, 41]}
    assert list(table_files.read(tmp_path / "a.parquet")) == ["age"]


def test_one_of_several_sheets_is_chosen(tmp_path: Path) -> None:
    file = workbook(tmp_path / "a.xlsx", [["age"], [63]], notes=[["remark"], ["x"]], empty=[])
    with pytest.raises(errors.InvalidArgumentError, match=r"2 sheets hold something \(table, note"):
        table_files.read(file)
    assert table_files.read(file, sheet="notes") == {"remark": ["x"]}
    with pytest.raises(errors.NotFoundError, match="no sheet 'other'; the sheets are table, notes"):
        table_files.read(file, sheet="other")


@pytest.mark.parametrize("name", ["a.xlsx", "a.parquet", "a.csv", "a.ods"])
def test_other_files_are_refused_by_name(tmp_path: Path, name: str) -> None:
    with pytest.raises((errors.NotFoundError, errors.InvalidArgumentError), match=name):
        table_files.read(tmp_path / name)
    for content in (b"", b"age\n63\n", b"PK\x03\x04" + bytes(50), b"PAR1" + bytes(50)):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(errors.InvalidArgumentError, match=name):
            table_files.read(tmp_path / name)


def test_a_query_over_both_gives_what_the_columns_give(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    ages = [int(age) for age in rng.integers(20, 90, 400)]
    sexes = [str(sex) for sex in rng.choice(["f", "m"], 400)]
    frame = pd.DataFrame({"age": ages, "sex": pd.Categorical(sexes)})
    frame.to_excel(tmp_path / "a.xlsx", index=False)
    frame.to_parquet(tmp_path / "b.parquet")
    (tmp_path / "csv").mkdir()
    assert table_files.write_csv(tmp_path / "a.xlsx", tmp_path / "csv" / "a.csv") == 400

    def told(tables: Any, out: str) -> list[Any]:
        release = statistics.ask(
            tables,
            [statistics.mean("age", low=0, high=100, where=["sex = f"])],
            values=["sex one-of=f,m"],
            target_epsilon=1,
            insecure_seed=1,
            out=tmp_path / out,
        )
        return [estimate.value for answer in release for estimate in answer.estimates]

    columns = {"age": ages, "sex": sexes}
    known = told({"a": columns, "b": columns}, "columns")
    assert told({"a": tmp_path / "a.xlsx", "b": str(tmp_path / "b.parquet")}, "files") == known
    assert told({"a": frame, "b": frame.convert_dtypes()}, "frames") == known
    (tmp_path / "csv" / "b.csv").write_bytes((tmp_path / "csv" / "a.csv").read_bytes())
    assert told(tmp_path / "csv", "from-csv") == known


def test_the_command_writes_csv_that_the_program_reads(tmp_path: Path) -> None:
    file = workbook(tmp_path / "a.xlsx", [NAMES, *ROWS])

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tacet.table_files", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = run(file, tmp_path / "a.csv")
    assert (done.returncode, done.stderr) == (0, "")
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as text:
        assert list(csv.reader(text)) == [
            NAMES,
            ["63", "f", "2.5", "TRUE", "2025-01-31"],
            ["41", "None", "", "FALSE", "2025-02-01 12:30:00"],
            ["70", "NA", "0.1", "TRUE", ""],
        ]
    again = run(file, tmp_path / "a.csv")
    assert again.returncode == 1
    assert "exists already" in again.stderr
    assert run(tmp_path / "none.xlsx", tmp_path / "b.csv").stderr.startswith(str(tmp_path))


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = workbook(tmp_path / "a.xlsx", [NAMES, *ROWS])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ModuleNotFoundError, match=r"openpyxl .* pip install openpyxl$"):
        table_files.read(file)
