#!/usr/bin/env bash
# Does a test that boots guests find faults? Plants each fault of tests/TEST/faults in a copy of the
# committed tree, boots the guest that the fault names (`guest: NAME`, else GUEST, else all of them)
# with the checks that must catch it, and fails where one passes. Takes some minutes a fault.
#
#   scripts/faults.sh TEST GUEST [NAME ...]    such as arm one lost-final-read; default: all faults
#   scripts/faults.sh TEST GUEST --apply       only checks that the faults still apply to the tree
#                                              (.ci/run does that)
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
test=$1 guest=$2
shift 2
faults=$root/tests/$test/faults
work=${CARGO_TARGET_DIR:-$root/target}/faults-$test

if [ "${1:-}" = --apply ]; then
    for patch in "$faults"/*.patch; do git apply --check "$patch"; done
    echo "all faults of tests/$test apply"
    exit 0
fi

names=("$@")
[ ${#names[@]} = 0 ] && for patch in "$faults"/*.patch; do names+=("$(basename "$patch" .patch)"); done
tree=$work/tree
mkdir -p "$work"
trap 'git worktree remove --force "$tree" 2>/dev/null || true' EXIT
missed=0
for name in "${names[@]}"; do
    patch=$faults/$name.patch
    git worktree remove --force "$tree" 2>/dev/null || true
    git worktree add -q --detach "$tree" HEAD
    git -C "$tree" apply "$patch"
    # Names of checks go over the kernel's command line: up to the first comma, blanks as
    # underscores.
    only=$(sed -n 's/^caught by: //p' "$patch" | sed 's/,.*//; s/ /_/g' | paste -sd,)
    named=$(sed -n 's/^guest: //p' "$patch")
    echo "== $name: $(head -n 1 "$patch")"
    # shellcheck disable=SC2086 # no word where no guest is named
    CARGO_TARGET_DIR=$work/target ISOBAR_VM_REQUIRED=1 ISOBAR_ARM_REQUIRED=1 \
        bash "$tree/tests/$test/run.sh" ${named:-$guest} "$only" > "$work/$name.log" 2>&1 || true
    while read -r check; do
        if grep -qF "FAIL $check" "$work/$name.log"; then echo "caught by: $check"
        else echo "MISSED by: $check (see $work/$name.log)"; missed=1; fi
    done < <(sed -n 's/^caught by: //p' "$patch")
    { grep -E '^ +test .* FAILED|^ +test .*failed' "$work/$name.log" || true; } | head -n 30
done
exit $missed
