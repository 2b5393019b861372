"""The Python of docs/python.md runs, from the root of the tree."""

import os
import re

from conftest import ROOT


def test_every_block_of_the_page_runs(recording, monkeypatch, capsys):
    page = (ROOT / "docs" / "python.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 8
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    for block in blocks:
        code = block.replace('"run.isobar"', repr(os.fspath(recording)))
        exec(compile(code, "docs/python.md", "exec"), names)
    assert "policy Far: " in capsys.readouterr().out
    assert names["usage"].advice["policy"] and names["plans"]
