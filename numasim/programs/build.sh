#!/usr/bin/env bash
# Builds every program of this folder into OUTDIR, static: build.sh OUTDIR. CC chooses the compiler.
# A program that is there already is built again only where its source, a header, this file or the
# compiler has changed since. Two at once wait for each other.
set -euo pipefail
[ $# = 1 ] || { echo "usage: build.sh OUTDIR" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
compile=("${CC:-cc}" -O2 -Wall -Wextra -Werror -static -pthread)
mkdir -p "$1"
exec 9> "$1/.lock"
flock 9
made_with=$("${compile[0]}" --version | head -n 1; echo "${compile[@]}")
anew=no
[ "$(cat "$1/.made-with" 2>/dev/null)" = "$made_with" ] || anew=yes
for source in "$here"/*.c; do
    program=$1/$(basename "$source" .c)
    for read in "$source" "$here"/*.h "$here/build.sh"; do
        [ $anew = no ] && [ "$program" -nt "$read" ] && continue
        # Whole or not at all, whatever ends this.
        "${compile[@]}" -o "$program.part" "$source"
        mv "$program.part" "$program"
        break
    done
done
echo "$made_with" > "$1/.made-with"
