#!/usr/bin/env bash
# The soak test on this machine: ends `isobar manage` N times in every way there is, and asks Linux
# after each end what is left.
#
#   tests/soak/run.sh [N [OPTION...]]     30 ends unless said otherwise; further options as
#                                         `isobar-soak --help` lists them
#
# ISOBAR_SOAK_SEED  the seed (default: 1)
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/setup.sh
target=${CARGO_TARGET_DIR:-target}
ends=${1:-30}
[ $# = 0 ] || shift

if [ "$(nproc)" -lt 2 ]; then
    echo "SKIPPED: the soak test did not run: one CPU only, so nothing can be moved"
    exit 0
fi

# shellcheck disable=SC2046 # several arguments
cargo build --locked $(selected -p isobar -p isobar-soak)
cc -O1 -Wall -Wextra -Werror -static -pthread -o "$target/debug/churn" tests/soak/programs/{churn,slow_fork}.c
"$target/debug/isobar-soak" --isobar "$target/debug/isobar" --ends "$ends" --seed "${ISOBAR_SOAK_SEED:-1}" "$@"
