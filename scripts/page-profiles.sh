#!/usr/bin/env bash
# Traces the kernels of numasim/programs anew for `isobar reproduce pages`: page-profiles.sh ISOBAR,
# the program built with its plugin beside it. Takes two minutes and needs qemu-user. A trace is one
# slice, so that it stays small: order of first touch and counts are all that is read of it. Counts
# hardly change from run to run (which thread touches a shared page first does).
set -euo pipefail
[ $# = 1 ] || { echo "usage: page-profiles.sh ISOBAR" >&2; exit 2; }
isobar=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
to=$root/crates/lab/src/reproduce/pages/profiles
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$root/numasim/programs/build.sh" "$work"
cd "$work"

trace() { # THREADS KERNEL ARGUMENTS...
    local threads=$1 kernel=$2
    shift 2
    timeout 300 "$isobar" trace --slice 60000 -o "$to/$kernel-$threads.trace" -- "./$kernel" --threads "$threads" "$@"
}

for threads in 8 64; do
    trace "$threads" matrix --size-kib 3072
    trace "$threads" cg --size-kib 36864 --iterations 20
    trace "$threads" ft --size-kib 65536
    trace "$threads" stencil --size-kib 65536 --steps 40
    trace "$threads" table --size-kib 8192 --work $((6400000 / threads))
    trace "$threads" pipeline --size-kib 32768 --sweeps 4
done
du -h "$to" >&2
