/* The choice of a fabric, and the fabrics' own options: part of the option tables of every
 * command that starts groups. */
#ifndef CLI_LAUNCH_CHOICE_H
#define CLI_LAUNCH_CHOICE_H

#include "cli/options.h"
#include "fabric/launch.h"

enum { CHOICE_GROUPS = 1 + FABRIC_COUNT };

struct choice {
    uint32_t fabric;   /* its number in fabric_launches */
    const char *words; /* behind its name and a colon, or NULL */
    const char *command;
    bool is_timed; /* the command measures real time: fabrics in virtual time are not offered */
    uint64_t settings[FABRIC_COUNT][FABRIC_OPTIONS_MAX];

    struct options_row fabric_rows[2];
    struct options_row rows[FABRIC_COUNT][FABRIC_OPTIONS_MAX + 1];
    char help[512];
    char names[64];
    char headings[FABRIC_COUNT][64];
};

/* Fills in the groups, which point into the choice, and sets the fabric to the one that DN_FABRIC
 * names, or the first. Gives 0, or CLI_USAGE after having said that there is no such fabric. */
int launch_choice_begin(struct choice *choice, const char *command, bool is_timed,
                        struct options_group groups[CHOICE_GROUPS]);

/* Checks the choice after the command line has been read. Gives 0, or CLI_USAGE after having said
 * which options do not go together. */
int launch_choice_complete(const struct choice *choice, const char *command,
                           const struct options_group groups[CHOICE_GROUPS]);

#endif
