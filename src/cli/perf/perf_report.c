/* Printing results. */
#include "cli/perf/perf_report.h"

#include <inttypes.h>
#include <stdio.h>

enum { UNITS = 4, TEXT_BYTES = 32 };

static const struct {
    const char *units[UNITS];                    /* each a thousand times the one before */
    const char *json_name, *p99_name, *raw_name; /* the first one NULL: the row says it */
    double json_unit;
} kinds[] = {
    [PERF_TIME] = {{"ns", "us", "ms", "s"}, NULL, "p99_ns", "raw_ns", 1},
    [PERF_SPEEDUP] = {{"ns", "us", "ms", "s"}, NULL, "p99_ns", "raw_ns", 1},
    [PERF_BANDWIDTH] =
        {{"B/s", "kB/s", "MB/s", "GB/s"}, "mb_per_s", "p99_mb_per_s", "raw_mb_per_s", 1e6},
    [PERF_RATE] = {{"/s", "k/s", "M/s", "G/s"}, "per_s", "p99_per_s", "raw_per_s", 1},
};

void perf_report_header(void)
{
    printf("%-8s %-20s %5s %9s  %15s %12s %15s %7s  %-8s %s\n", "test", "", "nodes", "bytes",
           "ours", "p99", "limit", "ratio", "bar", "limit is");
}

static const char *or_nothing(const char *text)
{
    return text ? text : "";
}

static const char *bar_of(const struct perf_row *row)
{
    return row->bar ? row->bar : "-";
}

/* A measured time as what the row tells. Slow blocks become small rates. */
static double value_of(const struct perf_row *row, double ns)
{
    switch (row->kind) {
    case PERF_TIME:
    case PERF_SPEEDUP: break;
    case PERF_BANDWIDTH: return (double)row->bytes * 1e9 / ns;
    case PERF_RATE: return 1e9 / ns;
    }
    return ns;
}

/* A value with its unit, four digits. */
static const char *scaled(char text[TEXT_BYTES], const struct perf_row *row, double ns)
{
    double value = value_of(row, ns);
    int unit = 0;
    while (value >= 1000 && unit + 1 < UNITS) {
        value /= 1000;
        unit++;
    }
    int decimals = value < 10 ? 3 : value < 100 ? 2 : value < 1000 ? 1 : 0;
    (void)snprintf(text, TEXT_BYTES, "%.*f %s", decimals, value, kinds[row->kind].units[unit]);
    return text;
}

static void print_line(const struct perf_world *world, const struct perf_row *row,
                       const struct perf_figure *figure, double ratio)
{
    char ours[TEXT_BYTES];
    char p99[TEXT_BYTES];
    char raw[TEXT_BYTES];
    char bytes[TEXT_BYTES] = "";
    if (row->bytes) {
        (void)snprintf(bytes, sizeof bytes, "%" PRIu64, row->bytes);
    }
    printf("%-8s %-20s %5d %9s  %15s %12s %15s %7.3f  %-8s %s%s\n", world->test,
           or_nothing(row->detail), world->size, bytes, scaled(ours, row, figure->ours_ns),
           scaled(p99, row, figure->p99_ns), scaled(raw, row, figure->raw_ns), ratio, bar_of(row),
           row->limit, figure->triples < 300 ? "  (fewer than 300 triples)" : "");
}

/* Prints what every object starts with. */
static void print_json_start(const struct perf_world *world, const struct perf_row *row)
{
    printf("{\"test\":\"%s\",\"detail\":\"%s\",\"nodes\":%d", world->test, or_nothing(row->detail),
           world->size);
    if (world->packet_bytes > 0) {
        printf(",\"fabric\":\"%s\",\"protection\":\"%s\"", world->fabric, world->protection);
    }
}

static void print_json(const struct perf_world *world, const struct perf_row *row,
                       const struct perf_figure *figure, double ratio)
{
    const char *name = kinds[row->kind].json_name;
    double unit = kinds[row->kind].json_unit;
    print_json_start(world, row);
    if (row->bytes) {
        printf(",\"bytes\":%" PRIu64, row->bytes);
    }
    printf(",\"%s\":%.4f,\"%s\":%.4f,\"%s\":%.4f,\"ratio\":%.4f,\"triples\":%" PRIu64
           ",\"bar\":\"%s\",\"limit\":\"%s\"}\n",
           name ? name : row->json_name, value_of(row, figure->ours_ns) / unit,
           kinds[row->kind].p99_name, value_of(row, figure->p99_ns) / unit,
           kinds[row->kind].raw_name, value_of(row, figure->raw_ns) / unit, ratio, figure->triples,
           bar_of(row), row->limit);
}

void perf_report_row(const struct perf_world *world, const struct perf_row *row,
                     const struct perf_figure *figure)
{
    double ratio = row->kind == PERF_TIME ? figure->ratio : 1 / figure->ratio;
    if (world->json) {
        print_json(world, row, figure, ratio);
    } else {
        print_line(world, row, figure, ratio);
    }
    (void)fflush(stdout);
}

void perf_report_share(const struct perf_world *world, const struct perf_row *row,
                       double cpu_percent)
{
    if (world->json) {
        print_json_start(world, row);
        printf(",\"cpu_percent\":%.4f,\"raw_cpu_percent\":100.0,\"ratio\":%.6f,"
               "\"bar\":\"%s\",\"limit\":\"%s\"}\n",
               cpu_percent, cpu_percent / 100, bar_of(row), row->limit);
    } else {
        printf("%-8s %-20s %5d %9s  %13.3f %% %12s %15s %7.3f  %-8s %s\n", world->test,
               or_nothing(row->detail), world->size, "", cpu_percent, "", "100 %",
               cpu_percent / 100, bar_of(row), row->limit);
    }
    (void)fflush(stdout);
}
