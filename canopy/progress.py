"""How far long work is: a live bar in a terminal, a line every ten seconds elsewhere, the same lines in a run's log.

Work announces itself with `progress`, counted or not. What is at work writes nothing by itself: one `Board` a process
shows the innermost step. A thread keeps its time, so that a step that does not advance is seen to be alive.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from canopy.formatting import duration, number

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

INTERVAL = 10.0  # seconds between lines
_WINDOW, _MARKS = 60.0, 10  # a rate is over the last minute, or the last ten marks if they are older
T = TypeVar("T")


class Step:
    """One piece of work, counted or not; calling it advances it.

    Parameters
    ----------
    description : str
        What is being done, for people.
    total : int, optional
        Number of units; None if it is not known.
    unit : str
        What is counted, in the plural; empty if nothing is.
    count : int
        Units that an earlier run did.
    """

    def __init__(self, description: str, total: int | None, unit: str, count: int,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.description, self.total, self.unit, self.count = description, total, unit, count
        self.figures: dict[str, float] = {}
        self.counted = bool(unit) or total is not None
        self._clock, self.started = clock, clock()
        self._marks = deque([(self.started, count)])

    def __call__(self, n: int = 1, **figures: float) -> None:
        """Count ``n`` more units; figures such as ``loss`` are shown as they were said last."""
        self.figures |= figures
        self.update(self.count + n)

    def update(self, count: int, total: int | None = None) -> None:
        """Set the number of units, and what they are out of if that became known."""
        self.count, self.counted = count, True
        self.total = self.total if total is None else total
        now = self._clock()
        if now - self._marks[-1][0] >= 1:
            self._marks.append((now, count))
            while len(self._marks) > _MARKS and now - self._marks[0][0] > _WINDOW:
                self._marks.popleft()

    def rate(self) -> float | None:
        """Units a second of late; None if nothing was counted yet."""
        since, before = self._marks[0]
        seconds = self._clock() - since
        return (self.count - before) / seconds if seconds > 0 and self.count > before else None

    def seconds_left(self) -> float | None:
        """Seconds to the end at the present rate; None if that cannot be said."""
        rate = self.rate()
        return (self.total - self.count) / rate if rate and self.total is not None else None

    def state(self) -> str:
        """Where it stands: ``120/2,000 steps, 3.1 steps/s, loss 0.412, 10 min left``."""
        if not self.counted:
            return f"at work for {duration(self._clock() - self.started)}"
        of = "" if self.total is None else f"/{self.total:,}"
        parts = [f"{self.count:,}{of} {self.unit}".strip()]
        if rate := self.rate():
            slow = rate < 0.1
            parts.append(f"{number(float(f'{rate * (60 if slow else 1):.3g}'))} {self.unit or 'steps'}/"
                         f"{'min' if slow else 's'}")
        parts += [f"{name.replace('_', ' ')} {number(value)}" for name, value in self.figures.items()]
        left = self.seconds_left()
        return ", ".join([*parts, *([] if left is None else [f"{duration(left)} left"])])


class Board:
    """The steps at work in this process, and where they are shown.

    Parameters
    ----------
    stream : file, optional
        Where bars or lines go; default: standard error as it is when work begins.
    clock : callable
        Seconds that only grow.
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.steps: list[Step] = []
        self.listeners: list[Callable[[str], None]] = []
        self._stream, self._clock = stream, clock
        self._lock = threading.RLock()
        self._last = clock()
        self._end: threading.Event | None = None
        self._bars: Progress | None = None
        self._rows: dict[int, TaskID] = {}

    def open(self, step: Step) -> None:
        """Show a step until it is closed."""
        with self._lock:
            self.steps.append(step)
            if len(self.steps) == 1:
                self._begin()
            if self._bars is not None:
                self._rows[id(step)] = self._bars.add_task(step.description, total=None, step=step)

    def close(self, step: Step) -> None:
        """Show a step no longer."""
        with self._lock:
            self.steps.remove(step)
            if self._bars is not None and id(step) in self._rows:
                self._bars.remove_task(self._rows.pop(id(step)))
            if self.steps:
                return
            bars, self._bars = self._bars, None
            if self._end is not None:
                self._end.set()
        if bars is not None:
            bars.stop()

    def tick(self) -> bool:
        """Write a line if one is due; whether it was."""
        with self._lock:
            if not self.steps or self._clock() - self._last < INTERVAL:
                return False
            self._last = self._clock()
            line, bars, listeners = self.line(), self._bars, list(self.listeners)
        if bars is None:
            _write(self._stream or sys.stderr, f"  {line}\n")
        for listener in listeners:
            try:
                listener(line)
            except Exception:  # a log that cannot be written must not end the work that it is about
                self.listeners.remove(listener)
        return True

    def line(self) -> str:
        """The outermost step's name, and where the innermost stands."""
        outer, inner = self.steps[0], self.steps[-1]
        name = outer.description if outer is inner else f"{outer.description}: {inner.description}"
        return f"{name}: {inner.state()}"

    def _begin(self) -> None:
        # Short steps one after the other must not put a line off for ever; time without a step does not count.
        if self._clock() - self._last > INTERVAL:
            self._last = self._clock()
        stream = self._stream or sys.stderr
        if stream.isatty() and os.environ.get("TERM") not in ("dumb", "unknown"):
            self._bars = _live_bars(stream)
            self._bars.start()
        self._end = threading.Event()
        threading.Thread(target=self._keep_time, args=(self._end,), name="progress", daemon=True).start()

    def _keep_time(self, end: threading.Event) -> None:
        while not end.wait(1.0):
            self.tick()


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except (OSError, ValueError):  # a closed pipe: the work itself goes on
        return


