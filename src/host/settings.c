/* Reading the environment. */
#include "host/settings.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/size_text.h"

#define SETTINGS(row)                                                                              \
    row("DN_LLCM_BYTES", sizes.llcm_bytes, SIZE, "128K", "low-latency common memory of each node") \
        row("DN_BANK_BYTES", sizes.bank_bytes, SIZE, "1G",                                         \
            "large memory of each node, committed when touched")                                   \
            row("DN_HEAP_BYTES", sizes.heap_bytes, SIZE, "1G",                                     \
                "symmetric heap of each node (dn_alloc), committed when touched")                  \
                row("DN_REGISTERED_BYTES", sizes.registered_bytes, ROOM, "0",                      \
                    "registered private memory of each node; 0: 64G, less in very large groups")   \
                    row("DN_STOP_SIGNAL", stop_signal, SIGNAL, "62",                               \
                        "real-time signal that stops threads while their memory is registered")    \
                        row("DN_RELAX", relax, FLAG, "0",                                          \
                            "1: delay and reorder all that the memory model allows")               \
                            row("DN_RELAX_SEED", relax_seed, NUMBER, "0",                          \
                                "seed of DN_RELAX's choices; 0 takes a new one each time")         \
                                row("DN_JOIN_TIMEOUT_MS", join_timeout_ms, TIME, "60000",          \
                                    "under mpirun: how long a rank waits for the others to come")

enum kind { SIZE, ROOM, NUMBER, SIGNAL, TIME, FLAG };

/* A day: more is a mistake, and sums of it must not overflow. */
#define TIME_MS_MAX UINT64_C(86400000)

static const struct {
    const char *name;
    const char *default_text;
    const char *help;
} rows[] = {
#define ROW(name, field, kind, default_text, help) {name, default_text, help},
    SETTINGS(ROW)
#undef ROW
};

static bool read_value(enum kind kind, const char *text, uint64_t *value)
{
    switch (kind) {
    case SIZE: return base_size_parse(text, value) && *value > 0;
    case ROOM: return base_size_parse(text, value);
    case NUMBER: return base_number_parse(text, UINT64_MAX, value);
    case SIGNAL:
        return base_number_parse(text, (uint64_t)SIGRTMAX, value) && *value >= (uint64_t)SIGRTMIN;
    case TIME: return base_number_parse(text, TIME_MS_MAX, value) && *value > 0;
    default: return base_number_parse(text, 1, value);
    }
}

int host_settings_read(struct host_settings *settings, const char **bad)
{
    struct host_settings made;
    const char *text;
    uint64_t value;
    /* An empty variable counts as not set, as shells make them. */
#define ROW(name, field, kind, default_text, help) \
    text = getenv(name);                           \
    if (!text || !*text) {                         \
        text = default_text;                       \
    }                                              \
    if (!read_value(kind, text, &value)) {         \
        *bad = name;                               \
        return DN_EINVAL;                          \
    }                                              \
    made.field = (__typeof__(made.field))value;
    SETTINGS(ROW)
#undef ROW
    *settings = made;
    return 0;
}

bool host_settings_row(unsigned row, const char **name, const char **default_text,
                       const char **help)
{
    if (row >= sizeof rows / sizeof rows[0]) {
        return false;
    }
    *name = rows[row].name;
    *default_text = rows[row].default_text;
    *help = rows[row].help;
    return true;
}
