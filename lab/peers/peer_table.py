"""Table and picture of the peers: pure functions of the measured rows."""

from __future__ import annotations

import html
import math
import textwrap

# Column, heading, how a value is written; `ratio` columns also tell the ratio to tacet's.
COLUMNS = (
    ("protect_s", "protect, ms", "ratio", lambda v: f"{1000 * v:,.3g}"),
    ("add_s", "add K, s", "ratio", lambda v: f"{v:,.3g}"),
    ("decrypt_s", "decrypt, ms", "ratio", lambda v: f"{1000 * v:,.3g}"),
    ("upload_bytes", "bytes up", "ratio", lambda v: f"{v:,}"),
    ("download_bytes", "bytes down", "ratio", lambda v: f"{v:,}"),
    ("wrong_values", "wrong values", "", lambda v: f"{v:,}"),
    ("memory_mb", "memory, MB", "ratio", lambda v: f"{v:,.0f}"),
)
WORDS = (
    ("reads_update", "reads a single update"),
    ("drop_outs", "drop-outs survived"),
    ("noise_inside", "noise inside the sum"),
    ("epsilon", "ε of the published setting"),
)


def ratio(value: float, base: float) -> str:
    """`value` as a multiple of `base`, two significant digits; empty without a base."""
    if not base or value is None:
        return ""
    times = value / base
    digits = max(0, 1 - math.floor(math.log10(times))) if times > 0 else 0
    return f"{times:,.{min(digits, 4)}f}×"


def cell(row: dict, column: str, kind: str, write, base: dict | None) -> str:  # noqa: ANN001
    """A value with its ratio, or a dash."""
    value = row.get(column)
    if value is None:
        return "–"
    text = write(value)
    if kind == "ratio" and base is not None and base is not row:
        times = ratio(value, base.get(column))
        text += f" ({times})" if times else ""
    return text


def epsilon_cell(row: dict) -> str:
    value = row.get("epsilon")
    return "–" if value is None else f"{value:.2f}, {row['epsilon_is']}"


def reasons(rows: list[dict]) -> list[str]:
    """A sentence for each reason of a peer's dashes, with the columns it explains."""
    headings = {name: heading for name, heading, *_ in (*COLUMNS, *WORDS)}
    lines = []
    for row in rows:
        why: dict[str, list[str]] = {}
        for name in headings:
            if row.get(name) is None:
                reason = row.get("reasons", {}).get(name)
                if reason is None:
                    raise ValueError(f"{row['name']} has no value and no reason for {name}")
                why.setdefault(reason, []).append(headings[name].split(",")[0])
        for reason, names in why.items():
            columns = "all columns" if len(names) == len(headings) else ", ".join(names)
            lines.append(textwrap.fill(f"- {row['name']} ({columns}): {reason}.", 100,
                                       subsequent_indent="  ", break_on_hyphens=False))
    return lines


def markdown(record: dict) -> str:
    """docs/peers/table.md."""
    rows = record["rows"]
    base = next((row for row in rows if row["name"] == "tacet"), None)
    lines = [
        "# Peers: measured table", "",
        "Written by `make peers` ([README.md](README.md) explains it). "
        f"d = {record['dimension']:,}, K = {record['clients']:,}.", "",
        f"Machine: {record['machine']}.", "",
        f"Commit {record['commit']}, {record['date']}.", "",
        "| | version | " + " | ".join(heading for _, heading, *_ in COLUMNS) + " |",
        "|---" * (len(COLUMNS) + 2) + "|",
    ]
    for row in rows:
        if all(row.get(column) is None for column, *_ in COLUMNS):
            continue
        values = [cell(row, column, kind, write, base) for column, _, kind, write in COLUMNS]
        lines.append(f"| {row['name']} | {row['version']} | " + " | ".join(values) + " |")
    lines += ["", "| | " + " | ".join(heading for _, heading in WORDS) + " |",
              "|---" * (len(WORDS) + 1) + "|"]
    for row in rows:
        words = [row.get(column) or "–" for column, _ in WORDS[:-1]]
        lines.append(f"| {row['name']} | " + " | ".join([*words, epsilon_cell(row)]) + " |")
    lines += ["", "## Dashes", "", *reasons(rows), ""]
    return "\n".join(lines)


def picture(record: dict) -> str:
    """docs/peers/peers.svg: cost of protecting an update and bytes of an upload, logarithmic."""
    rows = [row for row in record["rows"] if row.get("protect_s") and row.get("upload_bytes")]
    panels = (("protect_s", "protect an update, s", lambda v: f"{v:.3g}"),
              ("upload_bytes", "upload, bytes", lambda v: f"{v:,}"))
    left, bar, step, width = 170, 16, 24, 330
    height = 40 + step * len(rows) * len(panels) + 40 * len(panels)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 130} {height}" '
           'font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="#ffffff"/>']
    y = 20
    for column, title, write in panels:
        values = [row[column] for row in rows]
        low = math.floor(math.log10(min(values)))
        high = max(math.ceil(math.log10(max(values))), low + 1)
        out.append(f'<text x="{left}" y="{y}" font-weight="bold">{title} (logarithmic)</text>')
        y += 12
        for row in rows:
            length = width * (math.log10(row[column]) - low) / (high - low)
            colour = "#2b6cb0" if row["name"] == "tacet" else "#a0aec0"
            out.append(f'<text x="{left - 8}" y="{y + bar - 4}" text-anchor="end">'
                       f'{html.escape(row["name"])}</text>')
            out.append(f'<rect x="{left}" y="{y}" width="{max(length, 1):.1f}" height="{bar}" '
                       f'fill="{colour}"/>')
            out.append(f'<text x="{left + max(length, 1) + 6:.1f}" y="{y + bar - 4}">'
                       f'{write(row[column])}</text>')
            y += step
        y += 28
    return "\n".join([*out, "</svg>", ""])
