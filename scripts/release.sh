#!/usr/bin/env bash
# Builds a release into FOLDER/TARGET/: the static, stripped command for each architecture, and its
# debug information in a file apart that debuggers find by name (`.gnu_debuglink`): `gdb isobar` and
# `perf report` in that folder show lines. For another architecture it needs a C compiler for it
# (gcc-aarch64-linux-gnu, libc6-dev-arm64-cross), since SQLite is in C.
#
# Beside the command lie the libraries that other programs load, where it finds them: those of
# `isobar run` and, on x86-64, `isobar trace`. They use the C library of the programs (GNU), and
# are left out where that compiler cannot link.
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

# libraries TARGET: what is built with the GNU C library for the architecture of TARGET.
libraries() {
    local gnu=${1%-musl}-gnu arch=${1%%-*} packages=(shim) package name linker
    [ "$arch" != x86_64 ] || packages+=(tracer-plugin tracer-names)
    if [ "$arch" != "$(uname -m)" ]; then
        linker=CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<<"$gnu")_LINKER
        export "$linker=$arch-linux-gnu-gcc"
        command -v "${!linker}" >/dev/null || { echo "release: $1 has no libraries: no ${!linker} here" >&2; return; }
    fi
    add_target "$gnu" || { echo "release: $1 has no libraries: $why" >&2; return; }
    cargo build --profile dist --locked --target "$gnu" "${packages[@]/#/--package=isobar-}"
    for package in "${packages[@]}"; do
        name=libisobar_${package//-/_}.so
        [ "$package" != shim ] || name=libisobar_alloc.so
        "$objcopy" --strip-unneeded "$built/$gnu/dist/$name" "$folder/$1/$name"
        chmod 0644 "$folder/$1/$name"
    done
}

for target in "${targets[@]}"; do
    add_target "$target" || { echo "release: $why" >&2; exit 1; }
    compiler=CC_${target//-/_}
    command -v "${!compiler}" >/dev/null ||
        { echo "release: no C compiler for $target (${!compiler}): install gcc-${target%%-*}-linux-gnu" >&2; exit 1; }
    cargo build --profile dist --locked --target "$target" -p isobar
    mkdir -p "$folder/$target"
    from=$built/$target/dist/isobar to=$folder/$target
    "$objcopy" --only-keep-debug "$from" "$to/isobar.debug"
    "$objcopy" --strip-all "$from" "$to/isobar"
    (cd "$to" && "$objcopy" --add-gnu-debuglink=isobar.debug isobar)
    chmod 0755 "$to/isobar"
    chmod 0644 "$to/isobar.debug"
    libraries "$target"
done
ls -l "$folder"/*/
