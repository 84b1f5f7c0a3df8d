/* Printing where the time went. */
#include <stdio.h>
#include <stdlib.h>

#include "fagus/report.h"
#include "fagus/state.h"

enum {
    ROWS_SHOWN = 10,
    NUMBERS = sizeof(struct fagus_stats) / sizeof(uint64_t),
};
_Static_assert(sizeof(struct fagus_stats) % sizeof(uint64_t) == 0, "it is made of such numbers");

/* Hottest first: waited for longest, then moved most. */
static int compare(const void *one, const void *other)
{
    const struct fagus_stats *a = &((const struct fagus_report_row *)one)->stats;
    const struct fagus_stats *b = &((const struct fagus_report_row *)other)->stats;
    if (a->wait_ns != b->wait_ns) {
        return a->wait_ns > b->wait_ns ? -1 : 1;
    }
    uint64_t moved_a = a->bytes_whole + a->bytes_differences;
    uint64_t moved_b = b->bytes_whole + b->bytes_differences;
    return moved_a == moved_b ? 0 : moved_a > moved_b ? -1 : 1;
}

static void print_row(const struct fagus_report_row *row)
{
    const struct fagus_stats *stats = &row->stats;
    (void)fprintf(stderr, "%-20.20s %10llu %10llu %10.3f %10.3f %12llu %12llu %12llu %8llu\n",
                  row->name, (unsigned long long)stats->acquires, (unsigned long long)stats->grants,
                  (double)stats->wait_ns / 1e6, (double)stats->held_ns / 1e6,
                  (unsigned long long)stats->bytes_whole,
                  (unsigned long long)stats->bytes_differences,
                  (unsigned long long)stats->bytes_changed, (unsigned long long)stats->hops);
}

static void print(struct fagus_report_row *rows, size_t count)
{
    size_t used_count = 0;
    qsort(rows, count, sizeof *rows, compare);
    for (size_t i = 0; i < count; i++) {
        used_count += rows[i].stats.acquires > 0;
    }
    (void)fprintf(stderr, "fagus: %d node%s, %zu variables, of them %zu acquired\n",
                  fagus_state.size, fagus_state.size == 1 ? "" : "s", count, used_count);
    if (used_count > 0) {
        (void)fprintf(stderr, "%-20s %10s %10s %10s %10s %12s %12s %12s %8s\n", "variable",
                      "acquires", "with data", "waited ms", "held ms", "bytes whole", "differences",
                      "changed", "hops");
    }
    for (size_t i = 0, shown = 0; i < count && shown < ROWS_SHOWN; i++) {
        if (rows[i].stats.acquires > 0) {
            print_row(&rows[i]);
            shown++;
        }
    }
}

void fagus_report(struct fagus_report_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct fagus_stats sum;
        /* After a death everybody shows what it knows itself. */
        if (dn_allreduce(fagus_state.team, &rows[i].stats, &sum, NUMBERS, DN_UINT64, DN_SUM) == 0) {
            rows[i].stats = sum;
        }
    }
    if (fagus_state.rank == 0) {
        print(rows, count);
    }
}
