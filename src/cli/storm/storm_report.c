/* Printing the storm's results. */
#include "cli/storm/storm_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

enum { BAR_PER_CPU_HOUR = 200000 };

/* The counters that say how hard the protocol had to work. */
static const struct {
    const char *name; /* in JSON; a table has blanks in place of the underscores */
    size_t offset;
} swif_shown[] = {
#define SHOWN(field)                                  \
    {                                                 \
#field, offsetof(struct swif_counters, field) \
    }
    SHOWN(packets_sent), SHOWN(packets_received), SHOWN(bodies_delivered), SHOWN(retransmissions),
    SHOWN(timeouts),     SHOWN(duplicates),       SHOWN(out_of_order),     SHOWN(refused_by_client),
    SHOWN(malformed),    SHOWN(not_authentic),    SHOWN(not_ours),         SHOWN(stale),
    SHOWN(acks_alone),   SHOWN(acks_aboard),      SHOWN(ltee_evictions),   SHOWN(rtee_evictions),
    SHOWN(ltee_none),    SHOWN(rtee_none),        SHOWN(climbs),           SHOWN(drops),
    SHOWN(peers_lost),
#undef SHOWN
};

enum { SWIF_SHOWN = sizeof swif_shown / sizeof swif_shown[0] };

static uint64_t swif_value(const struct swif_counters *counters, unsigned which)
{
    uint64_t value;
    memcpy(&value, (const char *)counters + swif_shown[which].offset, sizeof value);
    return value;
}

static void add_words(void *sum, const void *part, size_t bytes)
{
    uint64_t *to = sum;
    const uint64_t *from = part;
    for (size_t i = 0; i < bytes / sizeof *to; i++) {
        to[i] += from[i];
    }
}

void storm_total_add(struct storm_total *total, const struct storm_result *result)
{
    total->runs++;
    total->failed += result->failed;
    total->events += result->events;
    total->virtual_ns += result->virtual_ns;
    total->hash = (total->hash ^ result->trace_hash) * UINT64_C(0x9fb21c651e98df25);
    total->hash ^= total->hash >> 29;
    add_words(total->fault_counts, result->fault_counts, sizeof total->fault_counts);
    add_words(total->work_counts, result->work_counts, sizeof total->work_counts);
    add_words(&total->swif, &result->swif, sizeof total->swif);
    add_words(&total->engine, &result->engine, sizeof total->engine);
}

static double per_second(uint64_t count, uint64_t elapsed_ns)
{
    return elapsed_ns > 0 ? (double)count * 1e9 / (double)elapsed_ns : 0;
}

/* ---- Commands ------------------------------------------------------------------------- */

static void print_without(const struct storm_name *names, const bool *without, bool *first)
{
    for (unsigned i = 0; names[i].name; i++) {
        if (without[i]) {
            printf("%s%s", *first ? " --without " : ",", names[i].name);
            *first = false;
        }
    }
}

static void print_command(const struct storm_choice *choice, const char *mutant)
{
    bool first = true;
    printf("dimmnet storm --seeds %" PRIu64 "..%" PRIu64 " --scenario %s", choice->seed,
           choice->seed, choice->scenario);
    if (choice->luck) {
        printf(" --luck %" PRIu64, choice->luck);
    }
    if (choice->node_count) {
        printf(" --nodes %" PRIu32, choice->node_count);
    }
    if (choice->operations) {
        printf(" --operations %" PRIu32, choice->operations);
    }
    print_without(storm_faults, choice->without_fault, &first);
    print_without(storm_works, choice->without_work, &first);
    if (mutant) {
        printf(" --mutant %s", mutant);
    }
}

void storm_report_failure(bool json, const struct storm_choice *choice, const char *mutant,
                          const char *failure)
{
    if (json) {
        printf("{\"test\":\"storm\",\"scenario\":\"%s\",\"seed\":%" PRIu64, choice->scenario,
               choice->seed);
        cli_json_member("failure", failure);
        printf(",\"repeat\":\"");
        print_command(choice, mutant);
        printf("\"}\n");
    } else {
        printf("seed %" PRIu64 " failed: %s\n  repeat: ", choice->seed, failure);
        print_command(choice, mutant);
        printf("\n");
    }
    (void)fflush(stdout);
}

/* ---- The summary ------------------------------------------------------------------------ */

