/* The lines of a machine file: inih takes them apart, and errors get line numbers. */
#ifndef SIM_MODEL_MACHINE_FILE_H
#define SIM_MODEL_MACHINE_FILE_H

#include "sim/model/machine.h"

/* inih's own limit is chosen when inih is built: 200 with the line's end, or more. */
enum { SIM_LINE_BYTES_MAX = 190, SIM_VALUE_BYTES = SIM_LINE_BYTES_MAX + 1 };

struct sim_file {
    const char *name; /* for errors */
    const char *bytes;
    size_t length;
    void *context;
    /* Each returns false after writing an error. Empty sections are reported, too. */
    bool (*section)(void *context, unsigned line, const char *section);
    bool (*statement)(void *context, unsigned line, const char *section, const char *key,
                      const char *value);
    char *error; /* SIM_ERROR_BYTES */
    /* The rest is machine_file.c's. */
    size_t at;
    unsigned line; /* at the end: how many there are */
    bool failed;
};

/* Calls `section` and `statement` for each of them until the end or an error. */
bool sim_file_read(struct sim_file *file);

/* Writes "NAME:LINE: ..."; returns false. */
bool sim_file_fault(char error[SIM_ERROR_BYTES], const char *name, unsigned line,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The same of a key that was said before, in that line. */
bool sim_file_said_twice(char error[SIM_ERROR_BYTES], const char *name, unsigned line,
                         const char *section, const char *key, unsigned before);

/* Finds the number of a word. False: it is none of them, as the fault says. */
bool sim_file_word(const char *const *words, unsigned count, const char *text, uint64_t *number,
                   char *fault, size_t room);

/* Where a path's name without folder and ending begins, and its length. */
const char *sim_file_stem(const char *path, size_t *length);

/* Splits "value | source": the text receives the value without blanks around it. Returns the
 * source, which points into `text`; "": there is none. */
const char *sim_file_split(const char *value, char text[SIM_VALUE_BYTES]);

/* Reads the whole file; the caller frees it. NULL: the fault says why. */
enum { SIM_FILE_BYTES_MAX = 1 << 18 };
struct sim_file_identity {
    uint64_t device, number;
};
char *sim_file_fetch(const char *path, size_t *length, struct sim_file_identity *identity,
                     const char **fault);

/* The machines and parts that come with the program: built from src/sim/machines. */
struct sim_embedded {
    const char *name;
    bool part; /* not a whole machine: to be inherited */
    const char *bytes;
};
extern const struct sim_embedded sim_embedded[];
extern const unsigned sim_embedded_count;

#endif
