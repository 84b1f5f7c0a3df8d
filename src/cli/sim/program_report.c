/* The report of a run in words and as JSON. */
#include "cli/sim/program_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/sim/program_page.h"

#define COMMAND "dimmnet run"

static const char *const end_names[] = {[SIM_PROGRAMS_DONE] = "done",
                                        [SIM_PROGRAMS_DEADLOCK] = "deadlock",
                                        [SIM_PROGRAMS_LIMIT] = "limit",
                                        [SIM_PROGRAMS_STOPPED] = "stopped"};

static double us(uint64_t ps)
{
    return (double)ps / 1e6;
}

/* The sums over all nodes. */
static struct sim_program_times sum(const struct program_report *report)
{
    struct sim_program_times all = {0};
    for (uint32_t rank = 0; rank < report->node_count; rank++) {
        struct sim_program_times times;
        sim_programs_times(report->programs, rank, &times);
        all.compute_ps += times.compute_ps;
        all.waiting_ps += times.waiting_ps;
        all.working_ps += times.working_ps;
        all.end_ps = times.end_ps > all.end_ps ? times.end_ps : all.end_ps;
    }
    return all;
}

static uint64_t bytes_in_all(const struct program_report *report)
{
    uint64_t all = 0;
    for (uint32_t from = 0; from < report->node_count; from++) {
        for (uint32_t to = 0; to < report->node_count; to++) {
            uint64_t packets;
            uint64_t bytes;
            sim_programs_traffic(report->programs, from, to, &packets, &bytes);
            all += bytes;
        }
    }
    return all;
}

static void print_words(const struct program_report *report,
                        const struct sim_programs_result *result)
{
    struct sim_program_times all = sum(report);
    double whole = (double)(all.compute_ps + all.waiting_ps + all.working_ps);
    whole = whole > 0 ? whole : 1;
    (void)fprintf(stderr, "simulated %s, %" PRIu32 " node%s, %s: %.3f us of virtual time%s\n",
                  report->machine, report->node_count, report->node_count == 1 ? "" : "s",
                  report->topology, us(all.end_ps),
                  result->is_deterministic ? "" : " (not repeatable: threads or measured time)");
    (void)fprintf(
        stderr,
        "  nodes            %12.1f %% computed, %.1f %% waited, %.1f %% stored, polled and "
        "asked\n",
        100 * (double)all.compute_ps / whole, 100 * (double)all.waiting_ps / whole,
        100 * (double)all.working_ps / whole);
    (void)fprintf(stderr,
                  "  packets          %12" PRIu64 "      with %" PRIu64 " bytes; %" PRIu64
                  " lost, %" PRIu64 " header and %" PRIu64 " address TLB misses\n",
                  result->counters.packets, bytes_in_all(report), result->counters.lost,
                  result->counters.header_misses, result->counters.address_misses);
    if (result->counters.core_requests > 0) {
        (void)fprintf(stderr, "  core processors  %12" PRIu64 "      requests, %.3f us of work\n",
                      result->counters.core_requests, us(result->counters.core_busy_ps));
    }
    if (result->worst.carried > 0) {
        (void)fprintf(stderr, "  busiest output   %12" PRIu64 "      packets, %s\n",
                      result->worst.carried, result->worst.where);
    }
    (void)fprintf(
        stderr, "  calls            %12" PRIu64 "      in %" PRIu64 " turns; hash %016" PRIx64 "\n",
        result->calls, result->turns, result->hash);
}

static void write_nodes(const struct program_report *report, FILE *file)
{
    (void)fprintf(file, ",\"node_times\":[");
    for (uint32_t rank = 0; rank < report->node_count; rank++) {
        struct sim_program_times times;
        sim_programs_times(report->programs, rank, &times);
        (void)fprintf(file,
                      "%s{\"rank\":%" PRIu32 ",\"end_ns\":%.3f,\"compute_ns\":%.3f"
                      ",\"waiting_ns\":%.3f,\"working_ns\":%.3f}",
                      rank ? "," : "", rank, (double)times.end_ps / 1e3,
                      (double)times.compute_ps / 1e3, (double)times.waiting_ps / 1e3,
                      (double)times.working_ps / 1e3);
    }
    (void)fprintf(file, "],\"traffic\":[");
    bool is_first = true;
    for (uint32_t from = 0; from < report->node_count; from++) {
        for (uint32_t to = 0; to < report->node_count; to++) {
            uint64_t packets;
            uint64_t bytes;
            sim_programs_traffic(report->programs, from, to, &packets, &bytes);
            if (packets > 0) {
                (void)fprintf(file,
                              "%s{\"from\":%" PRIu32 ",\"to\":%" PRIu32 ",\"packets\":%" PRIu64
                              ",\"bytes\":%" PRIu64 "}",
                              is_first ? "" : ",", from, to, packets, bytes);
                is_first = false;
            }
        }
    }
    (void)fprintf(file, "]");
}

static void write_json(const struct program_report *report,
                       const struct sim_programs_result *result, FILE *file)
{
    struct sim_program_times all = sum(report);
    (void)fprintf(file,
                  "{\"test\":\"program\",\"machine\":\"%s\",\"topology\":\"%s\",\"nodes\":%" PRIu32
                  ",\"end\":\"%s\",\"virtual_ns\":%.3f,\"calls\":%" PRIu64 ",\"turns\":%" PRIu64
                  ",\"packets\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"lost\":%" PRIu64
                  ",\"header_misses\":%" PRIu64 ",\"address_misses\":%" PRIu64
                  ",\"core_requests\":%" PRIu64 ",\"core_busy_ns\":%.3f,\"busiest\":\"%s\""
                  ",\"deterministic\":%s,\"hash\":\"%016" PRIx64 "\"",
                  report->machine, report->topology, report->node_count, end_names[report->end],
                  (double)all.end_ps / 1e3, result->calls, result->turns, result->counters.packets,
                  bytes_in_all(report), result->counters.lost, result->counters.header_misses,
                  result->counters.address_misses, result->counters.core_requests,
                  (double)result->counters.core_busy_ps / 1e3, result->worst.where,
                  result->is_deterministic ? "true" : "false", result->hash);
    write_nodes(report, file);
    (void)fprintf(file, "}\n");
}

static void write_json_file(const struct program_report *report,
                            const struct sim_programs_result *result)
{
    FILE *file = fopen(report->json, "we");
    if (!file) {
        cli_say(COMMAND, "cannot write %s: %s", report->json, strerror(errno));
        return;
    }
    write_json(report, result, file);
    bool is_whole = !ferror(file);
    if (fclose(file) != 0 || !is_whole) {
        cli_say(COMMAND, "%s could not be written to its end", report->json);
    }
}

void cli_program_report(const struct program_report *report)
{
    struct sim_programs_result result;
    sim_programs_result(report->programs, &result);
    if (report->words->report) {
        print_words(report, &result);
    }
    if (report->json) {
        write_json_file(report, &result);
    }
    if (report->html && !cli_program_page(report, &result)) {
        cli_say(COMMAND, "cannot write %s: %s", report->html, strerror(errno));
    }
}
