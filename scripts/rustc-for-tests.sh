#!/usr/bin/env bash
# For RUSTC_WORKSPACE_WRAPPER: compiles our test programs without optimisation. Unit tests are a
# second copy of their crate, which takes three times as long to optimise as to compile, for tests
# that run for a second or two. The crates that all programs link, those of integration tests among
# them, are optimised as Cargo.toml says.
for argument; do
    [ "$argument" != --test ] || exec "${@/#opt-level=*/opt-level=0}"
done
exec "$@"
