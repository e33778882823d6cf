"""Which departures from the paper's loop pay: every option against CANOPY as the paper has it, judged by intervals
alone."""

from __future__ import annotations

from collections.abc import Sequence

from canopy.answers.comparison import Name
from canopy.report.choices import option_systems
from canopy.report.groups import CANOPY, Group, View
from canopy.report.model import Column, Row, Section, Table
from canopy.report.parts import part, tables_of
from canopy.report.systems_table import KEPT
from canopy.report.values import judged
from canopy.scoring.bootstrap import Interval
from canopy.scoring.measure import label_of

WINS, WINS_BY_TOKENS = "wins", "wins: fewer tokens"
RULE = (
    "Judged by intervals alone: quality is the first official measure, gold recall and answer in evidence. wins: "
    "something is better and "
    "nothing worse, for no more tokens; wins: fewer tokens: nothing is shown to differ but the tokens; better, for "
    "more tokens; cheaper, but "
    "worse; trade-off: some quality is better and some worse; no difference shown: no interval lies on one side of "
    "zero. The many rows are "
    "not corrected for looking often.")
TEXT = ("Departures from the paper's loop, each alone, against CANOPY as the paper has it. The default stays the "
        "paper's.")


def judge(qualities: Sequence[Interval | None], tokens: Interval | None) -> str:
    """The verdict on quality differences (more is better) and the change in tokens."""
    measured = [i for i in qualities if i is not None]
    up, down = any(i.low > 0 for i in measured), any(i.high < 0 for i in measured)
    more, fewer = tokens is not None and tokens.low > 0, tokens is not None and tokens.high < 0
    if up and down:
        return "trade-off"
    if up:
        return "better, for more tokens" if more else WINS
    if down:
        return "cheaper, but worse" if fewer else "loses"
    if fewer:
        return WINS_BY_TOKENS
    return "more tokens, nothing shown for them" if more else "no difference shown"


def options_table(view: View) -> Table:
    """Every option: differences to CANOPY in quality and tokens, and the verdict."""
    rows = [_row(g, name) for g in view.groups if CANOPY in g for name in option_systems(g)]
    first = " or ".join(dict.fromkeys(label_of(g.first) for g in view.groups))
    columns = [
        Column("benchmark", "benchmark"), Column("system", "option"), Column("verdict", "verdict"),
        *(Column(f"difference_{m}", label_of(m), "points") for m in KEPT),
        Column("difference", first, "points"), Column("change_tokens", "tokens", "change"),
        Column("says", "what it does")]
    return Table(view.key("options"), "Options, each against CANOPY as the paper has it", columns, rows, RULE,
                 {**view.about})


def _row(group: Group, name: Name) -> Row:
    system = group.answered.system(name[0])
    first = group.difference(name, CANOPY, group.first)
    kept = {m: group.difference(name, CANOPY, m) for m in KEPT}
    tokens = group.change(name, CANOPY, "tokens")
    row: Row = {"benchmark": group.answered.name, "system": name[0], "verdict": judge([first, *kept.values()], tokens),
                "says": system["says"] if system else ""}
    row |= judged("difference", first) | judged("change_tokens", tokens, higher_is_better=False)
    for measure, difference in kept.items():
        row |= judged(f"difference_{measure}", difference)
    return row


def winners(view: View) -> dict[str, list[str]]:
    """Benchmark to the options that win there, with how they won."""
    names: dict[str, list[str]] = {}
    for row in options_table(view).rows:
        if row["verdict"] in (WINS, WINS_BY_TOKENS):
            how = " (fewer tokens)" if row["verdict"] == WINS_BY_TOKENS else ""
            names.setdefault(str(row["benchmark"]), []).append(str(row["system"]).removeprefix("canopy-") + how)
    return names


def options_section(views: Sequence[View]) -> Section | None:
    """The options."""
    return part("options", "Which options win", [TEXT], tables_of(views, options_table, ("unified", "own", "gold")))
