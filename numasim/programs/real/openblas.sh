#!/bin/sh
# OpenBLAS multiplies matrices with its own threads: tiles that fit caches, copied by each thread
# from matrices that the first thread touched.
# packages: libopenblas0-pthread
# libraries: /usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0
# sources: blas.c
#
# order=384      of the matrices
# rounds=2
# threads=4

order=${order:-384} rounds=${rounds:-2} threads=${threads:-4}
case $1 in
setup) cp /bin/blas . ;;
run) OPENBLAS_NUM_THREADS=$threads OPENBLAS_CORETYPE=Nehalem ./blas "$order" "$rounds" ;;
end) ;;
*) echo "usage: openblas.sh setup|run|end" >&2; exit 2 ;;
esac
