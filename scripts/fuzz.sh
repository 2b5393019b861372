#!/usr/bin/env bash
# Runs every fuzz target, from the seeds in fuzz/seeds. Ends in 1 where a target crashed, with the
# input in hex. What fuzzing adds to the corpus stays in fuzz/corpus, which git ignores.
#
#   scripts/fuzz.sh [SECONDS [TARGET...]]    20 s a target unless said otherwise
#
# FUZZ_TOOLCHAIN    the toolchain (default: nightly, which the sanitizers need)
# FUZZ_SEED         makes a run repeatable from the same corpus
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-20}
shift || true
toolchain=${FUZZ_TOOLCHAIN:-nightly}
version=0.13.2
tools=$PWD/target/tools
export CARGO_TARGET_DIR=$PWD/target/fuzz

# By its name on the command line, so that a cargo without rustup, which takes the name for a
# subcommand, fails here, too.
if ! RUSTUP_AUTO_INSTALL=0 cargo "+$toolchain" --version >/dev/null 2>&1; then
    echo "fuzz: SKIPPED: no $toolchain toolchain here: rustup toolchain install $toolchain, then run this again (FUZZ_TOOLCHAIN names another)" >&2
    exit 0
fi

export PATH="$tools/bin:$PATH"
if [ "$(cargo-fuzz --version 2>/dev/null)" != "cargo-fuzz $version" ]; then
    echo "fuzz: installing cargo-fuzz $version into target/tools (about two minutes, once)" >&2
    CARGO_TARGET_DIR=$tools/build cargo install cargo-fuzz --locked --version "$version" --root "$tools" --quiet
fi

fuzz() { cargo "+$toolchain" fuzz "$@"; }

if [ $# -gt 0 ]; then targets=("$@"); else mapfile -t targets < <(fuzz list); fi
echo "fuzz: building ${#targets[@]} targets" >&2
fuzz build

# What an input needs of memory and time is bounded by what the kernel or a person writes, so the
# limits are tight.
limits=(-rss_limit_mb=1024 -malloc_limit_mb=512 -timeout=10 -max_len=8192)
failed=()
for target in "${targets[@]}"; do
    corpus=fuzz/corpus/$target artifacts=fuzz/artifacts/$target log=target/fuzz/$target.log
    mkdir -p "$corpus" "$artifacts"
    arguments=("-max_total_time=$seconds" "${limits[@]}" -print_final_stats=1)
    [ -z "${FUZZ_SEED:-}" ] || arguments+=("-seed=$FUZZ_SEED")
    if fuzz run "$target" "$corpus" "fuzz/seeds/$target" -- "${arguments[@]}" >"$log" 2>&1; then
        echo "fuzz: $target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs in $seconds s, no crash"
        continue
    fi
    failed+=("$target")
    echo "fuzz: $target: CRASHED; the log is $log" >&2
    grep -E "panicked at|^==[0-9]+==ERROR|SUMMARY|^ALARM" -A 3 "$log" | head -n 20 >&2 || tail -n 20 "$log" >&2
    input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
    if [ -f "$input" ]; then
        echo "fuzz: $target: reproduce with: cargo +$toolchain fuzz run $target $input" >&2
        echo "fuzz: $target: the input, in hex: $(od -An -v -tx1 "$input" | tr -d ' \n')" >&2
    fi
done

if [ ${#failed[@]} -gt 0 ]; then
    echo "fuzz: ${#failed[@]} of ${#targets[@]} targets crashed: ${failed[*]}" >&2
    exit 1
fi
echo "fuzz: ${#targets[@]} targets, no crash"
