#!/usr/bin/env bash
# Sets up and passes all tests. Arguments go to `cargo test`.
set -euo pipefail
cd "$(dirname "$0")"
. scripts/setup.sh
exec cargo test --workspace --locked "$@"
