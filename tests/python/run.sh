#!/usr/bin/env bash
# The Python package as a user gets it: the wheel is built, installed into a fresh virtual
# environment and tested there, with its notebooks. PROFILE=dev builds faster, ISOBAR=FILE takes a
# command that is built already. Needs Python 3.10 or later with venv, and a package index for
# maturin, pandas, polars and pytest.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/setup.sh

profile=${PROFILE:-release}
python=${PYTHON:-python3}
begun=$SECONDS
say() { echo "==> $1 ($((SECONDS - begun))s)"; }

if [ -z "${ISOBAR:-}" ]; then
    say "the command, which makes recordings and whose figures are compared"
    cargo build $(selected -p isobar) --locked --quiet
    ISOBAR=$PWD/${CARGO_TARGET_DIR:-target}/debug/isobar
fi
export ISOBAR

work=$(mktemp -d /tmp/isobar-python.XXXXXX)
trap 'rm -rf "$work"' EXIT
"$python" -m venv "$work/venv" 2>/dev/null || {
    apt_install python3-venv && "$python" -m venv "$work/venv" ||
        { echo "no Python with venv here: install python3-venv"; exit 1; }
}
. "$work/venv/bin/activate"
pip install --quiet --disable-pip-version-check 'maturin>=1.9.4,<2'

say "the wheel"
maturin build --profile "$profile" --manifest-path python/Cargo.toml --out "$work/wheels" --quiet
wheel=$(ls "$work"/wheels/*.whl)
case $wheel in *-abi3-*) ;; *) echo "not of the stable ABI: $wheel"; exit 1 ;; esac

say "alone, without pandas and polars: frames are dicts of lists"
pip install --quiet --disable-pip-version-check "$wheel"
(cd "$work" && python - "$OLDPWD/examples/workloads/nmass-soplex.toml" <<'PYTHON'
import sys
import isobar_numa
frame = isobar_numa.simulate(sys.argv[1], ["linux", "dino"]).policies
assert isinstance(frame, dict) and frame["policy"] == ["linux", "dino"], frame
try:
    isobar_numa.simulate(sys.argv[1], ["linux"], frame="polars")
except ValueError as error:
    assert "pip install 'isobar-numa[polars]'" in str(error), error
else:
    raise SystemExit("polars is not here, and nothing was said")
PYTHON
)

say "types, tests, the page"
pip install --quiet --disable-pip-version-check "$wheel[test]"
(cd python && mypy --no-incremental && pytest -q -s -p no:cacheprovider)

say "notebooks"
pytest -q -p no:cacheprovider --nbmake --nbmake-timeout=300 python/notebooks
say "the Python package works"
