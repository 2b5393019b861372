#!/bin/sh
# pigz compresses a file of words: pages of the file are read by all threads, each of which has
# buffers of its own.
# packages: pigz
# programs: /usr/bin/pigz
#
# kib=2048       the file, a multiple of 64
# threads=2
# level=1

kib=${kib:-2048} threads=${threads:-2} level=${level:-1}
case $1 in
setup)
    cp /bin/pigz .
    # Words that compress as text does; a part, again and again, since awk is slow.
    awk -v bytes=$((64 * 1024)) 'BEGIN {
        for (seed = 1; written < bytes; written += length(line) + 1) {
            line = ""
            for (word = 0; word < 12; word++) {
                seed = (seed * 16807) % 2147483647
                line = line sprintf("%x ", seed % 4099)
            }
            print line
        }
    }' > part
    for each in $(seq $((kib / 64))); do cat part; done > text ;;
run)
    ./pigz -c -n -p "$threads" -"$level" text > text.gz || exit
    md5sum < text.gz ;;
end) ;;
*) echo "usage: pigz.sh setup|run|end" >&2; exit 2 ;;
esac
