#!/usr/bin/env bash
# What must hold before a release and takes too long, or installs too much, for every change
# (.ci/run): the Debian package, metrics under a real Prometheus, the Python module, the DaemonSet
# and its image, a real Slurm, the site, numasim's image built in two folders, isobar on the resctrl
# of a guest, a hundred kills, and libFuzzer on every target.
# Every part is run, whatever the others do; the table at the end says how each ended. Needs root;
# about an hour and a half on 2 cores.
#
#   tests/release.sh [PART ...]     package metrics python kubernetes image sweep site images
#                                   resctrl kills fuzz (all)
set -uo pipefail
cd "$(dirname "$0")/.."

package() { bash tests/package/run.sh; }
metrics() { bash tests/metrics/run.sh; }
python() { bash tests/python/run.sh; }
kubernetes() { bash tests/kubernetes/run.sh; }
image() { bash tests/kubernetes/image.sh; }
sweep() { bash tests/sweep/run.sh; }
site() { bash scripts/site.sh; }
images() {
    # Linked as users build it: which of its symbols are weak depends on the profile.
    cargo build --release --locked -p numasim-plugin && bash tests/numasim/images.sh isobar
}
resctrl() { NUMASIM_REQUIRED=1 bash tests/numasim/run.sh resctrl-isobar; }
kills() { bash tests/soak/run.sh 100 --only kill; }
# Needs a nightly toolchain.
fuzz() { FUZZ_PROFILE=quick bash scripts/fuzz.sh 20; }

parts=(package metrics python kubernetes image sweep site images resctrl kills fuzz)
[ $# = 0 ] || parts=("$@")
for part in "${parts[@]}"; do
    case $part in
        package | metrics | python | kubernetes | image | sweep | site | images | resctrl | kills) ;;
        *) echo "no part is called $part"; exit 2 ;;
    esac
done
table= failed=0
for part in "${parts[@]}"; do
    begun=$SECONDS how=passed
    printf '\n==> %s\n' "$part"
    "$part" || { how=FAILED failed=1; }
    table+=$(printf '%6s s  %-6s  %s' "$((SECONDS - begun))" "$how" "$part")$'\n'
done
printf '\n%s' "$table"
exit $failed
