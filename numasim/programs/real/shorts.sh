#!/bin/sh
# Short programs, one after another: a chase, a stream and a sort, each over in a fraction of a
# second, as the steps of a build or a shell script are. No policy sees any of them for long.
#
# rounds=4
# kib=2048

rounds=${rounds:-4} kib=${kib:-2048}
# The checksum of a program, which must have one.
checksum() {
    line=$("$@") || exit
    sum=$(echo "$line" | sed -n 's/.*"checksum":\([0-9][0-9]*\).*/\1/p')
    [ -n "$sum" ] || { echo "$1 printed no checksum" >&2; exit 1; }
    echo "$sum"
}
case $1 in
setup) ;;
run)
    for round in $(seq "$rounds"); do
        checksum /bin/chase --size-kib "$kib" --work 150000 --seed "$round"
        checksum /bin/stream --size-kib "$kib" --rounds 15 --seed "$round"
        checksum /bin/sort --size-kib "$kib" --seed "$round"
    done ;;
end) ;;
*) echo "usage: shorts.sh setup|run|end" >&2; exit 2 ;;
esac
