#!/usr/bin/env bash
# The guest's image and the plugin are the same bytes wherever they are built: two clones of what is
# committed, in folders of unlike names, with a CARGO_HOME each. Named packages go into the image as
# well; that of isobar takes ten minutes more.
#
#   tests/numasim/images.sh [PACKAGE ...]
#
# NUMASIM_BIN: the command numasim, if it is built already.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
home=${CARGO_HOME:-$HOME/.cargo}
packages=()
for package in "$@"; do packages+=(--package "$package"); done
if [ -z "${NUMASIM_BIN:-}" ]; then
    cargo build --locked -p numasim
    NUMASIM_BIN=${CARGO_TARGET_DIR:-target}/debug/numasim
fi
numasim=$(realpath "$NUMASIM_BIN")
unset NUMASIM_PLUGIN NUMASIM_ISOBAR NUMASIM_PROFILE BUILD_WORKSPACE CARGO_TARGET_DIR RUSTFLAGS
mkdir "$work/home"
ln -s "$home"/* "$work/home/"

# built FOLDER CARGO_HOME: the image and the plugin of a clone there.
built() {
    local clone=$work/$1
    git clone -q --shared . "$clone"
    CARGO_HOME=$2 CARGO_MANIFEST_DIR=$clone/numasim/lab "$numasim" boot small-2x2 --keep "$clone.kept" "${packages[@]}" -- true > /dev/null
}
built one "$home"
built two/deeper/still "$work/home"
code=0
# alike NAME FILE FILE
alike() {
    if cmp "$2" "$3"; then
        echo "ok   $1: $(sha256sum < "$2" | cut -c1-16) twice"
    else
        echo "FAIL $1 differs by where it was built"
        code=1
    fi
}
alike image "$work/one.kept/initramfs" "$work/two/deeper/still.kept/initramfs"
alike plugin "$work"/{one,two/deeper/still}/target/numasim/release/libnumasim.so
exit $code
