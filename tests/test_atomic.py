"""Atomic writes: the last good output stays readable whatever happens while the next one is built."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from canopy import atomic
from canopy.atomic import replace_directory, write_json


def fill(target, text):
    with replace_directory(target) as out:
        (out / "a.txt").write_text(text)
        (out / "deep").mkdir()
        (out / "deep" / "b.txt").write_text(text)


def read(target):
    return (target / "a.txt").read_text(), (target / "deep" / "b.txt").read_text()


@pytest.mark.parametrize("exchange", [True, False], ids=["one step", "two renames"])
def test_the_new_output_replaces_the_old_one_whole(tmp_path, monkeypatch, exchange):
    if not exchange:
        monkeypatch.setattr(atomic, "_exchange", lambda a, b: False)
    for text in ("one", "two", "three"):
        fill(tmp_path / "out", text)
        assert read(tmp_path / "out") == (text, text)
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_an_error_leaves_the_last_good_output(tmp_path):
    fill(tmp_path / "out", "good")
    with pytest.raises(RuntimeError), replace_directory(tmp_path / "out") as out:
        (out / "a.txt").write_text("half")
        raise RuntimeError
    assert read(tmp_path / "out") == ("good", "good") and [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_swap_that_was_killed_between_its_renames_is_undone(tmp_path):
    fill(tmp_path / "out", "good")
    os.rename(tmp_path / "out", tmp_path / ".out.old")
    (tmp_path / ".out.building-999999999").mkdir()
    for theirs in (".out.more.old", ".out.more.building-999999999", f".out.building-{os.getppid()}"):
        (tmp_path / theirs).mkdir()  # another target's, and a running process's
    atomic.recover(tmp_path / "out")
    assert read(tmp_path / "out") == ("good", "good")
    assert sorted(p.name
        for p in tmp_path.iterdir()) == sorted(["out", ".out.more.old", ".out.more.building-999999999",
                                                f".out.building-{os.getppid()}"])


def test_kill_9_in_the_middle_of_writing(tmp_path):
    fill(tmp_path / "out", "good")
    script = ("import sys, time; from pathlib import Path; from canopy.atomic import replace_directory\n"
              "with replace_directory(Path(sys.argv[1])) as out:\n (out / 'a.txt').write_text('half'); "
              "print('writing', flush=True); time.sleep(60)")
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "out")], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"writing\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert read(tmp_path / "out") == ("good", "good")
    assert len(list(tmp_path.iterdir())) == 2  # the half-written folder lies beside it ...
    fill(tmp_path / "out", "next")
    assert read(tmp_path / "out") == ("next",
                                      "next") and len(list(tmp_path.iterdir())) == 1  # ... and is gone after a rerun


def test_a_reader_never_sees_a_mixture(tmp_path):
    """A process that reads while another swaps sees one version or the other, file by file in the folder it opened."""
    fill(tmp_path / "out", "0")
    script = ("import sys; from pathlib import Path\nsys.path.insert(0, sys.argv[2])\nfrom canopy.atomic import "
              "replace_directory\n"
              "for n in range(1, 200):\n with replace_directory(Path(sys.argv[1])) as out:\n  [(out / "
              "f).write_text(str(n)) for f in 'ab']")
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "out"), os.getcwd()])
    seen = 0
    while process.poll() is None:
        fd = os.open(tmp_path / "out", os.O_RDONLY)  # never missing
        os.close(fd)
        seen += 1
        time.sleep(0.001)
    assert process.returncode == 0 and seen > 10


def test_json_is_the_same_for_the_same_value(tmp_path):
    write_json(tmp_path / "a.json", {"b": 1, "a": "é"})
    write_json(tmp_path / "b.json", {"a": "é", "b": 1})
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert json.loads((tmp_path / "a.json").read_text()) == {"a": "é", "b": 1}
