"""Studies, page usage and recordings as frames."""

import json
import os
import sqlite3
import subprocess

import pandas
import polars
import pytest

import isobar_numa
from conftest import ROOT


def test_a_study_proves_the_optimum():
    workload = ["soplex", "mcf", "namd", "povray"]
    study = isobar_numa.study("machine:xeon-4x8", [workload], ["none", "lfoc+", "opt-cluster"])
    answers = study.answers.set_index("algorithm")
    assert answers.loc["opt-cluster", "proved_optimal"]
    assert answers["unfairness"].min() == answers.loc["opt-cluster", "unfairness"]
    assert set(study.programs["program"]) == set(workload) and len(study.programs) == 12
    assert "queueing" in study.heading


def test_a_study_reads_files_and_refuses_what_makes_no_sense(tmp_path):
    listed = tmp_path / "list.txt"
    listed.write_text("soplex,namd\nmcf,povray\n")
    study = isobar_numa.study("machine:xeon-4x8", listed, ["none"], frame="polars")
    assert isinstance(study.answers, polars.DataFrame) and len(study.answers) == 2
    for asked, said in [
        ({"algorithms": ["best"]}, "algorithm best: unknown algorithm"),
        ({"algorithms": ["optimal"]}, "groups N, 2 or more"),
        ({"time_limit": -1.0}, "time_limit -1: expected seconds above 0"),
        ({"profiles": "machine:none"}, "none"),
    ]:
        with pytest.raises(ValueError, match=said):
            isobar_numa.study(**{"profiles": "machine:xeon-4x8", "workloads": listed, "algorithms": ["none"], **asked})
    with pytest.raises(FileNotFoundError, match="expected a list of workloads"):
        isobar_numa.study("machine:xeon-4x8", "no.txt", ["none"])


def test_page_usage_is_what_the_command_says():
    file = ROOT / "examples" / "pages" / "matmul.csv"
    usage = isobar_numa.pages(file, nodes=4, sweep_min_excl=True)
    assert len(usage.mappings) == 8 and len(usage.sweep) == 21 and usage.slices.empty
    assert usage.figures["nodes"] == 4 and usage.advice["policy"] in set(usage.mappings["mapping"])
    isobar = os.environ.get("ISOBAR")
    if isobar:
        asked = [isobar, "pages", str(file), "--nodes", "4", "--sweep-min-excl", "--json"]
        said = json.loads(subprocess.run(asked, check=True, capture_output=True, timeout=60).stdout)
        assert usage.document == said


def test_page_usage_says_what_is_wrong(tmp_path):
    file = ROOT / "examples" / "pages" / "matmul.csv"
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("a,b\n1,x\n")
    with pytest.raises(FileNotFoundError, match="no.trace"):
        isobar_numa.pages("no.trace")
    with pytest.raises(ValueError, match="is a folder"):
        isobar_numa.pages(tmp_path)
    with pytest.raises(ValueError, match="wrong.csv"):
        isobar_numa.pages(wrong)
    with pytest.raises(ValueError, match="threads_to_nodes: 1 threads have a node"):
        isobar_numa.pages(file, threads_to_nodes=[0])
    with pytest.raises(ValueError, match="power of two"):
        isobar_numa.pages(file, page_size=3000)


def test_a_recording_s_tables_are_frames(recording):
    opened = isobar_numa.Recording(recording)
    assert opened.facts["policy"] == "dino" and "epoch" in opened.tables
    epochs = opened.table("epoch")
    assert isinstance(epochs, pandas.DataFrame) and epochs["number"].tolist() == list(range(len(epochs)))
    with sqlite3.connect(recording) as other:
        kinds = other.execute("SELECT kind, reason FROM action ORDER BY epoch, position").fetchall()
    ours = isobar_numa.Recording(recording, frame="polars").query("SELECT kind, reason FROM action ORDER BY epoch, position")
    assert ours.rows() == kinds and kinds


def test_a_recording_says_what_is_wrong_and_is_not_changed(recording, tmp_path):
    before = recording.read_bytes()
    opened = isobar_numa.Recording(recording)
    with pytest.raises(OSError, match="readonly|read-only|attempt to write"):
        opened.query("DELETE FROM epoch")
    with pytest.raises(OSError, match="no such column"):
        opened.query("SELECT smell FROM epoch")
    with pytest.raises(ValueError, match="two columns are called number"):
        opened.query("SELECT number, number FROM epoch")
    with pytest.raises(ValueError, match="no table 'epochs': expected one of about"):
        opened.table("epochs")
    with pytest.raises(FileNotFoundError):
        isobar_numa.Recording(tmp_path / "none.isobar")
    with pytest.raises(ValueError, match="is not a recording of isobar"):
        isobar_numa.Recording(ROOT / "Cargo.toml")
    assert recording.read_bytes() == before


def test_a_policy_can_be_asked_about_a_recording(recording):
    class Counts(isobar_numa.Policy):
        def decide(self, observation):
            return isobar_numa.Plan(notes=[str(len(list(observation.threads())))])

    opened = isobar_numa.Recording(recording, frame="dict")
    plans = isobar_numa.replay(Counts(), opened.observations())
    managed = opened.query("SELECT managed_threads FROM epoch WHERE number > 0 ORDER BY number")["managed_threads"]
    assert [int(plan.notes[0]) for plan in plans] == managed
