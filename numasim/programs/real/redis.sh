#!/bin/sh
# redis-server holds `keys` values of `bytes` bytes and answers redis-benchmark: a store larger than
# the caches, copies through the kernel, and wake-ups between two processes. The latencies that the
# benchmark reports become figures.
# packages: redis-server redis-tools
# programs: /usr/bin/redis-server /usr/bin/redis-benchmark /usr/bin/redis-cli
#
# keys=20000
# bytes=256
# requests=5000
# clients=8

keys=${keys:-20000} bytes=${bytes:-256} requests=${requests:-5000} clients=${clients:-8}
socket=$PWD/socket
case $1 in
setup)
    cp /bin/redis-server /bin/redis-benchmark /bin/redis-cli .
    ./redis-server --port 0 --unixsocket "$socket" --save '' --appendonly no \
        > server.log 2>&1 < /dev/null &
    for wait in $(seq 400); do
        ./redis-cli -s "$socket" ping > /dev/null 2>&1 && break
        sleep 0.05
    done
    ./redis-cli -s "$socket" eval "for i = 0, ARGV[1] - 1 do
        redis.call('set', string.format('key:%012d', i), string.rep('x', ARGV[2]))
    end" 0 "$keys" "$bytes" > filled || { tail -n 1 server.log >&2; exit 1; }
    ./redis-cli -s "$socket" dbsize | grep -qx "$keys" || { echo "redis holds other than $keys keys" >&2; exit 1; } ;;
run)
    ./redis-benchmark -s "$socket" -c "$clients" -n "$requests" -r "$keys" --csv get key:__rand_int__ > told || exit
    # Columns: test, requests a second, and in ms the mean, least, p50, p95, p99, greatest latency.
    tr -d '"' < told | awk -F , 'NR == 2 {
        printf "requests_per_second %s\nmedian_latency_us %.0f\np99_latency_us %.0f\n", $(NF - 6), $(NF - 3) * 1000, $(NF - 1) * 1000
    }' > figures
    ./redis-cli -s "$socket" dbsize ;;
end)
    ./redis-cli -s "$socket" shutdown nosave > /dev/null 2>&1
    true ;;
*) echo "usage: redis.sh setup|run|end" >&2; exit 2 ;;
esac
