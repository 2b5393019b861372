# Fetches kernels for guests: Debian's cloud images. Sourced, after scripts/debian.sh.
# `fetch_kernel DIR` leaves the usual one, 6.12 of the backports, in DIR/vmlinux and DIR/vmlinuz,
# and its package's name in DIR/name; it is fetched once and then taken from there.
# `guest_kernel DIR` prints which of the two to boot. `fetch_release DIR RELEASE` fetches any other
# release on offer, once, and sets `release_kernel` to its file.

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
    if [ -s "$dir/vmlinuz" ] && zstd=$(command -v zstd); then
        unpack_kernel "$dir/vmlinuz" "$dir/vmlinux" "$zstd" && return 0
    fi
    debian_lists "$dir/lists" amd64 bookworm bookworm-backports || return 1
    name=$(debian_newest '^linux-image-6\.12\.[0-9]+\+deb12-cloud-amd64$')
    [ -n "$name" ] || { why="the backports offer no 6.12 cloud kernel any more"; return 1; }
    rm -rf "$dir/unpacked"
    debian_unpack "$dir/unpacked" "$name" zstd || return 1
    { echo "$name" > "$dir/name" && mv "$dir"/unpacked/boot/vmlinuz-* "$dir/vmlinuz"; } ||
        { why="$name has no kernel in it, or $dir cannot be written"; return 1; }
    zstd=$(command -v zstd) || zstd=$dir/unpacked/usr/bin/zstd
    unpack_kernel "$dir/vmlinuz" "$dir/vmlinux" "$zstd" || { why="the kernel of $name cannot be unpacked"; return 1; }
    rm -rf "$dir/unpacked" "$dir/lists"
}

# unpack_kernel PACKED TO ZSTD: the ELF file in a bzImage, which a guest would unpack itself, for a
# second of every boot under emulation. QEMU starts it by its PVH note. Where it lies:
# Documentation/arch/x86/boot.rst (setup_sects, payload_offset, payload_length; its last four bytes
# are the size unpacked).
unpack_kernel() {
    local packed=$1 sectors offset length
    sectors=$(od -An -t u1 -j $((0x1f1)) -N 1 "$packed")
    read -r offset length < <(od -An -t u4 -j $((0x248)) -N 8 "$packed")
    length=$((length - 4))
    head -c $(((sectors + 1) * 512 + offset + length)) "$packed" | tail -c $length | "$3" -dqc > "$2.part" &&
        mv "$2.part" "$2"
}

# A release by number: `7.3` is the newest of that series (the newest that was fetched, if one was),
# `7.3.4` that one.
is_release() { [[ $1 =~ ^[0-9]+\.[0-9]+(\.[0-9]+)?$ ]]; }

# fetch_release DIR RELEASE: DIR/7.3.4, say, the kernel as an ELF file.
fetch_release() {
    local dir=$1 wanted=${2//./\\.} lock failed=0
    fetched_release "$dir" "$wanted" && return 0
    { mkdir -p "$dir" && exec {lock}> "$dir/kernel.lock"; } ||
        { why="$dir cannot be written: make it writable or name another folder"; return 1; }
    flock "$lock"
    # Another run may have fetched it meanwhile; one that was killed may have left its folders.
    rm -rf "$dir/unpacked" "$dir/lists"
    fetched_release "$dir" "$wanted" || fetch_release_alone "$dir" "$wanted" "$2" || failed=1
    rm -rf "$dir/unpacked" "$dir/lists" "$dir/vmlinuz"
    exec {lock}>&-
    return $failed
}

fetched_release() {
    release_kernel=$(find "$1" -maxdepth 1 -type f -size +0 2>/dev/null | grep -E "/$2(\.[0-9]+)?$" | sort -V | tail -n 1)
    [ -n "$release_kernel" ]
}

# Under the lock. Since 6.19 the kernel lies in a package of its own, linux-binary.
fetch_release_alone() {
    local dir=$1 wanted=$2 asked=$3 offered name release zstd packages
    debian_lists "$dir/lists" amd64 bookworm-backports trixie trixie-backports bookworm || return 1
    offered=$(debian_named '^linux-(image|binary)-[0-9.]+\+deb[0-9]+-cloud-amd64$')
    release=$(sed -nE "s/^linux-[a-z]+-($wanted(\.[0-9]+)?)\+.*/\1/p" <<< "$offered" | sort -V | tail -n 1)
    [ -n "$release" ] ||
        { why="Debian has no cloud kernel $asked; it has the series $(series_of "$offered")"; return 1; }
    name=$(grep -F -- "-$release+" <<< "$offered" | sort | head -n 1) # linux-binary, if there is one
    packages=("$name")
    zstd=$(command -v zstd) || packages+=(zstd/bookworm)
    debian_unpack "$dir/unpacked" "${packages[@]}" || return 1
    mv "$(find "$dir/unpacked" -name 'vmlinuz*' -type f | grep .)" "$dir/vmlinuz" ||
        { why="$name has no kernel in it"; return 1; }
    unpack_kernel "$dir/vmlinuz" "$dir/$release" "${zstd:-$dir/unpacked/usr/bin/zstd}" ||
        { why="the kernel of $name cannot be unpacked"; return 1; }
    release_kernel=$dir/$release
}

# series_of PACKAGES: their series, `6.12, 6.16, 7.3`.
series_of() { sed -E 's/^linux-[a-z]+-([0-9]+\.[0-9]+).*/\1/' <<< "$1" | sort -uV | paste -sd, | sed 's/,/, /g'; }
