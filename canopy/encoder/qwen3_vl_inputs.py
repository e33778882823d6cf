"""What Qwen3-VL-Embedding reads of a query or a node, as tokens: an instruction, then pictures, then words.

The form is the model's own (its repository's ``Qwen3VLEmbedder``): chat template with the instruction as system
message, the user's pictures before the words, the assistant's turn opened, and the last token's state taken as the
embedding.
"""

from __future__ import annotations

import dataclasses
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from canopy.encoder.base import NodeRequest
from canopy.encoder.pictures import FRAME_PIXELS, Folders, Pictures, View, fit, media_digest, media_file, natural_size
from canopy.encoder.qwen3_vl_model import IMAGE, VIDEO, Sequence3D
from canopy.encoder.tokens import cut_windows
from canopy.encoder.vision_imports import require_torchvision
from canopy.encoder.words import region_text, row_words, segment_words
from canopy.errors import DataError, MediaError
from canopy.media.videos import FRAME_LIMIT, frame_times

_EMPTY = "NULL"  # what the model's own code feeds if there is nothing to read
_MARK = "CONTENT-GOES-HERE"


@dataclass(frozen=True, slots=True)
class Content:
    """What is read of one node: all its words, those that every window repeats, the rest, and its picture."""

    text: str
    head: str = ""
    body: str = ""
    view: View | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """One input of the backbone, not yet loaded: one window of one text.

    slot : which vector it belongs to; weight : tokens of content that it stands for there; length : its tokens
    (with pictures: planned).
    """

    slot: int
    words: np.ndarray
    weight: int
    length: int
    query: bool = False
    view: View | None = field(default=None)


