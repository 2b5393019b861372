#!/usr/bin/env bash
# Runs the page-usage kernels in numasim under the mappings of `isobar pages`, and says what it
# predicts for them: page-mappings.sh [KERNEL ...] [-- OPTIONS of numasim experiment]. Needs
# qemu-user for the traces and what `numasim doctor` names. A kernel takes minutes.
#
# Kernels and their arguments are those of numasim/experiments/page-mappings.toml. A trace has one
# slice: order of first touch and counts are all that is read of it.
set -euo pipefail
cd "$(dirname "$0")/.."
experiment=numasim/experiments/page-mappings.toml
profile=${NUMASIM_PROFILE:-release}
built=${CARGO_TARGET_DIR:-target}/$([ "$profile" = dev ] && echo debug || echo "$profile")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

kernels=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do kernels+=("$1") && shift; done
[ $# = 0 ] || shift
# What a kernel is run with, as the experiment has it; both divide memory by the same factor.
arguments() { sed -n "s/^run = \"$1 \(.*\)\"$/\1/p" "$experiment"; }
cache_scale=16
[ ${#kernels[@]} -gt 0 ] || mapfile -t kernels < <(sed -n 's/^run = "\([a-z]*\) .*/\1/p' "$experiment")

cargo build --locked --profile "$profile" -p isobar -p isobar-tracer-plugin -p isobar-tracer-names -p numasim
numasim/programs/build.sh "$work"
isobar=$(realpath "$built/isobar")
chosen=()
for kernel in "${kernels[@]}"; do
    read -ra words <<< "$(arguments "$kernel")"
    [ ${#words[@]} -gt 0 ] || { echo "page-mappings.sh: no kernel is called $kernel" >&2; exit 2; }
    (cd "$work" && timeout 600 "$isobar" trace --slice 60000 -o "$kernel.trace" -- "./$kernel" "${words[@]}" >/dev/null)
    size=$(sed -n 's/.*--size-kib \([0-9]*\).*/\1/p' <<< "${words[*]}")
    echo "== $kernel: predicted for $((size * cache_scale / 1024)) MiB, of which numasim runs one ${cache_scale}th"
    "$isobar" pages "$work/$kernel.trace" --machine nehalem-2x4 --stands-for $((size * cache_scale / 1024)) |
        sed -n '/^Gain over first-touch/,$p'
    chosen+=(--program "$kernel")
done
"$built/numasim" experiment "$experiment" --host-files "$work" "${chosen[@]}" "$@"
