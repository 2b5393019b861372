# The commands of docs/numasim.md do what the page says. Sourced by run.sh, after command.sh.

# The first block of shell of a section: block HEADING.
block() { awk -v heading="## $1" '$0 == heading { on = 1 } on && /^```/ { if (inside) exit; inside = 1; next } inside' docs/numasim.md; }

# The line of the Quick start that boots; no CPU may have been busy for longer than the guest's
# time.
quick_start() {
    local words
    words=$(block "Quick start" | sed -n 's/.*-- \(boot .*\)/\1/p')
    # shellcheck disable=SC2086 # words
    numasim ${words%%#*} > "$work/quick" || return 1
    cat "$work/quick"
    awk '/ s of guest time/ { all = $2 } all && $1 ~ /^[0-9]+$/ { cpus++; if ($NF > all) exit 3 } END { if (cpus != 4) exit 4 }' "$work/quick" && echo balanced
}

# The command line by hand, word for word, in a folder where its files are; QEMU finds its firmware.
by_hand() {
    local at=$work/hand
    mkdir -p "$at/target/release" "$at/bin"
    ln -sf "$plugin" "$at/target/release/libnumasim.so"
    ln -sf "$kernel" "$at/vmlinux"
    ln -sf "$image" "$at/guest.cpio"
    ln -sfn "$PWD/numasim" "$at/numasim"
    printf '#!/bin/sh\nexec "%s" -L "%s" -L "%s" -L /usr/share/seabios "$@"\n' "$qemu" "${qemu%/bin/*}/share/qemu" "${qemu%/bin/*}/share/seabios" > "$at/bin/qemu-system-x86_64"
    chmod +x "$at/bin/qemu-system-x86_64"
    block "The QEMU command line by hand" | grep -v '^cargo' > "$at/command"
    (cd "$at" && PATH=$at/bin:$PATH timeout -k 5 150 sh command)
}

# What a boot keeps: the machine file as it was given, and a command that boots the same again.
kept_is_enough() {
    numasim boot "$machine" --seed 7 --keep "$work/kept" -- chase --size-kib 64 --work 1000 > /dev/null || return 1
    cmp "$machine" "$work/kept/machine.toml" || return 3
    grep -q "'-seed' '7'" "$work/kept/command" || return 4
    cp "$work/kept/output" "$work/first"
    : > "$work/kept/output"
    timeout -k 5 150 sh "$work/kept/command"
    cmp "$work/first" "$work/kept/output" && [ -s "$work/first" ] && echo the same
}

# Two LLCs a node: what Linux reads from the processor is the machine file's.
chiplets() {
    numasim boot epyc-7302-2x4 --keep "$work/kept" -- sh -c 'for cpu in 0 1 2 3 4 5 6 7; do cd /sys/devices/system/cpu/cpu$cpu/cache; echo $cpu: $(cat index*/level index*/size index*/shared_cpu_list); done; grep MHz /proc/cpuinfo; cat /sys/devices/system/node/node*/distance; numasim-counters'
}

docs_faults() {
    emulator=$qemu
    check "Quick start" 0 '^balanced' quick_start
    check "the command line by hand" 0 'LLC|last-level' by_hand
    said_too "and numasim-counters runs in it" '^ +3 +1 +1 '
    check "what is kept boots the same again" 0 'the same' kept_is_enough
    check "a machine of chiplets" 0 '^0: 2 3 32K 1024K 0 0-1$' chiplets
    said_too "and each node has two caches" '^7: 2 3 32K 1024K 7 6-7$'
    said_too "and the file's clock" 'MHz.*: (150.0|149.9)'
    said_too "and symmetric distances" '^13 10'
    said_too "and numasim-counters in every guest" '8 CPUs of 150000 kHz, 2 nodes, 4 last-level caches'
}
