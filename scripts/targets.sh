# Static builds for an architecture, without a C compiler for it: Rust brings the C library (musl)
# and the linker. Sourced, after setup.sh.

# Each architecture's linker is Rust's own.
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld

# add_target TRIPLE: its standard library, installed where it is missing. Returns 1 and leaves the
# reason in `why` where it cannot be installed.
add_target() {
    [ -d "$(rustc --print sysroot)/lib/rustlib/$1/lib" ] && return 0
    command -v rustup >/dev/null || { why="no standard library for $1 here, and no rustup to install it"; return 1; }
    rustup target add "$1" >&2 || { why="the standard library for $1 cannot be installed"; return 1; }
}
