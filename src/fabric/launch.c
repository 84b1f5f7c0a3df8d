/* The table of fabrics, as launchers see them. */
#include "fabric/launch.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FABRIC(name) extern const struct fabric_launch name##_launch;
FABRICS(FABRIC)
#undef FABRIC

const struct fabric_launch *const fabric_launches[] = {
#define FABRIC(name) &name##_launch,
    FABRICS(FABRIC)
#undef FABRIC
        NULL,
};

const struct fabric_launch *fabric_launch_find(const char *name)
{
    const struct fabric_launch *const *fabric = fabric_launches;
    while (*fabric && strcmp((*fabric)->name, name) != 0) {
        fabric++;
    }
    return *fabric;
}

int fabric_launch_refuse(char sentence[FABRIC_SENTENCE_BYTES], int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, FABRIC_SENTENCE_BYTES, format, arguments);
    va_end(arguments);
    return error;
}

void fabric_launch_defaults(const struct fabric_launch *fabric,
                            uint64_t settings[FABRIC_OPTIONS_MAX])
{
    for (unsigned i = 0; fabric->options[i].name; i++) {
        INVARIANT(i < FABRIC_OPTIONS_MAX);
        settings[i] = fabric->options[i].unless_given;
    }
}

bool fabric_launch_accepts(const struct fabric_launch *fabric, const uint64_t *settings)
{
    for (unsigned i = 0; fabric->options[i].name; i++) {
        const struct fabric_option *option = &fabric->options[i];
        if (settings[i] != option->unless_given &&
            (settings[i] < option->least || settings[i] > option->most)) {
            return false;
        }
    }
    return true;
}

int fabric_roster_open(struct fabric_roster *roster)
{
    roster->contacts = calloc(roster->node_count, sizeof *roster->contacts);
    return roster->contacts ? 0 : DN_ENOMEM;
}

void fabric_roster_release(struct fabric_roster *roster)
{
    if (roster->contacts) {
        if (roster->fabric->release) {
            roster->fabric->release(roster);
        }
        free(roster->contacts);
        roster->contacts = NULL;
    }
}
