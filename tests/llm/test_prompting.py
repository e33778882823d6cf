"""Prompts: every file is of the form, says what its role fills in, and words are filled in once."""

from __future__ import annotations

import re

import pytest

from canopy.llm import prompting
from canopy.llm.prompting import load_prompt, parse_prompt, prompt_names, prompts_digest

PLACES = {"critic": {"question", "evidence"}, "critic_memory": {"question", "evidence", "facts", "searched"},
          "classifier": {"question"},
          "router": {"question", "sources"}, "reader_short": {"question", "evidence"},
          "reader_list": {"question", "evidence"},
          "reader_option": {"question", "evidence", "letters"}, "closed_short": {"question"},
          "closed_list": {"question"}, "closed_option": {"question", "letters"}}


@pytest.mark.parametrize("name", prompt_names())
def test_every_prompt_is_of_the_form(name: str) -> None:
    prompt = load_prompt(name)
    assert int(prompt.version) >= 1 and prompt.system and prompt.places
    assert re.fullmatch(r"[0-9a-f]{64}", prompt.digest)
    assert PLACES.get(name, prompt.places) == prompt.places


def test_the_roles_have_their_prompts() -> None:
    assert set(PLACES) <= set(prompt_names())


def test_values_are_filled_in_once_and_stay_as_they_are() -> None:
    messages = load_prompt("reader_short").messages(question="{evidence} {0} $x \\1", evidence="{question}")
    assert [m["role"] for m in messages] == ["system", "user"]
    assert (
        messages[1]["content"].count("{evidence} {0} $x \\1") == 1
        and "Evidence:\n{question}\n" in messages[1]["content"]
    )


def test_parts_make_a_list_of_contents() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:,"}}
    content = parse_prompt("p", "version: 2\n# user\na {x} b").messages(x=["1 ", picture, picture, " 2",
                                                                           " 3"])[0]["content"]
    assert content == [{"type": "text", "text": "a 1 "}, picture, picture, {"type": "text", "text": " 2 3 b"}]
    assert parse_prompt("p", "version: 2\n# user\n{x}").messages(x=[picture])[0]["content"] == [picture]
    assert parse_prompt("p", "version: 2\n# user\na {x} b").messages(x=["1", "2"])[0]["content"] == "a 12 b"


def test_what_does_not_fit_is_an_error() -> None:
    with pytest.raises(KeyError):
        load_prompt("critic").messages(question="x")
    with pytest.raises(ValueError, match="no place for more"):
        load_prompt("classifier").messages(question="x", more="y")
    for broken in ("# user\nx", "version: one\n# user\nx", "version: 1\n# system\nx", "version: 1\n# user\n\n", ""):
        with pytest.raises(ValueError, match="prompt p: it must begin"):
            parse_prompt("p", broken)


def test_the_digest_follows_every_word(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompting, "FOLDER", tmp_path)
    prompting.load_prompt.cache_clear()
    (tmp_path / "a.md").write_text("version: 1\n# user\n{x}")
    first = prompts_digest()
    prompting.load_prompt.cache_clear()
    (tmp_path / "a.md").write_text("version: 1\n# user\n{x}!")
    assert prompts_digest() != first
    prompting.load_prompt.cache_clear()
