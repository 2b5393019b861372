/* Ends the guest with a value: `verdict N` writes N to QEMU's debug exit port, and QEMU ends with 2
 * N + 1. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/io.h>

enum { PORT = 0xf4 };

int main(int count, char **words) {
    if (count != 2 || ioperm(PORT, 1, 1)) {
        perror("verdict");
        return 1;
    }
    outb((unsigned char)atoi(words[1]), PORT);
    return 0;
}
