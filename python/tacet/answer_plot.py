"""Plots of a query's answers with matplotlib."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .statistics import Answer, Estimate

__all__ = ["axes_of", "plot_answer"]

_SUPPRESSED = "✕"


def axes_of(axes: Any) -> Any:
    """Return the axes, or new ones of matplotlib where they are None.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    if axes is not None:
        return axes
    try:
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ModuleNotFoundError as error:
        text = "a plot needs matplotlib: pip install matplotlib"
        raise ModuleNotFoundError(text, name=error.name) from error
    return pyplot.subplots()[1]


def plot_answer(answer: Answer, axes: Any, what: str | None) -> Any:
    """Draw an answer; see `Answer.plot`."""
    known = {
        name: draw
        for name, draw in _PLOTS.get(answer.kind, {}).items()
        if answer.kind != "cox" or answer.find(_OF_COX[name])
    }
    if _effects(answer):
        known = {"coefficients": _forest, **known}
    name = next(iter(known), None) if what is None else what
    if name not in known:
        text = (
            f"the answer {answer.name!r} ({answer.kind}) has no plot {what!r}; it has: "
            f"{', '.join(known) or 'none'}"
        )
        raise ValueError(text)
    axes = axes_of(axes)
    known[name](answer, axes)
    axes.set_title(answer.name)
    return axes


def _groups(answer: Answer, quantity: str) -> dict[str, list[Estimate]]:
    groups: dict[str, list[Estimate]] = {}
    for estimate in answer.find(quantity):
        groups.setdefault(estimate.group, []).append(estimate)
    return groups


def _legend(axes: Any, groups: Sequence[str]) -> None:
    if any(groups):
        axes.legend()


def _survival(answer: Answer, axes: Any) -> None:
    groups = _groups(answer, "survival")
    for group, estimates in groups.items():
        shown = estimates[: next((i for i, e in enumerate(estimates) if e.suppressed), None)]
        times = [0.0] + [float(each.at) for each in shown]
        values = [1.0] + [float(each.value or 0) for each in shown]
        (line,) = axes.step(times, values, where="post", label=group or None)
        axes.fill_between(
            times,
            [1.0] + [each.low for each in shown],
            [1.0] + [each.high for each in shown],
            step="post",
            alpha=0.2,
            color=line.get_color(),
        )
        if len(shown) < len(estimates):
            axes.annotate(_SUPPRESSED, (times[-1], values[-1]), color=line.get_color())
    _at_risk(answer, axes)
    axes.set(xlabel="time", ylabel="share that survives", ylim=(0, 1.02))
    _legend(axes, list(groups))


def _model_survival(answer: Answer, axes: Any) -> None:
    """Curves of the profiles: hazards are constant within an interval, so survival has no steps."""
    groups = _groups(answer, "survival")
    for group, estimates in groups.items():
        if estimates[0].suppressed:
            axes.plot([0.0], [1.0], label=f"{group} {_SUPPRESSED}")
            continue
        times = [0.0] + [float(each.at) for each in estimates]
        values = [1.0] + [float(each.value or 0) for each in estimates]
        (line,) = axes.plot(times, values, label=group)
        axes.fill_between(
            times,
            [1.0] + [each.low for each in estimates],
            [1.0] + [each.high for each in estimates],
            alpha=0.2,
            color=line.get_color(),
        )
    axes.set(xlabel="time", ylabel="share that survives", ylim=(0, 1.02))
    axes.legend()


def _at_risk(answer: Answer, axes: Any) -> None:
    """Write the numbers at risk below the axis, at six times at most."""
    groups = _groups(answer, "at risk")
    for row, (group, estimates) in enumerate(groups.items()):
        place = -0.24 - 0.07 * row
        axes.text(-0.02, place, f"at risk {group}".strip(), transform=axes.transAxes, ha="right")
        for each in estimates[:: max(1, math.ceil(len(estimates) / 6))]:
            text = _SUPPRESSED if each.value is None else f"{each.value:,.0f}"
            axes.text(
                float(each.at), place, text, transform=axes.get_xaxis_transform(), ha="center"
            )


