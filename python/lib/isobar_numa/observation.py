"""What a policy sees. The fields are those of the JSON in docs/writing-a-policy.md, as attributes.

None is not measured; 0 is measured. Counts are of the interval: divide by `interval` for rates.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


class _Document:
    """An object whose attributes are a JSON document's keys."""

    def __init__(self, fields: dict[str, Any]) -> None:
        # Without a copy: a policy is asked thousands of times.
        self.__dict__ = fields

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({inside})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__dict__ == self.__dict__

    __hash__ = None  # type: ignore[assignment]


class Node(_Document):
    """A NUMA node."""

    id: int
    cpus: list[int] | None = None
    memory_bytes: int | None = None
    free_bytes: int | None = None
    max_bandwidth: float | None = None
    llcs: list[int] | None = None


class Llc(_Document):
    """A last-level cache."""

    id: int
    level: int | None = None
    cpus: list[int] | None = None
    nodes: list[int] | None = None
    size_bytes: int | None = None
    ways: int | None = None


class Cpu(_Document):
    """A logical CPU."""

    id: int
    core: int
    llc: int | None = None
    node: int | None = None


class Machine(_Document):
    """The machine: ids are the kernel's and may have gaps."""

    nodes: list[Node]
    llcs: list[Llc]
    cpus: list[Cpu]
    distances: list[list[int]] | None = None

    def cpu(self, id: int) -> Cpu:
        """The CPU of an id."""
        return next(cpu for cpu in self.cpus if cpu.id == id)

    def cpus_of_node(self, node: int) -> list[Cpu]:
        """The CPUs of a node."""
        return [cpu for cpu in self.cpus if cpu.node == node]

    def cpus_of_llc(self, llc: int) -> list[Cpu]:
        """The CPUs of a last-level cache."""
        return [cpu for cpu in self.cpus if cpu.llc == llc]


class Thread(_Document):
    """A thread that is managed."""

    pid: int
    tid: int
    cpu: int | None = None
    allowed_cpus: list[int] | None = None
    instructions: int | None = None
    cycles: int | None = None
    llc_misses: int | None = None
    bandwidth: float | None = None
    pinned: bool = False

    @property
    def misses_per_kilo_instruction(self) -> float | None:
        """LLC misses of 1,000 instructions (MPKI)."""
        if self.llc_misses is None or not self.instructions:
            return None
        return 1000 * self.llc_misses / self.instructions


class Process(_Document):
    """A process with its threads."""

    pid: int
    name: str | None = None
    threads: list[Thread]
    pages: list[int] | None = None
    accessed_pages: list[int] | None = None
    numa_penalty: float | None = None
    cache_class: str | None = None
    critical_ways: int | None = None
    slowdown_by_ways: list[float] | None = None


class Observation(_Document):
    """What was seen in an interval."""

    time: float
    interval: float
    machine: Machine
    latency_ns: list[list[float | None]] | None = None
    latency_idle_ns: list[list[float | None]] | None = None
    latency_cycles: list[list[float | None]] | None = None
    processes: list[Process]
    page_moves: list[dict[str, Any]]

    @classmethod
    def from_json(cls, text: str) -> Observation:
        """From one line, as `isobar manage --json` and `Recording.observations` have it."""
        document = json.loads(text)
        machine = document["machine"]
        for name, kind in (("nodes", Node), ("llcs", Llc), ("cpus", Cpu)):
            machine[name] = [kind(one) for one in machine.get(name, ())]
        document["machine"] = Machine(machine)
        document.setdefault("page_moves", [])
        for process in document["processes"]:
            pid = process["pid"]
            for thread in process["threads"]:
                thread["pid"] = pid
            process["threads"] = [Thread(thread) for thread in process["threads"]]
        document["processes"] = [Process(process) for process in document["processes"]]
        return cls(document)

    def threads(self) -> Iterator[Thread]:
        """Every thread of every process, in their order."""
        return (thread for process in self.processes for thread in process.threads)

    def process(self, pid: int) -> Process:
        """The process of an id."""
        return next(process for process in self.processes if process.pid == pid)
