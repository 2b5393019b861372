#!/usr/bin/env bash
# Builds a release into FOLDER/TARGET/: the static, stripped command for each architecture, and its
# debug information in a file apart that debuggers find by name (`.gnu_debuglink`): `gdb isobar` and
# `perf report` in that folder show lines. Needs no C compiler for another architecture and no
# libraries of one.
#
#   scripts/release.sh [FOLDER [TARGET...]]     dist/ and both architectures unless others are named
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh
. scripts/targets.sh

folder=${1:-dist}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(x86_64-unknown-linux-musl aarch64-unknown-linux-musl)
built=${CARGO_TARGET_DIR:-target}

# Of Rust itself, and for every architecture; it needs Rust's own libraries.
sysroot=$(rustc --print sysroot)
objcopy=$sysroot/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin/rust-objcopy
export LD_LIBRARY_PATH=$sysroot/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
"$objcopy" --version >/dev/null 2>&1 || objcopy=$(command -v llvm-objcopy) ||
    { echo "release: no objcopy for all architectures: rustup component add llvm-tools, or install llvm" >&2; exit 1; }

for target in "${targets[@]}"; do
    add_target "$target" || { echo "release: $why" >&2; exit 1; }
    cargo build --profile dist --locked --target "$target" -p isobar
    mkdir -p "$folder/$target"
    from=$built/$target/dist/isobar to=$folder/$target
    "$objcopy" --only-keep-debug "$from" "$to/isobar.debug"
    "$objcopy" --strip-all "$from" "$to/isobar"
    (cd "$to" && "$objcopy" --add-gnu-debuglink=isobar.debug isobar)
    chmod 0755 "$to/isobar"
    chmod 0644 "$to/isobar.debug"
done
ls -l "$folder"/*/
