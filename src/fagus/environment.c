/* Reading the environment. */
#include "fagus/environment.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/size_text.h"

struct fagus_environment fagus_environment;

static const struct {
    const char *name;
    size_t field; /* in struct fagus_environment: a bool */
} variables[] = {
    {"FAGUS_FORCE_REMOTE", offsetof(struct fagus_environment, force_remote)},
    {"FAGUS_CHECK", offsetof(struct fagus_environment, check)},
    {"FAGUS_STATS", offsetof(struct fagus_environment, stats)},
};

/* The one sentence that the library prints unasked: an error code cannot say which of them. */
bool fagus_environment_read(void)
{
    struct fagus_environment read = {0};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *text = getenv(variables[i].name);
        uint64_t number = 0;
        if (text && *text && !base_number_parse(text, 1, &number)) {
            (void)fprintf(stderr, "fagus: cannot understand %s=\"%s\" in the environment: 0 or 1\n",
                          variables[i].name, text);
            return false;
        }
        *(bool *)((unsigned char *)&read + variables[i].field) = number == 1;
    }
    fagus_environment = read;
    return true;
}
