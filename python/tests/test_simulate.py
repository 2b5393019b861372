"""Simulations: the figures of the command, frames of each kind, one clear line for what is wrong."""

import json
import os
import signal
import subprocess
import sys
import time

import pandas
import polars
import pytest

import isobar_numa


def test_the_figures_are_those_of_the_command(workloads):
    isobar = os.environ.get("ISOBAR")
    if not isobar:
        pytest.skip("ISOBAR does not name the command")
    file = str(workloads / "nmass-soplex.toml")
    asked = [isobar, "sim", file, "--policy", "linux,dino", "--repeat", "2", "--seed", "7", "--json"]
    said = json.loads(subprocess.run(asked, check=True, capture_output=True, timeout=120).stdout)
    ours = isobar_numa.simulate(file, ["linux", "dino"], repeat=2, seed=7).document["workloads"][0]["comparison"]
    assert ours["policies"] == said["policies"]


def test_frames_are_of_the_kind_that_was_asked_for(workloads):
    def run(frame):
        return isobar_numa.simulate(workloads / "nmass-soplex.toml", ["linux", "di-migrate"], repeat=2, frame=frame)

    one, other, plain = run("pandas"), run("polars"), run("dict")
    assert isinstance(one.policies, pandas.DataFrame) and isinstance(other.programs, polars.DataFrame)
    assert one.policies["policy"].tolist() == ["linux", "di-migrate"] == plain.policies["policy"]
    assert other.policies["antt"].to_list() == plain.policies["antt"]
    names = [app["name"] for app in plain.document["workloads"][0]["comparison"]["policies"][0]["apps"]]
    assert plain.programs["program"] == names + names and len(names) == 4
    runs = one.runs
    assert set(runs["seed"]) == {1, 2}
    weighed = (runs["share"] * runs["slowdown"]).groupby(runs["policy"]).sum() / runs["share"].groupby(runs["policy"]).sum()
    for name, antt in zip(plain.policies["policy"], plain.policies["antt"]):
        assert weighed[name] == pytest.approx(antt)


def test_jobs_and_repetition_change_no_figure(workloads):
    def run(jobs):
        return isobar_numa.simulate(workloads / "nmass-soplex.toml", ["linux", Follower()], jobs=jobs, repeat=2)

    assert run(1).document["workloads"] == run(3).document["workloads"]


class Follower(isobar_numa.Policy):
    """Moves one thread in the first epoch of each run, to a CPU that is free; remembers that."""

    def __init__(self):
        self.moved = False

    def decide(self, observation):
        if self.moved:
            return None
        self.moved = True
        busy = {thread.cpu for thread in observation.threads()}
        free = [cpu.id for cpu in observation.machine.cpus if cpu.id not in busy]
        first = next(observation.threads())
        return [isobar_numa.Move(first, cpu=free[-1] if free else first.cpu, reason="a try")]


def test_every_run_has_a_fresh_policy(workloads):
    mine = Follower()
    result = isobar_numa.simulate(workloads / "nmass-soplex.toml", ["linux", mine], repeat=3, frame="dict")
    assert result.policies["thread_migrations"][1] >= 1.0
    assert not mine.moved, "the instance that was handed over is not asked itself"


def test_several_workloads_and_their_text(workloads):
    text = (workloads / "nmass-soplex.toml").read_text()
    both = isobar_numa.simulate([workloads / "nmass-soplex.toml", text], ["linux"], frame="dict")
    assert both.policies["workload"] == ["nmass-soplex", "workload"]
    assert both.policies["antt"][0] == both.policies["antt"][1]


def test_progress_counts_every_run(workloads):
    told = []
    isobar_numa.simulate(workloads / "nmass-soplex.toml", ["linux"], repeat=2, progress=lambda *now: told.append(now))
    assert told[-1][0] == told[-1][1] > 0


@pytest.mark.parametrize(
    ("asked", "error", "said"),
    [
        ({"workload": "no.toml"}, FileNotFoundError, "no.toml: cannot be read: No such file"),
        ({"workload": "machine = 1\n"}, ValueError, "workload: line 1"),
        ({"policies": ["dyno"]}, ValueError, "unknown policy `dyno`"),
        ({"policies": ["linux", "linux"]}, ValueError, "`linux` occurs twice"),
        ({"policies": ["exec:no-such-program"]}, ValueError, "no-such-program is not found"),
        ({"settings": {"dino.x": 1}, "policies": ["dino"]}, ValueError, "settings: dino.x: unknown key"),
        ({"schedules": "some"}, ValueError, 'expected "auto", "all" or "sampled"'),
        ({"repeat": 0}, ValueError, "repeat 0: expected 1 to 1000"),
        ({"frame": "excel"}, ValueError, "expected one of pandas, polars, dict"),
        ({"policies": [3]}, TypeError, "3 is neither a name nor an isobar_numa.Policy"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(workloads, asked, error, said):
    asked = {"workload": workloads / "nmass-soplex.toml", "policies": ["linux"], **asked}
    with pytest.raises(error) as caught:
        isobar_numa.simulate(**asked)
    assert said in str(caught.value) and "\n" not in str(caught.value)


LONG = """
import sys, isobar_numa
class Hangs(isobar_numa.Policy):
    def decide(self, observation):
        while True:
            pass
policies = {"ours": ["linux", "isobar"], "python": [Hangs()]}[sys.argv[2]]
print("begun", flush=True)
try:
    isobar_numa.simulate(sys.argv[1], policies, repeat=1000, schedules="sampled", jobs=2)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("which", ["ours", "python"])
def test_ctrl_c_ends_a_long_simulation(workloads, which):
    asked = [sys.executable, "-c", LONG, str(workloads / "dino-spec.toml"), which]
    running = subprocess.Popen(asked, stdout=subprocess.PIPE, text=True)
    try:
        assert running.stdout.readline() == "begun\n"
        time.sleep(2)
        begun = time.monotonic()
        running.send_signal(signal.SIGINT)
        assert running.communicate(timeout=60)[0] == "interrupted\n"
        assert time.monotonic() - begun < 20, "a run is not waited for"
    finally:
        running.kill()
