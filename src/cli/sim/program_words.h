/* What stands behind --fabric sim: on a command line, and in plans of faults. */
#ifndef CLI_SIM_PROGRAM_WORDS_H
#define CLI_SIM_PROGRAM_WORDS_H

#include "sim/program/program.h"

struct program_words {
    enum sim_topology topology;
    bool is_loop; /* one was asked for: then the node reaches itself round it */
    enum turn_compute compute;
    bool compute_is_said;
    uint64_t cores; /* 0: as the machine file says */
    uint64_t factor_ppm;
    uint64_t seed;
    uint64_t limit_ps;
    uint64_t notice_ps;
    bool report; /* in words, on standard error */
};

/* Reads "MACHINE[,NAME=VALUE...]", or NULL for the usual ones, and loads the machine. False: the
 * error says why. */
bool cli_program_words_read(const char *text, uint32_t node_count, struct program_words *words,
                            struct sim_machine *machine, char error[SIM_ERROR_BYTES]);

/* Reads the plans of deaths: "RANK@TIME,..." and a file, either may be NULL. */
bool cli_program_deaths(const char *list, const char *file, uint32_t node_count,
                        struct sim_death **deaths, uint32_t *count, char error[SIM_ERROR_BYTES]);

#endif
