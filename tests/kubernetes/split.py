"""Takes the manifest apart for what checks it: split.py MANIFEST FOLDER."""

import sys
from pathlib import Path

import yaml

manifest, folder = Path(sys.argv[1]), Path(sys.argv[2])
documents = [one for one in yaml.safe_load_all(manifest.read_text()) if one]
kinds = {one["kind"]: one for one in documents}
(folder / "daemonset.yaml").write_text(yaml.safe_dump(kinds["DaemonSet"]))
(folder / "isobar.toml").write_text(kinds["ConfigMap"]["data"]["isobar.toml"])
pod = kinds["DaemonSet"]["spec"]["template"]["spec"]
container = pod["containers"][0]
rights = container["securityContext"]
assert rights["capabilities"]["drop"] == ["ALL"] and not rights["privileged"] and rights["readOnlyRootFilesystem"]
(folder / "capabilities").write_text(",".join(f"+{name.lower()}" for name in rights["capabilities"]["add"]))
(folder / "args").write_text(" ".join(container["args"]))
