"""The library's command: files in, what is kept of them out, and one line for what cannot be read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from canopy import __version__, cli

ROOT = Path(__file__).resolve().parents[1]
QUESTION = "How long is the Nile?"
NILE = "The Nile flows north. It is 6,650 km long. Its delta is fertile.\n"
PAGE = ("<html><title>Rivers</title><h1>Nile</h1><p>The Nile flows north. It is 6,650 km long.</p>"
        "<p>Boats sail.</p></html>")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "nile.txt").write_text(NILE)
    (tmp_path / "page.html").write_text(PAGE)
    (tmp_path / "rivers.csv").write_text("River,Length in km\nNile,6650\nRhine,1230\nPo,652\n")
    records = [{"id": "mine", "modality": "text", "text": NILE},
               {"modality": "table", "rows": [["Nile", "6,650 km"], ["Po", "652 km"]]}]
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(r) + "\n\n" for r in records))
    return tmp_path


def test_prints_what_is_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["compress", QUESTION, str(folder / "nile.txt")]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "nile.txt  text  8 of 18 tokens (44%)", "It is 6,650 km long.", "",
        "8 of 18 tokens (44%) over 1 item; all-MiniLM-L6-v2"]


def test_reads_documents_tables_and_native_items(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(folder / name) for name in ("nile.txt", "page.html", "rivers.csv", "items.jsonl")]
    assert cli.run(["compress", QUESTION, *files, "--json", "--rule", "lookahead", "--margin", "0"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [(i["id"], i["modality"]) for i in answer["items"]] == [
        ("nile.txt", "text"), ("page.html#1", "text"), ("rivers.csv#1", "table"), ("mine", "text"),
        ("items.jsonl:3", "table")]
    assert answer["items"][1]["title"] == "Rivers: Nile" and answer["tokens_before"] > answer["tokens_after"] > 0
    start, end = answer["items"][0]["regions"][0]["span"]
    assert NILE[start:end] == answer["items"][0]["regions"][0]["text"]


@pytest.mark.parametrize(("name", "content", "message"), [
    ("absent.txt", None, "absent.txt: cannot be read: No such file"),
    ("a.zip", b"PK", "a.zip: .zip is not a kind of file that is read; these are: .csv"),
    ("empty.txt", b" \n", "empty.txt: no words in it"),
    ("a.jsonl", b'{"id": 1}\n{', "a.jsonl: line 2 is not JSON"),
    ("b.jsonl", b"[1]", "b.jsonl: line 1: an object is expected, not list"),
    ("c.jsonl", b'{"id": "x", "modality": "text"}', "error: items[0] (x): text must be a string"),
    ("a.docx", b"no archive", "a.docx: "),
])
def test_what_cannot_be_read_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str], name: str,
                                         content: bytes | None, message: str) -> None:
    if content is not None:
        (folder / name).write_bytes(content)
    assert cli.run(["compress", QUESTION, str(folder / name)]) == 1
    out = capsys.readouterr()
    assert out.out == "" and out.err.startswith("error: ") and message in out.err and len(out.err.splitlines()) == 1


def test_a_folder_is_refused_with_what_to_do(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["compress", QUESTION, str(folder)]) == 1 and "a folder; name its files" in capsys.readouterr().err
    assert cli.run(["compress", QUESTION, str(folder / "nile.txt"), "--model", str(folder)]) == 1
    assert "not a model" in capsys.readouterr().err


def test_help_and_version_load_nothing_heavy() -> None:
    for arguments, output in (("--help", "compress files for a question"), ("--version", f"canopy {__version__}")):
        code = (f"import sys; from canopy import cli; sys.argv = ['canopy', '{arguments}']; cli.PROGRAM = 'none';"
                "import atexit; heavy = ('numpy', 'torch', 'typer');"
                "atexit.register(lambda: print([m for m in heavy if m in sys.modules])); cli.main()")
        run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
        assert output in run.stdout and run.stdout.rstrip().endswith("[]")


def test_the_program_of_a_checkout_understands_the_same_call(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import typer.testing

    from orchestration.cli.compress import compress

    app = typer.Typer()
    app.command()(compress)
    arguments = [QUESTION, str(folder / "nile.txt"), str(folder / "rivers.csv"), "--json"]
    ours = typer.testing.CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert cli.run(["compress", *arguments]) == 0
    assert ours.output == capsys.readouterr().out and ours.exit_code == 0
    for wrong in (["--item", "a"], ["--file", str(folder / "items.jsonl")], ["-k", "3"], ["--alias", "challenger"],
                  ["--workspace", str(folder)]):
        refused = typer.testing.CliRunner().invoke(app, [*arguments, *wrong])
        assert f"leave out {wrong[0]}" in str(refused.exception)
    assert "--alias says" in str(typer.testing.CliRunner().invoke(app, [QUESTION, "--model", str(folder)]).exception)
