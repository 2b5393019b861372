"""How a program uses its pages."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, Union

from . import _native
from .frames import FrameKind, columns, flat, frame, kind


def pages(
    trace: Union[str, "os.PathLike[str]"],
    *,
    nodes: int = 2,
    threads_to_nodes: Sequence[int] | None = None,
    min_excl: float = 0.9,
    page_size: int | None = None,
    sweep_min_excl: bool = False,
    frame: FrameKind | None = None,
) -> Pages:
    """Reports on a trace of `isobar trace`, a page profile of numalize or samples of perf, as
    `isobar pages` does.

    nodes: NUMA nodes to place pages on.
    threads_to_nodes: the node of each thread; unset: neighbours together, as many on each node.
    min_excl: a page is exclusive above this part of its accesses from one node.
    page_size: bytes; unset: those of the file.
    sweep_min_excl: also the mapping `mixed` at every exclusivity from 0 to 100 %.
    """
    request = {
        "trace": os.fspath(trace),
        "nodes": nodes,
        "threads_to_nodes": None if threads_to_nodes is None else list(threads_to_nodes),
        "min_excl": min_excl,
        "page_size": page_size,
        "sweep": sweep_min_excl,
    }
    wanted = kind(frame)
    return Pages(json.loads(_native.pages(request)), wanted)


class Pages:
    """A report on page usage."""

    def __init__(self, document: dict[str, Any], wanted: FrameKind) -> None:
        self.document = document
        """All of it, as `isobar pages --json` prints it; docs/pages.md explains every figure."""
        self._kind: FrameKind = wanted

    @property
    def figures(self) -> dict[str, Any]:
        """The figures of the program as a whole: pages, accesses, exclusivity, dynamicity."""
        return {name: one for name, one in self.document.items() if not isinstance(one, (dict, list))}

    @property
    def mappings(self) -> Any:
        """A row for each mapping of pages to nodes: balance, locality, accesses that are remote."""
        rows = ({"mapping": name, **flat(one)} for name, one in self.document["policies"].items())
        return frame(columns(rows), self._kind)

    @property
    def structures(self) -> Any:
        """A row for each structure of the program."""
        rows = (flat(one, drop=("first_touch",)) for one in self.document["structures"])
        return frame(columns(rows), self._kind)

    @property
    def slices(self) -> Any:
        """A row for each time slice of a trace: migrations, exclusivity, accesses. Empty where the
        file has no times."""
        points = (self.document["slices"] or {}).get("points", [])
        return frame(columns(points), self._kind)

    @property
    def sweep(self) -> Any:
        """Balance and locality of `mixed` by exclusivity, where `sweep_min_excl` asked for it."""
        return frame(columns(self.document["sweep"] or []), self._kind)

    @property
    def advice(self) -> dict[str, Any]:
        """Which mapping suits, with its reasons and cautions."""
        return dict(self.document["advice"])

    @property
    def remarks(self) -> list[str]:
        """What is missing of the file."""
        return list(self.document["remarks"])

    def __repr__(self) -> str:
        name, pages, advice = self.document["file"], self.document["pages"], self.document["advice"]["policy"]
        return f"Pages({name}: {pages} pages, advice: {advice})"
