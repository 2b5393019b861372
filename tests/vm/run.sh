#!/usr/bin/env bash
# The machine test: boots guests of several NUMA nodes under emulation and lets the suite there
# check isobar's results against the kernel. Installs what it needs; skips, with the reason, where
# that cannot be fetched (ISOBAR_VM_REQUIRED=1 makes that a failure).
#
#   tests/vm/run.sh [regular|ends|conformance|awkward] [PART,...]
#
# PART,... chooses the checks whose names have one of the parts, `_` for a blank.
#
# ISOBAR_VM_CACHE   where the kernel is kept (default: isobar-vm in $XDG_CACHE_HOME or ~/.cache)
# ISOBAR_VM_SOAK    ends of the soak test in the guest `ends` (default: 12; 300 take half an hour)
# ISOBAR_VM_KERNEL  a kernel of your own (bzImage, or vmlinux with PVH, with NUMA, virtio-pci,
#                   virtio-console and FUSE built in), or a release of Debian's, such as 7.3
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/setup.sh
. scripts/emulator.sh
. scripts/debian.sh
. scripts/guest.sh
. tests/vm/kernel.sh
. tests/vm/machines.sh

machines=(regular ends conformance awkward)
case "${1:-}" in regular | ends | conformance | awkward) machines=("$1"); shift ;; esac
only=${1:-}
target=${CARGO_TARGET_DIR:-target}
work=${ISOBAR_VM_WORK:-$target/vm}
cache=${ISOBAR_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/isobar-vm}
soak=${ISOBAR_VM_SOAK:-12}
# What a kernel does for safety's sake is not asked here, and costs emulated time.
quick="nokaslr cryptomgr.notests mitigations=off init_on_alloc=0"
seconds=$((1200 + 10 * (soak - 12) * (soak > 12)))

skip() {
    echo "SKIPPED: the machine test did not run: $1"
    [ "${ISOBAR_VM_REQUIRED:-0}" = 1 ] && exit 1
    exit 0
}

build() {
    # shellcheck disable=SC2046 # several arguments
    cargo build --locked $(selected -p isobar -p isobar-vm -p isobar-soak -p isobar-resctrl-double -p isobar-shim -p isobar-tracer-plugin)
    programs=("$target"/debug/{isobar,libisobar_alloc.so,suite,isobar-resctrl-double,isobar-soak})
    for name in subject storm verdict; do
        cc -O1 -Wall -Wextra -Werror -static -pthread -o "$work/$name" "tests/vm/programs/$name.c"
        programs+=("$work/$name")
    done
    # What traces a program within the guest.
    programs+=("$target/debug/libisobar_tracer_plugin.so" "$(command -v qemu-x86_64)")
    # A program with static arrays, for `isobar pages apply`.
    cc -O2 -Wall -Wextra -Werror -static -pthread -o "$work/stencil" numasim/programs/stencil.c
    programs+=("$work/stencil")
    # The same subject, for a library that is preloaded.
    cc -O1 -Wall -Wextra -Werror -pthread -o "$work/dynamic" tests/vm/programs/subject.c
    programs+=("$work/dynamic")
    cc -O1 -Wall -Wextra -Werror -static -pthread -o "$work/churn" tests/soak/programs/{churn,slow_fork}.c
    programs+=("$work/churn")
    cp "$(test_program isobar-conformance linux)" "$work/conformance-linux"
    programs+=("$work/conformance-linux")
}

# Boots one machine; 0 passed, 1 failed, 124 out of time, 125 the guest never reported.
boot() {
    local name=$1 out=$work/$1 code=0 guest
    rm -rf "$out" && mkdir -p "$out"
    "machine_$name"
    # If the CPU offers fast REP (erms; fsrm in newer QEMUs), the kernel clears and copies pages by
    # single bytes, and each byte is emulated: a sixth of the test's time.
    timeout -k 5 $seconds "${qemu[@]}" -accel tcg,thread=single -machine q35,hmat=on -cpu max,-cx16,-erms,-fsrm "${machine[@]}" \
        -nodefaults -no-user-config -display none -no-reboot -serial "file:$out/console.log" \
        -device isa-debug-exit,iobase=0xf4,iosize=1 \
        -device virtio-serial-pci -chardev "file,id=results,path=$out/results.tar" -device virtserialport,chardev=results,name=results \
        -kernel "$kernel" -initrd "$work/initramfs" \
        -append "console=ttyS0 panic=-1 quiet $quick tsc=reliable clocksource=tsc isobar.machine=$name isobar.only=$only isobar.soak=$soak" \
        2> "$out/qemu.log" &
    guest=$!
    trap 'kill $guest 2>/dev/null; exit 1' TERM
    wait $guest || code=$?
    unpack_results "$out"
    # QEMU ends with 2 * value + 1, and the guest's value is its verdict + 8.
    if [ $code -ge 17 ] && [ $code -lt 124 ] && [ $((code % 2)) = 1 ]; then return $(((code >> 1) - 8 != 0)); fi
    case $code in 124 | 137) echo "out of time after $seconds s" >> "$out/suite.log"; return 124 ;; esac
    return 125
}

install_emulator qemu-x86_64=qemu-user
find_qemu
why=
kernel=${ISOBAR_VM_KERNEL:-}
kernel_name=$kernel
if [ -z "$kernel" ]; then
    fetch_kernel "$cache" || skip "no kernel for the guest: $why"
    kernel=$(guest_kernel "$cache")
    kernel_name=$(cat "$cache/name" 2>/dev/null || echo "$kernel")
elif is_release "$kernel" && [ ! -f "$kernel" ]; then
    fetch_release "$cache/releases" "$kernel" || skip "no kernel for the guest: $why"
    kernel=$release_kernel
    kernel_name=$(basename "$kernel")
fi
mkdir -p "$work"
build
pack_initramfs "$(command -v busybox)" strip

echo "booting: ${machines[*]} ($kernel_name, $("${qemu[0]}" --version | head -n 1))"
run_machines "the machine test"
