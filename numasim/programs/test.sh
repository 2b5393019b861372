#!/usr/bin/env bash
# Builds all programs and tries each on this machine: its line, its checksum, bad arguments, the
# start of a mix, SIGTERM, and whether a fault in its work is noticed. test.sh [OUTDIR keeps what
# was built]. Takes about 40 seconds; needs a C compiler, `timeout`; jq if there.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
bin=${1:-$work/bin}
failures=0 checks=0 started=()

clean_up() {
    for pid in "${started[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
    rm -rf "$work"
}
trap clean_up EXIT

# ok WHAT COMMAND...: one check.
ok() {
    local what=$1
    shift
    checks=$((checks + 1))
    "$@" && return
    failures=$((failures + 1))
    echo "FAILED: $what" >&2
}

# The value of a member of one JSON line.
member() { sed -nE "s/.*\"$2\":(\[[^]]*\]|\"[^\"]*\"|[^,}]*).*/\1/p" <<<"$1"; }
has() { [ -n "$(member "$1" "$2")" ]; }
is() { [ "$(member "$1" "$2")" = "$3" ]; }
one_line() { [ "$(wc -l <<<"$1")" = 1 ] && [[ $1 == "{"*"}" ]]; }
valid_json() { ! command -v jq >/dev/null || jq -e . <<<"$1" >/dev/null; }
# above A B: a number is above another, both printed by a program.
above() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a + 0 > b + 0) }'; }
quickly() { timeout 20 "$@"; }
# Waits until a file exists, ten seconds at most.
appears() {
    for _ in $(seq 1000); do [ -e "$1" ] && return 0 || sleep 0.01; done
    return 1
}

# Small versions of each: program, arguments.
declare -A small=(
    [chase]="--size-kib 64 --work 20000"
    [cpu]="--work 100000"
    [stream]="--size-kib 96 --rounds 7"
    [matmul]="--size-kib 96 --rounds 2"
    [hashjoin]="--size-kib 256 --rounds 2"
    [sort]="--size-kib 96 --rounds 2"
    [graph]="--size-kib 256 --rounds 3"
    [probe]="--size-kib 64 --work 512"
    [kv]="--size-kib 64 --work 100"
    [lines]="--size-kib 64 --work 2000"
    [matrix]="--size-kib 48 --rounds 2"
    [cg]="--size-kib 72"
    [ft]="--size-kib 64"
    [stencil]="--size-kib 64 --steps 5"
    [table]="--size-kib 64 --work 20000"
    [pipeline]="--size-kib 48 --items 5 --sweeps 2"
    [copy]="--size-kib 64 --rounds 3"
    [lock]="--hold 20 --work 500"
    [clocks]="--steps 100 --work 200"
)
single="probe copy"  # programs with one thread only
small_ones="cpu lock clocks"  # without memory of a size that can be given
always_alike="lock clocks copy"  # whose result no seed changes

run_small() {
    local name=$1
    shift
    # shellcheck disable=SC2086  # the arguments are words
    quickly "$bin/$name" ${small[$name]} "$@"
}

test_line() {
    local name=$1 line other key
    line=$(run_small "$name")
    ok "$name prints one line" one_line "$line"
    ok "$name prints JSON" valid_json "$line"
    ok "$name says its name" is "$line" program "\"$name\""
    for key in seconds setup_seconds work unit checksum passes passes_done threads seed; do ok "$name: has $key" has "$line" "$key"; done
    ok "$name took time" above "$(member "$line" seconds)" 0
    ok "$name did work" above "$(member "$line" work)" 0
    ok "$name keeps the time of its pass" is "$line" passes "[$(member "$line" seconds)]"
    other=$(run_small "$name")
    ok "$name: same seed, same checksum" is "$other" checksum "$(member "$line" checksum)"
    ok "$name: same seed, same work" is "$other" work "$(member "$line" work)"
    other=$(run_small "$name" --touch first)
    ok "$name: who touches does not change the result" is "$other" checksum "$(member "$line" checksum)"
    [[ " $small_ones " == *" $name "* ]] || ok "$name prints its size" has "$line" size_kib
    other=$(run_small "$name" --seed 2)
    [[ " $always_alike " == *" $name "* ]] || ok "$name: another seed, another checksum" test "$(member "$other" checksum)" != "$(member "$line" checksum)"
    ok "$name --help fits a screen" test "$("$bin/$name" --help | wc -l)" -le 24
}

