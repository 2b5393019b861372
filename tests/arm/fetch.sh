# Fetches what the Arm guest needs, once: unpacked side by side, nothing is installed. Sourced by
# run.sh, after scripts/debian.sh.
#
# fetch_arm DIR leaves
#   DIR/qemu         QEMU 11 with its own libraries and loader: the first whose `virt` machine has
#                    tables of caches (`smp-cache`)
#   DIR/firmware.fd  UEFI, for ACPI: with the one of Debian 12 the kernel makes up a single node
#   DIR/vmlinuz      Debian's arm64 cloud kernel 6.12, DIR/kernel its name; DIR/busybox
#   DIR/cc           Debian 12's cross compiler, for the programs that are managed (isobar itself
#                    needs none)

fetch_arm() {
    local dir=$1 part
    # A cache that is complete may be read-only.
    [ -e "$dir/guest.done" ] && [ -e "$dir/compiler.done" ] && [ -e "$dir/qemu.done" ] && return 0
    { mkdir -p "$dir" && exec 9> "$dir/lock"; } ||
        { why="$dir cannot be written: name another folder in ISOBAR_ARM_CACHE"; return 1; }
    flock 9 # two at a time would trample on each other
    for part in guest compiler qemu; do
        [ -e "$dir/$part.done" ] && continue
        echo "fetching for the Arm guest: $part" >&2
        # What an interrupted run left goes first: packages of another day among it.
        rm -rf "$dir/$part" "$dir/lists"
        "fetch_$part" "$dir" || return 1
        rm -rf "$dir/lists"
        touch "$dir/$part.done"
    done
    exec 9>&-
}

fetch_guest() {
    local dir=$1 kernel
    debian_lists "$dir/lists" arm64 bookworm bookworm-backports || return 1
    kernel=$(debian_newest '^linux-image-6\.12\.[0-9]+\+deb12-cloud-arm64$')
    [ -n "$kernel" ] || { why="the backports offer no 6.12 cloud kernel for arm64 any more"; return 1; }
    debian_unpack "$dir/guest" "$kernel" busybox-static || return 1
    { mv "$dir"/guest/boot/vmlinuz-* "$dir/vmlinuz" && mv "$dir/guest/bin/busybox" "$dir/busybox"; } ||
        { why="$kernel or busybox-static is not what it was"; return 1; }
    echo "$kernel" > "$dir/kernel"
    rm -rf "$dir/guest"
}

fetch_compiler() {
    local dir=$1
    debian_lists "$dir/lists" amd64 bookworm || return 1
    debian_unpack "$dir/compiler" {gcc,cpp}-12-aarch64-linux-gnu binutils-aarch64-linux-gnu gcc-12-cross-base \
        lib{gcc-12-dev,gcc-s1,c6-dev,c6}-arm64-cross linux-libc-dev-arm64-cross || return 1
    write_program "$dir/cc" "$dir/compiler/usr" <<'EOF'
export LD_LIBRARY_PATH="$usr/lib/x86_64-linux-gnu"
exec "$usr/bin/aarch64-linux-gnu-gcc-12" "-B$usr/bin/aarch64-linux-gnu-" "-B$usr/aarch64-linux-gnu/lib/" \
    "-L$usr/aarch64-linux-gnu/lib" -isystem "$usr/aarch64-linux-gnu/include" "$@"
EOF
}

fetch_qemu() {
    local dir=$1
    rm -rf "$dir/qemu.root" "$dir/firmware"
    debian_lists "$dir/lists" amd64 trixie trixie-backports || return 1
    debian_unpack "$dir/firmware" qemu-efi-aarch64 || return 1
    mv "$dir/firmware/usr/share/qemu-efi-aarch64/QEMU_EFI.fd" "$dir/firmware.fd" ||
        { why="qemu-efi-aarch64 is not what it was"; return 1; }
    rm -rf "$dir/firmware"
    debian_unpack_closure "$dir/qemu.root" qemu-system-{arm,data,common}/trixie-backports libc6 || return 1
    write_program "$dir/qemu" "$dir/qemu.root/usr" <<'EOF'
export QEMU_MODULE_DIR="$usr/lib/x86_64-linux-gnu/qemu"
exec "$usr/lib64/ld-linux-x86-64.so.2" --library-path "$usr/lib/x86_64-linux-gnu" "$usr/bin/qemu-system-aarch64" \
    -L "$usr/share/qemu" "$@"
EOF
    "$dir/qemu" --version > "$dir/qemu.version" ||
        { why="the QEMU of trixie-backports does not start here"; return 1; }
}

# write_program PATH USR: a shell script, from the standard input, in which `$usr` is the folder
# USR, whatever characters its name has.
write_program() {
    local quoted="'\\''"
    { printf "#!/bin/sh\nusr='%s'\n" "${2//\'/$quoted}"; cat; } > "$1"
    chmod +x "$1"
}
