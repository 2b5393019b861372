#!/bin/bash
# The metrics of a real `isobar manage` on a simulated machine, judged by Prometheus's own tools:
#   - `promtool check metrics` on what the endpoint gives to a client that asks for nothing special,
#   - a Prometheus server that scrapes it as OpenMetrics,
#   - every alert and recording rule, and every query of the Grafana dashboard, run by that server.
# Needs prometheus and promtool (Debian: apt-get install prometheus), curl, python3. Where they are
# missing it says so, and ends with 0 unless ISOBAR_METRICS_REQUIRED is set.
#
#   bash tests/metrics/run.sh [path of isobar]
set -euo pipefail
cd "$(dirname "$0")/../.."

isobar=${1:-${CARGO_TARGET_DIR:-target}/debug/isobar}
for tool in prometheus promtool curl python3; do
    if ! command -v "$tool" >/dev/null; then
        echo "SKIPPED: tests/metrics needs $tool (Debian: apt-get install prometheus curl python3)" >&2
        if [ -n "${ISOBAR_METRICS_REQUIRED:-}" ]; then exit 1; else exit 0; fi
    fi
done
[ -x "$isobar" ] || { echo "$isobar: no isobar there: cargo build -p isobar" >&2; exit 1; }

work=$(mktemp -d)
started=()
cleanup() {
    for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${started[@]}"; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$work"
}
trap cleanup EXIT

echo "== rules"
promtool check rules packaging/prometheus/isobar.rules.yml packaging/prometheus/isobar.recording.yml
promtool test rules packaging/prometheus/isobar.rules.test.yml

echo "== isobar"
"$isobar" manage --machine sim:examples/workloads/dino-spec.toml --policy isobar --speed 4 \
    --metrics 127.0.0.1:0 --record "$work/run.isobar" --quiet >"$work/out" 2>"$work/err" &
started+=($!)
address=
for _ in $(seq 200); do
    address=$(sed -n 's|.*metrics at http://\([^/]*\)/metrics.*|\1|p' "$work/err")
    [ -n "$address" ] && break
    sleep 0.1
done
[ -n "$address" ] || { echo "isobar does not say where its metrics are:" >&2; cat "$work/err" >&2; exit 1; }
for _ in $(seq 200); do
    curl -fsS "http://$address/metrics" >"$work/metrics" && grep -q '^isobar_group_slowdown_ratio' "$work/metrics" && break
    sleep 0.2
done
grep -q '^isobar_group_slowdown_ratio' "$work/metrics" || { echo "no slowdowns in:" >&2; cat "$work/metrics" >&2; exit 1; }

echo "== promtool check metrics"
promtool check metrics <"$work/metrics"
[ "$(curl -fsS "http://$address/healthz")" = ok ]
[ "$(curl -s -o /dev/null -w '%{http_code}' "http://$address/")" = 404 ]
[ "$(curl -s -o /dev/null -w '%{http_code}' -X POST "http://$address/metrics")" = 405 ]

echo "== a scrape by $(prometheus --version 2>&1 | head -1)"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >"$work/prometheus.yml" <<EOF
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: ["$PWD/packaging/prometheus/isobar.rules.yml", "$PWD/packaging/prometheus/isobar.recording.yml"]
scrape_configs: [{job_name: isobar, static_configs: [{targets: ["$address"]}]}]
EOF
promtool check config "$work/prometheus.yml" >/dev/null
prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/data" \
    --web.listen-address="127.0.0.1:$port" --log.level=warn >"$work/prometheus.out" 2>&1 &
started+=($!)

python3 tests/metrics/ask.py "http://127.0.0.1:$port" packaging/grafana/isobar.json docs/metrics.md