test_threads() {
    local name=$1 line
    [[ " $single " == *" $name "* ]] && return
    line=$(run_small "$name" --threads 3)
    ok "$name has three threads" is "$line" threads 3
    ok "$name: three threads come to the same again" is "$(run_small "$name" --threads 3)" checksum "$(member "$line" checksum)"
    ok "$name: bound threads come to the same" is "$(run_small "$name" --threads 3 --each-on 0,0)" checksum "$(member "$line" checksum)"
}

# refuses NAME ARGUMENTS...: exit 2, one line that begins with the program's name, nothing on
# stdout.
refuses() {
    local name=$1 code=0
    shift
    timeout 5 "$bin/$name" "$@" >"$work/out" 2>"$work/err" || code=$?
    [ $code = 2 ] && [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" = 1 ] && grep -q "^$name: " "$work/err"
}

test_bad_arguments() {
    local name=$1
    ok "$name refuses an unknown option" refuses "$name" --no-such-option 1
    ok "$name refuses a bare word" refuses "$name" word
    ok "$name refuses threads without a number" refuses "$name" --threads many
    ok "$name refuses no threads" refuses "$name" --threads 0
    ok "$name refuses a missing value" refuses "$name" --seed
    ok "$name refuses a negative time" refuses "$name" --seconds -1
    ok "$name refuses what is no list of CPUs" refuses "$name" --each-on 3-1
    ok "$name refuses an unknown way to touch" refuses "$name" --touch never
    [[ " $small_ones " == *" $name "* ]] && return
    ok "$name refuses no memory" refuses "$name" --size-kib 0
    ok "$name refuses too little memory for its threads" refuses "$name" --size-kib 1 --threads 64
}

# Which pages it has changes no result. Only root may ask where pages are.
test_colours() {
    local want
    want=$(member "$(run_small chase)" checksum)
    if [ "$(id -u)" = 0 ]; then
        ok "chase --colours does the same work" is "$(run_small chase --colours 4)" checksum "$want"
    else
        ok "chase --colours needs root" fails "only root" "$bin/chase" --colours 4
    fi
}

# It touches its memory, says so, and does nothing until the start file exists.
test_start() {
    local name=$1 ready=$work/$1.ready go=$work/$1.go out=$work/$1.out pid
    run_small "$name" --ready-file "$ready" --start-file "$go" >"$out" &
    pid=$!
    started+=("$pid")
    ok "$name gets ready" appears "$ready"
    sleep 0.4
    ok "$name waits for its start" test ! -s "$out"
    touch "$go"
    ok "$name ends after its start" wait "$pid"
    ok "$name prints its line after its start" one_line "$(cat "$out")"
    ok "$name does not count the wait" above 0.4 "$(member "$(cat "$out")" setup_seconds)"
}

# Passes follow each other until SIGTERM; the line is printed then.
test_repeat() {
    local name=$1 ready=$work/$1.again out=$work/$1.repeat pid
    # shellcheck disable=SC2086
    "$bin/$name" ${small[$name]} --repeat --ready-file "$ready" >"$out" &
    pid=$!
    started+=("$pid")
    ok "$name --repeat gets ready" appears "$ready"
    sleep 0.3
    kill -TERM "$pid"
    ok "$name --repeat ends well" wait "$pid"
    ok "$name --repeat prints one line" one_line "$(cat "$out")"
    ok "$name --repeat prints JSON" valid_json "$(cat "$out")"
    ok "$name --repeat did several passes" above "$(member "$(cat "$out")" passes_done)" 1
    ok "$name --repeat: the checksum of one pass" is "$(cat "$out")" checksum "$(member "$(run_small "$name")" checksum)"
}

test_seconds() {
    local line
    line=$(run_small "$1" --seconds 0.2)
    ok "$1 --seconds does several passes" above "$(member "$line" passes_done)" 1
}

# The measured part was never completed: null, and what was spent on it.
test_unfinished() {
    "$bin/chase" --work 1000000000000 --repeat --ready-file "$work/long" >"$work/unfinished" &
    local pid=$! line
    started+=("$pid")
    appears "$work/long"
    sleep 0.2
    kill -TERM "$pid"
    wait "$pid"
    line=$(cat "$work/unfinished")
    ok "an unfinished pass has no checksum" is "$line" checksum null
    ok "an unfinished pass has no latency" is "$line" ns_per_load null
    ok "an unfinished pass is no work" is "$line" work 0
    ok "an unfinished pass took time" above "$(member "$line" unfinished_seconds)" 0.1
}

# fails TEXT COMMAND...: exit 1 with one line that has the text.
fails() {
    local text=$1 code=0
    shift
    timeout 20 "$@" >"$work/out" 2>"$work/err" || code=$?
    [ $code = 1 ] && [ "$(wc -l <"$work/err")" = 1 ] && grep -q "$text" "$work/err"
}

# fault NAME FILE SED: with this fault in its work the program must notice.
test_fault() {
    local name=$1 file=$2 change=$3 faulty=$work/faulty
    rm -rf "$faulty" && mkdir "$faulty"
    cp "$here"/*.h "$here/$name.c" "$faulty"
    sed -i "$change" "$faulty/$file"
    ok "the fault of $name is one" test -n "$(diff "$here/$file" "$faulty/$file" || true)"
    "${CC:-cc}" -O2 -w -static -pthread -o "$faulty/$name" "$faulty/$name.c"
    # shellcheck disable=SC2086
    ok "$name notices: $change" fails "wrong result" "$faulty/$name" ${small[$name]}
}

test_faults() {
    test_fault chase cycle.h 's/i < loads; i++/i + 1 < loads; i++/'
    test_fault cpu cpu.c 's/i < work; i++/i + 1 < work; i++/'
    test_fault stream stream.c 's/round < rounds; round++/round + 1 < rounds; round++/'
    test_fault matmul matmul.c 's/k < k_end; k++/k + 1 < k_end; k++/'
    test_fault hashjoin hashjoin.c 's/i = share_start(share, count); i < /i = share_start(share, count) + 1; i < /'
    test_fault sort sort.c 's/byte < KEY_BYTES/byte < KEY_BYTES - 2/'
    test_fault graph graph.c 's/claim(ends\[e\], depth))/claim(ends[e], depth + (depth > 2)))/'
    test_fault lines lines.c 's/i < work; i++) sum += \*(vol/i + 1 < work; i++) sum += *(vol/'
    test_fault probe cycle.h 's/i < loads; i++/i + 1 < loads; i++/'
    test_fault matrix matrix.c 's/k < n; k++) C/k + 1 < n; k++) C/'
    test_fault cg cg.c 's/at < row_starts\[i + 1\]; at++/at + 1 < row_starts[i + 1]; at++/'
    test_fault ft ft.c 's/= field\[j \* n + i\]/= field[i * n + j]/'
    test_fault stencil stencil.c 's/step_row(&to/if (i + 1 < to_row || step < 3) step_row(\&to/'
    test_fault table table.c 's/+= table/= table/'
    test_fault pipeline pipeline.c 's/done < sweeps; done++) sweep/done + (stage == 0) < sweeps; done++) sweep/'
    test_fault copy copy.c 's/memset(to, byte, bytes)/memset(to, byte, bytes - 1)/'
    test_fault lock lock.c 's/= before + 1;/= before + (i > 0);/'
    test_fault clocks clocks.c 's/return now() - began;/return began - now();/'
    test_fault kv kvstore.h 's/if (put) \*slot->value = request.value;/if (put) slot->value->version = request.value.version;/'
}

# Off the emulator the word that makes a daemon does nothing, and the command runs.
test_daemon() {
    ok "a daemon is its command" [ "$("$bin/numasim-ctl" daemon echo a 'b c')" = "a b c" ]
    ok "a daemon's command that is not there" daemon_missing
}
daemon_missing() {
    local code=0
    "$bin/numasim-ctl" daemon no-such-command 2>/dev/null || code=$?
    [ $code = 127 ]
}

# A recipe is set up, run and ended; what it prints is its checksum, its figures are in the line.
test_real() {
    local recipe=$work/recipe line pid
    cat > "$recipe" <<'END'
case $1 in
setup) echo "$word" > made; [ "$word" != unready ] || exit 3 ;;
run) cat made; echo "p99_us 7" > figures; [ "$word" != grows ] || echo more >> made; [ "$word" != fails ] || exit 4; sleep 0.05 ;;
end) echo ended > "$mark" ;;
esac
END
    line=$(quickly "$bin/real" "$recipe" word=a "mark=$work/mark")
    ok "real prints one line" one_line "$line"
    ok "real prints JSON" valid_json "$line"
    ok "real took time" above "$(member "$line" seconds)" 0.04
    ok "real prints the figures of its recipe" is "$line" p99_us 7.000000
    ok "real ends its recipe" test -e "$work/mark"
    ok "the same words, the same checksum" is "$(quickly "$bin/real" "$recipe" word=a mark=/dev/null)" checksum "$(member "$line" checksum)"
    ok "other words, another checksum" test "$(member "$(quickly "$bin/real" "$recipe" word=b mark=/dev/null)" checksum)" != "$(member "$line" checksum)"
    ok "a set-up that fails is noticed" fails "setup: exit status 3" "$bin/real" "$recipe" word=unready mark=/dev/null
    ok "a run that fails is noticed" fails "run: exit status 4" "$bin/real" "$recipe" word=fails mark=/dev/null
    ok "a run that prints other words is noticed" fails "pass 2 printed other words" "$bin/real" "$recipe" word=grows mark=/dev/null --repeat
    ok "real refuses an unknown option" refuses real "$recipe" --threads
    ok "real refuses a recipe that is not there" refuses real none
    "$bin/real" "$recipe" word=a mark=/dev/null --repeat --ready-file "$work/real.ready" >"$work/real.out" &
    pid=$!
    started+=("$pid")
    ok "real --repeat gets ready" appears "$work/real.ready"
    sleep 0.4
    kill -TERM "$pid"
    ok "real --repeat ends well" wait "$pid"
    ok "real --repeat did several passes" above "$(member "$(cat "$work/real.out")" passes_done)" 1
}

# Options that one program has.
test_options() {
    local whole tiled name count
    whole=$(run_small matmul) tiled=$(run_small matmul --tile 7)
    ok "tiles change no result" is "$tiled" checksum "$(member "$whole" checksum)"
    ok "the search comes to the same with two threads" is "$(run_small graph --threads 2)" checksum "$(member "$(run_small graph)" checksum)"
    for name in matrix cg ft stencil; do
        whole=$(member "$(run_small "$name")" checksum)
        for count in 2 3 8 16; do
            ok "$name comes to the same with $count threads" is "$(run_small "$name" --threads $count)" checksum "$whole"
        done
    done
    ok "the pipeline works with more stages than items" one_line "$(run_small pipeline --threads 9)"
    ok "a probe can use the clock" is "$(run_small probe --timer clock)" timer '"clock"'
    ok "flushed lines take longer than cached ones" above "$(member "$(run_small probe --size-kib 16)" ns_per_load)" \
        "$(member "$(run_small probe --size-kib 16 --flush none)" ns_per_load)"
    ok "probe refuses an unknown flush" refuses probe --flush sometimes
    ok "probe refuses an unknown timer" refuses probe --timer sundial
}

main() {
    bash "$here/build.sh" "$bin"
    for name in $(printf '%s\n' "${!small[@]}" | sort); do
        test_line "$name"
        test_threads "$name"
        test_bad_arguments "$name"
        test_start "$name"
        test_repeat "$name"
        test_seconds "$name"
    done
    test_unfinished
    test_daemon
    test_real
    test_options
    test_colours
    test_faults
    echo "$((checks - failures)) of $checks checks passed"
    [ $failures = 0 ]
}
main
