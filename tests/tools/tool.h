/* What the tools of the network tests share: options with numbers, the time, and the file of
 * packets that the relay writes and the stranger reads. */
#ifndef TOOLS_TOOL_H
#define TOOLS_TOOL_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>
#include <time.h>

#define TOOL_US UINT64_C(1000)
#define TOOL_MS UINT64_C(1000000)
#define TOOL_SECOND UINT64_C(1000000000)

enum { TOOL_DATAGRAM_BYTES_MAX = 65507 };

/* In front of each packet of a record: which rank it was for, and how long it is. */
struct tool_record {
    uint32_t rank;
    uint32_t bytes;
};

/* An option that takes a number, and where that goes. */
struct tool_number {
    const char *name;
    uint64_t *value;
    uint64_t most;
};

static inline uint64_t tool_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * TOOL_SECOND + (uint64_t)now.tv_nsec;
}

static inline struct sockaddr_in tool_loopback(uint64_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

__attribute__((noreturn)) static inline void tool_die(const char *tool, const char *what,
                                                      const char *which)
{
    (void)fprintf(stderr, "%s: %s %s%s%s\n", tool, what, which, errno ? ": " : "",
                  errno ? strerror(errno) : "");
    exit(1);
}

/* The script that started the tool may be killed before it can end it. */
static inline void tool_end_with_parent(const char *tool)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
        tool_die(tool, "cannot be ended with", "its parent");
    }
}

/* Takes one "--name number" if the table has it; false if it does not. A number that is malformed
 * or too large ends the program. */
static inline bool tool_take_number(const char *tool, const struct tool_number *numbers,
                                    size_t count, const char *name, const char *text)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, numbers[i].name) == 0) {
            char *end = NULL;
            errno = 0;
            uint64_t value = text ? strtoull(text, &end, 10) : 0;
            if (!text || errno || end == text || *end || *text == '-' || value > numbers[i].most) {
                errno = 0;
                tool_die(tool, "not a number that it can take:", name);
            }
            *numbers[i].value = value;
            return true;
        }
    }
    return false;
}

#endif
