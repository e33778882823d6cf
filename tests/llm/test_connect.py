"""From settings to roles: which server, which model, whose tokens; and no key anywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from canopy.config import Language, load_config
from canopy.errors import DataError, ServerError
from canopy.items import Question
from canopy.llm import connect
from canopy.llm.connect import connect_roles, named_server
from canopy.llm.counting import EstimatedTokens
from canopy.llm.roles import RegionView, Roles, Trace
from tests.llm.scripted_server import ScriptedServer

QUESTION = Question("b/1", "b", "How long is the Nile?")
SHOWN = [RegionView("b/nile", "text", "Nile", 0, 1, "The Nile is 6,650 km long.")]


def no_plain() -> Roles:
    raise AssertionError("a server is named")


@pytest.fixture(autouse=True)
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (connect.BASE_URL, connect.MODEL, connect.KEY):
        monkeypatch.delenv(name, raising=False)


def test_without_a_server_the_plain_roles_run(tmp_path: Path) -> None:
    marks: list[int] = []
    def plain() -> Roles:
        marks.append(1)
        return "the plain ones"  # type: ignore[return-value]
    assert connect_roles(Language(), tmp_path,
                         plain) == "the plain ones" and marks == [1] and not list(tmp_path.iterdir())


def test_params_come_before_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(connect.MODEL, "other")
    with ScriptedServer(models=["tiny", "other"]) as server:
        monkeypatch.setenv(connect.BASE_URL, server.url)
        monkeypatch.setenv(connect.KEY, " sk-secret-0123 ")
        roles = connect_roles(Language(), tmp_path, no_plain)
        assert roles.reader.read(QUESTION, SHOWN, Trace()).text == "forty-two"
        assert server.requests[0]["model"] == "other" and server.headers[0]["Authorization"] == "Bearer sk-secret-0123"
        assert (roles.kind, roles.reader.name, roles.label) == ("llm", "other",
                                                                "other, over an OpenAI-compatible server")
        monkeypatch.setenv(connect.BASE_URL, "http://127.0.0.1:9/v1")
        named = connect_roles(Language(base_url=server.url + "/chat/completions/", model="tiny", sees_media=True),
                              tmp_path, no_plain)
        named.reader.read(QUESTION, SHOWN, Trace())
        assert (
            server.requests[1]["model"] == "tiny"
            and named.reader.sees_media
            and named.label.endswith(", images and frames shown")
        )
    assert (tmp_path / "replies.sqlite").exists()


def test_the_only_model_is_taken_and_several_are_an_error(tmp_path: Path) -> None:
    with ScriptedServer(models=["the-one"]) as server:
        assert connect_roles(Language(base_url=server.url), tmp_path, no_plain).reader.name == "the-one"
    with ScriptedServer(models=["a", "b"]) as server, pytest.raises(ServerError,
                                                                    match=r"has a, b: say which .* language\.model or "
                                                                          r"CANOPY_LLM_MODEL"):
        connect_roles(Language(base_url=server.url), tmp_path, no_plain)
    with ScriptedServer(models=[]) as server, pytest.raises(ServerError, match="names none"):
        connect_roles(Language(base_url=server.url), tmp_path, no_plain)
    with pytest.raises(ServerError, match="no reply after 1 tries"):
        connect_roles(Language(base_url=server.url, tries=1), tmp_path, no_plain)


def test_a_model_served_from_a_path_is_called_by_its_last_part() -> None:
    assert [connect.short_name(m) for m in ("Qwen/Qwen3-VL-8B-Instruct", "/models/Qwen3-VL/", "./a/b.gguf",
                                            "C:\\models\\b.gguf", "gpt")] == [
        "Qwen/Qwen3-VL-8B-Instruct", "Qwen3-VL", "b.gguf", "b.gguf", "gpt"]


@pytest.mark.parametrize("url", ["127.0.0.1:8000/v1", "ftp://host/v1", "http://", "http://host:port/v1",
                                 "http://ho st/v1", "http://host/v1?key=1", "http://[::1/v1", "none"])
def test_what_is_no_address_is_an_error(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ServerError, match=r"language\.base_url .*looks like http://127\.0\.0\.1:8000/v1"):
        named_server(Language(base_url=url))
    monkeypatch.setenv(connect.BASE_URL, url)
    with pytest.raises(ServerError, match="CANOPY_LLM_BASE_URL"):
        named_server(Language())


def test_a_password_in_the_address_is_refused_and_not_shown() -> None:
    with pytest.raises(ServerError, match="CANOPY_LLM_API_KEY") as e:
        named_server(Language(base_url="http://me:hunter2@127.0.0.1/v1"))
    assert "hunter2" not in str(e.value)


# --- tokens

@pytest.mark.parametrize("kind", ["vllm", "llama.cpp"])
def test_the_servers_tokenizer_counts_and_is_asked_once(tmp_path: Path, kind: str) -> None:
    language = Language(base_url="http://127.0.0.1:9/v1", model="tiny", tries=1)
    with ScriptedServer(tokenizer=kind) as server:
        roles = connect_roles(language.model_copy(update={"base_url": server.url}), tmp_path, no_plain)
        assert roles.reader.count_tokens(["one two three", "", "one",
                                          "half \ud83d"]) == [3, 0, 1, 2] and roles.reader.name == "tiny"
    again = connect_roles(language, tmp_path, no_plain)  # nobody listens there: everything is remembered
    assert again.reader.count_tokens(["one two three"]) == [3]
    with pytest.raises(ServerError, match="no reply"):
        again.reader.count_tokens(["something new"])


def test_without_a_tokenizer_there_is_an_estimate_that_says_so(tmp_path: Path) -> None:
    with ScriptedServer(tokenizer="") as server:
        roles = connect_roles(Language(base_url=server.url, model="tiny"), tmp_path, no_plain)
        assert roles.reader.name == "tiny (tokens estimated)" and "tokens estimated" in roles.label
        assert roles.reader.count_tokens(["The Nile is long."]) == [5]


def test_a_server_that_is_down_is_not_one_without_a_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match=r"language\.tokenizer"):
        connect_roles(Language(base_url="http://127.0.0.1:9/v1", model="tiny", tries=1), tmp_path, no_plain)
    with ScriptedServer() as server:
        assert connect_roles(Language(base_url=server.url, model="tiny"), tmp_path, no_plain).reader.name == "tiny"


def test_a_tokenizer_in_a_folder_counts_without_the_server(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "the": 1}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_truncation(3)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    language = Language(base_url="http://127.0.0.1:9/v1", model="tiny", tokenizer=str(tmp_path))
    roles = connect_roles(language, tmp_path, no_plain)
    assert roles.reader.count_tokens(["the end of the file", "\ud83d"]) == [5, 1] and roles.reader.name == "tiny"
    with pytest.raises(DataError, match=r"no such file: language\.tokenizer names the folder"):
        connect_roles(language.model_copy(update={"tokenizer": str(tmp_path / "none")}), tmp_path, no_plain)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(DataError, match="not a tokenizer that can be read"):
        connect_roles(language, tmp_path, no_plain)


def test_estimates() -> None:
    count = EstimatedTokens().count
    assert count(["", "  \n", "a", "Petronas Towers; 452", "internationalisation", "日本語", "naïve", "a_b",
                  "..."]) == [0, 0, 1, 8, 3, 3, 2, 3, 1]


def test_a_tokenizers_folder_counts_from_the_params_file(tmp_path: Path) -> None:
    (tmp_path / "tok").mkdir()
    (tmp_path / "params.yaml").write_text("benchmarks: {b: {adapter: native, path: raw}}\nlanguage: {tokenizer: tok}\n"
                                          "answers: {readers: [{model: m, tokenizer: tok}, {model: n, tokenizer: "
                                          "elsewhere}]}\n")
    config = load_config(tmp_path / "params.yaml")
    assert [x.tokenizer
            for x in (config.language, *config.answers.readers)] == [str(tmp_path / "tok")] * 2 + ["elsewhere"]


def test_a_home_folder_of_nobody_holds_no_tokenizer(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text("benchmarks: {b: {adapter: native, path: raw}}\nlanguage: {tokenizer: "
                                          "~nobody-of-this-name/tok}\n")
    language = load_config(tmp_path / "params.yaml").language
    with pytest.raises(DataError, match=r"no such file: language\.tokenizer names the folder"):
        connect_roles(language.model_copy(update={"base_url": "http://127.0.0.1:9/v1", "model": "tiny"}), tmp_path,
                      no_plain)
