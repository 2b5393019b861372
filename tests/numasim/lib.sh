# Checks and guests for the faults of numasim. Sourced, by run.sh with $qemu, $kernel, $plugin, $bin
# (binaries) and $work (a folder of ours) set. Everything that is started has a path below $work on
# its command line: so the check for leftovers finds it.

checks=0 failures=0
machine=$PWD/numasim/machines/small-2x2.toml

# check NAME STATUS PATTERN COMMAND...: the command ends with the status (`bad`: any but 0) within
# its time, says on standard error (or output) a line that the pattern (extended) finds (unless
# it is empty), and leaves no process.
check() {
    local name=$1 status=$2 pattern=$3 got=0 log=$work/said
    shift 3
    "$@" > "$log" 2>&1 || got=$?
    case $status in bad) [ $got != 0 ] && [ $got -lt 124 ] || fault "$name" "ended with $got, not with a failure of its own" ;; *) [ $got = "$status" ] || fault "$name" "ended with $got, not $status" ;; esac
    [ -z "$pattern" ] || grep -qE -- "$pattern" "$log" || fault "$name" "did not say: $pattern"
    none_left || fault "$name" "left a process: $(left)"
    verdict "$name"
}

faulty=
fault() { faulty=1; echo "     $1: $2"; }

# verdict NAME: closes a check whose faults were printed.
verdict() {
    checks=$((checks + 1))
    if [ -z "$faulty" ]; then
        echo "ok   $1 (${SECONDS}s)"
    else
        failures=$((failures + 1))
        echo "FAIL $1 (${SECONDS}s), it said:"
        tail -n 8 "$work/said" | cut -c1-300 | sed 's/^/     | /'
    fi
    faulty=
}

# Processes with our folder on their command line. The folder is read from standard input, else grep
# would find itself.
left() {
    grep -lazF -f - /proc/[0-9]*/cmdline 2>/dev/null <<< "$work/" | sed 's|/cmdline||' | while read -r entry; do
        printf '%s %s; ' "${entry#/proc/}" "$(tr '\0' ' ' 2>/dev/null < "$entry/cmdline" | cut -c1-100)"
    done
}

# What was killed may take a moment to be gone.
none_left() {
    for _ in $(seq 50); do [ -z "$(left)" ] && return 0; sleep 0.1; done
    return 1
}

# waits_for SECONDS COMMAND...: until it succeeds.
waits_for() {
    local until=$((SECONDS + $1))
    shift
    until "$@" 2>/dev/null; do [ $SECONDS -lt $until ] || return 1; sleep 0.1; done
}

# QEMU by hand: emulate SECONDS [OPTION...], with the plugin preloaded if $preload is set, $accel,
# $emulator as set.
emulate() {
    local seconds=$1 firmware=() words=()
    shift
    [ ! -d "${emulator%/bin/*}/share/qemu" ] || firmware=(-L "${emulator%/bin/*}/share/qemu" -L "${emulator%/bin/*}/share/seabios" -L /usr/share/seabios)
    # Set for QEMU alone: `timeout` reads clocks.
    [ -z "$preload" ] || words=(env "LD_PRELOAD=$preload")
    timeout -k 5 "$seconds" "${words[@]}" "$emulator" "${firmware[@]}" -accel "$accel" -machine q35 -cpu max,-cx16 -nodefaults \
        -no-user-config -display none -no-reboot -name "$work/guest" "$@"
}

# A small guest of our own: guest SECONDS WHAT [OPTION...]; what it says comes out, and init does
# WHAT.
guest() {
    local seconds=$1 what=$2
    shift 2
    emulate "$seconds" -m 1024M -smp 4,sockets=2,cores=2,threads=1 -serial stdio -device isa-debug-exit,iobase=0xf4,iosize=1 \
        -kernel "$kernel" -initrd "$image" \
        -append "console=ttyS0 panic=-1 quiet nokaslr cryptomgr.notests tsc=reliable clocksource=tsc numasim.do=$what" "$@"
}

pack_guest() {
    local root=$work/root program library
    image=$work/guest.cpio
    mkdir -p "$root"/{bin,proc,sys,dev,tmp,run,etc,lib64}
    cp "$(command -v busybox)" "$root/bin/busybox"
    for program in $(busybox --list | grep -vx busybox); do ln -sf busybox "$root/bin/$program"; done
    install -m 755 tests/numasim/guest/init "$root/init"
    cc -O1 -static -o "$root/bin/verdict" tests/vm/programs/verdict.c
    cc -O1 -static -o "$root/bin/numasim-ctl" numasim/programs/numasim-ctl.c
    for program in "$bin/isobar" "$bin/numasim-counters"; do
        strip -o "$root/bin/${program##*/}" "$program"
        for library in $(ldd "$program" | grep -oE '/[^ ]+'); do
            mkdir -p "$root$(dirname "$library")"
            cp -nL "$library" "$root$library"
        done
    done
    (cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet) > "$image"
}