def _roc(answer: Answer, axes: Any) -> None:
    rates = _groups(answer, "false positive rate")
    groups = _groups(answer, "sensitivity")
    areas = _groups(answer, "auc")
    for group, sensitivities in groups.items():
        at = {each.at: each for each in rates.get(group, [])}
        pairs = [
            (at[each.at], each)
            for each in sensitivities
            if each.at in at and not each.suppressed and not at[each.at].suppressed
        ][::-1]
        if not pairs:
            continue
        (area,) = areas.get(group, [None])[:1]
        words = [group] if group else []
        if area is not None and area.value is not None:
            words.append(f"AUC {area.value:.3g} ({area.low:.3g} to {area.high:.3g})")
        (line,) = axes.plot(
            [0.0] + [float(rate.value or 0) for rate, _ in pairs],
            [0.0] + [float(each.value or 0) for _, each in pairs],
            label=", ".join(words) or None,
        )
        # A band joins the corners of the two intervals.
        corners = [(0.0, 0.0)] + [(rate.low, each.high) for rate, each in pairs]
        back = [(0.0, 0.0)] + [(rate.high, each.low) for rate, each in pairs]
        axes.fill(*zip(*corners, *back[::-1], strict=True), alpha=0.2, color=line.get_color())
    axes.axline((0, 0), (1, 1), linestyle=":", color="gray")
    axes.set(xlabel="1 - specificity", ylabel="sensitivity", xlim=(0, 1), ylim=(0, 1.02))
    axes.set_aspect("equal")
    axes.legend()


def _ends(at: str) -> tuple[float, float]:
    """Return the ends of "[0.1, 0.2)".

    >>> _ends("[0.1, 0.2)")
    (0.1, 0.2)
    """
    low, _, high = at.strip("[]()").partition(",")
    return float(low), float(high)


def _whiskers(estimates: Sequence[Estimate]) -> list[list[float]]:
    """Return distances to the ends of the intervals; an estimate may lie outside of its own."""
    return [
        [max(0.0, float(each.value or 0) - each.low) for each in estimates],
        [max(0.0, each.high - float(each.value or 0)) for each in estimates],
    ]


def _calibration(answer: Answer, axes: Any) -> None:
    groups = _groups(answer, "observed share")
    for number, (group, estimates) in enumerate(groups.items()):
        shift = 0.01 * (number - (len(groups) - 1) / 2)  # side by side
        placed = [(sum(_ends(each.at)) / 2 + shift, each) for each in estimates]
        shown = [(place, each) for place, each in placed if not each.suppressed]
        line = axes.errorbar(
            [place for place, _ in shown],
            [each.value for _, each in shown],
            yerr=_whiskers([each for _, each in shown]),
            fmt="os^D"[number % 4],
            capsize=3,
            label=group or None,
        )
        for place, each in placed:
            if each.suppressed:
                color = line[0].get_color()
                axes.annotate(_SUPPRESSED, (place, 0.02), color=color, ha="center")
    axes.axline((0, 0), (1, 1), linestyle=":", color="gray")
    axes.set(xlabel="score", ylabel="observed share", xlim=(0, 1), ylim=(0, 1.02))
    axes.set_aspect("equal")
    _legend(axes, list(groups))


def _counts(answer: Answer, axes: Any) -> None:
    cells = [each for each in answer.find("count") if each.at]
    rows = list(dict.fromkeys(each.group or each.at for each in cells))
    in_groups = any(each.group for each in cells)
    series = list(dict.fromkeys(each.at for each in cells)) if in_groups else [""]
    width = 0.8 / len(series)
    for number, name in enumerate(series):
        mine = [each for each in cells if not name or each.at == name]
        places = [row + (number - (len(series) - 1) / 2) * width for row in range(len(rows))]
        placed = list(zip(places, mine, strict=True))
        shown = [(place, each) for place, each in placed if not each.suppressed]
        axes.bar(
            [place for place, _ in shown],
            [each.value for _, each in shown],
            width,
            yerr=_whiskers([each for _, each in shown]),
            capsize=3,
            label=name or None,
        )
        for place, each in placed:
            if each.suppressed:
                axes.annotate(_SUPPRESSED, (place, 0), ha="center", va="bottom")
    turned = {"rotation": 30, "ha": "right"} if len(rows) > 4 else {}
    axes.set_xticks(range(len(rows)), rows, **turned)
    axes.set_xlim(-0.5, len(rows) - 0.5)
    axes.set_ylabel("count")
    _legend(axes, series)


