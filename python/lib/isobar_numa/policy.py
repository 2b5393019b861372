"""Policies as Python classes, and how they are asked."""

from __future__ import annotations

import copy
import ctypes
import json
import threading
from collections.abc import Callable, Iterable
from time import perf_counter_ns, thread_time_ns
from typing import Any, ClassVar

from .actions import Decided, Plan, plan_text
from .observation import Observation


class Policy:
    """A contention policy. A subclass says what to do about what was seen:

        class Mine(isobar_numa.Policy):
            def decide(self, observation):
                return [isobar_numa.Move(thread, cpu=2, reason="llc 1 is idle") for thread in ...]

    For the same observations it should decide the same, or a simulation cannot be repeated.
    """

    name: ClassVar[str]
    """As it is shown; the class's name unless set."""

    needs: ClassVar[tuple[str, ...]] = ()
    """Sensors without which it cannot decide, such as "latency"."""

    uses: ClassVar[tuple[str, ...]] = ()
    """Sensors that are switched on for it where they work."""

    def __init_subclass__(cls, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__

    def decide(self, observation: Observation) -> Decided:
        """What to do now: a list of actions, a Plan, or None for nothing."""
        raise NotImplementedError(f"{type(self).__name__} has no method decide(self, observation)")

    def applied(self, plan: dict[str, Any], outcome: list[Any]) -> None:
        """What became of the last plan, an entry for each action, as `isobar manage --json` prints
        them. A policy that need not know leaves this out."""


class Crew:
    """The policies of one call: it makes fresh ones, and ends them where they are deciding."""

    def __init__(self) -> None:
        self.deciding: set[int] = set()

    def handed(self, policy: Policy | type[Policy]) -> tuple[str, list[str], list[str], Callable[[], Driver]]:
        """A policy as the native half takes it. Each run has a fresh one: a copy of an instance as
        it was handed over, or a new one of a class."""
        kind = policy if isinstance(policy, type) else type(policy)
        make = policy if isinstance(policy, type) else lambda: copy.deepcopy(policy)
        return kind.name, list(kind.needs), list(kind.uses), lambda: Driver(make(), self.deciding)

    def interrupt(self) -> None:
        """Raises KeyboardInterrupt in policies that are deciding: they run beside the main thread,
        which alone hears of Ctrl-C."""
        for thread in list(self.deciding):
            raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
            raise_in(ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt))


class Driver:
    """Asks one policy, text in and text out."""

    def __init__(self, policy: Policy, deciding: set[int]) -> None:
        self._policy = policy
        self._deciding = deciding
        self._listens = type(policy).applied is not Policy.applied

    def ask(self, text: str) -> tuple[str | None, int, int]:
        """The plan as JSON, None for nothing, and the nanoseconds that the policy took: by the
        clock, and of CPU time."""
        observation = Observation.from_json(text)
        thread = threading.get_ident()
        self._deciding.add(thread)
        begun, computed = perf_counter_ns(), thread_time_ns()
        try:
            decided = self._policy.decide(observation)
            if decided is not None and not isinstance(decided, Plan):
                decided = list(decided)  # a generator decides as it is read
        finally:
            taken, computed = perf_counter_ns() - begun, thread_time_ns() - computed
            self._deciding.discard(thread)
        return plan_text(decided), taken, computed

    def applied(self, plan: str, outcome: str) -> None:
        """Hands on what became of a plan."""
        if self._listens:
            self._policy.applied(json.loads(plan), json.loads(outcome))


def replay(policy: Policy, observations: Iterable[Observation]) -> list[Plan]:
    """What a policy would have done on what was seen, one plan an observation: those of a
    recording, or of a test of yours."""

    def plan(observation: Observation) -> Plan:
        decided = policy.decide(observation)
        return decided if isinstance(decided, Plan) else Plan(tuple(decided or ()))

    return [plan(observation) for observation in observations]
