"""HTTP to the programs that this one starts on this machine: straight there, whatever proxy the environment names."""

from __future__ import annotations

from http.client import HTTPException, HTTPResponse
from urllib.request import ProxyHandler, Request, build_opener


def open_local(request: str | Request, timeout: float) -> HTTPResponse:
    """``urllib.request.urlopen`` for a loopback address.

    Raises
    ------
    OSError
        Where nobody answers, or not with success (urllib's HTTPError is one).
    """
    try:
        return build_opener(ProxyHandler({})).open(request, timeout=timeout)
    except HTTPException as e:  # what answers does not speak HTTP
        raise OSError(f"{type(e).__name__}: {e}") from e
