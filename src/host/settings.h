/* The environment: one table gives each variable's type, default and help. */
#ifndef HOST_SETTINGS_H
#define HOST_SETTINGS_H

#include "group/memory.h"

struct host_settings {
    struct group_sizes sizes;
    int stop_signal; /* a real-time signal */
    bool relax;
    uint64_t relax_seed; /* 0: a new one each time */
    uint64_t join_timeout_ms;
};

/* Defaults overlaid by the environment. DN_EINVAL and the variable's name in *bad
 * when a value cannot be read. */
int host_settings_read(struct host_settings *settings, const char **bad);

/* The table's rows, for help texts: false past the end. */
bool host_settings_row(unsigned row, const char **name, const char **default_text,
                       const char **help);

#endif
