"""Recordings of `isobar record` and `manage --record`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Union

from . import _native
from .frames import FrameKind, frame, kind
from .observation import Observation


class Recording:
    """A recording that is read: its tables as frames (docs/recordings.md has every column), and
    what the policy saw.

        recording = isobar_numa.Recording("day.isobar")
        recording.table("process_epoch")
        recording.query("SELECT seconds, managed_threads FROM epoch")
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"], *, frame: FrameKind | None = None) -> None:
        self._kind: FrameKind = kind(frame)
        self._native = _native.Recording(os.fspath(path))
        self.path = os.fspath(path)
        """The file."""

    @property
    def facts(self) -> dict[str, str]:
        """Who recorded what, and how."""
        return self._native.facts()

    @property
    def tables(self) -> list[str]:
        """The names of its tables."""
        return self._native.tables()

    def table(self, name: str) -> Any:
        """A whole table."""
        known = self.tables
        if name not in known:
            raise ValueError(f"{self.path}: no table {name!r}: expected one of {', '.join(known)}")
        return self.query(f'SELECT * FROM "{name}"')

    def query(self, query: str) -> Any:
        """What a query in SQL answers. What would change the file is refused."""
        return frame(self._native.query(query), self._kind)

    def observations(self) -> Iterator[Observation]:
        """What the policy saw, epoch by epoch: the threads that were managed."""
        return map(Observation.from_json, self._native.observations())

    def __repr__(self) -> str:
        facts = self.facts
        return f"Recording({self.path}: policy {facts.get('policy')}, {facts.get('machine')})"
