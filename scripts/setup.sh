#!/usr/bin/env bash
# Installs what a freshly installed machine lacks: a C compiler (linking, bundled bzip2) and Rust.
# Sourced by demo.sh, test.sh and .ci/run; does nothing where none is missing. Rust comes from the
# distribution's rustup, else from https://rustup.rs, for this user alone (~/.cargo, ~/.rustup).
set -euo pipefail

need_rust=1.90

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

# apt_install PACKAGE...: true where they are there afterwards.
apt_install() {
    command -v apt-get >/dev/null && as_root apt-get update -qq >&2 &&
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

install_rust() {
    echo "setup: installing Rust" >&2
    if apt_install rustup 2>/dev/null; then
        rustup default stable >&2
    elif command -v curl >/dev/null; then
        curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal --no-modify-path >&2
    else
        return 1
    fi
}

if ! command -v cc >/dev/null; then
    echo "setup: installing a C compiler" >&2
    apt_install gcc libc6-dev ||
        { echo "setup: no C compiler (cc) here: install gcc or clang, then run this again" >&2; exit 1; }
fi

if ! command -v cargo >/dev/null && [ -x "$HOME/.cargo/bin/cargo" ]; then
    export PATH="$HOME/.cargo/bin:$PATH"
fi
if ! command -v cargo >/dev/null; then
    install_rust || true
    export PATH="$HOME/.cargo/bin:$PATH"
fi
if ! command -v cargo >/dev/null; then
    echo "setup: no Rust here, and it cannot be installed: install Rust $need_rust or newer with rustup" \
        "(https://rustup.rs), then run this again" >&2
    exit 1
fi
have_rust=$(rustc --version | cut -d' ' -f2)
if [ "$(printf '%s\n%s\n' "$need_rust" "$have_rust" | sort -V | head -n 1)" != "$need_rust" ]; then
    echo "setup: Rust $have_rust is too old: isobar needs $need_rust or newer (rustup update stable)" >&2
    exit 1
fi

# selected ARGUMENTS...: what cargo shall build: these, or the whole workspace where
# BUILD_WORKSPACE is set. Cargo chooses the features of dependencies by what is built together, so
# .ci/run sets it, and every step uses what the tests were built from.
selected() {
    if [ -n "${BUILD_WORKSPACE:-}" ]; then echo --workspace --lib --bins --examples; else echo "$@"; fi
}
