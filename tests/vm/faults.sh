#!/usr/bin/env bash
# Does the machine test find faults? Plants each fault of tests/vm/faults in a copy of the committed tree, boots the regular guest with the
# checks that ought to catch it, and fails where one of them passes. Takes some minutes a fault; not a part of .ci/run.
#
#   tests/vm/faults.sh [NAME ...]      such as wrong-thread; default: all
#   tests/vm/faults.sh --apply         only sees whether the faults still apply to the tree (.ci/run does that)
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
faults=$root/tests/vm/faults
work=${ISOBAR_VM_WORK:-$root/target/vm}

if [ "${1:-}" = --apply ]; then
    for patch in "$faults"/*.patch; do git apply --check "$patch"; done
    echo "all faults apply"
    exit 0
fi

names=("$@")
[ ${#names[@]} = 0 ] && for patch in "$faults"/*.patch; do names+=("$(basename "$patch" .patch)"); done
tree=$work/faulty
mkdir -p "$work"
trap 'git worktree remove --force "$tree" 2>/dev/null || true' EXIT
missed=0
for name in "${names[@]}"; do
    patch=$faults/$name.patch
    git worktree remove --force "$tree" 2>/dev/null || true
    git worktree add -q --detach "$tree" HEAD
    git -C "$tree" apply "$patch"
    # Names of checks go over the kernel's command line: up to the first comma, blanks as underscores.
    only=$(sed -n 's/^caught by: //p' "$patch" | sed 's/,.*//; s/ /_/g' | paste -sd,)
    echo "== $name: $(head -n 1 "$patch")"
    CARGO_TARGET_DIR=$work/faulty-target ISOBAR_VM_WORK=$work/faulty-run ISOBAR_VM_REQUIRED=1 \
        bash "$tree/tests/vm/run.sh" regular "$only" > "$work/$name.log" 2>&1 || true
    while read -r check; do
        if grep -qF "FAIL $check" "$work/$name.log"; then echo "caught by: $check"
        else echo "MISSED by: $check (see $work/$name.log)"; missed=1; fi
    done < <(sed -n 's/^caught by: //p' "$patch")
    { grep -E '^ +test .* FAILED|^ +test .*failed' "$work/$name.log" || true; } | head -n 30
done
exit $missed
