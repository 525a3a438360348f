#!/usr/bin/env python3
"""Tables and pictures of the records that `tacet-lab reproduce` writes.

usage: lab/tables.py RECORDS.json...

RECORDS.json is table.json, figure.json or hospitals.json (docs/formats/experiments.md). Writes the
CSV table (for hospitals the command itself does) and the picture, SVG, next to each. Pictures need
matplotlib; without it, the tables are written and the script says so.
"""

from __future__ import annotations

import csv
import io
import json
import pathlib
import sys
from typing import Any

COLUMNS = ["name", "row", "rounds", "accuracy", "published_accuracy", "epsilon",
           "tighter_epsilon", "tighter_accountant", "seconds", "commit", "labels"]
STEPS = ["setup_s", "encode_s", "encrypt_s", "encode_encrypt_s", "aggregate_s", "decrypt_s"]
VARIANTS = ["record", "client", "alone", "pooled"]


def rows_of_records(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each trained model."""
    rows = []
    for record in records:
        tighter = record.get("tighter") or {}
        rows.append({**{name: record.get(name) for name in COLUMNS},
                     "tighter_epsilon": tighter.get("epsilon"),
                     "tighter_accountant": tighter.get("accountant"),
                     "labels": " ".join(record.get("labels") or [])})
    return rows


def rows_of_costs(table: dict[str, Any]) -> list[dict[str, Any]]:
    """One row for each step of encryption: the published seconds and ours."""
    schemes = table["measured"]
    rows = [{"step": step, "published": table["published"][step],
             **{name: measured[step] for name, measured in schemes.items()}} for step in STEPS]
    rows.append({"step": "upload_bytes",
                 **{name: measured["upload_bytes"] for name, measured in schemes.items()}})
    return rows


def write_csv(path: pathlib.Path, rows: list[dict[str, Any]]) -> None:
    """Absent values are empty."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def pairs_of_curves(records: list[dict[str, Any]]) -> dict[str, list[tuple[float, float, float]]]:
    """(noise multiplier, accuracy, epsilon) by number of rounds and seed, rising."""
    curves: dict[str, list[tuple[float, float, float]]] = {}
    for record in records:
        if record.get("epsilon") is None:
            continue
        name = f"T = {record['rounds']}"
        if record.get("name", "").rpartition("-seed")[1]:
            name += f", seed {record['name'].rpartition('-seed')[2]}"
        multiplier = float(record["row"].rpartition("-")[2])
        curves.setdefault(name, []).append((multiplier, record["accuracy"], record["epsilon"]))
    return {name: sorted(points) for name, points in curves.items()}


def draw_rows(axes: Any, records: list[dict[str, Any]]) -> None:
    """Accuracy over the rounds, a curve a record."""
    for i, record in enumerate(records):
        rounds, accuracy = zip(*record.get("curve") or [(0, None)])
        axes.plot(rounds, [a and 100 * a for a in accuracy], "-" if i < 10 else "--",
                  label=record["name"])
    axes.set(xlabel="rounds", ylabel="accuracy, %", ylim=(0, 100))


def draw_points(axes: Any, records: list[dict[str, Any]]) -> None:
    """Accuracy and epsilon over the noise multiplier, a pair of curves a setting."""
    right = axes.twinx()
    for name, points in pairs_of_curves(records).items():
        multipliers, accuracies, epsilons = zip(*points)
        axes.plot(multipliers, [100 * a for a in accuracies], "o-", label=f"accuracy, {name}")
        right.plot(multipliers, epsilons, "s--", color="tab:red", label=f"epsilon, {name}")
    right.set(ylabel="epsilon (moments)", ylim=(0, None))
    right.legend(loc="upper center")
    axes.set(xlabel="standard deviation of the noise in the sum, in clip norms",
             ylabel="accuracy, %", ylim=(0, 100))


def draw_costs(axes: Any, table: dict[str, Any]) -> None:
    """Seconds of each step, logarithmic: published and ours."""
    rows = rows_of_costs(table)[:-1]
    names = [name for name in rows[0] if name != "step"]
    for i, name in enumerate(names):
        axes.bar([place + 0.25 * (i - 1) for place in range(len(rows))],
                 [row[name] for row in rows], 0.25, label=name)
    axes.set_xticks(range(len(rows)), [row["step"].removesuffix("_s") for row in rows])
    axes.set(yscale="log", ylabel="seconds")


def draw_hospitals(axes: Any, rows: list[dict[str, Any]]) -> None:
    """AUC over epsilon; what knows no epsilon lies flat."""
    for i, variant in enumerate(VARIANTS):
        own = [row for row in rows if row["variant"] == variant]
        points = sorted((row["epsilon"], row["auc"]["mean"]) for row in own if row["epsilon"])
        if points:
            axes.plot(*zip(*points), "o-", color=f"C{i}", label=own[0]["title"])
        for row in own:
            if row["epsilon"] is None:
                without = "no privacy" if variant in ("alone", "pooled") else "no noise"
                axes.axhline(row["auc"]["mean"], linestyle="--", color=f"C{i}",
                             label=f"{row['title']}, {without}")
    axes.set_xscale("log", base=2)
    axes.set(xlabel="epsilon at delta 1e-5", ylabel="AUC on held-out patients of all hospitals",
             ylim=(0.4, 1))


def contents(made: dict[str, Any]) -> tuple[list[dict[str, Any]], Any, Any]:
    """Rows of the CSV, what draws the picture, and what it draws."""
    if "points" in made:
        return rows_of_records(made["points"]), draw_points, made["points"]
    if "measured" in made:
        return rows_of_costs(made), draw_costs, made
    if "comparisons" in made:
        return [], draw_hospitals, made["rows"]
    if "rows" in made:
        return rows_of_records(made["rows"]), draw_rows, made["rows"]
    raise ValueError("no table.json, figure.json or hospitals.json of tacet-lab reproduce")


def main() -> int:
    paths = [pathlib.Path(name) for name in sys.argv[1:]]
    if not paths:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        import matplotlib
        matplotlib.use("svg")
        # The same bytes each time, and text as text.
        matplotlib.rcParams.update({"svg.hashsalt": "tacet", "svg.fonttype": "none"})
        from matplotlib import pyplot
    except ImportError:
        pyplot = None
    for path in paths:
        try:
            rows, draw, drawn = contents(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            return 1
        if rows:
            write_csv(path.with_suffix(".csv"), rows)
            print(f"wrote {path.with_suffix('.csv')}")
        if pyplot is None:
            print(f"{path}: no picture, since matplotlib is missing", file=sys.stderr)
            continue
        figure, axes = pyplot.subplots(figsize=(7.2, 4.4), layout="constrained")
        draw(axes, drawn)
        axes.legend()
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
        lines = [line.rstrip() for line in text.getvalue().splitlines()]
        path.with_suffix(".svg").write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"wrote {path.with_suffix('.svg')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
