"""What tests share: the tree, and a recording that isobar itself makes."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def workloads() -> Path:
    return ROOT / "examples" / "workloads"


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated machine under DINO, recorded by the command ($ISOBAR)."""
    isobar = os.environ.get("ISOBAR")
    if not isobar:
        pytest.skip("ISOBAR does not name the command")
    path = tmp_path_factory.mktemp("recording") / "run.isobar"
    machine = f"sim:{ROOT / 'examples/workloads/nmass-soplex.toml'}"
    asked = [isobar, "manage", "--policy", "dino", "--machine", machine, "--for", "60", "--record", str(path)]
    subprocess.run(asked, check=True, capture_output=True, timeout=120)
    return path
