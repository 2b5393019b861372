#!/usr/bin/env bash
# Runs every fuzz target (libFuzzer with AddressSanitizer) for SECONDS, from the seeds in
# tests/fuzzed/seeds, as many at a time as there are CPUs:
#
#   scripts/fuzz.sh [SECONDS [TARGET...]]     20 seconds and all targets unless said otherwise
#   scripts/fuzz.sh --build                   only builds them
#
# FUZZ_TOOLCHAIN  the toolchain (default: nightly, which the sanitizer needs)
# FUZZ_PROFILE    the profile of fuzz/Cargo.toml (default: release; quick builds in a third of the
#                 time, and fuzzes slower)
# FUZZ_SEED       a number: makes a run repeatable from the same corpus
#
# For long runs: every `cargo test` tries the same targets on a fixed number of inputs, see
# tests/fuzzed. What fuzzing adds to the corpus stays in fuzz/corpus, which git ignores. Ends in 1
# where a target crashed, and prints the input in hex. The targets are laid out as `cargo fuzz`
# expects them, for those who prefer to type that.
set -euo pipefail
cd "$(dirname "$0")/.."

build_only=
[ "${1:-}" != --build ] || { build_only=1; shift; }
seconds=${1:-20}
shift || true
toolchain=${FUZZ_TOOLCHAIN:-nightly}
profile=${FUZZ_PROFILE:-release}

# Named on the command line, so that a cargo without rustup is noticed too: it takes the name for a
# subcommand.
if ! RUSTUP_AUTO_INSTALL=0 cargo "+$toolchain" --version >/dev/null 2>&1; then
    echo "fuzz: SKIPPED: no $toolchain toolchain here: rustup toolchain install $toolchain, then run this again" \
        "(FUZZ_TOOLCHAIN names another)" >&2
    exit 0
fi

# What libFuzzer needs to see of the program (https://llvm.org/docs/SanitizerCoverage.html), with
# the checks of a debug build; the same flags as cargo-fuzz 0.13 gives. One codegen unit, or
# coverage tables are lost in linking.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/fuzz
host=$(rustc "+$toolchain" -vV | sed -n 's/^host: //p')
flags=(--cfg fuzzing -Zsanitizer=address -Cdebug-assertions -Ccodegen-units=1 -Cpasses=sancov-module)
for argument in sanitizer-coverage-{level=4,inline-8bit-counters,pc-table,trace-compares} simplifycfg-branch-fold-threshold=0; do
    flags+=("-Cllvm-args=-$argument")
done
RUSTFLAGS="${flags[*]}" cargo "+$toolchain" build --manifest-path fuzz/Cargo.toml --profile "$profile" --locked --target "$host" --bins
[ -z "$build_only" ] || exit 0
export bin=$CARGO_TARGET_DIR/$host/$profile seconds

# One target; 1 where it crashed.
fuzz() {
    local target=$1 seeds=tests/fuzzed/seeds/$1 corpus=fuzz/corpus/$1 artifacts=fuzz/artifacts/$1 log=$CARGO_TARGET_DIR/$1.log input
    mkdir -p "$corpus" "$artifacts"
    # What an input needs of memory and time is bounded by what the kernel or a person writes, so
    # the limits are tight.
    local options=("-max_total_time=$seconds" -rss_limit_mb=1024 -malloc_limit_mb=512 -timeout=10 -max_len=8192
        -print_final_stats=1 "-artifact_prefix=$artifacts/" ${FUZZ_SEED:+-seed=$FUZZ_SEED})
    if ASAN_OPTIONS=detect_odr_violation=0 "$bin/$target" "${options[@]}" "$corpus" "$seeds" > "$log" 2>&1; then
        echo "fuzz: $target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs in $seconds s, no crash"
        return 0
    fi
    echo "fuzz: $target: CRASHED; the log is $log" >&2
    grep -E "panicked at|^==[0-9]+==ERROR|SUMMARY|^ALARM" -A 3 "$log" | head -n 20 >&2 || tail -n 20 "$log" >&2
    input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
    if [ -f "$input" ]; then
        echo "fuzz: $target: reproduce with: $bin/$target $input" >&2
        echo "fuzz: $target: the input, in hex: $(od -An -v -tx1 "$input" | tr -d ' \n')" >&2
    fi
    return 1
}
export -f fuzz

targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(sed -n 's/^name = "\([a-z_]*\)"$/\1/p' fuzz/Cargo.toml)
if ! printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I TARGET bash -euo pipefail -c 'fuzz TARGET'; then
    echo "fuzz: some of ${#targets[@]} targets crashed" >&2
    exit 1
fi
echo "fuzz: ${#targets[@]} targets, no crash"
