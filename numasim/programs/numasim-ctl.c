// Sends a command to numasim's plugin: `numasim-ctl start|publish|zero|empty|trace-begin|
// trace-end`, or `numasim-ctl daemon COMMAND ...`, which runs a command at the real machine's
// speed, with all that it starts. The word is an instruction that does nothing on a processor (a
// long NOP whose displacement says "NS" and a number) and that the plugin recognises; it needs no
// privilege.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// nopl disp32(%rax,%rax,1)
#define TELL(op) __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00; .long 0x4e530000 + %c0" ::"i"(op) : "memory")

// The process becomes the command: what its address space makes inherits the mark.
static int become(char **command) {
    TELL(7);
    execvp(command[0], command);
    fprintf(stderr, "numasim-ctl: cannot run %s: %s\n", command[0], strerror(errno));
    return errno == ENOENT ? 127 : 126;
}

int main(int count, char **words) {
    if (count > 2 && strcmp(words[1], "daemon") == 0) return become(words + 2);
    const char *word = count == 2 ? words[1] : "";
    if (strcmp(word, "start") == 0) TELL(1);        // modelling begins; a second time does nothing
    else if (strcmp(word, "publish") == 0) TELL(2); // the shared page is brought up to date
    else if (strcmp(word, "zero") == 0) TELL(3);    // counters begin anew
    else if (strcmp(word, "empty") == 0) TELL(4);   // all caches lose their lines
    else if (strcmp(word, "trace-begin") == 0) TELL(5); // a page trace begins, if QEMU was started with one
    else if (strcmp(word, "trace-end") == 0) TELL(6);   // it is complete in its file
    else {
        fprintf(stderr, "numasim-ctl: expected start, publish, zero, empty, trace-begin, trace-end, or daemon and a command, not \"%s\"\n", word);
        return 2;
    }
    return 0;
}
