"""Policies compared on a simulated machine."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Union

from . import _native
from .frames import FrameKind, columns, flat, frame, kind
from .policy import Crew, Policy

Workload = Union[str, "os.PathLike[str]"]


def policies() -> list[str]:
    """The names of the policies that ship."""
    return _native.policies()


def simulate(
    workload: Workload | Sequence[Workload],
    policies: Sequence[str | Policy | type[Policy]],
    *,
    repeat: int = 1,
    seed: int = 1,
    schedules: str = "auto",
    settings: Mapping[str, Any] | Iterable[str] = (),
    jobs: int = 1,
    frame: FrameKind | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Simulation:
    """Runs a workload, or several, under each policy, as `isobar sim` does.

    workload: a TOML file; or, with several lines, the TOML itself.
    policies: names that ship, "exec:CMD", and policies of your own.
    repeat, seed: runs from each start; the first has this seed, the next one that plus 1.
    schedules: where threads start: "all", "sampled", or "auto" for all where they are few.
    settings: {"dino.class_window": 5}, or ["dino.class_window=5"].
    jobs: runs side by side; changes no result.
    frame: "pandas", "polars" or "dict"; unset: what is installed.
    progress: called with the number of runs that are done, and of all.
    """
    workloads = [workload] if isinstance(workload, (str, os.PathLike)) else workload
    crew = Crew()
    own = [policy for policy in policies if not isinstance(policy, str)]
    for policy in own:
        if not (isinstance(policy, Policy) or (isinstance(policy, type) and issubclass(policy, Policy))):
            raise TypeError(f"policies: {policy!r} is neither a name nor an isobar_numa.Policy")
    request = {
        "workloads": [os.fspath(each) for each in workloads],
        "policies": [policy if isinstance(policy, str) else policy.name for policy in policies],
        "handed": [crew.handed(policy) for policy in own],
        "settings": _settings(settings),
        "repeat": repeat,
        "seed": seed,
        "schedules": schedules,
        "jobs": jobs,
    }
    wanted = kind(frame)
    return Simulation(json.loads(_native.simulate(request, progress, crew.interrupt)), wanted)


def _settings(settings: Mapping[str, Any] | Iterable[str]) -> list[str]:
    if not isinstance(settings, Mapping):
        return list(settings)
    text = {True: "true", False: "false"}
    return [f"{key}={text[value] if isinstance(value, bool) else value}" for key, value in settings.items()]


class Simulation:
    """How policies did. Every property is a frame."""

    def __init__(self, document: dict[str, Any], wanted: FrameKind) -> None:
        self.document = document
        """All of it, as `isobar sim --json` prints each workload."""
        self._kind: FrameKind = wanted

    def _policies(self) -> list[tuple[str, dict[str, Any]]]:
        return [(one["workload"], row) for one in self.document["workloads"] for row in one["comparison"]["policies"]]

    @property
    def policies(self) -> Any:
        """A row for each workload and policy: unfairness, STP, ANTT, seconds, migrations, the gain
        over `linux`; and how far they vary (`stp_min`, `stp_max`, `stp_half_width_95`)."""

        def row(workload: str, policy: dict[str, Any]) -> dict[str, Any]:
            spread = flat({name: one or {} for name, one in policy["spread"].items()})
            return {"workload": workload, **flat(policy, drop=("apps", "spread")), **spread}

        return frame(columns(row(*each) for each in self._policies()), self._kind)

    @property
    def programs(self) -> Any:
        """A row for each workload, policy and program: seconds, slowdown, migrations, gain."""
        rows = (
            {"workload": workload, "policy": policy["policy"], "program": app["name"], **flat(app, drop=("name",))}
            for workload, policy in self._policies()
            for app in policy["apps"]
        )
        return frame(columns(rows), self._kind)

    @property
    def runs(self) -> Any:
        """A row for each program of each run, before any mean: `seed`, `start` and how likely that
        start is (`share`)."""

        def row(workload: str, run: dict[str, Any]) -> dict[str, Any]:
            program = run["app"]
            return {"workload": workload, **{("program" if key == "app" else key): one for key, one in run.items()}, "program": program}

        rows = (row(one["workload"], run) for one in self.document["workloads"] for run in one["runs"])
        return frame(columns(rows), self._kind)

    @property
    def costs(self) -> Any:
        """What asking policies in Python cost: milliseconds a decision in the policy itself, and in
        isobar and this package for it, by the clock and in CPU time. What neither computes is
        waiting for a CPU or for Python's lock."""
        return frame(columns(self.document["costs"]), self._kind)

    @property
    def notes(self) -> list[str]:
        """Notes on the programs' numbers."""
        return list(dict.fromkeys(note for one in self.document["workloads"] for note in one["notes"]))

    def __repr__(self) -> str:
        rows = self._policies()
        lines = [f"{workload}: {row['policy']}: ANTT {row['antt']:.3f}, unfairness {row['unfairness']:.3f}" for workload, row in rows]
        return "\n".join(["Simulation", *lines])
