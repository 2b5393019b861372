# resctrl in a guest (numasim/bridge/resctrl): groups change what a program misses, and those that
# are removed give all ways back. Sourced by run.sh.

# run_resctrl files: groups made by hand; isobar: by isobar's ordinary backend.
run_resctrl() {
    local how=$1 said=$work/resctrl.log packages=()
    [ "$how" = files ] || packages=(--package isobar)
    TMPDIR=$work timeout -k 10 240 "$bin/numasim" boot small-2x2 --resctrl "${packages[@]}" \
        --add tests/numasim/guest/resctrl.sh -- sh /bin/resctrl.sh "$how" > "$said" || { tail -n 40 "$said"; return 1; }
    # The chase misses little while the stream has 2 of 16 ways (32 KiB), and much while it has all.
    awk -v how="$how" '
        NF == 2 { value[$1] = $2 }
        function must(ok, what) { if (!ok) { print "resctrl: " what; bad = 1 } }
        function few(name) { must(name in value && 3 * value[name] < value["shared"], name ": " value[name] " misses, shared: " value["shared"]) }
        END {
            must(value["shared"] > 20000, "the stream washes nothing out: " value["shared"])
            few("confined")
            must(2 * value["removed"] > value["shared"], "a group that is gone keeps ways: " value["removed"])
            if (how == "isobar") {
                must(value["groups"] > 0, "isobar made no group")
                must("left" in value && value["left"] == 0, "isobar left groups: " value["left"])
            } else {
                few("cpu")
                must(5 * value["shared-on-its-cpu"] < 4 * value["shared"], "the stream did not come to the chase: " value["shared-on-its-cpu"] " misses")
                must("confined-on-its-cpu" in value && 3 * value["confined-on-its-cpu"] < value["shared-on-its-cpu"], "a class does not go with its thread: " value["confined-on-its-cpu"] " misses of " value["shared-on-its-cpu"])
                must(value["occupancy"] > 0 && value["occupancy"] <= 32768, "2 ways hold " value["occupancy"])
                must(value["bytes"] > 1000000, "a stream moved " value["bytes"])
                must("elsewhere" in value && value["elsewhere"] == 0, "on the other LLC it holds " value["elsewhere"])
                must(!("refused" in value), "a mask with a gap was taken")
            }
            exit bad
        }' "$said" || { tail -n 40 "$said"; return 1; }
}
