# What guests and their programs say: a page that does not exist, was never initialised, or is of
# another version; a kernel that panics. Guests booted by hand: the command has no part in it.
# Sourced by run.sh.

page_device() { echo -object "memory-backend-file,id=page,share=on,mem-path=$1,size=512K" -device ivshmem-plain,memdev=page; }

# made NAME [WORD ...]: a page of 512 KiB whose first words (64 bits, little endian, as printf
# writes them) are these.
made() {
    local file=$work/$1
    shift
    printf '%b' "$@" > "$file"
    truncate -s 524288 "$file"
    echo "$file"
}

modelled() {
    local what=$1
    shift
    rm -f "$work/page"
    truncate -s 524288 "$work/page"
    # shellcheck disable=SC2046  # words
    guest 120 "$what" -seed 1 $(page_device "$work/page") -plugin "$plugin,machine=$machine,page=$work/page" "$@"
}

# shellcheck disable=SC2046  # words
guest_faults() {
    emulator=$qemu accel=tcg,thread=single preload=
    local magic='NUMASIM\0'
    check "a guest without the page's device" 7 'counters: numasim-counters: .*no ivshmem device \(PCI 1af4:1110\)' guest 90 page
    said_too "and isobar manage says so too" 'isobar: .*no ivshmem device.*manage.counters = "numasim" works only in a numasim guest'
    check "a page that was never initialised" 7 'counters: numasim-counters: no numasim page: word 0 is 0x0+: QEMU runs without the plugin' \
        guest 90 page $(page_device "$(made empty)")
    said_too "and isobar manage says so too" 'isobar: .*no numasim page'
    check "a page of another version" 7 'counters: numasim-counters: the page has version 7, and this program knows version 4' \
        guest 90 page $(page_device "$(made version7 "$magic" '\007\0\0\0\0\0\0\0')")
    said_too "and isobar manage says so too" 'isobar: .*the page has version 7'
    preload=$plugin
    check "a page before modelling, and after" 7 'counters: .*not modelling yet.*numasim-ctl start' modelled start
    said_too "and isobar manage says so too" 'isobar: .*not modelling yet'
    said_too "and counts come once it is modelled" '^numasim: modelling'
    check "a guest whose first process leaves ends QEMU" 0 'Kernel panic - not syncing: Attempted to kill init' modelled leave
}

# said_too NAME PATTERN: of what the check before said.
said_too() {
    grep -qE -- "$2" "$work/said" || fault "$1" "did not say: $2"
    verdict "$1"
}
