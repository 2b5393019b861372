#!/bin/sh
# In a guest of small-2x2 with resctrl: what its groups do to the misses that the machine counts.
# CPUs 0 and 1 share an LLC of 16 ways: on CPU 0 a chase that fits, on CPU 1 a stream that washes it
# out. Prints lines "NAME NUMBER" for tests/numasim/resctrl.sh.
#
#   resctrl.sh files     groups made by hand
#   resctrl.sh isobar    groups that isobar makes, which finds resctrl where it does on any machine
root=/sys/fs/resctrl
# The misses of a chase on CPU 0, whatever else runs there.
measure() {
    chase --size-kib 160 --work 40000 --each-on 0 > /dev/null
    echo "$1 $(numasim-counters --threads | awk '$2 == "chase" { misses = $6 } END { print misses }')"
}
move_stream() {
    for thread in /proc/$stream/task/*; do taskset -p "$1" "${thread##*/}" > /dev/null || exit 1; done
    sleep 0.1
}
ours() { set -- $root/isobar*; [ -d "$1" ] && echo $# || echo 0; }

by_hand() {
    mkdir $root/few && echo 'L3:0=3' > $root/few/schemata || exit 1
    for thread in /proc/$stream/task/*; do echo "${thread##*/}" > $root/few/tasks; done
    sleep 0.02
    measure confined
    echo "occupancy $(cat $root/few/mon_data/mon_L3_00/llc_occupancy)"
    echo "bytes $(cat $root/few/mon_data/mon_L3_00/mbm_total_bytes)"
    echo "elsewhere $(cat $root/few/mon_data/mon_L3_01/llc_occupancy)"
    echo 'L3:0=5' > $root/few/schemata 2> /dev/null && echo "refused 0"
    move_stream 1
    measure confined-on-its-cpu
    rmdir $root/few
    measure shared-on-its-cpu
    move_stream 2
    measure removed
    mkdir $root/cpu && echo 'L3:0=3' > $root/cpu/schemata && echo 1 > $root/cpu/cpus_list || exit 1
    measure cpu
    rmdir $root/cpu
}

by_isobar() {
    numasim-ctl daemon isobar manage --policy fixed --set 'fixed.ways=stream=0:0x3' --interval 1 > /tmp/managed 2>&1 &
    isobar=$!
    for _ in $(seq 100); do [ "$(ours)" = 0 ] || break; sleep 0.1; done
    sleep 0.1
    echo "groups $(ours)"
    measure confined
    kill -TERM $isobar
    wait $isobar || cat /tmp/managed
    echo "left $(ours)"
    measure removed
}

# Rounds for longer than the test: between passes it checks its results, and streams three times
# less meanwhile.
stream --size-kib 1024 --rounds 100000 --each-on 1 --repeat > /dev/null &
stream=$!
sleep 0.05
measure shared
case $1 in files) by_hand ;; isobar) by_isobar ;; esac
kill $stream
wait $stream
