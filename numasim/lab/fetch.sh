#!/usr/bin/env bash
# Fetches what numasim needs as Debian packages, which are unpacked side by side and never installed:
#   fetch.sh kernel DIR   DIR/vmlinuz, the kernel of the machine test
#   fetch.sh qemu DIR     DIR/root, QEMU 10 of the backports with its firmware
#   fetch.sh tools DIR    DIR/root, numactl and numad of the release
# What is there is left alone. On failure the last line of standard error says why.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../tests/vm/kernel.sh"   # mirror, keyring, fetch_kernel

# fetch_packages DIR SUITE,... PACKAGE...: unpacks them into DIR/root.
fetch_packages() {
    local dir=$1 suite=$2 apt deb
    shift 2
    [ -r "$keyring" ] || { why="$keyring is missing (no Debian here?)"; return 1; }
    mkdir -p "$dir/apt/state/lists/partial" "$dir/apt/cache/archives/partial"
    printf "deb [signed-by=$keyring] $mirror %s main\n" ${suite//,/ } > "$dir/apt/sources.list"
    apt=(-qq -o Dir::Etc::sourcelist="$dir/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o Dir::State="$dir/apt/state" -o Dir::Cache="$dir/apt/cache" -o APT::Sandbox::User=root -o APT::Update::Error-Mode=any)
    apt-get "${apt[@]}" update >&2 || { why="$mirror cannot be reached"; return 1; }
    (cd "$dir" && apt-get "${apt[@]}" download "$@" >&2) || { why="packages $* cannot be fetched from $mirror"; return 1; }
    rm -rf "$dir/unpacked"
    for deb in "$dir"/*.deb; do
        dpkg -x "$deb" "$dir/unpacked" || { why="$deb cannot be unpacked"; return 1; }
    done
    (cd "$dir" && ls ./*.deb) > "$dir/names"
    rm -rf "$dir/root" "$dir/apt" "$dir"/*.deb
    mv "$dir/unpacked" "$dir/root"
}

[ $# = 2 ] || { echo "usage: fetch.sh kernel|qemu|tools DIR" >&2; exit 2; }
what=$1 dir=$2 why="unknown reason"
mkdir -p "$dir"
exec 9> "$dir/lock"
flock 9 # two at a time would trample on each other
case $what in
    kernel) fetch_kernel "$dir" || { echo "$why" >&2; exit 1; } ;;
    qemu) [ -d "$dir/root" ] || fetch_packages "$dir" bookworm,bookworm-backports \
        {qemu-system-x86,qemu-system-data,qemu-system-common}/bookworm-backports seabios ||
        { echo "$why" >&2; exit 1; } ;;
    tools) [ -d "$dir/root" ] || fetch_packages "$dir" bookworm numactl numad libnuma1 || { echo "$why" >&2; exit 1; } ;;
    *) echo "no such thing: $what" >&2; exit 2 ;;
esac
