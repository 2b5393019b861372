#!/usr/bin/env bash
# The image, built as its file says, without a daemon: the static command of a release, in an image
# of nothing else, runs as its entry point and reads a configuration that is mounted. Needs buildah
# (a Debian package); where it cannot be had, this says so and passes.
#
#   tests/kubernetes/image.sh [FOLDER]     FOLDER has a release's `isobar`; else one is built
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/setup.sh

skip() { echo "SKIPPED: the image: $1"; exit 0; }
[ "$(uname -m)" = x86_64 ] || skip "it is of x86-64"
[ "$(id -u)" = 0 ] || skip "buildah without a user namespace needs root"
command -v buildah >/dev/null || apt_install buildah || skip "no package buildah"

work=$(mktemp -d /tmp/isobar-image.XXXXXX)
build() { timeout 120 buildah --storage-driver vfs --root "$work/root" --runroot "$work/run" "$@"; }
finish() {
    build rm --all >/dev/null 2>&1 || true
    rm -rf "$work"
}
trap finish EXIT
from=${1:-}
if [ -z "$from" ]; then
    scripts/release.sh "$work/dist" x86_64-unknown-linux-musl
    from=$work/dist/x86_64-unknown-linux-musl
fi

build bud --isolation chroot --quiet -t isobar:test -f packaging/kubernetes/Dockerfile "$from" >/dev/null
entry=$(build inspect --type image --format '{{index .OCIv1.Config.Entrypoint 0}}' isobar:test)
[ "$entry" = /usr/bin/isobar ] || { echo "the entry point is $entry"; exit 1; }
container=$(build from isobar:test)
inside() { build run --isolation chroot "$@"; }
[ "$(inside "$container" -- "$entry" --version)" = "$("$from/isobar" --version)" ] || { echo "it does not run there"; exit 1; }
cp examples/isobar.toml "$work/isobar.toml"
inside -v "$work/isobar.toml:/etc/isobar/isobar.toml:ro" "$container" -- "$entry" config --check /etc/isobar/isobar.toml |
    grep ': good: ' || { echo "its configuration is not read"; exit 1; }
mounted=$(build mount "$container")
[ "$(find "$mounted/usr" -type f)" = "$mounted/usr/bin/isobar" ] || { echo "there is more in it than the command"; exit 1; }
echo "the image is the command alone ($(du -sm "$mounted/usr" | cut -f 1) MB), runs as its entry point, and reads a mounted configuration"
