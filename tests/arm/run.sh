#!/usr/bin/env bash
# The Arm test: boots Arm guests with a real performance monitoring unit (QEMU emulates Arm's PMUv3)
# and lets the suite of tests/vm there check isobar, built for aarch64, against the kernel and
# against programs whose instructions are known. Skips, with the reason, where it cannot be fetched
# (ISOBAR_ARM_REQUIRED=1 makes that a failure).
#
#   tests/arm/run.sh [one|cycles|four|conformance|bare] [PART,...]
#   tests/arm/run.sh --build      everything up to the guests, which are not booted
#
# PART,... chooses the checks whose names have one of the parts, `_` for a blank.
#
# ISOBAR_ARM_CACHE        where kernel, firmware, QEMU and cross compiler are kept (default:
#                         isobar-arm in $XDG_CACHE_HOME or ~/.cache)
# ISOBAR_DEBIAN_ARCHIVE   the archive to fetch them from (default: the one that this machine's apt
#                         reads)
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/setup.sh
. scripts/debian.sh
. scripts/guest.sh
. scripts/targets.sh
. scripts/emulator.sh
. tests/arm/fetch.sh
. tests/arm/machines.sh

build_only=
[ "${1:-}" != --build ] || { build_only=1; shift; }
# The longest first: two guests run side by side.
machines=(conformance four one cycles bare)
case "${1:-}" in one | cycles | four | conformance | bare) machines=("$1"); shift ;; esac
only=${1:-}
target=${CARGO_TARGET_DIR:-target}
work=${ISOBAR_ARM_WORK:-$target/arm}
cache=${ISOBAR_ARM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/isobar-arm}
triple=aarch64-unknown-linux-musl
seconds=900
why=

skip() {
    echo "SKIPPED: the Arm test did not run: $1"
    [ "${ISOBAR_ARM_REQUIRED:-0}" = 1 ] && exit 1
    exit 0
}

# Everything that runs in the guest, static; in one call, so that every crate is built once. What
# runs here meanwhile (procedural macros, build scripts) is what the tests of this machine were
# built with, so the profile is theirs, less what is optimised for their sake alone.
build() {
    local name program plain=()
    for name in {isobar-{contention,optima,pages,partition,policy,recording,sim},libsqlite3-sys,lz4_flex,numasim-{bridge,page}}; do
        plain+=(--config "profile.dev.package.$name.opt-level=0")
    done
    CC_aarch64_unknown_linux_musl=$cache/cc AR_aarch64_unknown_linux_musl=ar CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUSTFLAGS="-C strip=symbols" \
        cargo build --locked --target $triple "${plain[@]}" -p isobar -p isobar-vm -p isobar-conformance --bin isobar --bin suite --test linux \
        --message-format=json-render-diagnostics > "$work/built.json"
    programs=()
    for name in isobar suite linux; do
        program=$(sed -n 's/.*"executable":"\([^"]*\/'$name'\(-[0-9a-f]*\)\?\)".*/\1/p' "$work/built.json" | tail -n 1)
        [ $name != linux ] || { cp "$program" "$work/conformance-linux"; program=$work/conformance-linux; }
        programs+=("$program")
    done
    for name in tests/vm/programs/subject.c tests/arm/programs/*.c; do
        program=$work/$(basename "$name" .c)
        "$cache/cc" -O2 -Wall -Wextra -Werror -static -pthread -o "$program" "$name"
        programs+=("$program")
    done
}

# Boots one machine; 0 passed, 1 failed, 124 out of time, 125 the guest never reported.
boot() {
    local name=$1 out=$work/$1 code=0 guest
    rm -rf "$out" && mkdir -p "$out"
    "machine_$name"
    timeout -k 5 $seconds "$cache/qemu" "${machine[@]}" -accel tcg,thread=single \
        -nodefaults -no-user-config -display none -no-reboot \
        -serial "file:$out/console.log" \
        -device virtio-serial-pci -chardev "file,id=results,path=$out/results.tar" \
        -device virtserialport,chardev=results,name=results \
        -kernel "$cache/vmlinuz" -initrd "$work/initramfs" \
        -append "console=ttyAMA0 panic=-1 quiet $append isobar.machine=arm-$name isobar.only=$only" \
        2> "$out/qemu.log" < /dev/null &
    guest=$!
    trap 'kill $guest 2>/dev/null; exit 1' TERM
    wait $guest || code=$?
    unpack_results "$out"
    case $code in 124 | 137) echo "out of time after $seconds s" >> "$out/suite.log"; return 124 ;; esac
    [ -s "$out/verdict" ] || return 125
    return "$(($(cat "$out/verdict") != 0))"
}

[ "$(uname -m)" = x86_64 ] || skip "its QEMU and cross compiler run on x86-64 only, not on $(uname -m)"
case $cache in /*) ;; *) cache=$PWD/$cache ;; esac
add_target "$triple" || skip "$why"
command -v cpio >/dev/null || install_packages cpio
fetch_arm "$cache" || skip "no Arm guest: $why"
mkdir -p "$work"
build
pack_initramfs "$cache/busybox"
[ -z "$build_only" ] || exit 0
echo "booting: ${machines[*]} ($(cat "$cache/kernel"), $(head -n 1 "$cache/qemu.version"))"
run_machines "the Arm test"
