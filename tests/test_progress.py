"""Progress: lines at least every fifteen seconds in a pipe, a live bar in a terminal, the same lines for listeners."""

from __future__ import annotations

import io
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from canopy import progress as module
from canopy.progress import INTERVAL, Board, Step, beside, counted, listen, progress

ROOT = Path(__file__).resolve().parents[1]


class Clock:
    """Seconds that a test moves on."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def board_of(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> tuple[Board, io.StringIO]:
    """A board on a file, whose thread never ticks: the test does."""
    stream = io.StringIO()
    board = Board(stream, clock)
    monkeypatch.setattr(Board, "_keep_time", lambda self, end: None)
    return board, stream


def test_a_line_says_count_rate_figures_and_time_left(clock: Clock) -> None:
    step = Step("training", 200, "steps", 0, clock)
    for _ in range(50):
        clock.now += 2
        step(1, loss=0.71234567)
    assert step.state() == "50/200 steps, 0.5 steps/s, loss 0.7123, 5 min left"


def test_what_an_earlier_run_did_is_no_rate(clock: Clock) -> None:
    step = Step("answering", 1_000, "answers", 900, clock)
    assert step.state() == "900/1,000 answers"
    clock.now += 10
    step(20)
    assert step.state() == "920/1,000 answers, 2 answers/s, 40 s left"


def test_slow_work_has_a_rate_by_the_minute(clock: Clock) -> None:
    step = Step("looking", 10, "files", 0, clock)
    for _ in range(5):
        clock.now += 120
        step(1)
    assert step.state() == "5/10 files, 0.5 files/min, 10 min left"


def test_the_rate_is_of_late(clock: Clock) -> None:
    step = Step("reading", 10_000, "records", 0, clock)
    for n in range(200):
        clock.now += 1
        step(1 if n < 100 else 10)
    assert "10 records/s" in step.state()


def test_lines_come_every_interval_whatever_the_work_does(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    assert INTERVAL < 15
    board, stream = board_of(clock, monkeypatch)
    outer = Step("benchmark@mine", None, "", 0, clock)
    board.open(outer)
    assert not board.tick(), "short work is silent"
    for _ in range(3):  # short steps one after the other do not put the line off
        inner = Step("locating", 10, "answers", 0, clock)
        board.open(inner)
        clock.now += 4
        inner(1)
        board.tick()
        board.close(inner)
    clock.now += 10
    board.tick()
    board.close(outer)
    clock.now += 100
    assert not board.tick(), "nothing is at work"
    assert stream.getvalue().splitlines() == [
        "  benchmark@mine: locating: 1/10 answers, 0.25 answers/s, 36 s left",
        "  benchmark@mine: at work for 22 s"]


def test_listeners_get_the_lines_and_may_fail(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    board, stream = board_of(clock, monkeypatch)
    lines: list[str] = []

    def broken(line: str) -> None:
        raise OSError("no space left")

    board.listeners += [broken, lines.append]
    board.open(Step("report", None, "", 0, clock))
    for _ in range(2):
        clock.now += 11
        board.tick()
    assert lines == ["report: at work for 11 s", "report: at work for 22 s"] and broken not in board.listeners
    assert len(stream.getvalue().splitlines()) == 2


def test_deep_loops_are_counted_only_where_work_was_announced() -> None:
    assert beside([1, 2], "encoding", "batches") == [1, 2]
    with progress("training", 3, "steps"):
        assert beside([1, 2], "encoding", "batches") == [1, 2]
    with progress("compressing"):
        values = iter(beside([1, 2], "encoding", "batches"))
        assert next(values) == 1
        assert module._board.line().startswith("compressing: encoding: 0/2 batches")
        assert list(values) == [2]
    assert module._board.steps == []


def test_counted_closes_its_step_if_the_loop_breaks_off() -> None:
    with pytest.raises(ZeroDivisionError):
        for value in counted([1, 0], "dividing", 2, "numbers"):
            print(1 / value)
    assert module._board.steps == []


def test_a_listener_leaves_with_its_block() -> None:
    with listen(print):
        assert module._board.listeners == [print]
    assert module._board.listeners == []


_WORK = """
import canopy.progress as p, time
p.INTERVAL = 0.5
with p.progress("stage"), p.progress("training", 40, "steps") as advance:
    for n in range(40):
        time.sleep(0.06)
        advance(1, loss=1 / (n + 1))
print("finished")
"""


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "120"}


def test_a_pipe_gets_lines_and_no_control_characters() -> None:
    run = subprocess.run([sys.executable, "-c", _WORK], env={**_environment(), "FORCE_COLOR": "1"}, capture_output=True,
                         text=True, check=True, timeout=60)
    lines = run.stderr.splitlines()
    assert run.stdout == "finished\n" and lines and "\x1b" not in run.stderr
    assert all(x.startswith("  stage: training: ") and "/40 steps" in x and "loss" in x and "left" in x for x in lines)


def test_a_terminal_gets_a_live_bar_that_goes_away() -> None:
    parent, child = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", _WORK], env=_environment(), stdin=child, stdout=child,
                               stderr=child, close_fds=True)
    os.close(child)
    output, end = b"", time.monotonic() + 60
    while time.monotonic() < end:
        if select.select([parent], [], [], 1)[0]:
            try:
                part = os.read(parent, 65_536)
            except OSError:  # the other side is closed
                break
            output += part
            if not part:
                break
    os.close(parent)
    assert process.wait(10) == 0
    text = output.decode()
    assert "\x1b[" in text and "━" in text
    assert "training" in text and "/40 steps" in text and "loss" in text and "left" in text
    assert "finished" in text.rsplit("\x1b[2K", 1)[-1]
