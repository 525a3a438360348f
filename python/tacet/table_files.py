"""Tables in Excel workbooks and Parquet files (``pip install openpyxl pyarrow``).

The program ``tacet`` reads CSV files. This module reads the other two for a query in Python, and
writes them as CSV for the program::

    from tacet import statistics

    release = statistics.ask({"aachen": "aachen.xlsx", "bonn": "bonn.parquet"}, questions, ...)

In a shell::

    python3 -m tacet.table_files aachen.xlsx aachen.csv

Nothing is guessed: a cell that would be lost or another value without a word is an error that
names the cell and what to change.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import decimal
import importlib
import os
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .arguments import is_missing, path_of
from .errors import InvalidArgumentError, NotFoundError, TacetError

__all__ = ["read", "write_csv"]

_EXCEL = (".xlsx", ".xlsm")
_PARQUET = (".parquet", ".pq")


def read(path: str | os.PathLike[str], *, sheet: str | None = None) -> dict[str, Any]:
    """Return the columns of a workbook or a Parquet file, by name, in their order.

    Numbers stay numbers, and texts stay texts. A date becomes a text such as "2025-01-31", with
    the time where that is not midnight. A number that a workbook shows in percent is the text that
    it shows, "63%", as in a CSV file. Empty cells are None. Words such as "NA" or "None" stay
    texts: whether they mean "missing" is for the query to say (``missing=``). Rows that are empty
    and the columns in which pandas keeps an index without a name do not count.

    Args:
        path: the file, which ends in .xlsx, .xlsm, .parquet or .pq.
        sheet: of a workbook, the sheet with the table. None: the one that holds anything.

    Raises:
        NotFoundError: there is no such file, or no such sheet.
        InvalidArgumentError: the file is another one; or the table has two columns of one name,
            values without a name, merged cells, formulas without a stored result, or several
            sheets and none is chosen.
        ModuleNotFoundError: openpyxl or pyarrow is not installed.
    """
    file = path_of("path", path)
    ending = file.suffix.lower()
    if ending not in _EXCEL + _PARQUET:
        known = ", ".join(_EXCEL + _PARQUET)
        text = f"{file}: expected a file that ends in {known}. CSV files are read by their path"
        raise InvalidArgumentError(text)
    if not file.is_file():
        text = f"{file}: there is no such file"
        raise NotFoundError(text)
    if ending in _PARQUET:
        if sheet is not None:
            text = f"{file}: a Parquet file has no sheets, and sheet is {sheet!r}"
            raise InvalidArgumentError(text)
        return _parquet_columns(file)
    names, rows = _excel_table(file, sheet)
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}


def write_csv(
    path: str | os.PathLike[str], out: str | os.PathLike[str], *, sheet: str | None = None
) -> int:
    """Write the table of a workbook or a Parquet file as CSV in UTF-8; return its number of rows.

    Numbers have a decimal point, truth values are TRUE and FALSE, and missing values are empty.

    Args:
        path: as in `read`.
        out: the CSV file, which must not exist.
        sheet: as in `read`.

    Raises:
        FileExistsError: there is such a CSV file.
    """
    written = path_of("out", out)
    columns = read(path, sheet=sheet)
    count = max((len(values) for values in columns.values()), default=0)
    with written.open("x", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for row in range(count):
            writer.writerow([_csv_field(values[row]) for values in columns.values()])
    return count


def _csv_field(value: Any) -> Any:
    if isinstance(value, bool | np.bool_):
        return "TRUE" if value else "FALSE"
    if is_missing(value):
        return ""
    return value.item() if isinstance(value, np.generic) else value


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        text = f"{package} reads this file: pip install {package}"
        raise ModuleNotFoundError(text) from error


def _plain(value: Any) -> Any:
    """Return a cell as a number, a text, a truth value, or None where it is missing."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime.datetime):
        is_day = value.time() == datetime.time() and value.tzinfo is None
        return value.date().isoformat() if is_day else value.isoformat(sep=" ")
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    return str(value)


# Excel


def _excel_table(file: Path, sheet: str | None) -> tuple[list[str], list[list[Any]]]:
    openpyxl = _module("openpyxl")
    try:
        book = openpyxl.load_workbook(file, data_only=True)
        formulas = openpyxl.load_workbook(file, read_only=True)
    except (zipfile.BadZipFile, KeyError, ValueError, OSError) as error:
        text = f"{file}: this is no workbook (.xlsx) that can be read: {error}"
        raise InvalidArgumentError(text) from error
    try:
        name = _sheet_of(file, book, sheet)
        _check_cells(file, book[name], formulas[name])
        names, rows = _names_and_rows(file, book[name])
    finally:
        formulas.close()
    return names, rows


