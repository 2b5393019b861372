# Fetches the guest's kernel: Debian's cloud image of 6.12 from the backports, as a package that is unpacked and never installed.
# Sourced by run.sh. `fetch_kernel DIR` leaves DIR/vmlinuz; it is fetched once and then taken from there.

mirror=${ISOBAR_VM_MIRROR:-http://deb.debian.org/debian}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
family='^linux-image-6\.12\.[0-9]+\+deb12-cloud-amd64$'

fetch_kernel() {
    local dir=$1 apt name
    [ -s "$dir/vmlinuz" ] && return 0
    [ -r "$keyring" ] || { why="$keyring is missing (no Debian here?)"; return 1; }
    mkdir -p "$dir/apt/state/lists/partial" "$dir/apt/cache/archives/partial"
    echo "deb [signed-by=$keyring] $mirror bookworm-backports main" > "$dir/apt/sources.list"
    # A package list of its own: the machine's is left alone.
    apt=(-qq -o Dir::Etc::sourcelist="$dir/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o Dir::State="$dir/apt/state" -o Dir::Cache="$dir/apt/cache" -o APT::Sandbox::User=root -o APT::Update::Error-Mode=any)
    apt-get "${apt[@]}" update >&2 || { why="$mirror cannot be reached"; return 1; }
    name=$(apt-cache "${apt[@]}" pkgnames linux-image-6.12 | grep -E "$family" | sort -V | tail -n 1)
    [ -n "$name" ] || { why="the backports offer no 6.12 cloud kernel any more"; return 1; }
    (cd "$dir" && apt-get "${apt[@]}" download "$name" >&2) || { why="package $name cannot be fetched"; return 1; }
    rm -rf "$dir/unpacked"
    dpkg -x "$dir/$name"_*.deb "$dir/unpacked" || { why="package $name cannot be unpacked"; return 1; }
    mv "$dir"/unpacked/boot/vmlinuz-* "$dir/vmlinuz"
    echo "$name" > "$dir/name"
    rm -rf "$dir/unpacked" "$dir/apt" "$dir"/*.deb
}
