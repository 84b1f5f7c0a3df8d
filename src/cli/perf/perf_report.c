/* Printing results. */
#include "cli/perf/perf_report.h"

#include <inttypes.h>
#include <stdio.h>

void perf_report_header(void)
{
    printf("%-8s %-20s %5s %9s  %15s %12s %15s %7s  %-8s %s\n", "test", "", "nodes", "bytes",
           "ours", "p99", "limit", "ratio", "bar", "limit is");
}

/* A value with its unit, four digits, 15 wide. */
static const char *scaled(char *text, size_t room, double value, const char *const units[],
                          double step)
{
    int unit = 0;
    while (value >= step && units[unit + 1]) {
        value /= step;
        unit++;
    }
    int decimals = value < 10 ? 3 : value < 100 ? 2 : value < 1000 ? 1 : 0;
    (void)snprintf(text, room, "%.*f %s", decimals, value, units[unit]);
    return text;
}

static const char *const time_units[] = {"ns", "us", "ms", "s", NULL};
static const char *const bandwidth_units[] = {"B/s", "kB/s", "MB/s", "GB/s", NULL};
static const char *const rate_units[] = {"/s", "k/s", "M/s", "G/s", NULL};

struct shown {
    double ours;
    double p99;
    double raw;
    double ratio;
    const char *const *units;
};

static void print_line(const struct perf_row *row, const struct shown *shown)
{
    char ours[32];
    char p99[32];
    char raw[32];
    char bytes[24] = "";
    if (row->bytes) {
        (void)snprintf(bytes, sizeof bytes, "%" PRIu64, row->bytes);
    }
    printf("%-8s %-20s %5d %9s  %15s %12s %15s %7.3f  %-8s %s%s\n", row->test,
           row->detail ? row->detail : "", row->nodes, bytes,
           scaled(ours, sizeof ours, shown->ours, shown->units, 1000),
           scaled(p99, sizeof p99, shown->p99, shown->units, 1000),
           scaled(raw, sizeof raw, shown->raw, shown->units, 1000), shown->ratio, row->bar,
           row->limit, row->figure.triples < 300 ? "  (fewer than 300 triples)" : "");
    (void)fflush(stdout);
}

/* Prints what every object starts with. */
static void print_json_start(const struct perf_row *row)
{
    printf("{\"test\":\"%s\",\"detail\":\"%s\",\"nodes\":%d", row->test,
           row->detail ? row->detail : "", row->nodes);
    if (row->fabric) {
        printf(",\"fabric\":\"%s\",\"protection\":\"%s\"", row->fabric, row->protection);
    }
}

static void print_json(const struct perf_row *row, const struct shown *shown, const char *name,
                       const char *p99_name, const char *raw_name)
{
    print_json_start(row);
    if (row->bytes) {
        printf(",\"bytes\":%" PRIu64, row->bytes);
    }
    printf(",\"%s\":%.4f,\"%s\":%.4f,\"%s\":%.4f,\"ratio\":%.4f,\"triples\":%" PRIu64
           ",\"bar\":\"%s\",\"limit\":\"%s\"}\n",
           name, shown->ours, p99_name, shown->p99, raw_name, shown->raw, shown->ratio,
           row->figure.triples, row->bar, row->limit);
    (void)fflush(stdout);
}

void perf_report_time(bool json, const struct perf_row *row, const char *json_name)
{
    const struct perf_figure *figure = &row->figure;
    struct shown shown = {figure->ours_ns, figure->p99_ns, figure->raw_ns, figure->ratio,
                          time_units};
    if (json) {
        print_json(row, &shown, json_name, "p99_ns", "raw_ns");
    } else {
        print_line(row, &shown);
    }
}

void perf_report_speedup(bool json, const struct perf_row *row, const char *json_name)
{
    struct perf_row turned = *row;
    turned.figure.ratio = 1 / row->figure.ratio;
    perf_report_time(json, &turned, json_name);
}

/* Turns times into amounts per second; slow blocks become small values. */
static struct shown per_second(const struct perf_figure *figure, double amount,
                               const char *const *units)
{
    return (struct shown){amount * 1e9 / figure->ours_ns, amount * 1e9 / figure->p99_ns,
                          amount * 1e9 / figure->raw_ns, 1 / figure->ratio, units};
}

void perf_report_bandwidth(bool json, const struct perf_row *row)
{
    struct shown shown = per_second(&row->figure, (double)row->bytes, bandwidth_units);
    if (json) {
        shown.ours /= 1e6;
        shown.p99 /= 1e6;
        shown.raw /= 1e6;
        print_json(row, &shown, "mb_per_s", "p99_mb_per_s", "raw_mb_per_s");
    } else {
        print_line(row, &shown);
    }
}

void perf_report_rate(bool json, const struct perf_row *row)
{
    struct shown shown = per_second(&row->figure, 1, rate_units);
    if (json) {
        print_json(row, &shown, "per_s", "p99_per_s", "raw_per_s");
    } else {
        print_line(row, &shown);
    }
}

void perf_report_share(bool json, const struct perf_row *row, double cpu_percent)
{
    if (json) {
        print_json_start(row);
        printf(",\"cpu_percent\":%.4f,\"raw_cpu_percent\":100.0,\"ratio\":%.6f,"
               "\"bar\":\"%s\",\"limit\":\"%s\"}\n",
               cpu_percent, cpu_percent / 100, row->bar, row->limit);
    } else {
        printf("%-8s %-20s %5d %9s  %13.3f %% %12s %15s %7.3f  %-8s %s\n", row->test,
               row->detail ? row->detail : "", row->nodes, "", cpu_percent, "", "100 %",
               cpu_percent / 100, row->bar, row->limit);
    }
    (void)fflush(stdout);
}
