#!/usr/bin/env bash
# Sets up, builds, and runs the main job: isobar over this machine, with memory-hungry programs to
# watch, then the same policy on a simulated four-node machine. Changes nothing that it does not put
# back; ends by itself in about a minute.
set -euo pipefail
cd "$(dirname "$0")"
. scripts/setup.sh

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

say "Building isobar"
# shellcheck disable=SC2046 # several arguments
cargo build --locked $(selected -p isobar -p isobar-linux --bin isobar --example hog)
target=${CARGO_TARGET_DIR:-target}
isobar=$target/debug/isobar
hog=$target/debug/examples/hog

say "This machine: isobar topo"
$isobar topo

say "Four memory-hungry programs for 25 seconds"
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true' EXIT
for size_mib in 256 128 64 4; do
    $hog --mib "$size_mib" --seconds 25 &
    pids+=($!)
    echo "hog of $size_mib MiB: process $!"
done
sleep 1

say "isobar manage --policy dino --only hog --for 8"
if ! $isobar manage --policy dino --only hog --for 8; then
    say "So it only watches: isobar manage --policy dino --dry-run --only hog --for 5"
    $isobar manage --policy dino --dry-run --only hog --for 5
fi

say "The same policy on a simulated machine of four nodes: isobar manage --machine sim:examples/workloads/dino-spec.toml"
$isobar manage --policy dino --machine sim:examples/workloads/dino-spec.toml --for 10

say "Against stock Linux: isobar sim examples/workloads/dino-spec.toml --policy linux,n-mass,dino,divide-content,isobar --repeat 3"
$isobar sim examples/workloads/dino-spec.toml --policy linux,n-mass,dino,divide-content,isobar --repeat 3
