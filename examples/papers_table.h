/* What the programs that repeat the papers' experiments share: the median of a block of operations,
 * a core to poll on, and a table with the paper's figure and the simulated one. */
#ifndef PAPERS_TABLE_H
#define PAPERS_TABLE_H

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCKS = 201, PER_BLOCK = 500 };

static inline double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static inline int compare(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

/* The median time of one operation over blocks of them. */
static inline double median_ns(void (*block)(int count))
{
    static double times[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        double start = now_ns();
        block(PER_BLOCK);
        times[i] = (now_ns() - start) / PER_BLOCK;
    }
    qsort(times, BLOCKS, sizeof times[0], compare);
    return times[BLOCKS / 2];
}

/* Two pollers on one core would wait for each other's time slice. */
static inline void take_a_core(int rank)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return;
    }
    int skip = rank % CPU_COUNT(&allowed);
    for (size_t core = 0; core < CPU_SETSIZE; core++) {
        if (CPU_ISSET(core, &allowed) && skip-- == 0) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(core, &one);
            (void)sched_setaffinity(0, sizeof one, &one);
            return;
        }
    }
}

/* A figure of the papers, and where it is printed. */
struct figure {
    const char *source, *table, *row, *column;
    double paper;
    double units; /* the table's units in one of the paper's; 0: the same; 1000: us for its ms */
};

/* What the simulated machine gave for it, from the file that `dimmnet sim papers --json` wrote;
 * negative: there is none. */
static inline double simulated(const char *path, const struct figure *figure)
{
    char wanted[160];
    char line[1024];
    double value = -1;
    FILE *file = path && figure->table ? fopen(path, "r") : NULL;
    if (!file) {
        return value;
    }
    snprintf(wanted, sizeof wanted,
             "{\"source\":\"%s\",\"table\":\"%s\",\"row\":\"%s\",\"column\":\"%s\",",
             figure->source, figure->table, figure->row, figure->column);
    while (value < 0 && fgets(line, sizeof line, file)) {
        const char *at = strstr(line, "\"sim\":");
        if (strncmp(line, wanted, strlen(wanted)) == 0 && at) {
            at += strlen("\"sim\":");
            if (*at == 'n') { /* null: the paper's own, not simulated */
                break;
            }
            value = strtod(at, NULL);
        }
    }
    fclose(file);
    return value;
}

static inline void show_head(void)
{
    printf("%-36s %-5s %10s %10s %8s %9s\n", "", "", "here", "simulated", "paper", "better");
    fflush(stdout);
}

/* What is below 1 needs more digits to say anything. */
static inline int decimals_of(double value)
{
    return value < 1 ? 3 : 1;
}

/* More MB/s is better, and less time. */
static inline void show(const char *what, double here, const char *unit,
                        const struct figure *figure, const char *path, const char *source)
{
    char simulation[16] = "-";
    char paper[16] = "-";
    char better[16] = "";
    if (figure) {
        double units = figure->units > 0 ? figure->units : 1;
        double printed = figure->paper * units;
        double ratio = unit[0] == 'M' ? here / printed : printed / here;
        double model = simulated(path, figure);
        snprintf(paper, sizeof paper, "%.0f", printed);
        snprintf(better, sizeof better, "%.1f x", ratio);
        if (model >= 0) {
            snprintf(simulation, sizeof simulation, "%.0f", model * units);
        }
    }
    printf("%-36s %-5s %10.*f %10s %8s %9s  %s\n", what, unit, decimals_of(here), here, simulation,
           paper, better, source);
}

#endif
