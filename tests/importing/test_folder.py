"""A folder from end to end: every file's fate, stable ids and bytes, and that ingestion takes all of it."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import openpyxl
import pytest
import typer
from typer.testing import CliRunner

from canopy.errors import DataError
from canopy.importing import readers
from canopy.importing.folder import import_folder
from canopy.importing.media import find_subtitles, name_words
from canopy.ingest.native import read
from canopy.ingest.sink import Sink
from orchestration.cli.import_documents import register
from orchestration.pipeline.data_options import benchmarks_at
from tests.importing.samples import PROSE, lines, pdf, picture


@pytest.fixture
def source(tmp_path) -> Path:
    """A folder with a bit of everything."""
    folder = tmp_path / "docs"
    (folder / "pics").mkdir(parents=True)
    (folder / "guide.md").write_text(
        "# Guide\n\n![A teal field](pics/field%20one.png) ![gone](pics/gone.png)\n\n"
        "The harbour is old.\n\n| a | b |\n|-|-|\n| 1 | 2 |\n"
    )
    (folder / "page.html").write_text("<title>Page</title><h2>Part</h2><p>Words on a page.")
    (folder / "plain.txt").write_text("Plain words.")
    (folder / "ports.csv").write_text("Port;Depth\nIlmen;9\nOrlo;7\n")
    pdf(folder / "report.pdf", [lines(PROSE), []], {1: [(50, 50, 300, 300)]})
    picture(folder / "pics" / "field one.png")
    picture(folder / "pics" / "other_field.JPG")
    return folder


def ingest(target: Path) -> Sink:
    sink = Sink("mine", target)
    read(target, sink)
    assert not sink.quarantine and not sink.waiting
    return sink


def digest(folder: Path) -> str:
    return hashlib.sha256(
        b"".join(str(p.relative_to(folder)).encode() + p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file())
    ).hexdigest()


def summed(result) -> bool:
    return result.read == result.imported + len(result.skipped) + result.quarantined


def test_everything_becomes_items_that_ingestion_takes(source, tmp_path):
    result = import_folder(source, tmp_path / "out")
    assert (result.read, result.imported, result.skipped, result.quarantine) == (7, 7, {}, [])
    items = ingest(tmp_path / "out").items
    assert {k.removeprefix("mine/"): v.modality for k, v in items.items()} == {
        "guide.md#text-1": "text",
        "guide.md#table-1": "table",
        "page.html#text-1": "text",
        "plain.txt#text-1": "text",
        "ports.csv#table-1": "table",
        "report.pdf#p1-text-1": "text",
        "report.pdf#p2-image-1": "image",
        "pics/field one.png": "image",
        "pics/other_field.JPG": "image",
    }
    assert (
        items["mine/pics/field one.png"].caption == "A teal field"
        and items["mine/pics/other_field.JPG"].title == "other field"
    )
    assert (
        items["mine/ports.csv#table-1"].header == ("Port", "Depth")
        and items["mine/page.html#text-1"].title == "Page: Part"
    )
    assert any("1 pictures that documents show are not in the folder" in n for n in result.notes)


def test_equal_folders_give_equal_bytes_however_often(source, tmp_path):
    import_folder(source, tmp_path / "a")
    shutil.copytree(source, tmp_path / "copy" / "docs")
    import_folder(tmp_path / "copy" / "docs", tmp_path / "b")
    first = digest(tmp_path / "a")
    assert first == digest(tmp_path / "b")
    again = import_folder(source, tmp_path / "a")
    assert again.reused == again.imported == 7 and digest(tmp_path / "a") == first


def test_only_what_changed_is_read_again_and_ids_stay(source, tmp_path, monkeypatch):
    import_folder(source, tmp_path / "out")
    before = ingest(tmp_path / "out").items
    (source / "plain.txt").write_text("Other words.")
    (source / "a_new.txt").write_text("New words.")
    (source / "guide.md").write_text((source / "guide.md").read_text().replace("teal", "green"))
    (source / "page.html").unlink()
    called = []
    for suffix, reader in readers.READERS.items():
        monkeypatch.setitem(readers.READERS, suffix, lambda p, reader=reader: called.append(p.name) or reader(p))
    result = import_folder(source, tmp_path / "out")
    after = ingest(tmp_path / "out").items
    assert sorted(called) == ["a_new.txt", "guide.md", "plain.txt"] and result.reused == 3
    assert after["mine/pics/field one.png"].caption == "A green field"
    assert set(after) ^ set(before) == {"mine/a_new.txt#text-1", "mine/page.html#text-1"}


def test_bad_files_are_quarantined_each_with_its_reason(source, tmp_path):
    for name, data in {
        "a.pdf": b"%PDF-1.4 broken",
        "b.docx": b"nothing",
        "c.xlsx": b"",
        "d.png": b"\x89PNG\r\n\x1a\n",
        "e.mp4": b"\x00" * 99,
        "f.txt": b"\x00\x01\x02\xff\xfe" * 50,
        "talk.vtt": b"WEBVTT\n",
    }.items():
        (source / name).write_bytes(data)
    (source / os.fsdecode(b"bad\xff.txt")).write_text("x")
    result = import_folder(source, tmp_path / "out", max_quarantined_share=0.6)
    listed = [json.loads(line) for line in (tmp_path / "out" / "quarantine.jsonl").read_text().splitlines()]
    assert sorted(q["file"] for q in listed) == ["a.pdf", "b.docx", "bad?.txt", "c.xlsx", "d.png", "e.mp4", "f.txt"]
    assert all(q["reason"] and "Traceback" not in q["reason"] for q in listed)
    assert summed(result) and result.imported == 7 and list(result.skipped) == ["talk.vtt"]
    assert len(ingest(tmp_path / "out").items) == 9 and not (tmp_path / "out" / "media" / "d.png").exists()


def test_too_many_bad_files_stop_it_and_the_target_stays(source, tmp_path):
    import_folder(source, tmp_path / "out")
    before = digest(tmp_path / "out")
    for n in range(5):
        (source / f"{n}.pdf").write_bytes(b"broken")
    with pytest.raises(DataError, match=r"5 of 12 files cannot be used.*--max-quarantined-share"):
        import_folder(source, tmp_path / "out")
    assert digest(tmp_path / "out") == before and len((tmp_path / "out.quarantine.jsonl").read_text().splitlines()) == 5
    (source / "4.pdf").unlink()
    assert import_folder(source, tmp_path / "out").quarantined == 4  # a few bad ones are told, and no reason to stop
    with pytest.raises(DataError, match="4 of 11 files cannot be used"):
        import_folder(source, tmp_path / "out", max_quarantined_share=0)


def test_where_most_files_are_bad_it_stops(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("Words.")
    for n in range(2):
        (tmp_path / "docs" / f"{n}.pdf").write_bytes(b"broken")
    with pytest.raises(DataError, match="2 of 3 files cannot be used"):
        import_folder(tmp_path / "docs", tmp_path / "out")


def test_what_no_one_reads_is_skipped_and_counted(source, tmp_path):
    (source / ".secret.txt").write_text("hidden")
    (source / ".git").mkdir()
    (source / ".git" / "a.txt").write_text("hidden")
    (source / "~$report.docx").write_text("lock")
    (source / "program.exe").write_bytes(b"MZ")
    (source / "README").write_text("words")
    (source / "empty.txt").write_text(" \n")
    (tmp_path / "outside.txt").write_text("outside")
    (source / "link.txt").symlink_to(tmp_path / "outside.txt")
    (source / "inner.txt").symlink_to(source / "plain.txt")
    (source / "loop").symlink_to(source)
    (source / "gone.txt").symlink_to(source / "nothing")
    os.mkfifo(source / "pipe.txt")
    result = import_folder(source, tmp_path / "out")
    assert result.skipped == {
        "program.exe": ".exe: not a kind of file that is imported",
        "README": "no ending: not a kind of file that is imported",
        "empty.txt": "no words in it",
        "link.txt": "a link out of the folder",
        "loop": "a link to a folder",
        "pipe.txt": "no regular file",
    }
    assert [q["file"] for q in result.quarantine] == ["gone.txt"] and result.hidden == 3 and summed(result)
    assert {"mine/inner.txt#text-1", "mine/plain.txt#text-1"} <= set(ingest(tmp_path / "out").items)
    assert "1 files have the same content as another: imported under their own names" in result.notes


class TestTarget:
    def test_inside_the_source_it_is_not_imported_again(self, source):
        import_folder(source, source / "native")
        assert import_folder(source, source / "native").read == 7

    def test_what_an_earlier_import_made_in_the_source_is_no_document(self, source, tmp_path):
        first = import_folder(source, source / "native")
        again = import_folder(source, tmp_path / "elsewhere")
        assert again.skipped["native"] == "made by `canopy import`" and again.items == first.items

    @pytest.mark.parametrize("where", [".", ".."])
    def test_it_must_not_hold_the_source(self, source, where):
        with pytest.raises(DataError, match="must not be or hold the source"):
            import_folder(source, source / where)
        assert (source / "plain.txt").exists()

    def test_a_folder_of_the_users_is_not_replaced(self, source, tmp_path):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "thesis.txt").write_text("precious")
        with pytest.raises(DataError, match="not made by `canopy import`"):
            import_folder(source, tmp_path / "out")

    @pytest.mark.parametrize("name", ["items.jsonl", "thesis.txt"])
    def test_edits_in_it_are_not_lost(self, source, tmp_path, name):
        import_folder(source, tmp_path / "out")
        with open(tmp_path / "out" / name, "a") as f:
            f.write("\n")
        with pytest.raises(DataError, match=name):
            import_folder(source, tmp_path / "out")

    def test_nothing_to_import(self, tmp_path):
        (tmp_path / "docs").mkdir()
        with pytest.raises(DataError, match="nothing to import"):
            import_folder(tmp_path / "docs", tmp_path / "out")
        with pytest.raises(DataError, match="no such folder"):
            import_folder(tmp_path / "gone", tmp_path / "out")
        assert not (tmp_path / "out").exists()


class TestQuestions:
    def test_a_table_of_questions(self, source, tmp_path):
        (source / "faq.csv").write_text(
            "Question,Answers,Item\nHow deep is Ilmen?,9 | nine,ports.csv#table-1\n"
            "What is old?,The harbour,\n,,\nWho?,x,gone.md\n"
        )
        result = import_folder(source, tmp_path / "out", source / "faq.csv")
        sink = ingest(tmp_path / "out")
        assert [(q.question, q.answers) for q in sink.questions.values()] == [
            ("How deep is Ilmen?", ("9", "nine")),
            ("What is old?", ("The harbour",)),
        ]
        assert [(a.question_id, a.item_id, a.unit) for a in sink.annotations] == [
            ("mine/row-2", "mine/ports.csv#table-1", "item")
        ]
        assert (
            result.questions == 2
            and [q["record"] for q in result.quarantine] == ["row 5"]
            and result.quarantined == 0
            and result.read == 7
        )

    def test_a_workbook_of_questions(self, source, tmp_path):
        book = openpyxl.Workbook()
        for row in (
            ["id", "question", "answer", "split"],
            [1, "How deep is Ilmen?", 9, "test"],
            [2, "Why?", None, "dev"],
        ):
            book.active.append(row)
        book.save(tmp_path / "q.xlsx")
        result = import_folder(source, tmp_path / "out", tmp_path / "q.xlsx")
        assert [(q.id, q.answers, q.split) for q in ingest(tmp_path / "out").questions.values()] == [
            ("mine/1", ("9",), "test")
        ]
        assert [(q["record"], q["reason"]) for q in result.quarantine] == [
            ("row 3", "split must be train or test, not 'dev'")
        ]

    def test_json_lines_in_the_native_format_and_looser(self, source, tmp_path):
        records = [
            {
                "id": "q1",
                "question": "What is old?",
                "answer": "harbour",
                "gold": [{"item": "guide.md#text-1", "chars": [[0, 11]]}],
            },
            {"question": "How deep?", "answers": [9]},
            {"question": ""},
            {"id": "q1", "question": "Again?"},
            7,
        ]
        (tmp_path / "q.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records) + "not json\n")
        result = import_folder(source, tmp_path / "out", tmp_path / "q.jsonl")
        sink = ingest(tmp_path / "out")
        assert [q.id for q in sink.questions.values()] == ["mine/q1", "mine/line-2"] and sink.annotations[0].spans == (
            (0.0, 11.0),
        )
        assert sorted(q["record"] for q in result.quarantine) == ["line 3", "line 4", "line 5", "line 6"]

    def test_questions_written_by_hand_are_kept(self, source, tmp_path):
        import_folder(source, tmp_path / "out")
        mine = tmp_path / "out" / "questions.jsonl"
        mine.write_text('{"id": "q", "question": "What?", "answers": []}\n')
        assert import_folder(source, tmp_path / "out").questions == 1 and "What?" in mine.read_text()
        (tmp_path / "q.json").write_text('[{"question": "Why?"}]')
        with pytest.raises(DataError, match="by hand"):
            import_folder(source, tmp_path / "out", tmp_path / "q.json")
        mine.unlink()
        import_folder(source, tmp_path / "out", tmp_path / "q.json")
        (tmp_path / "q.json").write_text('[{"question": "How?"}]')
        import_folder(source, tmp_path / "out", tmp_path / "q.json")
        assert "How?" in mine.read_text()

    @pytest.mark.parametrize(
        ("name", "text", "match"),
        [
            ("q.csv", "a,b\n1,2\n", "no column named 'question'"),
            ("q.doc", "x", "questions are read from"),
            ("q.json", "[{", "not valid JSON"),
            ("q.jsonl", '{"question": 3}\n', "no question in it can be used"),
        ],
    )
    def test_files_that_are_no_questions(self, source, tmp_path, name, text, match):
        (tmp_path / name).write_text(text)
        with pytest.raises(DataError, match=match):
            import_folder(source, tmp_path / "out", tmp_path / name)


def test_which_subtitles_go_with_a_video():
    choices = find_subtitles(
        ["v/talk.mp4", "w/talk.webm", "v/solo.mov"], ["subs/talk.de.vtt", "subs/talk.en.vtt", "v/talk.srt", "other.vtt"]
    )
    assert choices == {"v/talk.mp4": "v/talk.srt", "w/talk.webm": "v/talk.srt"}
    assert find_subtitles(["a/talk.mp4"], ["s/talk.de.vtt", "s/talk.en.vtt"]) == {"a/talk.mp4": "s/talk.en.vtt"}


def test_names_to_words():
    assert [name_words(n) for n in ("a/elephant_at-sunset.jpg", "x.tar.gz", "---.png")] == [
        "elephant at sunset",
        "x tar",
        "---",
    ]


@pytest.mark.real
def test_the_real_media(real_data, tmp_path):
    result = import_folder(real_data / "media", tmp_path / "out")
    assert (result.items["video"], result.items["image"], result.quarantine) == (2, 6, [])
    items = ingest(tmp_path / "out").items.values()
    friday, nasa = (next(i for i in items if name in i.id) for name in ("friday", "nasa"))
    assert len(friday.cues) == 5 and nasa.cues and "telescope" in " ".join(c.text for c in nasa.cues)


def test_run_points_at_import(source):
    with pytest.raises(DataError, match=r"no items.jsonl there.*canopy import .*docs-canopy"):
        benchmarks_at(source, [])


def test_the_command(source, tmp_path):
    (source / "broken.pdf").write_bytes(b"no")
    result = CliRunner().invoke(program(), [str(source), str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "8 files read = 7 imported + 0 skipped + 1 quarantined\nitems: 3 image, 2 table, 4 text" in result.output
    assert (
        "quarantined: broken.pdf: not a PDF file" in result.output
        and f"canopy run --data {tmp_path / 'out'}" in result.output
    )


def program() -> typer.Typer:
    app = typer.Typer()
    register(app)
    return app
