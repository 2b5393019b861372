"""What a policy can ask for, each with its reason: people read it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

from .observation import Process, Thread


class Action:
    """One change to the machine."""

    def to_json(self) -> dict[str, Any]:
        """As docs/writing-a-policy.md has it."""
        raise NotImplementedError


@dataclass(frozen=True)
class Move(Action):
    """Binds a thread to a CPU; with `cpus` it goes to `cpu`, which is among them, and the kernel may
    balance it among them from then on."""

    thread: Thread
    cpu: int
    reason: str
    cpus: Sequence[int] | None = None

    def to_json(self) -> dict[str, Any]:
        among = {} if self.cpus is None else {"cpus": list(self.cpus)}
        where = {"pid": self.thread.pid, "tid": self.thread.tid, "cpu": self.cpu, **among}
        return {"kind": "move_thread", **where, "reason": self.reason}


@dataclass(frozen=True)
class MigratePages(Action):
    """Moves pages of a process from node to node; `select`: around_samples, accessed or
    resident_set."""

    process: Process
    from_node: int
    to_node: int
    pages: int
    reason: str
    select: str = "around_samples"
    for_thread: Thread | None = None

    def to_json(self) -> dict[str, Any]:
        of = {} if self.for_thread is None else {"for_tid": self.for_thread.tid}
        where = {"pid": self.process.pid, "from_node": self.from_node, "to_node": self.to_node}
        what = {"pages": self.pages, "select": self.select, **of}
        return {"kind": "migrate_pages", **where, **what, "reason": self.reason}


@dataclass(frozen=True)
class WithdrawPages(Action):
    """Takes back what has not begun of a process's page migrations."""

    process: Process
    reason: str
    from_node: int | None = None
    to_node: int | None = None

    def to_json(self) -> dict[str, Any]:
        ends = {"from_node": self.from_node, "to_node": self.to_node}
        given = {name: node for name, node in ends.items() if node is not None}
        return {"kind": "withdraw_pages", "pid": self.process.pid, **given, "reason": self.reason}


@dataclass(frozen=True)
class SetWays(Action):
    """Gives ways of a cache, bits of `way_mask`, to threads; `cluster` names them in that cache."""

    llc: int
    cluster: str
    way_mask: int
    threads: Sequence[Thread]
    reason: str
    memory_bandwidth_percent: int | None = None

    def to_json(self) -> dict[str, Any]:
        percent = self.memory_bandwidth_percent
        limit = {} if percent is None else {"memory_bandwidth_percent": percent}
        what = {"llc": self.llc, "cluster": self.cluster, "way_mask": hex(self.way_mask), **limit}
        tids = [thread.tid for thread in self.threads]
        return {"kind": "set_ways", **what, "threads": tids, "reason": self.reason}


@dataclass(frozen=True)
class SetAllocation(Action):
    """Says where new pages of a process go; `weights`: how many on each node in each round."""

    process: Process
    node: int
    reason: str
    for_node: int | None = None
    weights: Mapping[int, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        of = {} if self.for_node is None else {"for_node": self.for_node}
        weights = [{"node": node, "weight": weight} for node, weight in self.weights.items()]
        spread = {"weights": weights} if weights else {}
        what = {"pid": self.process.pid, **of, "node": self.node, **spread}
        return {"kind": "set_allocation", **what, "reason": self.reason}


@dataclass(frozen=True)
class Plan:
    """Actions, with notes on what was not done and why."""

    actions: Sequence[Action] = ()
    notes: Sequence[str] = ()


Decided = Union[Plan, Iterable[Action], None]


def plan_text(decided: Decided) -> str | None:
    """What a policy decided, as JSON; None where it does nothing."""
    if decided is None:
        return None
    plan = decided if isinstance(decided, Plan) else Plan(tuple(decided))
    if not plan.actions and not plan.notes:
        return None
    for action in plan.actions:
        if not isinstance(action, Action):
            raise TypeError(f"decide returned {action!r} in its list: expected actions, such as Move(thread, cpu, reason)")
    return json.dumps({"actions": [action.to_json() for action in plan.actions], "notes": list(plan.notes)})
