#!/usr/bin/env bash
# How much slower a program runs when it is traced: tracer-slowdown.sh ISOBAR [RUNS [N]]. The matrix
# product of N (256) rows and 4 threads by itself, under qemu-user alone, traced by isobar, and under
# the simplest tool that sees every access (valgrind's lackey, minutes), best of RUNS (1). ISOBAR is a release build with its plugin beside it. Times of the CPU are those to compare
# where the machine has other work. Fails where lackey is faster than isobar.
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: tracer-slowdown.sh ISOBAR [RUNS]" >&2; exit 2; }
isobar=$(realpath "$1")
runs=${2:-1}
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc -O1 -DN="${3:-256}" -pthread -o "$work/matrix" "$root/crates/tracer/tests/programs/matrix.c"

measure() { # NAME TOOL COMMAND... -> a line of NAME, seconds, CPU seconds
    local name=$1 tool=$2 wall user sys
    shift 2
    if ! command -v "$tool" >/dev/null; then
        echo "SKIPPED: $name, as $tool is not installed" >&2
        return
    fi
    for _ in $(seq "$runs"); do
        TIMEFORMAT='%R %U %S'
        read -r wall user sys < <({ time "$@" >/dev/null 2>"$work/told"; } 2>&1) || true
        [ -n "${sys:-}" ] || { cat "$work/told" >&2; exit 1; }
        echo "$name;$wall;$(echo "$user + $sys" | bc)"
    done | sort -t ';' -n -k3 | head -1
}

{
    measure native cc "$work/matrix"
    measure "qemu-user alone" qemu-x86_64 qemu-x86_64 "$work/matrix"
    measure "isobar trace" qemu-x86_64 "$isobar" trace -o "$work/trace" -- "$work/matrix"
    measure "valgrind lackey --trace-mem" valgrind valgrind --tool=lackey --trace-mem=yes --log-file=/dev/null "$work/matrix"
} | tee "$work/all" | awk -F';' '
    BEGIN { printf "%-28s %9s %9s %9s %9s\n", "", "s", "CPU s", "times", "CPU times" }
    NR == 1 { wall = $2; cpu = $3 }
    { printf "%-28s %9.2f %9.2f %9.0f %9.0f\n", $1, $2, $3, $2 / wall, $3 / cpu }'
awk -F';' '$1 == "isobar trace" { ours = $3 } /lackey/ && $3 < ours { exit 1 }' "$work/all"
