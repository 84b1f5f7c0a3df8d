/* Members that have a unit say so in their names. */
#include "cli/sim/program_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

static const char *const end_names[] = {[SIM_PROGRAMS_DONE] = "done",
                                        [SIM_PROGRAMS_DEADLOCK] = "deadlock",
                                        [SIM_PROGRAMS_LIMIT] = "limit",
                                        [SIM_PROGRAMS_STOPPED] = "stopped"};

static double ns(uint64_t ps)
{
    return (double)ps / 1e3;
}

/* ---- Pieces --------------------------------------------------------------------------------- */

static void put_text(FILE *file, const char *name, const char *text)
{
    (void)fprintf(file, ",\"%s\":\"", name);
    for (; *text; text++) {
        if ((unsigned char)*text < ' ') {
            (void)fprintf(file, "\\u%04x", (unsigned char)*text);
        } else {
            (void)fprintf(file, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
        }
    }
    (void)fputc('"', file);
}

static void put_count(FILE *file, const char *name, uint64_t count)
{
    (void)fprintf(file, ",\"%s\":%" PRIu64, name, count);
}

static void put_time(FILE *file, const char *name, uint64_t ps)
{
    (void)fprintf(file, ",\"%s\":%.3f", name, ns(ps));
}

/* ---- Network interfaces --------------------------------------------------------------------- */

static void put_stage(FILE *file, const char *name, const struct sim_stage_use *use, bool is_first)
{
    (void)fprintf(file, "%s\"%s\":{\"count\":%" PRIu64, is_first ? "" : ",", name, use->count);
    put_time(file, "inside_ns", use->inside_ps);
    put_time(file, "waited_ns", use->waited_ps);
    put_time(file, "busy_ns", use->busy_ps);
    (void)fputc('}', file);
}

static void put_use(FILE *file, const struct sim_nic_use *use)
{
    put_count(file, "sent_packets", use->sent);
    put_count(file, "sent_bytes", use->sent_bytes);
    put_count(file, "received_packets", use->received);
    put_count(file, "received_bytes", use->received_bytes);
    put_count(file, "lost_packets", use->lost);
    put_count(file, "retransmissions", use->repeats);
    put_count(file, "header_hits", use->header_lookups - use->header_misses);
    put_count(file, "header_misses", use->header_misses);
    put_count(file, "address_hits", use->address_lookups - use->address_misses);
    put_count(file, "address_misses", use->address_misses);
    put_count(file, "context_hits", use->context_lookups - use->context_misses);
    put_count(file, "context_misses", use->context_misses);
    put_count(file, "core_requests", use->core_requests);
    put_time(file, "core_busy_ns", use->core_busy_ps);
    put_time(file, "dma_busy_ns", use->dma_busy_ps);
}

static void put_nics(FILE *file, const struct program_report *report)
{
    (void)fputs(",\"nics\":[", file);
    for (uint32_t rank = 0; rank < report->node_count; rank++) {
        struct sim_nic_use use;
        bool is_first = true;
        sim_world_use(sim_programs_world(report->programs), rank, &use);
        (void)fprintf(file, "%s{\"rank\":%" PRIu32, rank > 0 ? "," : "", rank);
        put_use(file, &use);
        (void)fputs(",\"stages\":{", file);
        for (unsigned stage = 0; stage < SIM_STAGES; stage++) {
            if (use.stages[stage].count > 0) {
                put_stage(file, sim_stage_names[stage], &use.stages[stage], is_first);
                is_first = false;
            }
        }
        (void)fputs("}}", file);
    }
    (void)fputc(']', file);
}

static void put_stages(FILE *file, const struct program_sums *sums)
{
    bool is_first = true;
    (void)fputs(",\"stages\":{", file);
    for (unsigned stage = 0; stage < SIM_STAGES; stage++) {
        if (sums->stages[stage].use.count > 0) {
            put_stage(file, sim_stage_names[stage], &sums->stages[stage].use, is_first);
            is_first = false;
        }
    }
    (void)fputc('}', file);
}

/* ---- The network ---------------------------------------------------------------------------- */

static void put_links(FILE *file, const struct program_sums *sums)
{
    (void)fputs(",\"links\":[", file);
    for (size_t i = 0; i < sums->load_count; i++) {
        const struct sim_network_load *load = &sums->loads[i];
        (void)fprintf(file, "%s{\"packets\":%" PRIu64, i > 0 ? "," : "", load->packets);
        put_count(file, "bytes", load->bytes);
        put_time(file, "busy_ns", load->busy_ps);
        (void)fprintf(file, ",\"busy_share\":%.6f", cli_program_share(sums, load->busy_ps));
        put_time(file, "wait_max_ns", load->wait_ps_max);
        put_text(file, "where", load->where);
        (void)fputc('}', file);
    }
    (void)fputc(']', file);
}

static void put_traffic(FILE *file, const struct program_report *report)
{
    bool is_first = true;
    (void)fputs(",\"traffic\":[", file);
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
    (void)fputc(']', file);
}

/* ---- The whole ------------------------------------------------------------------------------ */

static void put_times(FILE *file, const struct program_report *report)
{
    (void)fputs(",\"node_times\":[", file);
    for (uint32_t rank = 0; rank < report->node_count; rank++) {
        struct sim_program_times times;
        sim_programs_times(report->programs, rank, &times);
        (void)fprintf(file,
                      "%s{\"rank\":%" PRIu32 ",\"end_ns\":%.3f,\"compute_ns\":%.3f,"
                      "\"waiting_ns\":%.3f,\"working_ns\":%.3f}",
                      rank > 0 ? "," : "", rank, ns(times.end_ps), ns(times.compute_ps),
                      ns(times.waiting_ps), ns(times.working_ps));
    }
    (void)fputc(']', file);
}

static void put_report(FILE *file, const struct program_report *report,
                       const struct program_sums *sums)
{
    const struct sim_programs_result *result = &sums->result;
    (void)fputs("{\"test\":\"program\"", file);
    put_text(file, "machine", report->machine);
    put_text(file, "topology", report->topology);
    put_count(file, "nodes", report->node_count);
    put_text(file, "end", end_names[report->end]);
    put_time(file, "virtual_ns", sums->times.end_ps);
    put_time(file, "simulated_ns", result->virtual_ps);
    put_count(file, "calls", result->calls);
    put_count(file, "turns", result->turns);
    put_count(file, "packets", result->counters.packets);
    put_count(file, "bytes", sums->bytes);
    put_count(file, "lost", result->counters.lost);
    put_count(file, "link_resends", result->counters.resends);
    put_count(file, "header_misses", result->counters.header_misses);
    put_count(file, "address_misses", result->counters.address_misses);
    put_count(file, "core_requests", result->counters.core_requests);
    put_time(file, "core_busy_ns", result->counters.core_busy_ps);
    put_text(file, "busiest", result->worst.where);
    (void)fprintf(file, ",\"deterministic\":%s,\"hash\":\"%016" PRIx64 "\"",
                  result->is_deterministic ? "true" : "false", result->hash);
    put_times(file, report);
    put_stages(file, sums);
    put_nics(file, report);
    put_links(file, sums);
    put_traffic(file, report);
    (void)fputs("}\n", file);
}

bool cli_program_json(const struct program_report *report, const struct program_sums *sums)
{
    FILE *file = fopen(report->json, "we");
    if (!file) {
        return false;
    }
    errno = 0;
    put_report(file, report, sums);
    bool is_whole = fflush(file) == 0 && !ferror(file);
    int error = errno;
    is_whole = fclose(file) == 0 && is_whole;
    errno = error ? error : errno;
    return is_whole;
}
