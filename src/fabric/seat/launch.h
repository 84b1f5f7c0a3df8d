/* Between the launcher's side of this fabric and the simulator, which is another part of the
 * command: a build without it has none. */
#ifndef FABRIC_SEAT_LAUNCH_H
#define FABRIC_SEAT_LAUNCH_H

#include "fabric/launch.h"
#include "wire/turn.h"

enum seat_setting { SEAT_KILL, SEAT_FAULTS, SEAT_JSON, SEAT_HTML, SEAT_STAGES, SEAT_SETTINGS };

/* What a simulator is asked for. */
struct seat_order {
    const char *words; /* MACHINE[,NAME=VALUE...], or NULL */
    const char *texts[SEAT_SETTINGS];
    uint32_t node_count;
    struct turn_page **pages; /* one for each node, until the end */
    int notify_fd;
    struct fabric_repeat *repeat; /* or NULL */
};

struct seat_simulator {
    /* Fills in the terms of all pages and begins; DN_EINVAL and a sentence: that makes no sense. */
    int (*begin)(const struct seat_order *order, void **simulator, char *sentence);
    /* As those of struct fabric_launch. */
    void (*ended)(void *simulator, uint32_t rank, bool well);
    void (*cut)(void *simulator);
    bool (*report)(void *simulator);
    const char *(*fault)(void *simulator);
    void (*end)(void *simulator);
};

extern const struct seat_simulator seat_simulator __attribute__((weak));

#endif
