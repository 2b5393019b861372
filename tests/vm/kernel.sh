# Fetches the guest's kernel: Debian's cloud image of 6.12 from the backports. Sourced by run.sh,
# after scripts/debian.sh. `fetch_kernel DIR` leaves DIR/vmlinuz and DIR/name; it is fetched once
# and then taken from there.

fetch_kernel() {
    local dir=$1 lock failed=0
    # A complete cache may be read-only.
    [ -s "$dir/vmlinuz" ] && return 0
    # Two at a time would trample on each other. The file DIR/lock belongs to numasim/lab/fetch.sh,
    # which holds it while it calls this.
    { mkdir -p "$dir" && exec {lock}> "$dir/kernel.lock"; } ||
        { why="$dir cannot be written: make it writable or name another folder"; return 1; }
    flock "$lock"
    # Another run may have fetched it meanwhile.
    [ -s "$dir/vmlinuz" ] || fetch_kernel_alone "$dir" || failed=1
    exec {lock}>&-
    return $failed
}

# Under the lock. DIR/vmlinuz comes last: where it is, all is there.
fetch_kernel_alone() {
    local dir=$1 name
    debian_lists "$dir/lists" amd64 bookworm-backports || return 1
    name=$(debian_newest '^linux-image-6\.12\.[0-9]+\+deb12-cloud-amd64$')
    [ -n "$name" ] || { why="the backports offer no 6.12 cloud kernel any more"; return 1; }
    rm -rf "$dir/unpacked"
    debian_unpack "$dir/unpacked" "$name" || return 1
    { echo "$name" > "$dir/name" && mv "$dir"/unpacked/boot/vmlinuz-* "$dir/vmlinuz"; } ||
        { why="$name has no kernel in it, or $dir cannot be written"; return 1; }
    rm -rf "$dir/unpacked" "$dir/lists"
}