static void print_json_summary(const struct storm_choice *choice, uint64_t seed_first,
                               uint64_t seed_last, const struct storm_total *total)
{
    double per_cpu_hour = 3600 * per_second(total->runs, total->cpu_ns);
    printf(
        "{\"test\":\"storm\",\"scenario\":\"%s\",\"nodes\":%" PRIu32 ",\"seed_first\":%" PRIu64
        ",\"seed_last\":%" PRIu64 ",\"runs\":%" PRIu64 ",\"failed\":%" PRIu64 ",\"events\":%" PRIu64
        ",\"virtual_s\":%.3f,\"per_s\":%.1f,"
        "\"per_cpu_hour\":%.0f,\"bar_per_cpu_hour\":%d,\"ratio\":%.3f,\"trace_hash\":\"%016" PRIx64
        "\",\"faults\":{",
        choice->scenario, choice->node_count, seed_first, seed_last, total->runs, total->failed,
        total->events, (double)total->virtual_ns / 1e9, per_second(total->runs, total->elapsed_ns),
        per_cpu_hour, BAR_PER_CPU_HOUR, per_cpu_hour / BAR_PER_CPU_HOUR, total->hash);
    for (unsigned i = 0; i < STORM_FAULT_COUNT; i++) {
        printf("%s\"%s\":%" PRIu64, i ? "," : "", storm_faults[i].name, total->fault_counts[i]);
    }
    printf("},\"work\":{");
    for (unsigned i = 0; i < STORM_WORK_COUNT; i++) {
        printf("%s\"%s\":%" PRIu64, i ? "," : "", storm_works[i].name, total->work_counts[i]);
    }
    printf("},\"swif\":{");
    for (unsigned i = 0; i < SWIF_SHOWN; i++) {
        printf("%s\"%s\":%" PRIu64, i ? "," : "", swif_shown[i].name, swif_value(&total->swif, i));
    }
    printf("}}\n");
}

static void print_table(const struct storm_choice *choice, uint64_t seed_first, uint64_t seed_last,
                        const struct storm_total *total)
{
    double per_cpu_hour = 3600 * per_second(total->runs, total->cpu_ns);
    printf("scenario %s, seeds %" PRIu64 "..%" PRIu64 ": %" PRIu64 " run, %" PRIu64
           " failed, %.0f per second, %.0f per CPU-hour (bar %d)\n"
           "%" PRIu64 " events in %.1f s of virtual time, traces %016" PRIx64 "\n\nfaults\n",
           choice->scenario, seed_first, seed_last, total->runs, total->failed,
           per_second(total->runs, total->elapsed_ns), per_cpu_hour, BAR_PER_CPU_HOUR,
           total->events, (double)total->virtual_ns / 1e9, total->hash);
    for (unsigned i = 0; i < STORM_FAULT_COUNT; i++) {
        printf("  %-10s %12" PRIu64 "  %s\n", storm_faults[i].name, total->fault_counts[i],
               storm_faults[i].text);
    }
    printf("\nwork, effects checked\n");
    for (unsigned i = 0; i < STORM_WORK_COUNT; i++) {
        printf("  %-10s %12" PRIu64 "  %s\n", storm_works[i].name, total->work_counts[i],
               storm_works[i].text);
    }
    printf("\npackets and contexts\n");
    for (unsigned i = 0; i < SWIF_SHOWN; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "%s", swif_shown[i].name);
        for (char *c = name; *c; c++) {
            *c = *c == '_' ? ' ' : *c;
        }
        printf("  %-18s %12" PRIu64 "%s", name, swif_value(&total->swif, i),
               i % 2 || i + 1 == SWIF_SHOWN ? "\n" : "    ");
    }
}

void storm_report_summary(bool json, const struct storm_choice *choice, uint64_t seed_first,
                          uint64_t seed_last, const struct storm_total *total)
{
    if (json) {
        print_json_summary(choice, seed_first, seed_last, total);
    } else {
        print_table(choice, seed_first, seed_last, total);
    }
}

/* ---- Studies ------------------------------------------------------------------------------ */

void storm_report_row(bool json, const struct storm_row *row)
{
    if (!json) {
        printf("%-8s %-50s", row->study, row->detail);
    } else {
        printf("{\"test\":\"%s\",\"detail\":\"%s\",\"nodes\":%" PRIu32, row->study, row->detail,
               row->nodes);
    }
    for (unsigned i = 0; i < STORM_STUDY_FIGURES && row->figures[i].name; i++) {
        const struct storm_figure *figure = &row->figures[i];
        int decimals = figure->value >= 1000 || figure->value == (double)(int64_t)figure->value ? 0
                       : figure->value < 1                                                      ? 4
                                                                                                : 2;
        printf(json ? ",\"%s\":%.*f" : "  %s %.*f", figure->name, decimals, figure->value);
    }
    if (json && row->bar[0]) {
        printf(",\"ratio\":%.4f,\"bar\":\"%s\",\"met\":%s", row->ratio, row->bar,
               row->missed ? "false" : "true");
    } else if (row->bar[0]) {
        printf("  ratio %.3f, bar %s%s", row->ratio, row->bar, row->missed ? ": MISSED" : "");
    }
    printf(json ? "}\n" : "\n");
    (void)fflush(stdout);
}
