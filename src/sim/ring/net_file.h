/* A network, its traffic and how to measure it, as an INI file, read as machine files are:
 *
 *     [network]
 *     text  = one line that says what it is
 *     shape = ring
 *     width = 8
 *     [delays]
 *     link_cycles = 4 | assumed: serialiser and elastic buffer
 *     [errors]
 *     bit_error_rate = 1e-6
 *     outage = 3 4 20000 30000      (from to cycle cycle; as often as there are any)
 *     [traffic]
 *     pattern = uniform
 *     rate = 0.3
 *     [measure]
 *     cycles = 25000
 *
 * Keys that are left out have the values of paper 003's board. Behind a bar may stand where a
 * value comes from. Errors are one line that names file, line and key. */
#ifndef SIM_RING_NET_FILE_H
#define SIM_RING_NET_FILE_H

#include "sim/ring/measure.h"

enum { NET_TEXT_BYTES = 128, NET_NAME_BYTES = 64, NET_SETTINGS_MAX = 64 };

struct net_file {
    struct net_experiment experiment;
    char name[NET_NAME_BYTES]; /* the file's, without folder and ending */
    char text[NET_TEXT_BYTES];
};

/* Settings are "section.key=value" and override the file. A trace's path is relative to the file
 * that names it, or in a setting to the present folder. */
bool net_file_load(struct net_file *file, const char *path, const char *const *settings,
                   unsigned setting_count, char error[NET_ERROR_BYTES]);
/* The same from memory; the name is for errors. */
bool net_file_load_bytes(struct net_file *file, const char *name, const void *bytes, size_t length,
                         const char *const *settings, unsigned setting_count,
                         char error[NET_ERROR_BYTES]);

/* All keys that files may have, each with its value in that experiment. */
struct net_key_value {
    const char *section, *key, *help;
    char value[NET_PATH_BYTES];
};
void net_file_each(const struct net_experiment *experiment,
                   void (*line)(void *context, const struct net_key_value *value), void *context);

#endif
