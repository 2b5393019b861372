"""Policies in Python: what they see, what they may ask for, what becomes of their faults."""

import traceback

import pytest

import isobar_numa
from isobar_numa import MigratePages, Move, Plan, SetAllocation, SetWays, WithdrawPages


def simulated(workloads, policy, **asked):
    return isobar_numa.simulate(workloads / "nmass-soplex.toml", [policy], frame="dict", **asked)


def test_what_is_seen_has_every_field(workloads):
    seen = []

    class Looks(isobar_numa.Policy):
        def decide(self, observation):
            seen.append(observation)

    simulated(workloads, Looks(), schedules="sampled")
    one = seen[3]
    assert one.time > 0 and one.interval > 0 and one.page_moves == []
    assert len(one.machine.nodes) == len(one.machine.distances) >= 2
    assert one.machine.cpu(1).node in {node.id for node in one.machine.nodes}
    assert {cpu.id for node in one.machine.nodes for cpu in one.machine.cpus_of_node(node.id)} == {
        cpu.id for cpu in one.machine.cpus
    }
    thread = next(one.threads())
    assert one.process(thread.pid).name and not thread.pinned and thread.instructions > 0
    assert thread.misses_per_kilo_instruction == pytest.approx(1000 * thread.llc_misses / thread.instructions)
    assert "Thread(" in repr(one)


def test_every_action_is_understood_and_its_outcome_heard(workloads):
    heard = []

    class Asks(isobar_numa.Policy):
        def decide(self, observation):
            process = observation.processes[0]
            thread, llc = process.threads[0], observation.machine.llcs[0]
            here = max(range(len(process.pages)), key=process.pages.__getitem__)
            nodes = [node.id for node in observation.machine.nodes]
            there = next(node for node in nodes if node != nodes[here])
            return Plan(
                [
                    Move(thread, cpu=observation.machine.cpus[0].id, reason="first"),
                    MigratePages(process, nodes[here], there, 1, reason="a page", select="resident_set"),
                    WithdrawPages(process, reason="never mind", to_node=there),
                    SetWays(llc.id, "all", 1, [thread], reason="one way"),
                    SetAllocation(process, there, reason="new ones", weights={there: 2, nodes[here]: 1}),
                ],
                notes=["a note"],
            )

        def applied(self, plan, outcome):
            heard.append((plan, outcome))

    simulated(workloads, Asks(), schedules="sampled")
    plan, outcome = heard[0]
    kinds = ["move_thread", "migrate_pages", "withdraw_pages", "set_ways", "set_allocation"]
    assert [action["kind"] for action in plan["actions"]] == kinds and plan["notes"] == ["a note"]
    assert plan["policy"] == "Asks" and len(outcome) == 5


def test_actions_may_be_yielded(workloads):
    class Yields(isobar_numa.Policy):
        name = "yields"

        def decide(self, observation):
            for thread in observation.threads():
                yield Move(thread, cpu=thread.cpu, reason="stays")

    assert simulated(workloads, Yields(), schedules="sampled").policies["policy"] == ["yields"]


def test_an_exception_is_reported_with_its_traceback(workloads):
    class Fails(isobar_numa.Policy):
        def decide(self, observation):
            return self.looked_up(observation)

        def looked_up(self, observation):
            return {}["no such key"]

    with pytest.raises(isobar_numa.PolicyError, match="policy Fails: KeyError: 'no such key'") as caught:
        simulated(workloads, Fails())
    cause = caught.value.__cause__
    assert isinstance(cause, KeyError)
    assert "looked_up" in "".join(traceback.format_tb(cause.__traceback__))


@pytest.mark.parametrize(
    ("decided", "said"),
    [
        (lambda seen: [Move(next(seen.threads()), cpu=999, reason="far")], "999"),
        (lambda seen: [Move(next(seen.threads()), cpu=0, reason="")], "reason"),
        (lambda seen: [Move(next(seen.threads()), cpu="0", reason="text")], "actions[0]"),
        (lambda seen: [Move(next(seen.threads()), cpu=0, reason="beside", cpus=[1, 2])], "lacks cpu 0"),
        (lambda seen: ["move"], "expected actions"),
        (lambda seen: 3, "not iterable"),
        (lambda seen: [Move(thread, cpu=0, reason="twice") for thread in [next(seen.threads())] * 2], "twice"),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused(workloads, decided, said):
    class Wrong(isobar_numa.Policy):
        def decide(self, observation):
            return decided(observation)

    with pytest.raises(isobar_numa.PolicyError) as caught:
        simulated(workloads, Wrong())
    assert str(caught.value).startswith("policy Wrong: ") and said in str(caught.value)


def test_one_that_cannot_be_made_says_so(workloads):
    class NeedsMore(isobar_numa.Policy):
        def __init__(self, more):
            pass

    with pytest.raises(isobar_numa.PolicyError, match="more"):
        simulated(workloads, NeedsMore)


def test_names_and_sensors_are_checked(workloads):
    class Namesake(isobar_numa.Policy):
        name = "dino"

    class Unknown(isobar_numa.Policy):
        needs = ("smell",)

    with pytest.raises(ValueError, match="one that ships has that name"):
        simulated(workloads, Namesake())
    with pytest.raises(ValueError, match="policy Unknown: unknown variant `smell`"):
        simulated(workloads, Unknown())


def test_a_decision_costs_less_than_a_millisecond_beyond_its_own(workloads, capsys):
    class Nothing(isobar_numa.Policy):
        def decide(self, observation):
            return None

    result = isobar_numa.simulate(workloads / "dino-spec.toml", [Nothing()], schedules="sampled", repeat=3, frame="dict")
    costs = {name: column[0] for name, column in result.costs.items()}
    with capsys.disabled():
        print(
            "\n16 threads on 16 CPUs: {decisions} decisions, each {isobar_ms:.3f} ms beyond the policy's own"
            " ({isobar_cpu_ms:.3f} ms of CPU time)".format(**costs)
        )
    assert costs["decisions"] > 200
    assert costs["isobar_cpu_ms"] < 1.0
