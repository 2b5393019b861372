#!/usr/bin/env bash
# What is shipped, into dist/: the stripped command, and its debug information in a file apart that debuggers find by name
# (`.gnu_debuglink`). `gdb dist/isobar` and `perf report` in that folder show lines.
#
#   scripts/release.sh [FOLDER]     dist/ unless another folder is named
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh

for tool in objcopy strip; do
    command -v $tool >/dev/null || { echo "release: $tool is missing: install binutils" >&2; exit 1; }
done
target=${CARGO_TARGET_DIR:-target}
folder=${1:-dist}

cargo build --profile dist --locked -p isobar
mkdir -p "$folder"
objcopy --only-keep-debug "$target/dist/isobar" "$folder/isobar.debug"
strip --strip-all -o "$folder/isobar" "$target/dist/isobar"
(cd "$folder" && objcopy --add-gnu-debuglink=isobar.debug isobar)
chmod 0755 "$folder/isobar"
chmod 0644 "$folder/isobar.debug"
ls -l "$folder"
