/* What a run of programs on a simulated machine tells in the end. */
#ifndef CLI_SIM_PROGRAM_REPORT_H
#define CLI_SIM_PROGRAM_REPORT_H

#include "cli/sim/program_words.h"

struct program_report {
    const struct sim_programs *programs;
    const char *machine;
    const char *topology; /* or how many cores there are */
    bool is_in_place;     /* there are no NICs */
    uint32_t node_count;
    const struct program_words *words;
    const char *json; /* the file's name, or NULL */
    const char *html; /* the same */
    enum sim_programs_end end;
};

/* Words on standard error unless they are not wanted, and the files. False: one of these could not
 * be written, which has been said. */
bool cli_program_report(const struct program_report *report);

#endif
