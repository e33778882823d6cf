"""Which departures from the paper's loop pay: every option against CANOPY as the paper has it, judged by intervals alone."""

from __future__ import annotations

from typing import Any

from canopy.report.answer_tables import CANOPY, KEPT, LOOKAHEAD, label_of
from canopy.report.answered import Group, Name, View
from canopy.report.tables import Column, Table
from canopy.scoring.bootstrap import Interval

# Rows of the paper's component table, and systems that are no option of the loop.
COMPONENTS: tuple[Name, ...] = (CANOPY, ("canopy-no-projection", ""), ("canopy-no-iteration", ""), ("canopy-f0", ""))
_ROUTED = ("canopy-routed", "")
WINS, LOSES = ("wins", "wins: fewer tokens"), ("loses",)
RULE = ("Judged by intervals alone: quality is the first official measure, gold recall and answer in evidence. wins: something is better and nothing worse, for no more "
        "tokens; wins: fewer tokens: nothing is shown to differ but the tokens; better, for more tokens; cheaper, but worse; trade-off: some quality is better and some "
        "worse; no difference shown: no interval lies on one side of zero. The many rows are not corrected for looking often.")


def options_of(group: Group) -> list[Name]:
    """The options that ran, the look-ahead rule first."""
    ablations = [s["name"] for s in group.answered.listed["systems"] if s["family"] == "ablation"]
    return [n for n in (LOOKAHEAD, *((a, "") for a in ablations)) if n in group and n not in COMPONENTS and n != _ROUTED]


def judge(better: list[Interval | None], tokens: Interval | None) -> str:
    """The verdict on quality differences (more is better) and the change in tokens."""
    quality = [i for i in better if i is not None]
    up, down = any(i.low > 0 for i in quality), any(i.high < 0 for i in quality)
    more, less = tokens is not None and tokens.low > 0, tokens is not None and tokens.high < 0
    if up and down:
        return "trade-off"
    if up:
        return "better, for more tokens" if more else "wins"
    if down:
        return "cheaper, but worse" if less else "loses"
    return "wins: fewer tokens" if less else "more tokens, nothing shown for them" if more else "no difference shown"


def options_table(view: View) -> Table:
    """Every option: differences to CANOPY in quality and tokens, and the verdict."""
    rows: list[dict[str, Any]] = []
    for g in view.groups:
        says = {s["name"]: s["says"] for s in g.answered.listed["systems"]}
        for name in options_of(g) if CANOPY in g else ():
            first = g.difference(name, CANOPY, g.answered.primary[0])
            kept = {m: g.difference(name, CANOPY, m) for m in KEPT}
            tokens = g.change(name, CANOPY, "tokens")
            row: dict[str, Any] = {"benchmark": g.answered.name, "system": name[0], "verdict": judge([first, *kept.values()], tokens), "difference": first,
                                   **{f"difference_{m}": i for m, i in kept.items()}, "change_tokens": tokens, "says": says.get(name[0], "")}
            for column, good in (("difference", 1), *((f"difference_{m}", 1) for m in KEPT), ("change_tokens", -1)):
                if row[column] is not None:
                    row[f"_good_{column}"] = bool(row[column].estimate * good > 0)
            rows.append(row)
    first = " or ".join(dict.fromkeys(label_of(g.answered.primary[0]) for g in view.groups))
    return Table(view.key("options"), "Options, each against CANOPY as the paper has it", [
        Column("benchmark", "benchmark"), Column("system", "option"), Column("verdict", "verdict"), *(Column(f"difference_{m}", label_of(m), "points") for m in KEPT),
        Column("difference", first, "points"), Column("change_tokens", "tokens", "change"), Column("says", "what it does")], rows, RULE, {**view.about})


def winners(view: View) -> dict[str, list[str]]:
    """Benchmark to the options that win there, with how they won."""
    found: dict[str, list[str]] = {}
    for row in options_table(view).rows:
        if row["verdict"] in WINS:
            found.setdefault(row["benchmark"], []).append(row["system"].removeprefix("canopy-") + (" (fewer tokens)" if row["verdict"] != WINS[0] else ""))
    return found
