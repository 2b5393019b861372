#!/usr/bin/env bash
# Fetches what numasim needs as Debian packages, which are unpacked side by side and never
# installed:
#   fetch.sh kernel DIR   DIR/vmlinuz, the kernel of the machine test
#   fetch.sh qemu DIR     DIR/root, QEMU 10 of the backports with its firmware
#   fetch.sh tools DIR    DIR/root, numactl and numad of the release
# What is there is left alone. On failure the last line of standard error says why.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/debian.sh"
. "$here/../../tests/vm/kernel.sh"

# fetch_packages DIR "SUITE ..." PACKAGE...: unpacks them into DIR/root.
fetch_packages() {
    local dir=$1 suites=$2
    shift 2
    debian_lists "$dir/lists" amd64 $suites || return 1
    rm -rf "$dir/unpacked"
    debian_unpack "$dir/unpacked" "$@" || return 1
    (cd "$dir/lists" && ls ./*.deb) > "$dir/names"
    rm -rf "$dir/root" "$dir/lists"
    mv "$dir/unpacked" "$dir/root"
}

[ $# = 2 ] || { echo "usage: fetch.sh kernel|qemu|tools DIR" >&2; exit 2; }
what=$1 dir=$2 why="unknown reason"
mkdir -p "$dir"
exec 9> "$dir/lock"
flock 9 # two at a time would trample on each other
case $what in
    kernel) fetch_kernel "$dir" || { echo "$why" >&2; exit 1; } ;;
    qemu) [ -d "$dir/root" ] || fetch_packages "$dir" "bookworm bookworm-backports" \
        {qemu-system-x86,qemu-system-data,qemu-system-common}/bookworm-backports seabios ||
        { echo "$why" >&2; exit 1; } ;;
    tools) [ -d "$dir/root" ] || fetch_packages "$dir" bookworm numactl numad libnuma1 || { echo "$why" >&2; exit 1; } ;;
    *) echo "no such thing: $what" >&2; exit 2 ;;
esac
