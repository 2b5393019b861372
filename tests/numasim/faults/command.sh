# How the command `numasim` handles guests and emulators that fail, time that runs out, and Ctrl-C;
# and that no process is left then. Sourced by run.sh.

# numasim WORD...: with what is built; everything that it starts has our folder on its command line
# (--keep).
numasim() {
    env NUMASIM_QEMU="$emulator" NUMASIM_KERNEL="$kernel" NUMASIM_PLUGIN="$plugin" NUMASIM_ISOBAR="$bin/isobar" TMPDIR="$work" \
        timeout -k 5 "${limit:-150}" "$bin/numasim" "$@"
}
boot() { numasim boot "$machine" --keep "$work/kept" "$@"; }
# Process ids of the QEMU whose files lie in this folder of ours.
pids() {
    local entry
    for entry in $(grep -lazF -e "path=$work/$1" /proc/[0-9]*/cmdline 2>/dev/null); do
        [[ $(tr '\0' ' ' < "$entry") == *qemu-system* ]] && entry=${entry#/proc/} && echo "${entry%/cmdline}"
    done
}

# script NAME BODY: a fake emulator, which prints its version as QEMU does.
script() {
    printf '#!/bin/sh\n[ "$1" != --version ] || { echo "QEMU emulator version 10.0.2"; exit 0; }\n%s\n' "$2" > "$work/$1"
    chmod +x "$work/$1"
    echo "$work/$1"
}

# signalled SIGNAL FOLDER COMMAND...: sends a signal to the command (ABRT: to its QEMU) once its
# guest has begun; its status.
signalled() {
    local signal=$1 folder=$2 command code=0
    shift 2
    rm -rf "${work:?}/$folder"
    "$@" &
    command=$!
    waits_for 180 modelling "$folder" || echo "no guest after 180 s"
    # The command is a child of `timeout`, which is one of the shell's own.
    if [ "$signal" = ABRT ]; then kill -ABRT $(pids "$folder"); else kill -"$signal" "$(pgrep -P "$(pgrep -P $command)")"; fi
    wait $command || code=$?
    return $code
}
modelling() { [ -s "$work/$1/console.log" ] || [ -s "$work/$1/boot-1/console.log" ] || grep -qs modelling "$work/$1/qemu.log" "$work/$1"/boot-1/qemu.log; }

experiment() {
    sed 's/^repeats = .*/repeats = 1/' numasim/experiments/ci.toml > "$work/endless.toml"
    numasim experiment "$work/endless.toml" --keep "$work/kept"
}

# Of two contenders one has a command before the measured part that fails; that of the other reads a
# file of the host.
failing_before() {
    echo here > "$work/told"
    cat > "$work/before.toml" <<EOF
name = "before"
machine = "$(realpath "$machine")"
repeats = 1
limit_seconds = 20
host_files = ["told"]
[[program]]
name = "table"
run = "table --threads 4 --size-kib 64 --work 100"
each_thread_on = "0-3"
[[contender]]
kind = "linux"
numa_balancing = false
before = "cat /host/told"
[[contender]]
kind = "linux"
name = "fails"
numa_balancing = false
before = "cat /host/{program}/{pid}"
EOF
    local code=0
    numasim experiment "$work/before.toml" --json --keep "$work/kept" > "$work/before.json" || code=$?
    cat "$work/before.json"
    grep -q '"before":{"table":"here' "$work/before.json" || return 3
    return $code
}

command_faults() {
    emulator=$qemu
    check "a guest that panics" 1 'numasim: the guest.s kernel panicked: .*sysrq triggered crash' boot -- sh -c 'echo c > /proc/sysrq-trigger'
    check "a command that is not there" 1 'numasim: the director in the guest could not continue: nowhere: ' boot -- nowhere
    check "a command that fails" 1 'exit status: 3' boot -- sh -c 'exit 3'
    check "a guest that powers off" 1 'the guest shut itself down before it was done' boot -- poweroff -f
    check "out of time" 1 'numasim: out of time after 12 s' boot --seconds 12 -- sh -c 'while :; do :; done'
    check "QEMU killed by SIGABRT" 1 'numasim: QEMU aborted: it was killed by signal 6' signalled ABRT kept boot -- sh -c 'while :; do :; done'
    emulator=$(script aborts 'echo "qemu: fatal: a made-up fault" >&2; exit 134')
    check "a QEMU that ends with 134" 1 'numasim: QEMU aborted: it ended with code 134: qemu: fatal: a made-up fault' boot -- true
    emulator=$(script mute 'exit 0')
    check "a QEMU that ends without a word" 1 'numasim: the guest ended twice without any message' boot -- true
    emulator=$(script hangs 'sleep 1000 & sleep 1000')
    check "a QEMU that hangs, with a child" 1 'numasim: out of time after 3 s' boot --seconds 3 -- true
    emulator=$qemu
    check "a machine that the plugin refuses" 2 'unknown field `colour`' numasim boot "$(changed '1i colour = "blue"')" -- true
    check "a folder that cannot be written" 1 'numasim: /proc/nowhere: ' numasim boot "$machine" --keep /proc/nowhere -- true
    check "a command before the measured part that fails" 1 'under/fails: the command before table: exit status: 1: cat: .*/host/table/[0-9]' failing_before
    check "SIGINT to a boot" 1 'numasim: interrupted' signalled INT kept boot -- sh -c 'while :; do :; done'
    check "SIGINT to an experiment" 1 'numasim: interrupted' signalled INT kept experiment
    check "SIGKILL to an experiment" 137 '' signalled KILL kept experiment
    check "two signals to a boot" 130 '' twice boot -- sh -c 'while :; do :; done'
    check "no folder is left of all these" 0 '^none' folders
    check "two side by side are as each alone" 0 'the same' side_by_side
}

# Ctrl-C, and at once again.
twice() {
    local background command code=0
    rm -rf "${work:?}/kept"
    "$@" &
    background=$!
    waits_for 180 modelling kept || echo "no guest after 180 s"
    command=$(pgrep -P "$(pgrep -P $background)")
    kill -INT "$command" && kill -TERM "$command"
    wait $background || code=$?
    # The first signal may have done it all before the second came.
    [ $code = 1 ] && code=130
    return $code
}
folders() { waits_for 10 no_folders && echo none || ls -d "$work"/numasim-*; }
no_folders() { ! ls -d "$work"/numasim-* > /dev/null; }

# One program, three times: alone, and two at a time. Its figures, and all counters of the machine,
# are to be the same to the last digit.
side_by_side() {
    local name
    for name in alone left right; do
        numasim boot "$machine" --json --keep "$work/$name" -- chase --size-kib 256 --work 20000 > "$work/$name.json" &
        [ $name != alone ] || wait $!
    done
    wait
    grep -q '"checksum' "$work/alone.json" || { cat "$work/alone.json"; return 1; }
    for name in left right; do cmp "$work/alone.json" "$work/$name.json" || { cat "$work/alone.json" "$work/$name.json"; return 1; }; done
    echo the same
}
