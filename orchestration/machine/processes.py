"""Processes: which one a run belongs to, what ends a program, and how what it started is stopped with it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def identity(process: int | None = None) -> str:
    """``pid@start time`` of a process (this one unless said), empty where it is gone: a number alone is given to others later."""
    process = os.getpid() if process is None else process
    try:
        state, *rest = Path(f"/proc/{process}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        return "" if state in "ZX" else f"{process}@{rest[18]}"
    except (FileNotFoundError, ProcessLookupError):
        if Path("/proc/self/stat").exists():
            return ""
    import psutil

    try:
        return f"{process}@{psutil.Process(process).create_time():.0f}"
    except psutil.Error:
        return ""


def is_alive(named: str) -> bool:
    """Whether the process that ``identity`` once named still runs."""
    process = named.partition("@")[0]
    return process.isdigit() and identity(int(process)) == named


def end_like_ctrl_c() -> None:
    """Let SIGTERM and a closed terminal (SIGHUP) do what Ctrl-C does at that moment; what is ignored (nohup) stays so."""
    def pass_on(number: int, frame: FrameType | None) -> None:
        now: Any = signal.getsignal(signal.SIGINT)  # Dagster puts its own there while a stage runs
        if callable(now):
            now(signal.SIGINT, frame)
        else:
            raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, pass_on)


@contextmanager
def held_signals() -> Iterator[list[int]]:
    """Let no Ctrl-C, SIGTERM or SIGHUP break into the block; yields the list of those that came.

    A handler of ours, not SIG_IGN, which programs started in the block would inherit.
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
    with held_signals() as came:  # else one could break in between the start and the moment that the caller knows of it
        process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.STDOUT, **options)
        if came:
            stop_groups([process])
    if came:
        raise KeyboardInterrupt
    return process


def stop_groups(processes: Sequence[subprocess.Popen[bytes]], kinds: Sequence[int] = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL),
                seconds: float = 8.0) -> None:
    """Stop each process with its children, kindly first; a second Ctrl-C meanwhile does not cut it short."""
    with held_signals():
        for kind in kinds:
            alive = [p for p in processes if p.poll() is None]
            for p in alive:
                os.killpg(p.pid, kind)
            until = time.monotonic() + seconds
            while time.monotonic() < until and any(p.poll() is None for p in alive):
                time.sleep(0.1)
        for p in processes:
            with suppress(ProcessLookupError):
                os.killpg(p.pid, signal.SIGKILL)  # workers that outlived the process that started them
