"""The errors a user is meant to read: one line that names the file, the record and the fix."""

from __future__ import annotations


class CanopyError(Exception):
    """Base of every error that is shown to the user without a traceback."""


class DataError(CanopyError):
    """A file or record that cannot be used, with where it is and what to do about it."""


class Shortage(DataError):
    """There are too few questions for a stage; nothing is broken, and what needs no more of them can go on."""


class MediaError(DataError):
    """An image or video that cannot be decoded, with the file and the reason."""


class EncoderMismatch(CanopyError):
    """An index, store or model was made by another encoder than the one it is opened with."""


class DeviceError(CanopyError):
    """A device was asked for that this machine does not have."""


class ServerError(CanopyError):
    """A language model server that cannot be reached, or refuses after all retries."""
