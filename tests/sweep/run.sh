#!/usr/bin/env bash
# A sweep as a Slurm job array on a real Slurm of one machine: munged, slurmctld and slurmd of the
# distribution, on the loopback interface, ended with this script. Where they cannot be had or do
# not start, this says so and passes.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/setup.sh

skip() { echo "SKIPPED: the Slurm job array: $1"; exit 0; }
[ "$(id -u)" = 0 ] || skip "slurmd needs root"
command -v slurmd >/dev/null && command -v slurmctld >/dev/null && command -v munged >/dev/null ||
    apt_install slurmd slurmctld slurm-client munge || skip "no packages slurmd, slurmctld, munge"

cargo build $(selected -p isobar) --locked --quiet
isobar=$PWD/${CARGO_TARGET_DIR:-target}/debug/isobar
work=$(mktemp -d /tmp/isobar-sweep.XXXXXX)
chmod 755 "$work"
started=()
finish() {
    for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${started[@]}"; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$work"
}
trap finish EXIT
# eventually SECONDS COMMAND...
eventually() {
    local until=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $until ] || return 1
        sleep 0.5
    done
}

# munge with a key of its own, on a socket of its own.
mkdir -m 755 "$work/munge"
head -c 1024 /dev/urandom > "$work/munge/key"
chown -R munge: "$work/munge"
chmod 400 "$work/munge/key"
runuser -u munge -- munged --foreground --key-file="$work/munge/key" --socket="$work/munge/socket" \
    --pid-file="$work/munge/pid" --log-file="$work/munge/log" --seed-file="$work/munge/seed" &
started+=($!)
eventually 10 test -S "$work/munge/socket" || { cat "$work/munge/log"; skip "munged does not start"; }

host=$(hostname -s)
mkdir "$work/state" "$work/spool"
cat > "$work/slurm.conf" <<CONF
ClusterName=isobar
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SchedulerType=sched/builtin
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$work/slurm.conf
slurmctld -D -f "$SLURM_CONF" >/dev/null 2>&1 & started+=($!)
slurmd -D -f "$SLURM_CONF" >/dev/null 2>&1 & started+=($!)
idle() { [ "$(sinfo --noheader --format=%T)" = idle ]; }
eventually 40 idle || { tail -n 20 "$work"/*.log; skip "slurmd does not become idle"; }

"$isobar" sweep examples/sweep.toml -o "$work/results" --slurm "$work/cluster" --tasks 3
sbatch --wait "$work/cluster/sweep.sbatch"
"$isobar" sweep examples/sweep.toml -o "$work/results" --merge > "$work/merged.csv"

# The same sweep here gives the same figures to the byte: who ran a job does not matter.
"$isobar" sweep examples/sweep.toml -o "$work/here"
"$isobar" sweep examples/sweep.toml -o "$work/here" --merge > "$work/here.csv"
# But for the time that a search took.
figures() { python3 -c 'import csv, sys; [print({k: v for k, v in row.items() if row["kind"] == "sim" or k != "seconds"}) for row in csv.DictReader(sys.stdin)]' < "$1"; }
diff <(figures "$work/merged.csv") <(figures "$work/here.csv")
tasks=$(find "$work/cluster/log" -type f | wc -l)
[ "$tasks" = 3 ] || { echo "expected the logs of 3 tasks, found $tasks"; exit 1; }
echo "a Slurm job array of 3 tasks ran $(($(wc -l < "$work/merged.csv") - 1)) rows of results"
