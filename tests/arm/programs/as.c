/* `as UID CAPABILITIES COMMAND...` runs a command as a user who has these capabilities (a mask in
 * hexadecimal, as in /proc/PID/status) and no others: in the permitted, effective, inheritable and
 * ambient sets, so that they live through exec. */
#define _GNU_SOURCE
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BITS = 64, HALF = 32 };

static int set_capabilities(uint64_t mask) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    for (int i = 0; i < 2; i++) {
        uint32_t part = (uint32_t)(mask >> (HALF * i));
        data[i] = (struct __user_cap_data_struct){.effective = part, .permitted = part, .inheritable = part};
    }
    if (syscall(SYS_capset, &header, data)) return -1;
    for (unsigned long bit = 0; bit < BITS; bit++)
        if (mask >> bit & 1 && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, bit, 0, 0)) return -1;
    return 0;
}

int main(int words, char **word) {
    if (words < 4) return 2;
    uid_t uid = (uid_t)atoi(word[1]);
    if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid)
        || set_capabilities(strtoull(word[2], NULL, 16))) {
        perror("error: as");
        return 1;
    }
    execvp(word[3], word + 3);
    perror(word[3]);
    return 1;
}
