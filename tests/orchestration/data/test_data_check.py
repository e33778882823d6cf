"""`canopy data`: what a folder holds of a release, what is missing, what is used, checksums, and exit codes."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from canopy.benchmarks.declaration import Benchmark
from canopy.benchmarks.registry import adapter_names, load_benchmark_adapter
from canopy.errors import DataError
from orchestration.cli.data import group
from orchestration.cli.data_report import show_size
from orchestration.data import check as data_check
from orchestration.data.check import Check, check_data
from orchestration.data.fetch import SUMS, target_name

HAND_MADE = Path(__file__).parents[2] / "data"
FOLDERS = {"hotpotqa": "hotpotqa", "two_wiki": "two_wiki", "musique": "musique",
           "natural_questions": "natural_questions", "ott_qa": "ott-qa", "hybridqa": "hybridqa", "tat_qa": "tat-qa",
           "multimodalqa": "multimodalqa", "lvbench": "lvbench", "longvideobench": "longvideobench",
           "universalrag": "universalrag"}
DECLARED = {n: load_benchmark_adapter(n).BENCHMARK for n in adapter_names()}
OFFICIAL = {n: b for n, b in DECLARED.items() if b.files}


def run_data(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(group, list(arguments), catch_exceptions=True)
    assert result.exception is None or isinstance(result.exception, (SystemExit, DataError)), result.exception
    return result.exit_code, result.output


def sums(check: Check) -> bool:
    c = check.counts
    return c["read"] == c["mapped"] + c["fallback"] + c["waiting"] + c["quarantined"] == sum(check.read_from.values())


def test_every_release_says_where_it_comes_from_its_licence_and_its_layout() -> None:
    assert set(OFFICIAL) == set(FOLDERS)
    for name, release in OFFICIAL.items():
        assert isinstance(release, Benchmark) and release.title and release.licence and release.layout, name
        assert release.home.startswith("https://"), name
        roles = [f.role for f in release.files]
        assert len(set(roles)) == len(roles) and all(f.what for f in release.files) and release.needs, name
        assert {r for group in release.needs for r in group} <= set(roles), name
        targets = [target_name(f) for f in release.files if f.url]
        assert len(set(targets)) == len(targets), name
        assert not [t for t in targets if t.endswith("/") or any(c in t for c in "*?[")], name
        assert all(len(f.sha256) == 64 for f in release.files if f.sha256), name


@pytest.mark.parametrize("name", sorted(FOLDERS))
def test_every_benchmark_is_looked_at_and_read(name: str) -> None:
    code, out = run_data("check", FOLDERS[name], str(HAND_MADE / FOLDERS[name]))
    assert code == 0, out
    check = check_data(name, HAND_MADE / FOLDERS[name])
    assert sums(check) and check.counts["read"] > 0 and check.sound
    assert f"{check.counts['read']} records read = {check.counts['mapped']} mapped + " in out
    assert OFFICIAL[name].licence in out
    for f in check.files:
        assert f.file.what in out
        if f.path is None:
            assert f"missing {f.file.patterns[0]}" in out
        else:
            assert str(f.path.relative_to(HAND_MADE / FOLDERS[name])) in out
    for reason in check.reasons:
        assert f"{reason.count} {reason.fate}: {reason.text}" in out


def test_an_empty_folder_says_what_is_needed_and_an_absent_one_that_it_is(tmp_path: Path) -> None:
    for name, release in OFFICIAL.items():
        code, out = run_data("check", name, str(tmp_path))
        assert code == 1 and all(f"missing {f.patterns[0]}" in out for f in release.files), name
        assert out.count("missing: ") == len(release.needs)
    with pytest.raises(DataError, match="no such folder"):
        check_data("hotpotqa", tmp_path / "gone")
    with pytest.raises(DataError, match="no official release is known for 'starter'; there are hotpotqa"):
        check_data("starter", tmp_path)


@pytest.mark.parametrize(("size", "text"), [
    (0, "0 bytes"), (1, "1 byte"), (1023, "1023 bytes"), (1024, "1.0 KiB"), (2**20, "1.0 MiB"),
    (3 * 2**29, "1.5 GiB"), (5000 * 2**40, "5,000 TiB")])
def test_sizes_have_the_unit_that_people_use(size: int, text: str) -> None:
    assert show_size(size) == text


def test_a_broken_file_is_named_below_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "hotpot_train_v1.1.json").write_text('[{"_id": "a"')
    code, out = run_data("check", "hotpotqa", str(tmp_path))
    assert code == 1 and "truncated" in out and "records read" not in out
    assert out.index("hotpot_train_v1.1.json  ") < out.index("truncated")
    assert run_data("check", "hotpotqa", str(tmp_path), "--no-read")[0] == 0


def test_a_slice_is_no_fault_but_what_changed_since_it_was_fetched_is(tmp_path: Path) -> None:
    published = shutil.copytree(HAND_MADE / "hotpotqa", tmp_path / "hotpotqa")
    code, out = run_data("check", "hotpotqa", str(published))
    assert code == 0 and "checksum not the published file" in out and "a slice, another version" in out
    noted = shutil.copytree(HAND_MADE / "tat-qa", tmp_path / "tat-qa")
    name = "dataset_raw/tatqa_dataset_dev.json"
    (noted / SUMS).write_text(f"{hashlib.sha256((noted / name).read_bytes()).hexdigest()}  {name}\n")
    assert "checksum as fetched" in run_data("check", "tat-qa", str(noted))[1]
    (noted / SUMS).write_text(f"{'0' * 64}  {name}\n")
    code, out = run_data("check", "tat-qa", str(noted))
    assert code == 1 and "checksum changed since it was fetched" in out


def test_what_is_not_used_has_no_records(tmp_path: Path) -> None:
    raw = shutil.copytree(HAND_MADE / "hotpotqa", tmp_path / "hotpotqa")
    shutil.copy(HAND_MADE / "hotpotqa_fullwiki" / "hotpot_dev_fullwiki_v1.json", raw)
    _, out = run_data("check", "hotpotqa", str(raw))
    line = {words[0]: " ".join(words[1:]) for words in (x.split() for x in out.splitlines()) if words}
    assert "5 records" in line["dev"] and "records" not in line["dev_fullwiki"]


def test_large_releases_are_read_on_demand_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_check, "QUICK_BYTES", 10)
    raw = str(HAND_MADE / "hotpotqa")
    assert "--read counts them" in run_data("check", "hotpotqa", raw)[1]
    assert "records read = " in run_data("check", "hotpotqa", raw, "--read")[1]


def test_a_hostile_folder(tmp_path: Path) -> None:
    """Folders instead of files and files instead of folders, links that lead nowhere and back, markup in names."""
    (tmp_path / "hotpot_train_v1.1.json").mkdir()
    (tmp_path / "traindev_tables_tok").write_text("no folder")
    (tmp_path / "hotpot_dev_distractor_v1.json").symlink_to(tmp_path / "gone.json")
    (tmp_path / "round").symlink_to(tmp_path)
    (tmp_path / "[red]hotpot_test_[bold].json").write_text("[]")
    (tmp_path / "query").mkdir()
    (tmp_path / "query" / "lvbench.json").write_bytes(b"\xff\xfe\x00" * 9)
    for name in OFFICIAL:
        code, out = run_data("check", name, str(tmp_path))
        assert code == 1 and "Traceback" not in out, name
    assert "not UTF-8" in run_data("check", "lvbench", str(tmp_path))[1]


def test_linked_folders_are_looked_through(tmp_path: Path) -> None:
    raw = tmp_path / "hybridqa"
    raw.mkdir()
    for part in ("released_data", "WikiTables-WithLinks"):
        (raw / part).symlink_to(HAND_MADE / "hybridqa" / part)
    (raw / "again").symlink_to(raw)
    a, b = check_data("hybridqa", raw), check_data("hybridqa", HAND_MADE / "hybridqa")
    assert a.sound and a.counts == b.counts
    assert len(a.files) == len(b.files)  # the link that leads back shows nothing twice


def test_the_list_and_the_plan_of_a_download_fetch_nothing(tmp_path: Path) -> None:
    code, out = run_data("list")
    assert code == 0 and all(r.title in out for r in OFFICIAL.values() if " " not in r.title)
    code, out = run_data("fetch", "hotpotqa", str(tmp_path / "new"), "--only", "dev")
    assert code == 0 and f"{tmp_path}/new/hotpot_dev_distractor_v1.json" in out and "nothing was fetched" in out
    assert not (tmp_path / "new").exists()
    code, out = run_data("fetch", "longvideobench", str(tmp_path / "new"))
    assert code == 0 and "accept the licence" in out and "videos: no direct address" in out
    assert run_data("fetch", "musique", str(tmp_path / "new"))[0] == 1  # one archive on a page, no address


@pytest.mark.real
def test_the_real_slices(real_data: Path) -> None:
    for folder in ("hotpotqa", "ott-qa", "hybridqa", "musique", "natural-questions", "multimodalqa", "lvbench",
                   "tat-qa", "universalrag"):
        code, out = run_data("check", folder, str(real_data / folder))
        counted = next(line for line in out.splitlines() if " records read = " in line)
        numbers = [int(w) for w in counted.replace(";", "").split() if w.isdigit()][:5]
        assert code == 0 and numbers[0] == sum(numbers[1:]) > 0, json.dumps([folder, counted])