def _quantiles(answer: Answer, axes: Any) -> None:
    estimates = answer.find("quantile") or answer.find("median")
    for row, each in enumerate(estimates):
        if each.value is None:
            place = axes.get_yaxis_transform()
            axes.annotate(_SUPPRESSED, (0.02, row), xycoords=place, va="center")
        else:
            axes.plot([each.low, each.high], [row, row], color="C0", alpha=0.5, linewidth=6)
            axes.plot([each.value], [row], "o", color="C0")
    for edge in answer.edges:
        axes.axvline(edge, color="lightgray", linewidth=0.8, zorder=0)
    shares = [f"{100 * float(each.at):g} %" if each.at else "50 %" for each in estimates]
    labels = [f"{each.group} {share}" for each, share in zip(estimates, shares, strict=True)]
    axes.set_yticks(range(len(estimates)), [label.strip() for label in labels])
    axes.set_ylim(len(estimates) - 0.5, -0.5)
    axes.set_xlabel("value, with the edges of the cells" if answer.edges else "value")


def _effects(answer: Answer) -> list[Estimate]:
    """Ratios where the answer has them, else coefficients; none without intervals."""
    coefficients = answer.find("coefficient")
    if any(each.value is not None and math.isnan(each.low) for each in coefficients):
        return []
    terms = {each.group for each in coefficients}
    ratios = [
        each
        for each in answer.estimates
        if each.quantity.endswith(" ratio") and each.group in terms
    ]
    return ratios or coefficients


def _changes(answer: Answer, axes: Any) -> None:
    _draw_effects(answer.find("change of coefficient"), axes)


def _forest(answer: Answer, axes: Any) -> None:
    _draw_effects(_effects(answer), axes)


def _draw_effects(effects: Sequence[Estimate], axes: Any) -> None:
    is_ratio = effects[0].quantity.endswith(" ratio")
    neutral = 1.0 if is_ratio else 0.0
    ends = [end for each in effects for end in (each.value, each.low, each.high) if end is not None]
    known = [end for end in ends if math.isfinite(end) and not (is_ratio and end <= 0)] + [neutral]
    axes.axvline(neutral, linestyle=":", color="gray", zorder=0)
    if is_ratio:
        axes.set_xscale("log")
    for row, each in enumerate(effects):
        if each.value is None:
            place = axes.get_yaxis_transform()
            axes.annotate(_SUPPRESSED, (0.02, row), xycoords=place, va="center")
        else:
            # Ends beyond the axis, such as infinite ones, are the axis's.
            low, value, high = (
                min(max(end, min(known)), max(known)) for end in (each.low, each.value, each.high)
            )
            axes.plot([low, high], [row, row], color="C0", marker="|")
            axes.plot([value], [row], "s", color="C0")
    axes.set_yticks(range(len(effects)), [each.group for each in effects])
    axes.set_ylim(len(effects) - 0.5, -0.5)
    axes.set_xlabel(effects[0].quantity)
    if is_ratio:
        _name_ratios(axes)


def _name_ratios(axes: Any) -> None:
    """Write 0.5, 1 and 2 at a logarithmic axis, and few of them."""
    ticker = importlib.import_module("matplotlib.ticker")
    low, high = axes.get_xlim()
    is_wide = high > 20 * low
    axes.xaxis.set_major_locator(
        ticker.LogLocator(subs=(1.0,) if is_wide else (1.0, 2.0, 5.0))
        if high > 3 * low
        else ticker.MaxNLocator(nbins=5, steps=[1, 2, 5, 10])
    )
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))


_OF_COX = {"survival": "survival", "changes": "change of coefficient"}
_PLOTS: dict[str, dict[str, Callable[[Answer, Any], None]]] = {
    "survival": {"survival": _survival},
    "cox": {"survival": _model_survival, "changes": _changes},
    "evaluation": {"roc": _roc, "calibration": _calibration},
    "histogram": {"counts": _counts},
    "crosstab": {"counts": _counts},
    "quantiles": {"quantiles": _quantiles},
    "median": {"median": _quantiles},
}
