#!/usr/bin/env bash
# The Debian package as its users meet it: built twice (a version and the next one), judged by
# lintian and systemd-analyze, then installed, run, upgraded, removed and purged in a small Debian
# with a systemd of its own (systemd-nspawn). Nothing is installed on this machine.
#
# Needs root, lintian, mmdebstrap, systemd-container, dpkg-dev; says SKIPPED where one is missing,
# and fails instead where ISOBAR_PACKAGE_REQUIRED is set.
#
#   bash tests/package/run.sh          ISOBAR_PACKAGE_PROFILE=dist: what is shipped; dev builds fast
set -euo pipefail
cd "$(dirname "$0")/../.."

skip() {
    echo "SKIPPED: tests/package needs $1" >&2
    if [ -n "${ISOBAR_PACKAGE_REQUIRED:-}" ]; then exit 1; else exit 0; fi
}
for tool in lintian mmdebstrap systemd-nspawn systemd-analyze dpkg-shlibdeps; do
    command -v "$tool" >/dev/null || skip "$tool (Debian: apt-get install lintian mmdebstrap systemd-container dpkg-dev)"
done
[ "$(id -u)" = 0 ] || skip "root, for systemd-nspawn"

export ISOBAR_PACKAGE_PROFILE=${ISOBAR_PACKAGE_PROFILE:-dev}
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
cache=${CARGO_TARGET_DIR:-target}/package
mkdir -p "$cache"
work=$(mktemp -d)
machine=
cleanup() {
    if [ -n "$machine" ]; then
        kill "$machine" 2>/dev/null || true
        wait "$machine" 2>/dev/null || true
    fi
    rm -rf "$work"
}
trap cleanup EXIT

echo "== two versions"
ISOBAR_PACKAGE_VERSION=0.1.0-1 scripts/package.sh "$work" 2>&1 | tail -n 1
# The next one is the same in all but its number.
dpkg-deb -R "$work"/*.deb "$work/next"
sed -i 's/^Version: .*/Version: 0.1.0-2/' "$work/next/DEBIAN/control"
dpkg-deb --root-owner-group -Zgzip -z1 --build "$work/next" "$work/isobar_0.1.0-2_next.deb"

echo "== lintian, systemd-analyze"
lintian --allow-root --fail-on error,warning "$work/isobar_0.1.0-1_"*.deb
unit=packaging/systemd/isobar.service
# Below 3.0 of 10.
systemd-analyze security --offline=true --threshold=29 "$unit" >"$work/security" ||
    { grep '^✗' "$work/security"; tail -n 1 "$work/security"; exit 1; }
tail -n 1 "$work/security"

echo "== a Debian to install it in"
base=$cache/$suite.tar
if [ ! -e "$base" ]; then
    mmdebstrap --quiet --format=tar --variant=minbase --include=systemd,systemd-sysv,dbus,procps,man-db "$suite" "$base.new"
    mv "$base.new" "$base"
fi
root=$work/root
mkdir "$root"
tar -C "$root" -xf "$base"
mkdir "$root/test"
mv "$work"/*.deb "$root/test"
cp tests/package/inside.sh "$root/test"

SYSTEMD_NSPAWN_API_VFS_WRITABLE=yes timeout 600 systemd-nspawn --quiet --directory="$root" --boot \
    --register=no --keep-unit --link-journal=no --console=read-only --capability=all \
    --system-call-filter="perf_event_open move_pages mbind set_mempolicy sched_setaffinity" \
    systemd.unit=multi-user.target >"$work/boot" 2>&1 &
machine=$!

# first_child PID
first_child() { cut -d' ' -f1 "/proc/$1/task/$1/children" 2>/dev/null; }

leader=
for _ in $(seq 300); do
    kill -0 "$machine" 2>/dev/null || break
    # timeout, nspawn, then the systemd inside.
    nspawn=$(first_child "$machine" || true)
    leader=$([ -z "$nspawn" ] || first_child "$nspawn" || true)
    grep -q "Reached target.*multi-user.target" "$work/boot" && break
    leader=
    sleep 0.2
done
[ -n "$leader" ] || { echo "the Debian inside does not boot:" >&2; tail -n 20 "$work/boot" >&2; exit 1; }

nsenter --target "$leader" --mount --uts --ipc --pid --cgroup --root --wd \
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 timeout 300 bash /test/inside.sh
