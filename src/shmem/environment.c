/* Reading the environment: one table gives each variable's type, default and help. */
#include "shmem/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size_text.h"
#include "shmem/state.h"

enum kind { FLAG, SIZE };

static const char *const kind_names[] = {[FLAG] = "flag", [SIZE] = "size"};

static const struct variable {
    const char *name;
    const char *old_name; /* of older specifications; the new one counts more */
    enum kind kind;
    size_t field; /* in struct shmem_environment: a bool or a uint64_t */
    const char *default_text;
    const char *help;
} variables[] = {
    {"SHMEM_VERSION", "SMA_VERSION", FLAG, offsetof(struct shmem_environment, version), "not set",
     "if set, PE 0 prints the version at the start"},
    {"SHMEM_INFO", "SMA_INFO", FLAG, offsetof(struct shmem_environment, info), "not set",
     "if set, PE 0 prints this table"},
    {"SHMEM_SYMMETRIC_SIZE", "SMA_SYMMETRIC_SIZE", SIZE,
     offsetof(struct shmem_environment, symmetric_bytes), "1G",
     "symmetric heap of each PE: a number, with K, M, G or T behind it; takes memory when touched"},
    {"SHMEM_DEBUG", "SMA_DEBUG", FLAG, offsetof(struct shmem_environment, debug), "not set",
     "if set, calls look for misuse and say what they find"},
};

enum { VARIABLES = sizeof variables / sizeof variables[0] };

/* A variable's text or NULL; an empty one counts as not set. */
static const char *text_of(const struct variable *variable)
{
    const char *text = getenv(variable->name);
    if (!text || !*text) {
        text = getenv(variable->old_name);
    }
    return text && *text ? text : NULL;
}

static void read_variable(const char *call, const struct variable *variable, void *field)
{
    const char *text = text_of(variable);
    bool flag = false;
    uint64_t bytes = 0;
    switch (variable->kind) {
    case FLAG:
        /* Programs set them to anything; only a plain 0 means no. */
        flag = text && strcmp(text, "0") != 0;
        memcpy(field, &flag, sizeof flag);
        break;
    case SIZE:
        if (text && (!base_scaled_parse(text, &bytes) || bytes == 0)) {
            shmem_fail(call, "%s=%s is not a size: give a number, with K, M, G or T behind it",
                       variable->name, text);
        }
        memcpy(field, &bytes, sizeof bytes);
        break;
    }
}

void shmem_environment_read(const char *call, struct shmem_environment *environment)
{
    for (size_t i = 0; i < VARIABLES; i++) {
        read_variable(call, &variables[i], (unsigned char *)environment + variables[i].field);
    }
}

static void show_table(void)
{
    (void)printf("%d PE%s, symmetric heap of %llu bytes each\n", shmem_state.n_pes,
                 shmem_state.n_pes == 1 ? "" : "s",
                 (unsigned long long)shmem_state.segments[SHMEM_HEAP].bytes);
    for (size_t i = 0; i < VARIABLES; i++) {
        const char *text = text_of(&variables[i]);
        (void)printf("  %-20s %s, now %s, default %s: %s\n", variables[i].name,
                     kind_names[variables[i].kind], text ? text : "not set",
                     variables[i].default_text, variables[i].help);
    }
}

void shmem_environment_show(const struct shmem_environment *environment)
{
    if (!environment->version && !environment->info) {
        return;
    }
    (void)printf("OpenSHMEM %d.%d, %s %s\n", SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION,
                 SHMEM_VENDOR_STRING, dn_version());
    if (environment->info) {
        show_table();
    }
    (void)fflush(stdout);
}