def node_content(request: NodeRequest, lo: int, hi: int, folders: Folders, video_pixels: int, max_pixels: int,
                 step: int, notes: list[str]) -> Content:
    """What a node is to the encoder.

    Text: the verbatim sentences. Table: title, section and column names at every level, then its rows. Image: its
    pixels, title and caption (the words read off it too if its file is not there). Video: the frames of its
    seconds, title, caption and subtitles. A file that cannot be read is noted, and the item's words stand alone.
    """
    item, leaves = request.item, request.leaves
    text = region_text(item, leaves, lo, hi).strip()
    if item.modality == "text":
        return Content(text, "", text)
    if item.modality == "table":
        return Content(text, region_text(item, leaves, 0, 0), "\n".join(row_words(item, r) for r in range(lo, hi)))
    path = media_file(item, folders)
    video = item.modality == "video"
    a, b = leaves.span(lo, hi)
    if path is not None:
        digest = media_digest(item, path)
        times = tuple(frame_times(a, b)) if video else ()
        try:
            width, height = natural_size(path, digest, video)
        except MediaError as e:
            notes.append(f"{item.id}: read by its words alone: {e}")
        else:
            most = min(FRAME_PIXELS, video_pixels // max(2, len(times))) if video else max_pixels
            view = View(path, digest, times, fit(width, height, most, step))
            if video:
                return Content(text, region_text(item, leaves, 0, 0), segment_words(item, a, b), view)
            text = region_text(dataclasses.replace(item, words=""), leaves, lo, hi).strip()
            return Content(text, "", text, view)
    if not video:
        return Content(text, "", text)
    return Content(text, region_text(item, leaves, 0, 0), segment_words(item, a, b))


def end_sentence(instruction: str) -> str:
    """An instruction as the model was trained to see it: it ends with punctuation."""
    text = instruction.strip()
    return text if not text or unicodedata.category(text[-1]).startswith("P") else text + "."


class Inputs:
    """Turns contents into token sequences and loads what is to be seen.

    Raises
    ------
    DataError
        If the checkpoint's processor cannot be loaded, or ``max_tokens`` does not hold the instruction and the
        largest picture.
    """

    def __init__(self, folder: Path, *, instruction: str, query_instruction: str, max_tokens: int, overlap: int,
                 max_pixels: int, video_pixels: int) -> None:
        require_torchvision()
        from transformers import AutoProcessor

        try:
            self.processor = processor = AutoProcessor.from_pretrained(folder, local_files_only=True)
            tokenizer = processor.tokenizer
            self._pixels, self._film = processor.image_processor, processor.video_processor
            step = {self._pixels.patch_size * self._pixels.merge_size, self._film.patch_size * self._film.merge_size}
            special = [tokenizer.convert_tokens_to_ids(f"<|{name}|>")
                       for name in ("vision_start", "vision_end", "image_pad", "video_pad")]
            if len(step) != 1 or None in special or len(set(special)) != 4:
                raise ValueError("its picture processors or special tokens are not Qwen3-VL's")
            self._start, self._end, self._image, self._video = special
            self.ends = {query: self._template(end_sentence(text))
                         for query, text in ((False, instruction), (True, query_instruction))}
        except Exception as e:  # transformers raises what it likes about a broken file
            reason = f"{type(e).__name__}: {' '.join(str(e).split())[:200]}"
            raise DataError(f"{folder}: its tokenizer, picture processor or chat template cannot be used ({reason}); "
                            "download it again, all *.json and *.jinja files included") from None
        if hasattr(self._film, "cap_pixels_per_frame"):
            # This only silences a warning: sizes are chosen here, not by the processor.
            self._film.cap_pixels_per_frame = True
        self.step, self.pad = step.pop(), tokenizer.pad_token_id or 0
        self._pair = int(self._film.temporal_patch_size)
        self._vocabulary = tokenizer.backend_tokenizer
        self.max_tokens, self.overlap = max_tokens, overlap
        self.max_pixels, self.video_pixels = max_pixels, video_pixels
        self.pictures = Pictures(self.step)
        self.notes: list[str] = []
        seen = max(max_pixels, FRAME_PIXELS if video_pixels >= FRAME_PIXELS else video_pixels) // self.step**2
        film = video_pixels // (self._pair * self.step**2) + 20 * -(-FRAME_LIMIT // self._pair)
        room = self._room(False)
        if max(seen, film) + 2 > room or self._room(True) < 16:
            raise DataError(f"encoder.max_tokens {max_tokens}: beside the instruction it leaves {max(0, room)} tokens, "
                            f"and an image or the frames of a video may take {max(seen, film) + 2}: "
                            "raise it, or lower encoder.max_pixels and encoder.video_pixels")

    def _template(self, instruction: str) -> tuple[np.ndarray, np.ndarray]:
        """Tokens before and after the content under an instruction, with what the tokenizer adds at either end."""
        messages = [{"role": "system", "content": [{"type": "text", "text": instruction}]},
                    {"role": "user", "content": [{"type": "text", "text": _MARK}]}]
        prompt = self.processor.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        before, mark, after = prompt.partition(_MARK)
        if not mark:
            raise ValueError("its chat template leaves out the user's words")
        backend = self.processor.tokenizer.backend_tokenizer
        bare, dressed = (backend.encode("a", add_special_tokens=x).ids for x in (False, True))
        at = next(n for n in range(len(dressed)) if dressed[n:n + len(bare)] == bare)
        head, tail = (backend.encode(part, add_special_tokens=False).ids for part in (before, after))
        return np.array(dressed[:at] + head, dtype=np.int64), np.array(tail + dressed[at + len(bare):], dtype=np.int64)

    def _room(self, query: bool) -> int:
        """Tokens that are left for content."""
        return self.max_tokens - sum(map(len, self.ends[query]))

    def encode_words(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Tokens of plain words, also of those that look like special tokens: no document can end its own message."""
        before = self._vocabulary.encode_special_tokens
        self._vocabulary.encode_special_tokens = True
        try:
            return [np.array(e.ids, dtype=np.int64)
                    for e in self._vocabulary.encode_batch(list(texts), add_special_tokens=False)]
        finally:
            self._vocabulary.encode_special_tokens = before

    def plan(self, contents: Sequence[Content], query: bool = False) -> list[Unit]:
        """Units of contents, slot by slot; long ones in overlapping windows that repeat the head."""
        room = self._room(query)
        units: list[Unit] = []
        texts = self.encode_words([c.text or ("" if c.view else _EMPTY) for c in contents])
        for slot, (content, words) in enumerate(zip(contents, texts, strict=True)):
            seen = self._seen(content.view)
            if seen + len(words) <= room:
                units.append(self._unit(slot, words, seen + len(words), seen, query, content.view))
                continue
            if content.view is not None:
                units.append(self._unit(slot, words[:0], seen, seen, query, content.view))
            head, body = self.encode_words([content.head + "\n" if content.head.strip() else "", content.body])
            if not len(head) or len(head) > room // 4 or not len(body):
                head, body = head[:0], words
            for w in cut_windows([len(body)], room - len(head), self.overlap):
                units.append(self._unit(slot, np.concatenate([head, body[w.start:w.end]]), w.own_end - w.own_start, 0,
                                        query, None))
        return units

    def _unit(self, slot: int, words: np.ndarray, weight: int, seen: int, query: bool, view: View | None) -> Unit:
        return Unit(slot, words, max(1, weight), sum(map(len, self.ends[query])) + seen + len(words), query, view)

    def _seen(self, view: View | None) -> int:
        if view is None:
            return 0
        patches = view.size[0] * view.size[1] // self.step**2
        return sum(len(ids) for ids, _ in self._film_tokens(patches, list(view.times))) if view.times else patches + 2

    def _film_tokens(self, patches: int, times: list[float]) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each pair of frames its time in seconds as words, then its placeholders: tokens and kinds."""
        padded = times + times[-1:] * (-len(times) % self._pair)
        middles = [(padded[n] + padded[n + self._pair - 1]) / 2 for n in range(0, len(padded), self._pair)]
        return [(np.concatenate([words, [self._start], np.full(patches, self._video), [self._end]]),
                 np.concatenate([np.zeros(len(words) + 1, int), np.full(patches, VIDEO), [0]]))
                for words in self.encode_words([f"<{t:.1f} seconds>" for t in middles])]

    def load(self, unit: Unit) -> Sequence3D:
        """A unit with its pixels; if they cannot be read, that is noted and the words stand alone."""
        before, after = self.ends[unit.query]
        parts: list[tuple[np.ndarray, np.ndarray]] = [(before, np.zeros(len(before), int))]
        images, videos = [], []
        words = unit.words
        if unit.view is not None:
            try:
                if unit.view.times:
                    frames, times = self.pictures.frames(unit.view, self.notes)
                    pixels = self._film(videos=[frames], do_resize=False, do_sample_frames=False, return_tensors="pt")
                    videos.append((pixels["pixel_values_videos"], grid := pixels["video_grid_thw"]))
                    parts += self._film_tokens(int(grid[0, 1:].prod()) // self._film.merge_size**2, times)
                else:
                    pixels = self._pixels(images=[self.pictures.image(unit.view)], do_resize=False, return_tensors="pt")
                    images.append((pixels["pixel_values"], grid := pixels["image_grid_thw"]))
                    n = int(grid.prod()) // self._pixels.merge_size**2
                    parts.append((np.concatenate([[self._start], np.full(n, self._image), [self._end]]),
                                  np.concatenate([[0], np.full(n, IMAGE), [0]])))
            except MediaError as e:
                self.notes.append(f"read by its words alone: {e}")
                words = words if len(words) else self.encode_words([_EMPTY])[0]
        parts += [(words, np.zeros(len(words), int)), (after, np.zeros(len(after), int))]
        return Sequence3D(np.concatenate([p for p, _ in parts]).astype(np.int64),
                          np.concatenate([k for _, k in parts]).astype(np.int64),
                          tuple(images), tuple(videos))