def _live_bars(stream: TextIO) -> Progress:
    """Rich's live display; each row draws itself from its step."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    class Bar(BarColumn):
        """A bar of what is done; it pulses if the end is not known, and is left out where nothing is counted."""

        def render(self, task: Task) -> Any:
            step = task.fields["step"]
            if not step.counted:
                return Text("")
            return ProgressBar(total=step.total, completed=step.count, width=24, pulse=step.total is None,
                               animation_time=task.get_time())

    class State(ProgressColumn):
        """Where the step stands, in words."""

        def render(self, task: Task) -> Text:
            return Text(task.fields["step"].state())

    console = Console(file=stream, force_terminal=True)
    return Progress(SpinnerColumn(), TextColumn("{task.description}", markup=False), Bar(), State(), console=console,
                    transient=True, refresh_per_second=4, redirect_stdout=sys.stdout.isatty(), redirect_stderr=True)


_board = Board()


@contextmanager
def progress(description: str, total: int | None = None, unit: str = "", count: int = 0) -> Iterator[Step]:
    """A step that is shown while the block runs; calling it advances it.

    Parameters
    ----------
    description : str
        What is being done, for people.
    total : int, optional
        Number of units; None if it is not known.
    unit : str
        What is counted; without it and without ``total`` the step only says for how long it has been at work.
    count : int
        Units that an earlier run did.
    """
    step = Step(description, total, unit, count)
    _board.open(step)
    try:
        yield step
    finally:
        _board.close(step)


def counted(values: Iterable[T], description: str, total: int, unit: str) -> Iterator[T]:
    """The values one by one, as a step that counts them."""
    with progress(description, total, unit) as advance:
        for value in values:
            yield value
            advance(1)


def beside(values: Sequence[T], description: str, unit: str) -> Iterable[T]:
    """The values, counted if a step is at work that counts nothing itself; otherwise as they are.

    For loops deep in the library: silent where no command announced work, and where an outer count says more.
    """
    steps = list(_board.steps)
    if len(values) < 2 or not steps or any(s.counted for s in steps):
        return values
    return counted(values, description, len(values), unit)


@contextmanager
def listen(listener: Callable[[str], None]) -> Iterator[None]:
    """Hand every line to ``listener`` too, such as a run's log; it is called in a thread of its own."""
    _board.listeners.append(listener)
    try:
        yield
    finally:
        if listener in _board.listeners:
            _board.listeners.remove(listener)
