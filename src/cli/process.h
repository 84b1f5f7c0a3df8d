/* What the kernel says about a process in /proc/PID/stat. */
#ifndef CLI_PROCESS_H
#define CLI_PROCESS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* Places of words there, counted behind the command's name. */
enum process_word { PROCESS_PARENT = 2, PROCESS_START = 20 };

/* 0: it has ended, or we may not see it. */
static inline uint64_t cli_process_number(pid_t process, enum process_word word)
{
    char path[64];
    char text[1024];
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "re");
    size_t bytes = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) {
        (void)fclose(file);
    }
    text[bytes] = '\0';
    /* The command's name, in brackets, may hold anything. */
    const char *at = strrchr(text, ')');
    for (unsigned i = 0; at && i < (unsigned)word; i++) {
        at = strchr(at + 1, ' ');
    }
    return at ? strtoull(at, NULL, 10) : 0;
}

#endif