def _sheet_of(file: Path, book: Any, sheet: str | None) -> str:
    names = [each.title for each in book.worksheets]
    if sheet is not None:
        if sheet not in names:
            text = f"{file}: there is no sheet {sheet!r}; the sheets are {', '.join(names)}"
            raise NotFoundError(text)
        return sheet
    filled = [
        each.title
        for each in book.worksheets
        if any(cell is not None for row in each.iter_rows(values_only=True) for cell in row)
    ]
    if len(filled) == 1:
        return str(filled[0])
    text = (
        f"{file}: {len(filled)} sheets hold something ({', '.join(filled)}): choose one with sheet="
        if filled
        else f"{file}: no sheet holds anything"
    )
    raise InvalidArgumentError(text)


def _check_cells(file: Path, values: Any, formulas: Any) -> None:
    """Refuse what would be read as a missing value: merged cells, formulas without a result."""
    if values.merged_cells.ranges:
        first = min(str(each) for each in values.merged_cells.ranges)
        count = len(values.merged_cells.ranges)
        text = (
            f"{file}: {count} groups of cells are merged, such as {first}: one cell of each has "
            "the value, and the others are empty. Unmerge and fill them"
        )
        raise InvalidArgumentError(text)
    lost = [
        cell.coordinate
        for row in formulas.iter_rows()
        for cell in row
        if cell.data_type == "f" and values[cell.coordinate].value is None
    ]
    if lost:
        text = (
            f"{file}: {len(lost)} formulas have no stored result, such as {lost[0]}: open the file "
            "in a spreadsheet and save it there"
        )
        raise InvalidArgumentError(text)


def _names_and_rows(file: Path, sheet: Any) -> tuple[list[str], list[list[Any]]]:
    every = ([_excel_value(cell) for cell in row] for row in sheet.iter_rows())
    rows = [row for row in every if any(_is_filled(value) for value in row)]
    names = ["" if name is None else str(name).strip() for name in rows.pop(0)]
    nameless = [
        at for at, name in enumerate(names) if not name and any(_is_filled(row[at]) for row in rows)
    ]
    # An index of pandas has no name and stands first.
    if any(at > 0 for at in nameless):
        column = sheet.cell(row=1, column=nameless[-1] + 1).column_letter
        text = f"{file}: column {column} holds values and has no name in the first row of the table"
        raise InvalidArgumentError(text)
    kept = [at for at, name in enumerate(names) if name]
    _check_names(file, [names[at] for at in kept])
    return [names[at] for at in kept], [[row[at] for at in kept] for row in rows]


def _excel_value(cell: Any) -> Any:
    """Return a cell's value; 0.63 that is shown as "63%" as this text, which is no number."""
    value = cell.value
    if isinstance(value, int | float) and not isinstance(value, bool) and "%" in cell.number_format:
        return f"{100 * value:g}%"
    return _plain(value)


def _is_filled(value: Any) -> bool:
    return value is not None and str(value).strip() != ""


def _check_names(file: Path, names: Sequence[str]) -> None:
    twice = [name for at, name in enumerate(names) if name in names[:at]]
    if twice:
        text = f"{file}: column {twice[0]!r} is there twice: rename the one that is not meant"
        raise InvalidArgumentError(text)
    if not names:
        text = f"{file}: the table has no columns with a name"
        raise InvalidArgumentError(text)


# Parquet


def _parquet_columns(file: Path) -> dict[str, Any]:
    parquet = _module("pyarrow.parquet")
    arrow = _module("pyarrow")
    try:
        table = parquet.ParquetFile(file).read()
    except (arrow.ArrowException, OSError) as error:
        text = f"{file}: this is no Parquet file that can be read: {error}"
        raise InvalidArgumentError(text) from error
    _check_names(file, table.column_names)
    return {
        name: _arrow_values(arrow, table.column(name))
        for name in table.column_names
        if not (name.startswith("__index_level_") and name.endswith("__"))
    }


def _arrow_values(arrow: Any, column: Any) -> Any:
    kinds = arrow.types
    if kinds.is_timestamp(column.type):  # Python's have no nanoseconds
        column = column.cast(arrow.timestamp("us", column.type.tz), safe=False)
    is_number = kinds.is_integer(column.type) or kinds.is_floating(column.type)
    if (is_number or kinds.is_boolean(column.type)) and column.null_count == 0:
        return column.to_numpy()
    return [_plain(value) for value in column.to_pylist()]


# Command


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python3 -m tacet.table_files",
        description="Writes the table of an Excel workbook or a Parquet file as CSV in UTF-8.",
    )
    parser.add_argument("file", help=f"ends in {', '.join(_EXCEL + _PARQUET)}")
    parser.add_argument("out", help="the CSV file, which must not exist")
    parser.add_argument("--sheet", help="of a workbook; without it the one that holds anything")
    return parser.parse_args(arguments)


def _main(arguments: Sequence[str] | None = None) -> int:
    given = _arguments(arguments)
    try:
        rows = write_csv(given.file, given.out, sheet=given.sheet)
    except FileExistsError:
        print(f"{given.out} exists already: give another name", file=sys.stderr)
        return 1
    except (TacetError, ModuleNotFoundError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{given.out}: {rows} rows")
    return 0


if __name__ == "__main__":
    sys.exit(_main())
