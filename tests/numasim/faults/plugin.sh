# What the plugin says when it cannot work: nothing boots, QEMU ends at once. Sourced by run.sh.

changed() { sed "$1" "$machine" > "$work/changed.toml"; echo "$work/changed.toml"; }
# with FILE [ARGUMENTS]: QEMU with the plugin and a machine file.
with() { emulate 30 -smp "${cpus:-4}" -plugin "$plugin,machine=$1${2:-}"; }
preloaded() { LD_PRELOAD=$plugin "$@"; }
# On a file system of one page that is full.
on_full_disk() {
    unshare -rm sh -c 'mount -t tmpfs -o size=16k full "$1" && head -c 16384 /dev/zero > "$1/filler"; shift; exec "$@"' sh "$work/full" \
        env LD_PRELOAD="$plugin" "$emulator" -accel tcg,thread=single -smp 4 -nodefaults -display none -plugin "$plugin,machine=$machine,page=$work/full/page"
}

plugin_faults() {
    preload=$plugin emulator=$qemu accel=tcg,thread=single
    check "a machine with an unknown key" bad 'numasim: error: .*changed.toml: line [0-9]+: unknown field `colour`' \
        with "$(changed '1i colour = "blue"')"
    check "a machine with an impossible value" bad 'numasim: error: .*changed.toml: `clock_mhz`' with "$(changed 's/^clock_mhz = .*/clock_mhz = -1.0/')"
    check "no machine file" bad 'numasim: error: .*nowhere.toml: cannot be read: No such file' with "$work/nowhere.toml"
    check "other CPUs than -smp" bad 'numasim: error: .* has 4 CPUs and QEMU 2: start it with -smp 4' cpus2 "$machine"
    check "an unknown plugin argument" bad "numasim: error: plugin argument 'colour' is unknown" with "$machine" ,colour=blue
    check "a page that cannot be made" bad 'numasim: error: .*/nowhere/page: cannot make it: ' with "$machine" ",page=$work/nowhere/page"
    accel=tcg,thread=multi
    check "a thread for each CPU" 70 'numasim: error: QEMU runs its CPUs in several threads; start it with -accel tcg,thread=single' with "$machine"
    accel=tcg,thread=single preload=
    check "the plugin not preloaded" bad 'numasim: error: not preloaded: start QEMU with LD_PRELOAD' with "$machine"
    check "preloaded into other programs" 0 'harmless' preloaded bash -c "timeout 5 sh -c 'date; sleep 0.1'; echo harmless $work/"
    if unshare -rm true 2>/dev/null; then
        mkdir -p "$work/full"
        check "a page on a full disk" bad 'numasim: error: .*/full/page: cannot make it: No space left' timeout 30 bash -c "$(declare -f on_full_disk); work=$work plugin=$plugin emulator=$emulator machine=$machine; on_full_disk"
    fi
    old_emulator
}

cpus2() { cpus=2 with "$@"; }

# The release's own QEMU, where it is installed, or a script that says what it would.
old_emulator() {
    local old
    old=$(command -v qemu-system-x86_64 || true)
    if [ -n "$old" ] && "$old" --version | grep -qE 'version [1-8]\.'; then
        emulator=$old preload=$plugin
        check "a QEMU that is too old, by hand" bad 'plugin requires API version 4|this QEMU has plugin interface' with "$machine"
    fi
    printf '#!/bin/sh\necho "QEMU emulator version 7.2.22 (Debian)"\n' > "$work/old-qemu"
    chmod +x "$work/old-qemu"
    check "a QEMU that is too old, by the command" 1 'version 7.2.22, too old: 10 is needed' \
        env NUMASIM_QEMU="$work/old-qemu" "$bin/numasim" boot "$machine" -- true
}
