#!/usr/bin/env bash
# For RUSTC_WORKSPACE_WRAPPER: compiles the tests within our crates without optimisation. Such a
# test is a second copy of its crate, takes three times as long to optimise as to compile, and runs
# for a second at most. What other crates, programs and guests link is optimised as Cargo.toml says.
for argument; do
    [ "$argument" != --test ] || exec "${@/#opt-level=*/opt-level=0}"
done
exec "$@"
