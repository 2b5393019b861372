# The page trace of a program whose accesses are known exactly. Sourced by run.sh.

# Page by page of its array, by CPU: T0 stores once to each of 16 pages, thread t loads 1000 + t
# times from page 4 t and stores 100 + t times to page 4 t + 1.
run_pages() {
    local exact=$work/exact trace=$work/exact first
    cc -O1 -static -pthread -o "$exact" crates/tracer/tests/programs/exact.c
    first=$((0x$(nm "$exact" | sed -n 's/ B data$//p') / 4096))
    TMPDIR=$work timeout -k 10 240 "$bin/numasim" boot nehalem-2x4 --add "$exact" --page-trace "$trace.pages" -- exact bound > "$work/boot.log"
    "$bin/numasim-trace" "$trace.pages" -o "$trace.trace"
    "$bin/isobar" pages "$trace.trace" --nodes 2 --export csv "$trace.csv" > "$trace.report"
    grep -q 'linux (observed)' "$trace.report"
    awk -F, -v first="$first" '
        NR == 1 { for (at = 1; at <= NF; at++) if ($at == "T0") zero = at; next }
        $1 >= first && $1 < first + 16 {
            page = $1 - first
            seen++
            for (cpu = 0; cpu < 8; cpu++) {
                want = cpu == 0 ? 1 : 0
                if (cpu >= 1 && cpu <= 3 && page == 4 * cpu) want = 1000 + cpu
                if (cpu >= 1 && cpu <= 3 && page == 4 * cpu + 1) want = 100 + cpu
                if ($(zero + cpu) != want) { print "page " page ", CPU " cpu ": " $(zero + cpu) ", not " want; bad = 1 }
            }
        }
        END { if (seen != 16) { print seen " pages of 16"; bad = 1 } exit bad }' "$trace.csv"
}
