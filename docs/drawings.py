"""Draws the architecture page's pictures: the rooms from the imports, the stages from dvc.yaml (`make drawings`)."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

import matplotlib
import yaml

ROOT = Path(__file__).resolve().parents[1]
IMAGES = Path(__file__).resolve().parent / "images"
TOP_ROOMS = ("canopy", "serving", "orchestration", "assets")
SPLIT = ("canopy", "orchestration")  # rooms whose inner rooms are drawn one by one
STYLE = {"svg.hashsalt": "canopy", "svg.fonttype": "path", "font.size": 10}
EDGE, INK = "#5b6f61", "#1c2b21"
COLOURS = {"canopy": "#e4efe6", "serving": "#f6ead2", "orchestration": "#dfe8f5", "assets": "#efe1f1"}


def room_of(module: str) -> str | None:
    """The room of a module as the picture names it: ``canopy.llm``, ``serving``."""
    parts = module.split(".")
    if parts[0] not in TOP_ROOMS:
        return None
    return ".".join(parts[:2]) if parts[0] in SPLIT and len(parts) > 1 else parts[0]


def imports() -> dict[str, set[str]]:
    """Room -> the rooms that its modules import."""
    rooms: dict[str, set[str]] = {}
    for top in TOP_ROOMS:
        for file in sorted((ROOT / top).rglob("*.py")):
            module = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            room = room_of(module)
            if room is None or room in SPLIT:
                continue
            targets = rooms.setdefault(room, set())
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and node.module:
                    whole = node.module in SPLIT
                    names = [f"{node.module}.{a.name}" for a in node.names] if whole else [node.module]
                targets |= {r for n in names if (r := room_of(n)) and r not in (room, *SPLIT)}
    return rooms


def floors(arrows: Mapping[str, set[str]]) -> list[list[str]]:
    """Names by floor: each stands one above the highest one that it points to."""
    heights: dict[str, int] = {}

    def height(name: str) -> int:
        if name not in heights:
            heights[name] = 0
            heights[name] = 1 + max((height(t) for t in arrows.get(name, ())), default=-1)
        return heights[name]

    for name in arrows:
        height(name)
    return [sorted(n for n, h in heights.items() if h == level) for level in range(max(heights.values()) + 1)]


def reduced(arrows: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The arrows without those that a path of other arrows implies."""
    def reach(name: str) -> set[str]:
        reached: set[str] = set()
        waiting = [*arrows.get(name, ())]
        while waiting:
            target = waiting.pop()
            if target not in reached:
                reached.add(target)
                waiting += arrows.get(target, ())
        return reached

    return {name: {t for t in targets if not any(t in reach(other) for other in targets - {t})}
            for name, targets in arrows.items()}


def draw(arrows: Mapping[str, set[str]], path: Path, *, top_first: bool) -> None:
    """Draw boxes floor by floor, and an arrow from each to what it points to unless a path implies it.

    Parameters
    ----------
    top_first : bool
        The highest floor is on top: imports point down. Otherwise the lowest one is, and the arrows are turned round.
    """
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    levels = floors(arrows) if top_first else floors(arrows)[::-1]
    columns = 9
    rows = [level[i:i + columns] for level in levels for i in range(0, len(level), columns)]
    with plt.rc_context(STYLE):
        figure, ax = plt.subplots(figsize=(13, 0.85 * len(rows)))
        boxes = {}
        for y, row in enumerate(rows):
            for n, name in enumerate(row):
                colour = COLOURS.get(name.split(".")[0], COLOURS["canopy"])
                # A box alone on its floor stands a little aside, so that arrows past it are seen.
                x = (n + 0.5) * columns / len(row) + (0.9 * (-1) ** y if len(row) == 1 and not top_first else 0)
                boxes[name] = ax.text(
                    x, y, name.removeprefix("canopy."), ha="center", va="center", color=INK, zorder=3,
                    bbox={"boxstyle": "round,pad=0.4", "facecolor": colour, "edgecolor": EDGE})
        ax.set_xlim(0, columns)
        ax.set_ylim(-0.6, len(rows) - 0.4)
        for name, targets in reduced(arrows).items():
            for target in sorted(targets):
                start, end = (boxes[name], boxes[target]) if top_first else (boxes[target], boxes[name])
                (x0, y0), (x1, y1) = start.get_position(), end.get_position()
                # Arrows run between the nearest edges of two boxes: those above and below.
                edge = 0.28 if y1 > y0 else -0.28
                ax.annotate("", (x1, y1 - edge), (x0, y0 + edge), zorder=1, arrowprops={
                    "arrowstyle": "-|>", "color": EDGE, "alpha": 0.7, "shrinkA": 0, "shrinkB": 0})
        ax.axis("off")
        path.parent.mkdir(exist_ok=True)
        figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
        plt.close(figure)


def stages() -> dict[str, set[str]]:
    """Stage -> the stages whose outputs it reads, from dvc.yaml."""
    entries = {n: s.get("do", s) for n, s in yaml.safe_load((ROOT / "dvc.yaml").read_text("utf-8"))["stages"].items()}
    inputs = {n: {d.split("/")[1] for d in s["deps"] if d.startswith("data/")} for n, s in entries.items()}
    return {n: stages & set(entries) for n, stages in inputs.items()}


if __name__ == "__main__":
    draw(imports(), IMAGES / "rooms.svg", top_first=True)
    draw(stages(), IMAGES / "graph.svg", top_first=False)
    print(f"drawn: {IMAGES / 'rooms.svg'}, {IMAGES / 'graph.svg'}")
