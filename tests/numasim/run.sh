#!/usr/bin/env bash
# numasim's test in its reduced form: the programs, the faults, the micro-laws, and one experiment
# (one machine, three programs, two policies). Installs what it needs; skips, with the reason, where
# QEMU 10 cannot be had (NUMASIM_REQUIRED=1 makes that a failure). Four minutes on 2 idle cores.
#
#   tests/numasim/run.sh [PART ...]    programs, plugin, guest, command, input, docs, laws,
#                                      experiment, probe, pages, resctrl (all); and, only where it
#                                      is named, resctrl-isobar
#
# NUMASIM_QEMU, NUMASIM_KERNEL: a QEMU and a kernel of your own; else they are fetched
# (numasim/lab/fetch.sh) into $NUMASIM_CACHE.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/setup.sh
. scripts/emulator.sh
. tests/numasim/lib.sh
. tests/numasim/pages.sh
. tests/numasim/resctrl.sh
for part in plugin guest command input docs; do . "tests/numasim/faults/$part.sh"; done

skip() {
    echo "SKIPPED: numasim's test did not run: $1"
    [ "${NUMASIM_REQUIRED:-0}" = 1 ] && exit 1
    exit 0
}

# What `numasim doctor` says of QEMU and the kernel.
find_machine() {
    local told
    told=$("$bin/numasim" doctor) || true
    qemu=$(sed -n 's/^ok  *QEMU: .* at //p' <<< "$told")
    kernel=$(sed -n 's/^ok  *kernel: //p' <<< "$told")
    [ -n "$qemu" ] && [ -n "$kernel" ] || skip "$(grep -m 1 -E '^MISSING +(QEMU|NUMASIM_QEMU|the guest|NUMASIM_KERNEL)' <<< "$told" || echo "$told")"
    export NUMASIM_QEMU=$qemu NUMASIM_KERNEL=$kernel
    echo "booting $kernel in $("$qemu" --version | head -n 1)"
}

run_laws() { TMPDIR=$work timeout -k 10 480 "$bin/numasim" laws --seconds 420; }

# The experiment must come to its end with times for each contender; which of them wins is not asked
# of so small a run.
run_experiment() {
    local out=$work/experiment.json code=0
    TMPDIR=$work timeout -k 10 400 "$bin/numasim" experiment numasim/experiments/ci.toml --json --keep "$work/experiment" > "$out" || code=$?
    [ $code = 0 ] && [ "$(grep -o '"contender": *"' "$out" | wc -l)" -ge 3 ] && run_recording "$work/experiment/boot-1/files/dino/run.isobar"
}

# What dino recorded in the guest is there, is whole, and is read here: a replay plans the same.
run_recording() {
    local told
    told=$("$bin/isobar" replay "$1" --policy dino) || { echo "the recording of the guest is not read: $1"; return 1; }
    grep -q 'the same plans in all of' <<< "$told" || { echo "a replay of the guest's recording differs: $told"; return 1; }
    "$bin/isobar" top --machine "$1" --once > /dev/null && "$bin/isobar" report "$1" -o "$work/guest.html" > /dev/null
}

# isobar's probe against what the machine counted: see `numasim-probed --help`.
run_probe() { TMPDIR=$work timeout -k 10 400 "$bin/numasim-probed" "$1"; }

attempt() {
    local name=$1 code=0
    shift
    "$@" || code=$?
    [ $code = 0 ] || { failures=$((failures + 1)); echo "FAIL $name: ended with $code"; }
}

# part NAME COMMAND...: if it was asked for, and how long it took. What fails is shown and run once
# more, as the checks in guests are (scripts/guest.sh).
part() {
    local name=$1 begun=$SECONDS before=$failures
    shift
    [[ " $parts " == *" $name "* ]] || return 0
    attempt "$name" "$@"
    if [ $failures != $before ]; then
        echo "-- UNSTEADY: $name, once more:"
        failures=$before
        attempt "$name" "$@"
    fi
    echo "== $name took $((SECONDS - begun)) s"
}

# Two lanes side by side, for two CPUs of the host; in each, one guest boots after another. Figures
# are in the guest's own time, so that a busy host does not change them. Both take about as long.
faults_and_probe() {
    part plugin plugin_faults
    part command command_faults
    part input input_faults
    part guest guest_faults
    part docs docs_faults
    part probe run_probe barcelona-4x4
}
measurements() {
    part programs timeout -k 5 120 bash numasim/programs/test.sh
    part laws run_laws
    part experiment run_experiment
    part pages run_pages
    part resctrl run_resctrl files
    part resctrl-isobar run_resctrl isobar
}

# lane NAME: in a folder of its own.
lane() {
    work=$work/$1
    mkdir -p "$work"
    $1
    [ $failures = 0 ]
}

# The release's QEMU is too old, but brings the libraries of the newer one.
install_emulator strip=binutils
# shellcheck disable=SC2046 # several arguments
cargo build --locked $(selected -p numasim-plugin -p numasim-page -p numasim-guest -p numasim -p numasim-resctrl -p numasim-trace -p numasim-xval -p isobar)
bin=$(cd "${CARGO_TARGET_DIR:-target}/debug" && pwd)
plugin=$bin/libnumasim.so
find_machine
export NUMASIM_PLUGIN=$plugin NUMASIM_ISOBAR=$bin/isobar NUMASIM_NUMASIM_RESCTRL=$bin/numasim-resctrl NUMASIM_PROFILE=dev
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
parts=${*:-programs plugin guest command input docs laws experiment probe pages resctrl}
for part in $parts; do
    [[ " programs plugin guest command input docs laws experiment probe pages resctrl resctrl-isobar " == *" $part "* ]] || { echo "no part is called $part"; exit 2; }
done
pack_guest
SECONDS=0

code=0
lane measurements > "$work/measured" 2>&1 & measured=$!
trap 'kill $measured 2>/dev/null || true; rm -rf "$work"' EXIT
(lane faults_and_probe) || code=1
wait $measured || code=1
cat "$work/measured"
[ $code = 0 ] || { echo "numasim's test FAILED (${SECONDS}s)"; exit 1; }
echo "numasim's test passed (${SECONDS}s)"
