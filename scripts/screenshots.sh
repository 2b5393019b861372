#!/usr/bin/env bash
# Takes the pictures of the documentation anew: screenshots.sh ISOBAR. It needs chromium, tmux,
# python3 and pngquant, and for the page trace qemu-user with the tracer's plugin beside ISOBAR.
# Pictures of the terminal are its real frames; those of reports are the top of the page.
set -euo pipefail
[ $# = 1 ] || { echo "usage: screenshots.sh ISOBAR" >&2; exit 2; }
isobar=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
to=$root/docs/images
work=$(mktemp -d)
trap 'tmux -S "$work/tmux" kill-server 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir -p "$to"
cd "$work"

browser() { # OPTIONS...
    timeout 120 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --virtual-time-budget=4000 \
        --user-data-dir="$work/profile" "$@" > chromium.log 2>&1
}

picture() { # PAGE NAME WIDTH HEIGHT [OPTIONS...]
    local page=$1 name=$2 size=$3,$4
    shift 4
    browser --window-size="$size" --screenshot="$work/$name.png" "$@" "file://$work/$page"
    pngquant --force --speed 1 --quality 60-95 --output "$to/$name.png" "$name.png"
}

scrolled() { # PAGE SECTION: the page from a section on
    sed "s|</body>|<script>addEventListener('load', () => document.querySelectorAll('$2').forEach((one) => one.remove()))</script></body>|" "$1"
}

terminal() { # NAME COLUMNS ROWS SECONDS KEY COMMAND...
    local name=$1 columns=$2 rows=$3 seconds=$4 key=$5
    shift 5
    tmux -S "$work/tmux" new-session -d -s "$name" -x "$columns" -y "$rows" "$*"
    sleep "$seconds"
    [ -z "$key" ] || { tmux -S "$work/tmux" send-keys -t "$name" "$key"; sleep 2; }
    tmux -S "$work/tmux" capture-pane -e -p -t "$name" > "$name.ansi"
    tmux -S "$work/tmux" kill-session -t "$name"
    python3 "$root/scripts/terminal-picture.py" < "$name.ansi" > "$name.page.html"
    # 14 pixels of DejaVu Sans Mono are 8.43 wide, a line is 17 tall.
    picture "$name.page.html" "$name" $((columns * 843 / 100 + 26)) $((rows * 17 + 20))
}

ln -s "$root/examples" examples
workload=examples/workloads/dino-spec.toml
top="$isobar top --machine sim:$workload"
terminal top-80x24 80 24 10 Enter "$top --speed 5"
terminal top-120x40 120 40 10 "" "$top --speed 5"
terminal top-200x60 200 60 12 "" "$top --speed 5 --policy isobar --act"

"$isobar" manage --policy isobar --machine "sim:$workload" --for 60 --record run.isobar > /dev/null
"$isobar" report run.isobar
picture run.html report-recording 1280 1500
picture run.html report-recording-dark 1280 900 --blink-settings=preferredColorScheme=0
"$isobar" sim "$workload" --policy linux,di-plain,dino,isobar --repeat 3 --report sim.html > /dev/null
picture sim.html report-simulation 1280 1300
"$isobar" study --profiles machine:xeon-4x8 --workloads "$root/examples/study/library.txt" --groups 2 \
    --algorithm none,lfoc+,opt-map+opt-part --report study.html > /dev/null
picture study.html report-study 1280 1450
"$isobar" reproduce nmass --report nmass.html > /dev/null
scrolled nmass.html '#claims .scroll tbody tr:nth-child(n+3)' > nmass-short.html
picture nmass-short.html report-reproduction 1280 1300

"$root/numasim/programs/build.sh" "$work" > /dev/null
"$isobar" trace --slice 2 -o pipeline.trace -- ./pipeline --threads 4 --size-kib 4096 --sweeps 4 > /dev/null
"$isobar" report pipeline.trace --nodes 4
picture pipeline.html report-pages 1280 1500
scrolled pipeline.html 'main > section:first-child, #course, #structures, #mappings, #steps, header, footer' > map.html
picture map.html pages-heat 1280 640
ls -l "$to"
