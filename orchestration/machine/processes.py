"""Processes: the identity of one, the signals that end a program, and the end of what it started."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def identity(process: int | None = None) -> str:
    """``pid@start`` of a process, this one unless given; empty if it has ended.

    A number alone is given to another process later. The start is in seconds since the machine's own start, so that a
    clock that is set anew does not change it.
    """
    import psutil

    try:
        running = psutil.Process(process)
        if running.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return ""
        booted = psutil.boot_time()
        return f"{running.pid}@{running.create_time() - booted:.2f}"
    except psutil.Error:
        return ""


def is_alive(name: str) -> bool:
    """Whether the process that ``identity`` once gave this name still runs."""
    process = name.partition("@")[0]
    return process.isdigit() and identity(int(process)) == name


def end_like_ctrl_c() -> None:
    """Let SIGTERM and SIGHUP (a closed terminal) do what Ctrl-C does then; an ignored signal (nohup) stays ignored."""
    def pass_on(number: int, frame: FrameType | None) -> None:
        handler = signal.getsignal(signal.SIGINT)  # Dagster puts its own there while a stage runs
        if callable(handler):
            handler(signal.SIGINT, frame)
        else:
            raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, pass_on)


@contextmanager
def blocked_signals() -> Iterator[list[int]]:
    """Let no Ctrl-C, SIGTERM or SIGHUP break into the block; yields the list of those that came.

    They get a handler of ours. SIG_IGN would pass on to programs that the block starts.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    before = {n: signal.getsignal(n) for n in _ENDINGS}
    for n in _ENDINGS:
        if before[n] is not signal.SIG_IGN:
            signal.signal(n, lambda number, _: came.append(number))
    try:
        yield came
    finally:
        for n, handler in before.items():
            signal.signal(n, handler)


def start_group(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a program that leads a process group of its own; its caller stops it with ``stop_groups``."""
    # Otherwise a signal could come between the start and the moment that the caller knows of the process.
    with blocked_signals() as came:
        process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.STDOUT, **options)
        if came:
            stop_groups([process])
    if came:
        raise KeyboardInterrupt
    return process


def stop_groups(processes: Sequence[subprocess.Popen[bytes]], seconds: float = 8.0) -> None:
    """Stop each process with its children: SIGINT, then SIGTERM, then SIGKILL; another Ctrl-C does not cut it short.

    Parameters
    ----------
    seconds : float
        How long each signal may take.
    """
    with blocked_signals():
        for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            alive = [p for p in processes if p.poll() is None]
            for p in alive:
                os.killpg(p.pid, kind)
            until = time.monotonic() + seconds
            while time.monotonic() < until and any(p.poll() is None for p in alive):
                time.sleep(0.1)
        for p in processes:
            with suppress(ProcessLookupError):
                os.killpg(p.pid, signal.SIGKILL)  # workers that outlived the process that started them
