# Fetches the guest's kernel: Debian's cloud image of 6.12 from the backports. Sourced by run.sh,
# after scripts/debian.sh. `fetch_kernel DIR` leaves DIR/vmlinux, DIR/vmlinuz and DIR/name; it is
# fetched once and then taken from there. `guest_kernel DIR` prints which of the two to boot.

# A folder that an earlier version filled may have the packed one alone, which boots too.
guest_kernel() { if [ -s "$1/vmlinux" ]; then echo "$1/vmlinux"; else echo "$1/vmlinuz"; fi; }
is_complete() { [ -s "$1/vmlinux" ] || { [ -s "$1/vmlinuz" ] && ! { command -v zstd >/dev/null && [ -w "$1" ]; }; }; }

fetch_kernel() {
    local dir=$1 lock failed=0
    # A complete cache may be read-only.
    is_complete "$dir" && return 0
    # Two at a time would trample on each other. The file DIR/lock belongs to numasim/lab/fetch.sh,
    # which holds it while it calls this.
    { mkdir -p "$dir" && exec {lock}> "$dir/kernel.lock"; } ||
        { why="$dir cannot be written: make it writable or name another folder"; return 1; }
    flock "$lock"
    # Another run may have fetched it meanwhile.
    is_complete "$dir" || fetch_kernel_alone "$dir" || failed=1
    exec {lock}>&-
    return $failed
}

# Under the lock. DIR/vmlinux comes last: where it is, all is there.
fetch_kernel_alone() {
    local dir=$1 name zstd
    # An earlier version left it packed.
    if [ -s "$dir/vmlinuz" ] && zstd=$(command -v zstd); then unpack_kernel "$dir" "$zstd" && return 0; fi
    debian_lists "$dir/lists" amd64 bookworm bookworm-backports || return 1
    name=$(debian_newest '^linux-image-6\.12\.[0-9]+\+deb12-cloud-amd64$')
    [ -n "$name" ] || { why="the backports offer no 6.12 cloud kernel any more"; return 1; }
    rm -rf "$dir/unpacked"
    debian_unpack "$dir/unpacked" "$name" zstd || return 1
    { echo "$name" > "$dir/name" && mv "$dir"/unpacked/boot/vmlinuz-* "$dir/vmlinuz"; } ||
        { why="$name has no kernel in it, or $dir cannot be written"; return 1; }
    zstd=$(command -v zstd) || zstd=$dir/unpacked/usr/bin/zstd
    unpack_kernel "$dir" "$zstd" || { why="the kernel of $name cannot be unpacked"; return 1; }
    rm -rf "$dir/unpacked" "$dir/lists"
}

# unpack_kernel DIR ZSTD: DIR/vmlinux, the ELF file in DIR/vmlinuz, which a guest would unpack
# itself, for a second of every boot under emulation. QEMU starts it by its PVH note. Where it lies:
# Documentation/arch/x86/boot.rst (setup_sects, payload_offset, payload_length; its last four bytes
# are the size unpacked).
unpack_kernel() {
    local packed=$1/vmlinuz sectors offset length
    sectors=$(od -An -t u1 -j $((0x1f1)) -N 1 "$packed")
    read -r offset length < <(od -An -t u4 -j $((0x248)) -N 8 "$packed")
    length=$((length - 4))
    head -c $(((sectors + 1) * 512 + offset + length)) "$packed" | tail -c $length | "$2" -dqc > "$1/vmlinux.part" &&
        mv "$1/vmlinux.part" "$1/vmlinux"
}
