/* What the Fagus examples share: a check that ends the program on an error, a clock, shares of
 * work, and the line that they print. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <fagus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline void must(int error)
{
    if (error) {
        fprintf(stderr, "node %d: %s\n", fagus_rank(), fagus_strerror(error));
        exit(1);
    }
}

static inline void *must_have(void *memory)
{
    if (!memory) {
        must(FAGUS_ENOMEM);
    }
    return memory;
}

/* Shared memory that belongs to a node; a variable that is bound to nothing yet. Both are
 * collective, like the calls that they make. */
static inline void *shared(size_t bytes, int node)
{
    void *pointer;
    must(fagus_alloc(bytes, node, &pointer));
    return pointer;
}

static inline struct fagus_sync *variable(void)
{
    struct fagus_sync *sync;
    must(fagus_sync_create(&sync));
    return sync;
}

static inline double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- Arguments ------------------------------------------------------------------------------ */

/* The numbers on the command line, in this order; those that are left out have their defaults. */
struct parameter {
    const char *name;
    size_t least, most, otherwise;
};

#define MOST ((size_t)1000000000) /* sums and products of such numbers fit */

static inline void show_usage(FILE *to, const char *program, const char *what,
                              const struct parameter *parameters, int count)
{
    fprintf(to, "usage: dimmnet run -n NODES %s", program);
    for (int i = 0; i < count; i++) {
        fprintf(to, " [%s", parameters[i].name);
    }
    for (int i = 0; i < count; i++) {
        fputc(']', to);
    }
    fprintf(to, "\n%s\n", what);
    for (int i = 0; i < count; i++) {
        fprintf(to, "  %-8s %zu to %zu; %zu unless given\n", parameters[i].name,
                parameters[i].least, parameters[i].most, parameters[i].otherwise);
    }
    fprintf(to, "Exit status: 0 the result is right, 1 it is wrong or could not be had, 2 bad "
                "usage\n");
}

/* Sets the values, or ends the program: for --help, and when an argument makes no sense. */
static inline void read_arguments(int argc, char **argv, const char *what,
                                  const struct parameter *parameters, int count, size_t *values)
{
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        const char *rank = getenv("DIMMNET_RANK");
        if (!rank || strcmp(rank, "0") == 0) { /* one node is enough */
            show_usage(stdout, argv[0], what, parameters, count);
        }
        exit(0);
    }
    if (argc - 1 > count) {
        show_usage(stderr, argv[0], what, parameters, count);
        exit(2);
    }
    for (int i = 0; i < count; i++) {
        const struct parameter *parameter = &parameters[i];
        const char *text = i + 1 < argc ? argv[i + 1] : NULL;
        char *end = NULL;
        values[i] = text ? strtoul(text, &end, 10) : parameter->otherwise;
        if (text && (*end || end == text || *text == '-' || values[i] < parameter->least ||
                     values[i] > parameter->most)) {
            fprintf(stderr, "%s: %s must be a number from %zu to %zu, not \"%s\" (--help)\n",
                    argv[0], parameter->name, parameter->least, parameter->most, text);
            exit(2);
        }
    }
}

/* ---- Work and result ------------------------------------------------------------------------ */

/* Where the share of a node begins among `count` things; the next node's share begins where it
 * ends. */
static inline size_t share(size_t count, int node, int nodes)
{
    return count * (size_t)node / (size_t)nodes;
}

/* Prints the result; gives the exit status. */
static inline int report(const char *what, double seconds, double alone_seconds, int is_right)
{
    printf("%s, %d nodes: %.3f s, alone %.3f s, speed-up %.2f; %s\n", what, fagus_size(), seconds,
           alone_seconds, alone_seconds / seconds,
           is_right ? "the same as alone" : "WRONG, not the same as alone");
    return is_right ? 0 : 1;
}

#endif
