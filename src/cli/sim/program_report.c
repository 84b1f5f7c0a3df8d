/* The report of a run in words; program_json.c and program_page.c write the files. */
#include "cli/sim/program_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/sim/program_json.h"
#include "cli/sim/program_page.h"
#include "cli/sim/program_sums.h"

#define COMMAND "dimmnet run"

enum { LINKS_SAID = 5 };

static double us(uint64_t ps)
{
    return (double)ps / 1e6;
}

static void print_times(const struct program_report *report, const struct program_sums *sums)
{
    static const char *const ends[] = {[SIM_PROGRAMS_DONE] = "",
                                       [SIM_PROGRAMS_DEADLOCK] = ", until it stood still",
                                       [SIM_PROGRAMS_LIMIT] = ", until its time was up",
                                       [SIM_PROGRAMS_STOPPED] = ", until it was cut"};
    const struct sim_program_times *all = &sums->times;
    double whole = (double)(all->compute_ps + all->waiting_ps + all->working_ps);
    whole = whole > 0 ? whole : 1;
    (void)fprintf(stderr, "simulated %s, %" PRIu32 " node%s, %s: %.3f us of virtual time%s%s\n",
                  report->machine, report->node_count, report->node_count == 1 ? "" : "s",
                  report->topology, us(all->end_ps), ends[report->end],
                  sums->result.is_deterministic ? ""
                                                : " (not repeatable: threads or measured time)");
    (void)fprintf(
        stderr,
        "  nodes            %12.1f %% computed, %.1f %% waited, %.1f %% stored, polled and "
        "asked\n",
        100 * (double)all->compute_ps / whole, 100 * (double)all->waiting_ps / whole,
        100 * (double)all->working_ps / whole);
}

static void print_lookups(const char *what, uint64_t lookups, uint64_t misses)
{
    if (lookups > 0) {
        (void)fprintf(stderr, "  %-16s %12" PRIu64 "      misses in %" PRIu64 " look-ups\n", what,
                      misses, lookups);
    }
}

static void print_nics(const struct program_sums *sums)
{
    const struct sim_nic_use *use = &sums->use;
    (void)fprintf(stderr,
                  "  packets          %12" PRIu64 "      with %" PRIu64
                  " bytes on the links; %" PRIu64 " lost, %" PRIu64 " sent again\n",
                  use->sent, use->sent_bytes, use->lost,
                  use->repeats + sums->result.counters.resends);
    print_lookups("header TLBs", use->header_lookups, use->header_misses);
    print_lookups("address TLBs", use->address_lookups, use->address_misses);
    print_lookups("contexts", use->context_lookups, use->context_misses);
    if (use->core_requests > 0) {
        (void)fprintf(stderr, "  core processors  %12" PRIu64 "      requests, %.3f us of work\n",
                      use->core_requests, us(use->core_busy_ps));
    }
}

/* What a packet met on its way, with the node whose stage was busy for longest. */
static void print_stages(const struct program_sums *sums)
{
    (void)fprintf(stderr, "  %-26s %9s %11s %9s %10s  %s\n", "stages of all nodes", "packets",
                  "us in all", "ns each", "ns waited", "busiest");
    for (unsigned stage = 0; stage < SIM_STAGES; stage++) {
        const struct program_stage_sum *sum = &sums->stages[stage];
        double count = (double)sum->use.count;
        if (sum->use.count > 0) {
            (void)fprintf(
                stderr, "    %-24s %9" PRIu64 " %11.3f %9.1f %10.1f  %.1f %%, node %" PRIu32 "\n",
                cli_program_stage_text(stage), sum->use.count, us(sum->use.inside_ps),
                (double)sum->use.inside_ps / 1e3 / count, (double)sum->use.waited_ps / 1e3 / count,
                100 * cli_program_share(sums, sum->busiest_ps), sum->busiest);
        }
    }
}

static void print_links(const struct program_sums *sums)
{
    (void)fprintf(stderr, "  %-26s %9s %11s\n", "hottest links", "packets", "bytes");
    for (size_t i = 0; i < sums->load_count && i < LINKS_SAID; i++) {
        const struct sim_network_load *load = &sums->loads[i];
        (void)fprintf(stderr, "    %5.1f %% busy             %9" PRIu64 " %11" PRIu64 "  %s\n",
                      100 * cli_program_share(sums, load->busy_ps), load->packets, load->bytes,
                      load->where);
    }
}

static void print_words(const struct program_report *report, const struct program_sums *sums)
{
    print_times(report, sums);
    if (!report->is_in_place) {
        print_nics(sums);
    }
    if (sums->use.sent > 0) {
        print_stages(sums);
        print_links(sums);
    }
    (void)fprintf(
        stderr, "  calls            %12" PRIu64 "      in %" PRIu64 " turns; hash %016" PRIx64 "\n",
        sums->result.calls, sums->result.turns, sums->result.hash);
}

static bool tell(bool is_written, const char *name)
{
    if (!is_written) {
        cli_say(COMMAND, "cannot write %s: %s", name, strerror(errno));
    }
    return is_written;
}

bool cli_program_report(const struct program_report *report)
{
    struct program_sums sums;
    bool is_told = true;
    errno = ENOMEM;
    if (!cli_program_sums_make(report, &sums)) {
        return tell(false, "the report");
    }
    if (report->words->report) {
        print_words(report, &sums);
    }
    if (report->json) {
        is_told = tell(cli_program_json(report, &sums), report->json);
    }
    if (report->html) {
        is_told = tell(cli_program_page(report, &sums), report->html) && is_told;
    }
    cli_program_sums_free(&sums);
    return is_told;
}
