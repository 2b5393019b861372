#!/usr/bin/env bash
# Builds every program of this folder into OUTDIR, static: build.sh OUTDIR. CC chooses the compiler.
set -euo pipefail
[ $# = 1 ] || { echo "usage: build.sh OUTDIR" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
for source in "$here"/*.c; do
    "${CC:-cc}" -O2 -Wall -Wextra -Werror -static -pthread -o "$1/$(basename "$source" .c)" "$source"
done
