#!/usr/bin/env bash
# The DaemonSet without a cluster. Its manifests are checked against Kubernetes's own schemas (those
# that come with the Python package kubernetes-validate), the patch is applied by kubectl where it
# is there. Then isobar runs as the pod would: with the capabilities of the manifest and no others,
# in network, mount and cgroup namespaces of its own, on a root file system that is read-only. It
# must bind a thread of another user, serve its metrics, and put the thread back when it ends.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/setup.sh

work=$(mktemp -d /tmp/isobar-kubernetes.XXXXXX)
started=()
finish() {
    for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait
    rm -rf "$work"
}
trap finish EXIT
eventually() {
    local until=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $until ] || return 1
        sleep 0.2
    done
}

# With the schemas, or a virtual environment that has them.
if ! command -v kubernetes-validate >/dev/null; then
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check kubernetes-validate
    PATH=$work/venv/bin:$PATH
fi
python=$(dirname "$(command -v kubernetes-validate)")/python
manifest=packaging/kubernetes/isobar.yaml
"$python" tests/kubernetes/split.py "$manifest" "$work"
kubernetes-validate --strict --quiet "$manifest"
if command -v kubectl >/dev/null; then
    kubectl patch --local -f "$work/daemonset.yaml" --patch-file packaging/kubernetes/resctrl.yaml -o yaml > "$work/patched.yaml"
    kubernetes-validate --strict --quiet "$work/patched.yaml"
    grep -q 'mountPath: /sys/fs/resctrl' "$work/patched.yaml" && grep -q 'mountPath: /run/isobar' "$work/patched.yaml"
    echo "the patch for cache ways applies"
fi

isobar=${ISOBAR:-}
if [ -z "$isobar" ]; then
    cargo build $(selected -p isobar) --locked --quiet
    isobar=$PWD/${CARGO_TARGET_DIR:-target}/debug/isobar
fi
"$isobar" config --check "$work/isobar.toml"
echo "the manifest is valid, and so is the configuration in it"

[ "$(id -u)" = 0 ] || { echo "SKIPPED: isobar in a pod's place: needs root"; exit 0; }
last=$(($(nproc) - 1))
[ "$last" -gt 0 ] || { echo "SKIPPED: isobar in a pod's place: needs two CPUs"; exit 0; }

# A thread of another user that computes, and where the policy `fixed` wants it.
setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'while :; do :; done' & busy=$!
started+=("$busy")
cpus() { sed -n 's/^Cpus_allowed_list:\t//p' "/proc/$busy/status"; }
before=$(cpus)
mkdir -p "$work/run" "$work/etc"
sed 's/^ *policy = "linux"/policy = "fixed"\nonly = ["'"$busy"'"]\ninterval_seconds = 0.2/' "$work/isobar.toml" > "$work/etc/isobar.toml"
printf '[fixed]\nthreads = "%s/0=%s"\n' "$busy" "$last" >> "$work/etc/isobar.toml"
cp "$isobar" "$work/etc/isobar"

# shellcheck disable=SC2016
unshare --net --mount --cgroup --propagation private -- bash -euc '
    work=$1 capabilities=$2
    ip link set lo up 2>/dev/null || true
    mkdir -p /run/isobar
    mount --bind "$work/run" /run/isobar
    mount --bind / /mnt
    mount -o remount,bind,ro /mnt
    mount --bind "$work/etc" /mnt/etc
    mount --bind "$work/run" /mnt/run
    mkdir -p "$work/run/isobar"
    mount -t proc proc /mnt/proc 2>/dev/null || mount --rbind /proc /mnt/proc
    mount --rbind /sys /mnt/sys
    mount -o remount,bind,ro /mnt/sys
    exec chroot /mnt setpriv --no-new-privs --inh-caps=-all --bounding-set="-all,$capabilities" \
        /etc/isobar daemon --config /etc/isobar.toml
' pod "$work" "$(cat "$work/capabilities")" > "$work/log" 2>&1 & pod=$!
started+=("$pod")
bound() { [ "$(cpus)" = "$last" ]; }
eventually 30 bound || { echo "the thread was not bound: $(cpus)"; cat "$work/log"; exit 1; }
grep CapEff "/proc/$pod/status"
served() { nsenter --net="/proc/$pod/ns/net" curl -sf http://127.0.0.1:9464/metrics | grep -q isobar_threads_moved_total; }
eventually 20 served || { echo "no metrics"; cat "$work/log"; exit 1; }
kill -TERM "$pod"
wait "$pod" || true
[ "$(cpus)" = "$before" ] || { echo "not put back: $(cpus), was $before"; cat "$work/log"; exit 1; }
echo "in a pod's place isobar bound the thread of another user to CPU $last, and put it back to $before"
