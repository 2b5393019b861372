# What the tests that boot guests share: tests/vm and tests/arm. Sourced. Needs `work` (the folder
# of this run), `machines` (names of guests) and `boot NAME`, which returns 0 passed, 1 failed, 124
# out of time, 125 the guest never reported.

# test_program PACKAGE NAME: the program of a test. With BUILD_WORKSPACE all tests are asked for,
# which .ci/run has built: for one alone, cargo would choose other features of dependencies and
# build the most expensive crates once more.
test_program() {
    # shellcheck disable=SC2046 # several arguments
    cargo test --locked --no-run --message-format=json \
        $(if [ -n "${BUILD_WORKSPACE:-}" ]; then echo --workspace; else echo -p "$1" --test "$2"; fi) 2>/dev/null |
        sed -n '/"kind":\["test"\].*"name":"'"$2"'"/s/.*\/'"${1#isobar-}"'#.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1
}

# pack_initramfs BUSYBOX [STRIP]: busybox, `programs`, and the libraries that these are linked with.
pack_initramfs() {
    local root=$work/root program library
    rm -rf "$root"
    mkdir -p "$root"/{bin,proc,sys,dev,tmp,run,etc,lib64}
    # Programs of users other than root run in the guest too.
    chmod 755 "$root"
    cp "$1" "$root/bin/busybox"
    ln -s busybox "$root/bin/sh"
    cp tests/vm/guest/init "$root/init"
    for program in "${programs[@]}"; do
        if [ -n "${2:-}" ]; then "$2" -o "$root/bin/$(basename "$program")" "$program"
        else cp "$program" "$root/bin/"; fi
        for library in $(ldd "$program" 2>/dev/null | grep -oE '/[^ ]+' || true); do
            mkdir -p "$root$(dirname "$library")"
            cp -nL "$library" "$root$library"
        done
    done
    (cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet) > "$work/initramfs"
}

# unpack_results FOLDER: what the guest handed out; else what its console shows of the suite.
unpack_results() {
    if [ -s "$1/results.tar" ]; then tar -m -C "$1" -xf "$1/results.tar"; else
        grep -aE '^(ok|FAIL|  )' "$1/console.log" > "$1/suite.log" || true
    fi
}

# The checks that failed in a guest, a line each.
failed_checks() { [ ! -s "$1/suite.log" ] || sed -nE 's/^FAIL (.*) \([0-9]+s\): .*/\1/p' "$1/suite.log"; }

# A guest that reported nothing at all is booted once more: the emulator itself fails now and then.
# So is one that stood still until its time was over. Checks that fail run once more, in a guest of
# their own: an emulated CPU that shares two real ones with other work can be too slow for a
# program's own deadlines, and a defect fails twice. Both runs are shown.
run_machine() {
    local name=$1 code=0 failed
    boot "$name" || code=$?
    if [ $code = 125 ]; then
        echo "$name: the guest reported nothing; once more" >&2
        code=0; boot "$name" || code=$?
    elif [ $code = 124 ]; then
        echo "$name: out of time; once more" >&2
        mv "$work/$name" "$work/$name.late"
        code=0; boot "$name" || code=$?
    fi
    # As parts of names: `_` for a blank.
    failed=$(failed_checks "$work/$name" | tr ' ' '_' | paste -sd, -)
    if [ $code = 1 ] && [ -n "$failed" ]; then
        echo "$name: failed, and run once more: $failed" >&2
        rm -rf "$work/$name.first"
        mv "$work/$name" "$work/$name.first"
        code=0; only=$failed boot "$name" || code=$?
    fi
    echo $code > "$work/$name/code"
}

# verdict CODE FOLDER: why a guest failed, in words.
verdict() {
    local checks
    case $1 in
        124) echo "out of time" ;;
        125) echo "it reported nothing" ;;
        *) checks=$(failed_checks "$2" | paste -sd';' -) && echo "${checks:-no check by its name}" ;;
    esac
}

# run_machines TEST: the guests in their order, as many side by side as this machine has CPUs, then
# what each of them said; ends the script with the verdict.
run_machines() {
    local name code before failed=
    pids=()
    for name in "${machines[@]}"; do rm -rf "$work/$name".{first,late}; done
    trap 'kill "${pids[@]}" 2>/dev/null || true' EXIT
    for name in "${machines[@]}"; do
        while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n || true; done
        run_machine "$name" & pids+=($!)
    done
    wait "${pids[@]}"
    for name in "${machines[@]}"; do
        code=$(cat "$work/$name/code")
        echo "== $name"
        for before in "$work/$name".{late,first}; do
            [ ! -d "$before" ] || { cat "$before/suite.log"; echo "-- UNSTEADY: what failed above, once more:"; }
        done
        if [ -s "$work/$name/suite.log" ]; then cat "$work/$name/suite.log"
        else tail -n 30 "$work/$name/console.log" "$work/$name/qemu.log"; fi
        [ "$code" = 0 ] || failed+="$name ($(verdict "$code" "$work/$name")) "
    done
    # Last, since whoever reads a long log begins at its end.
    [ -z "$failed" ] || { echo "$1 FAILED in ${failed% }; more in $work/*/{suite,console,dmesg}.log"; exit 1; }
    echo "$1 passed (${SECONDS}s)"
}
