#!/bin/sh
# The C compiler of GCC 12 compiles a generated file: trees and tables of many small objects, which
# are made, walked and left.
# packages: cpp-12
# programs: /usr/lib/gcc/x86_64-linux-gnu/12/cc1
#
# functions=40

functions=${functions:-40}
case $1 in
setup)
    cp /bin/cc1 .
    awk -v functions="$functions" 'BEGIN {
        for (f = 0; f < functions; f++) {
            printf "static unsigned f%d(unsigned a, unsigned *v) {\n    unsigned s = %d;\n", f, f
            for (i = 0; i < 8; i++)
                printf "    for (unsigned i = 0; i < a; i++) { s += v[i] * %du; if (s & %d) v[i] ^= s >> %d; }\n", f * 31 + i + 3, i % 5 + 1, i + 1
            print "    return s;\n}"
        }
        print "unsigned all(unsigned a, unsigned *v) {\n    unsigned s = 0;"
        for (f = 0; f < functions; f++) printf "    s += f%d(a + %d, v);\n", f, f
        print "    return s;\n}"
    }' > input.i ;;
run)
    ./cc1 -quiet -fpreprocessed -O2 input.i -o output.s || exit
    md5sum < output.s ;;
end) ;;
*) echo "usage: cc1.sh setup|run|end" >&2; exit 2 ;;
esac
