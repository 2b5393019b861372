#!/usr/bin/env bash
# Fetches what numasim needs as Debian packages, which are unpacked side by side and never
# installed:
#   fetch.sh kernel DIR   DIR/vmlinux, the kernel of the machine test
#   fetch.sh release DIR RELEASE   a kernel by its release, 7.3 or 7.3.4; prints its file
#   fetch.sh qemu DIR     DIR/root, QEMU 10 of the backports with its firmware
#   fetch.sh tools DIR    DIR/root, numactl and numad of the release
#   fetch.sh packages DIR PACKAGE ...   DIR/root, these of the release and all that they depend on,
#                         but the C library: the guest has this machine's
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

# fetch_closure DIR PACKAGE...: unpacks them and what they need into DIR/root, once for each list of
# packages.
fetch_closure() {
    local dir=$1
    shift
    [ -d "$dir/root" ] && [ "$(cat "$dir/asked" 2> /dev/null)" = "$*" ] && return
    debian_lists "$dir/lists" amd64 bookworm || return 1
    rm -rf "$dir/unpacked" "$dir/root"
    apt-get "${debian_apt[@]}" -y --download-only install "$@" >&2 || { why="$* cannot be fetched"; return 1; }
    rm -f "$dir"/lists/cache/archives/{libc6,libc-bin,libcrypt1}_*.deb
    debian_unpack_files "$dir/unpacked" "$dir"/lists/cache/archives/*.deb || return 1
    rm -rf "$dir/lists"
    mv "$dir/unpacked" "$dir/root"
    echo "$*" > "$dir/asked"
}

case $#,${1:-} in
    2,* | 3,release | *,packages) ;;
    *) echo "usage: fetch.sh kernel|qemu|tools DIR, release DIR RELEASE, or packages DIR PACKAGE ..." >&2; exit 2 ;;
esac
what=$1 dir=$2 why="unknown reason"
shift 2
mkdir -p "$dir"
exec 9> "$dir/lock"
flock 9 # two at a time would trample on each other
case $what in
    kernel) fetch_kernel "$dir" || { echo "$why" >&2; exit 1; } ;;
    release) fetch_release "$dir" "$1" || { echo "$why" >&2; exit 1; }; echo "$release_kernel" ;;
    qemu) [ -d "$dir/root" ] || fetch_packages "$dir" "bookworm bookworm-backports" \
        {qemu-system-x86,qemu-system-data,qemu-system-common}/bookworm-backports seabios ||
        { echo "$why" >&2; exit 1; } ;;
    tools) [ -d "$dir/root" ] || fetch_packages "$dir" bookworm numactl numad libnuma1 || { echo "$why" >&2; exit 1; } ;;
    packages) fetch_closure "$dir" "$@" || { echo "$why" >&2; exit 1; } ;;
    *) echo "no such thing: $what" >&2; exit 2 ;;
esac
