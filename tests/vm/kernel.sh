# Fetches the guest's kernel: Debian's cloud image of 6.12 from the backports. Sourced by run.sh, after scripts/debian.sh. `fetch_kernel DIR`
# leaves DIR/vmlinuz and DIR/name; it is fetched once and then taken from there.

fetch_kernel() {
    local dir=$1 name
    [ -s "$dir/vmlinuz" ] && return 0
    debian_lists "$dir/lists" amd64 bookworm-backports || return 1
    name=$(debian_newest '^linux-image-6\.12\.[0-9]+\+deb12-cloud-amd64$')
    [ -n "$name" ] || { why="the backports offer no 6.12 cloud kernel any more"; return 1; }
    rm -rf "$dir/unpacked"
    debian_unpack "$dir/unpacked" "$name" || return 1
    mv "$dir"/unpacked/boot/vmlinuz-* "$dir/vmlinuz"
    echo "$name" > "$dir/name"
    rm -rf "$dir/unpacked" "$dir/lists"
}
