# Static builds for an architecture: Rust brings the C library (musl) and the linker. Sourced, after
# setup.sh.
#
# One dependency is in C, SQLite, which needs a compiler for the architecture, such as Debian's
# gcc-aarch64-linux-gnu. Its headers are those of the GNU C library; the names that only that
# library has (checked and 64-bit variants of calls) are switched off.

# Each architecture's linker is Rust's own.
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld

export CC_aarch64_unknown_linux_musl=${CC_aarch64_unknown_linux_musl:-aarch64-linux-gnu-gcc}
export CC_x86_64_unknown_linux_musl=${CC_x86_64_unknown_linux_musl:-x86_64-linux-gnu-gcc}
portable_c="-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=0 -DSQLITE_DISABLE_LFS -fno-stack-protector"
export CFLAGS_aarch64_unknown_linux_musl=$portable_c CFLAGS_x86_64_unknown_linux_musl=$portable_c

# add_target TRIPLE: its standard library, installed where it is missing. Returns 1 and leaves the
# reason in `why` where it cannot be installed.
add_target() {
    [ -d "$(rustc --print sysroot)/lib/rustlib/$1/lib" ] && return 0
    command -v rustup >/dev/null || { why="no standard library for $1 here, and no rustup to install it"; return 1; }
    rustup target add "$1" >&2 || { why="the standard library for $1 cannot be installed"; return 1; }
}
