#!/bin/sh
# Short programs, one after another: a chase, a stream and a sort, each over in a fraction of a
# second, as the steps of a build or a shell script are. No policy sees any of them for long.
#
# rounds=4
# kib=2048

rounds=${rounds:-4} kib=${kib:-2048}
checksum() { sed 's/.*"checksum":\([0-9]*\).*/\1/'; }
case $1 in
setup) ;;
run)
    for round in $(seq "$rounds"); do
        /bin/chase --size-kib "$kib" --work 150000 --seed "$round" | checksum || exit
        /bin/stream --size-kib "$kib" --rounds 15 --seed "$round" | checksum || exit
        /bin/sort --size-kib "$kib" --seed "$round" | checksum || exit
    done ;;
end) ;;
*) echo "usage: shorts.sh setup|run|end" >&2; exit 2 ;;
esac
