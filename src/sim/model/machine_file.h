/* A machine file's lines: inih takes them apart, and errors get their line numbers. */
#ifndef SIM_MODEL_MACHINE_FILE_H
#define SIM_MODEL_MACHINE_FILE_H

#include "sim/model/machine.h"

/* inih's own limit is a build's choice, 200 with what ends a line, or more. */
enum { SIM_LINE_BYTES_MAX = 190, SIM_VALUE_BYTES = SIM_LINE_BYTES_MAX + 1 };

struct sim_file {
    const char *name; /* for errors */
    const char *bytes;
    size_t length;
    void *context;
    /* Each gives false when there is an error, which it has written. Sections come also when
     * they are empty. */
    bool (*section)(void *context, unsigned line, const char *section);
    bool (*statement)(void *context, unsigned line, const char *section, const char *key,
                      const char *value);
    char *error; /* SIM_ERROR_BYTES */
    /* The rest is machine_file.c's. */
    size_t at;
    unsigned line; /* afterwards how many there are */
    bool failed;
};

/* Calls for each section and statement until the end or an error. */
bool sim_file_read(struct sim_file *file);

/* "NAME:LINE: ..."; gives false. */
bool sim_file_fault(char error[SIM_ERROR_BYTES], const char *name, unsigned line,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));

/* "value | source": the text gets the value without blanks around it; gives the source, which
 * is in the same text, "" where there is none. */
const char *sim_file_split(const char *value, char text[SIM_VALUE_BYTES]);

/* The whole file, for free; NULL: the fault says why. */
enum { SIM_FILE_BYTES_MAX = 1 << 18 };
struct sim_file_identity {
    uint64_t device, number;
};
char *sim_file_fetch(const char *path, size_t *length, struct sim_file_identity *identity,
                     const char **fault);

/* Those that come with the program: made from src/sim/machines when it is built. */
struct sim_embedded {
    const char *name;
    bool part; /* of machines, to inherit from; not a whole one */
    const char *bytes;
};
extern const struct sim_embedded sim_embedded[];
extern const unsigned sim_embedded_count;

#endif
