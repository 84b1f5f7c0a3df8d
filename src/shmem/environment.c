/* Reading the environment: one table gives each variable's type, default and help. */
#include "shmem/environment.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/size_text.h"
#include "shmem/state.h"

/* name, deprecated name, field, kind, default, help */
#define VARIABLES(row)                                                                            \
    row("SHMEM_VERSION", "SMA_VERSION", version, FLAG, "not set",                                 \
        "if set, PE 0 prints the version at the start")                                           \
        row("SHMEM_INFO", "SMA_INFO", info, FLAG, "not set", "if set, PE 0 prints this table")    \
            row("SHMEM_SYMMETRIC_SIZE", "SMA_SYMMETRIC_SIZE", symmetric_bytes, SIZE, "1G",        \
                "symmetric heap of each PE: a number, with K, M, G or T behind it; takes memory " \
                "when touched") row("SHMEM_DEBUG", "SMA_DEBUG", debug, FLAG, "not set",           \
                                    "if set, calls look for misuse and say what they find")

enum kind { FLAG, SIZE };

static const struct {
    const char *name;
    const char *default_text;
    const char *help;
} rows[] = {
#define ROW(name, old_name, field, kind, default_text, help) {name, default_text, help},
    VARIABLES(ROW)
#undef ROW
};

/* A variable's text or NULL; an empty one counts as not set. */
static const char *text_of(const char *name, const char *old_name)
{
    const char *text = getenv(name);
    if (!text || !*text) {
        text = getenv(old_name);
    }
    return text && *text ? text : NULL;
}

static uint64_t value_of(const char *call, const char *name, const char *old_name, enum kind kind)
{
    const char *text = text_of(name, old_name);
    uint64_t value = 0;
    if (!text) {
        return 0;
    }
    if (kind == FLAG) {
        /* Programs set them to anything; only a plain 0 means no. */
        return !(text[0] == '0' && text[1] == '\0');
    }
    if (!base_scaled_parse(text, &value) || value == 0) {
        shmem_fail(call, "%s=%s is not a size: give a number, with K, M, G or T behind it", name,
                   text);
    }
    return value;
}

void shmem_environment_read(const char *call, struct shmem_environment *environment)
{
#define ROW(name, old_name, field, kind, default_text, help) \
    environment->field = (__typeof__(environment->field))value_of(call, name, old_name, kind);
    VARIABLES(ROW)
#undef ROW
}

void shmem_environment_show(const struct shmem_environment *environment)
{
    if (environment->version || environment->info) {
        (void)printf("OpenSHMEM %d.%d, %s %s\n", SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION,
                     SHMEM_VENDOR_STRING, dn_version());
    }
    if (environment->info) {
        (void)printf("%d PE%s, symmetric heap of %llu bytes each\n", shmem_state.n_pes,
                     shmem_state.n_pes == 1 ? "" : "s",
                     (unsigned long long)shmem_state.segments[SHMEM_HEAP].bytes);
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            (void)printf("  %-20s %s (default: %s)\n", rows[i].name, rows[i].help,
                         rows[i].default_text);
        }
    }
    if (environment->version || environment->info) {
        (void)fflush(stdout);
    }
}
