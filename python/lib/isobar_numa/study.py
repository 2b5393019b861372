"""Static what-if and exact optima."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any, Union

from . import _native
from .frames import FrameKind, columns, flat, frame, kind


def study(
    profiles: Union[str, "os.PathLike[str]"],
    workloads: Union[str, "os.PathLike[str]", Sequence[Sequence[str]], None] = None,
    algorithms: Sequence[str] = ("all",),
    *,
    solution: Union[str, "os.PathLike[str]", None] = None,
    model: str = "queueing",
    max_bandwidth: float | None = None,
    groups: int | None = None,
    uma: bool = False,
    cores: int | None = None,
    ways: int | None = None,
    objective: str = "unfairness",
    machine: str | None = None,
    time_limit: float | None = None,
    jobs: int = 1,
    frame: FrameKind | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Study:
    """Asks who should go to which last-level cache and share which ways, as `isobar study` does;
    the arguments are that command's options.

    profiles: a table of programs, or "machine:NAME".
    workloads: a file, or lists of programs' names.
    """
    inline = workloads is not None and not isinstance(workloads, (str, os.PathLike))
    named = "\n".join(",".join(one) for one in workloads) if inline else workloads  # type: ignore[union-attr]
    request = {
        "profiles": os.fspath(profiles),
        "workloads": None if named is None else os.fspath(named),  # type: ignore[arg-type]
        "inline": inline,
        "algorithms": list(algorithms),
        "solution": None if solution is None else os.fspath(solution),
        "model": model,
        "max_bandwidth": max_bandwidth,
        "groups": groups,
        "uma": uma,
        "cores": cores,
        "ways": ways,
        "objective": objective,
        "machine": machine,
        "time_limit": time_limit,
        "jobs": jobs,
    }
    wanted = kind(frame)
    return Study(json.loads(_native.study(request, progress)), wanted)


class Study:
    """Answers. Every property but `heading` and `remarks` is a frame."""

    def __init__(self, document: dict[str, Any], wanted: FrameKind) -> None:
        self.document = document
        """All of it; `answers` as `isobar study --json` prints them."""
        self.heading: str = document["heading"]
        """Model, machine, groups and bandwidth, in one line."""
        self.remarks: list[str] = document["remarks"]
        """The oddities of the profiles in use."""
        self._kind: FrameKind = wanted

    @property
    def answers(self) -> Any:
        """A row for each workload and algorithm: its measures, whether it is proved that nothing is
        better, and why there are none (`problem`)."""
        rows = (flat(answer, drop=("apps", "remarks")) for answer in self.document["answers"])
        return frame(columns(rows), self._kind)

    @property
    def programs(self) -> Any:
        """A row for each workload, algorithm and program: where it goes and how it slows down."""
        rows = (
            {"workload": answer["workload"], "algorithm": answer["algorithm"], "program": app["name"], **flat(app, drop=("name",))}
            for answer in self.document["answers"]
            for app in answer["apps"]
        )
        return frame(columns(rows), self._kind)

    def __repr__(self) -> str:
        return f"Study({self.heading}; {len(self.document['answers'])} answers)"
