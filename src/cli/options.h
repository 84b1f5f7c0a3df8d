/* Options of commands, from tables. A row of a table describes one option: how it is spelled, what
 * value it takes, where the value goes, and its help. The functions here read a command line by
 * the rows (over getopt_long), print --help from them, and say in one sentence what is wrong. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an option takes, and the type of its place. */
enum options_kind {
    OPTIONS_END,     /* no option: ends the rows */
    OPTIONS_FLAG,    /* no value; a bool becomes true */
    OPTIONS_SETS,    /* no value; an enum becomes `least` */
    OPTIONS_SHOW,    /* no value; calls `show`, and the command ends */
    OPTIONS_TEXT,    /* const char *: anything */
    OPTIONS_NUMBER,  /* an unsigned type: `least` to `most`, stored times `unit` */
    OPTIONS_SIZE,    /* uint64_t: bytes, above 0; 128K and the like are fine */
    OPTIONS_SECONDS, /* uint64_t: above 0, stored as nanoseconds; 1.5 is fine */
    OPTIONS_CHOICE,  /* an enum: one of `names`, numbers `least` to `most` */
    OPTIONS_CALL,    /* `take` reads it */
};

struct options_row {
    const char *name;     /* behind "--"; NULL: it has only a letter */
    char letter;          /* behind "-", or 0; a row with neither takes words without a dash */
    const char *argument; /* the value's name in the help; "[X]": the value may be missing */
    const char *help;     /* numbers' limits are added to it */
    enum options_kind kind;
    size_t place, bytes; /* where it goes: see OPTIONS_AT */
    uint64_t least, most, unit;
    const char *what; /* NUMBER: what it is, for messages; NULL: "number" */
    const char *const *names;
    void (*show)(void);
    /* Gives CLI_OK, or a status after saying why, which ends the command. The target is that of
     * the group; the value is NULL when it may be missing and is. */
    int (*take)(void *target, const char *value);
};

#define OPTIONS_AT(type, field) .place = offsetof(type, field), .bytes = sizeof(((type *)0)->field)

/* Rows that fill one struct and stand under one heading. */
struct options_group {
    const struct options_row *rows;
    void *target;        /* what the places are in; it holds the defaults before */
    const char *heading; /* or NULL */
    const char *given;   /* output: the last option of these rows on the command line, or NULL */
};

struct options_command {
    const char *name;         /* "dimmnet info" */
    const char *usage;        /* what stands behind it */
    const char *about;        /* what it does; all these texts are whole lines */
    void (*list)(void);       /* prints more, before the options; or NULL */
    const char *closing;      /* or NULL */
    void (*list_after)(void); /* prints more, at the end; or NULL */
    bool program_follows;     /* the first word without a dash ends the options; see optind */
};

/* Reads a command line into the groups' targets. False: there is nothing left to do (--help, or
 * a mistake after saying so), and *status is the exit status. */
bool options_read(const struct options_command *command, struct options_group *groups,
                  unsigned group_count, int argc, char **argv, int *status);

struct options_subcommand {
    const char *name;
    int (*call)(int argc, char **argv);
    const char *arguments; /* in the help; or NULL */
    const char *help;      /* NULL: not for people, and not in the help */
};

/* Hands the command line over to the subcommand that it names; one without a name ends them.
 * Gives the exit status. */
int options_hand_over(const char *command, const char *about,
                      const struct options_subcommand *subcommands, int argc, char **argv);

#endif
