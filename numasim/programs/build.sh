#!/usr/bin/env bash
# Builds every program of this folder into OUTDIR, static: build.sh OUTDIR. CC chooses the compiler.
# A program is built again only where what it is made of has changed: its source, the headers, this
# file, the compiler, its C library. Two at once wait for each other.
set -euo pipefail
[ $# = 1 ] || { echo "usage: build.sh OUTDIR" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
compile=("${CC:-cc}" -O2 -Wall -Wextra -Werror -static -pthread)
mkdir -p "$1/.made-of"
exec 9> "$1/.lock"
flock 9
common=$({ "${compile[0]}" --version; echo "${compile[@]}"
    cat "$here"/*.h "$here/build.sh" "$("${compile[0]}" -print-file-name=libc.a)"; } | sha256sum)
for source in "$here"/*.c; do
    name=$(basename "$source" .c)
    made_of=$( (echo "$common"; cat "$source") | sha256sum)
    [ -x "$1/$name" ] && [ "$(cat "$1/.made-of/$name" 2>/dev/null)" = "$made_of" ] && continue
    # Whole or not at all, whatever ends this.
    rm -f "$1/.made-of/$name"
    "${compile[@]}" -o "$1/.made-of/program" "$source"
    mv "$1/.made-of/program" "$1/$name"
    echo "$made_of" > "$1/.made-of/$name"
done
