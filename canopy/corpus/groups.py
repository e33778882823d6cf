"""Union-find: which names belong together, given pairs that do."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Groups(Generic[T]):
    """Names in groups that ``join`` merges; a name that was never joined is a group of its own."""

    def __init__(self) -> None:
        self._above: dict[T, T] = {}

    def root(self, name: T) -> T:
        """The name that stands for a name's group, the same for all of its members."""
        while (above := self._above.get(name, name)) != name:
            self._above[name] = name = self._above.get(above, above)
        return name

    def join(self, a: T, b: T) -> None:
        """Merge the groups of two names; the root of ``a`` becomes the root of both."""
        self._above[self.root(b)] = self.root(a)
