#include "cli/sim/subnet_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/sim/subnet_page.h"

#define COMMAND "dimmnet sim subnet"

/* How busy the cable out of a port was, 0 to 1. */
static double use_of(const struct subnet_report *report, uint32_t port)
{
    uint64_t now_ps = report->result->now_ps;
    return now_ps > 0 ? (double)load_busy_ps(report->load, port) / (double)now_ps : 0;
}

static uint32_t busiest(const struct subnet_report *report)
{
    uint32_t most = 0;
    for (uint32_t i = 1; i < report->subnet->port_count; i++) {
        most = load_busy_ps(report->load, i) > load_busy_ps(report->load, most) ? i : most;
    }
    return most;
}

static bool is_bridge(const struct subnet_report *report)
{
    return report->traffic->load.carrier == LOAD_BRIDGES;
}

/* Whether something is wrong that should not happen even in a full or damaged subnet. */
static bool is_fault(const struct subnet_report *report)
{
    const struct load_result *result = report->result;
    return result->outcome == LOAD_DEADLOCKED || result->outcome == LOAD_STUCK ||
           result->doubled > 0 || result->swapped > 0 || result->bridge.lines_wrong > 0 ||
           (is_bridge(report) && result->lost > 0);
}

/* ---- For people --------------------------------------------------------------------------- */

static void print_losses(const struct load_result *result)
{
    bool is_first = true;
    for (uint32_t i = 0; i < FLOW_LOSSES; i++) {
        if (result->flow.lost[i] > 0) {
            printf("%s%" PRIu64 " %s", is_first ? "  in the subnet     " : ", ",
                   result->flow.lost[i], flow_loss_names[i]);
            is_first = false;
        }
    }
    if (!is_first) {
        printf("\n");
    }
}

static void print_bridges(const struct bridge_counters *bridge)
{
    printf("  frames            %" PRIu64 " sent, %" PRIu64 " of them again (%" PRIu64
           " by the timer), %" PRIu64 " answers\n",
           bridge->frames, bridge->frames_resent, bridge->timeouts, bridge->answers);
    if (bridge->frames_seen + bridge->frames_wrong + bridge->frames_dropped > 0) {
        printf("                    %" PRIu64 " damaged and seen, %" PRIu64
               " damaged and not seen, %" PRIu64 " found no memory\n",
               bridge->frames_seen, bridge->frames_wrong, bridge->frames_dropped);
    }
}

static void print_text(const struct subnet_report *report)
{
    const struct load_result *result = report->result;
    const struct load_config *load = &report->traffic->load;
    char name[2 * TOPOLOGY_NAME_BYTES];
    uint32_t port = busiest(report);
    printf("%s: %s traffic by %s, packets of %" PRIu32 " bytes\n", report->title,
           load_pattern_names[load->pattern], load_carrier_names[load->carrier], load->bytes);
    printf("  outcome           %s%s after %.3f us\n", load_outcome_names[result->outcome],
           report->was_interrupted ? " (interrupted)" : "", (double)result->now_ps / 1e6);
    printf("  offered, accepted %.4f, %.4f of a board's cable; %.1f MB/s a board\n",
           result->offered, result->accepted, result->mb_per_s);
    printf("  latency           mean %.0f ns, 50 %% %" PRIu64 ", 99 %% %" PRIu64
           ", 99.9 %% %" PRIu64 ", max %" PRIu64 "\n",
           result->mean_ns, result->p50_ns, result->p99_ns, result->p999_ns, result->most_ns);
    printf("  packets           %" PRIu64 " sent, %" PRIu64 " delivered, %" PRIu64 " lost, %" PRIu64
           " doubled, %" PRIu64 " out of order\n",
           result->sent, result->delivered, result->lost, result->doubled, result->swapped);
    if (is_bridge(report)) {
        print_bridges(&result->bridge);
    }
    print_losses(result);
    printf("  busiest cable     %.1f %% from %s\n", 100 * use_of(report, port),
           subnet_port_name(report->subnet, port, name, sizeof name));
    if (report->own_ns > 0) {
        printf(
            "  simulated         %" PRIu64 " flit-hops, %.1f M a second; %.1f M events a second\n",
            result->flow.flit_hops, (double)result->flow.flit_hops * 1e3 / (double)report->own_ns,
            (double)result->events * 1e3 / (double)report->own_ns);
    }
    if (result->circle[0]) {
        printf("  circle            %s\n", result->circle);
    }
}

static void print_links(const struct subnet_report *report)
{
    char from[2 * TOPOLOGY_NAME_BYTES];
    char to[2 * TOPOLOGY_NAME_BYTES];
    printf("  %-28s %-28s %8s %12s\n", "from", "to", "use", "packets");
    for (uint32_t i = 0; i < report->subnet->port_count; i++) {
        const struct subnet_port *port = &report->subnet->ports[i];
        if (port->peer != SUBNET_NONE) {
            printf("  %-28s %-28s %8.4f %12" PRIu64 "%s\n",
                   subnet_port_name(report->subnet, i, from, sizeof from),
                   subnet_port_name(report->subnet, port->peer, to, sizeof to), use_of(report, i),
                   port->counters.xmit_packets, port->is_cut ? " dead" : "");
        }
    }
}

/* ---- For programs ------------------------------------------------------------------------- */

static void print_json(const struct subnet_report *report)
{
    const struct load_result *result = report->result;
    const struct load_config *load = &report->traffic->load;
    printf("{\"test\":\"subnet\",\"topology\":");
    cli_json_text(report->title);
    printf(",\"nodes\":%" PRIu32 ",\"switches\":%" PRIu32 ",\"traffic\":\"%s\",\"carrier\":\"%s\""
           ",\"bytes\":%" PRIu32 ",\"rate\":%g,\"outcome\":\"%s\"",
           report->subnet->topology.board_count, report->subnet->topology.switch_count,
           load_pattern_names[load->pattern], load_carrier_names[load->carrier], load->bytes,
           load->rate, load_outcome_names[result->outcome]);
    if (report->engine[0]) {
        printf(",\"engine\":\"%s\"", report->engine);
    }
    printf(",\"offered\":%.6f,\"accepted\":%.6f,\"mb_per_s\":%.3f", result->offered,
           result->accepted, result->mb_per_s);
    if (result->most_ns > 0) {
        printf(",\"mean_ns\":%.1f,\"p50_ns\":%" PRIu64 ",\"p99_ns\":%" PRIu64
               ",\"p999_ns\":%" PRIu64 ",\"max_ns\":%" PRIu64,
               result->mean_ns, result->p50_ns, result->p99_ns, result->p999_ns, result->most_ns);
    }
    printf(",\"packets\":%" PRIu64 ",\"delivered\":%" PRIu64 ",\"lost\":%" PRIu64
           ",\"doubled\":%" PRIu64 ",\"swapped\":%" PRIu64,
           result->sent, result->delivered, result->lost, result->doubled, result->swapped);
    printf(",\"frames\":%" PRIu64 ",\"frames_resent\":%" PRIu64 ",\"timeouts\":%" PRIu64
           ",\"frames_damaged\":%" PRIu64 ",\"frames_wrong\":%" PRIu64 ",\"lines_wrong\":%" PRIu64,
           result->bridge.frames, result->bridge.frames_resent, result->bridge.timeouts,
           result->bridge.frames_seen, result->bridge.frames_wrong, result->bridge.lines_wrong);
    printf(",\"flit_hops\":%" PRIu64 ",\"events\":%" PRIu64 ",\"us\":%.3f", result->flow.flit_hops,
           result->events, (double)result->now_ps / 1e6);
    if (report->own_ns > 0) {
        printf(",\"flit_hops_per_s\":%.0f",
               (double)result->flow.flit_hops * 1e9 / (double)report->own_ns);
    }
    if (result->circle[0]) {
        printf(",\"circle\":");
        cli_json_text(result->circle);
    }
    printf("}\n");
}

/* ---- The page ----------------------------------------------------------------------------- */

static int write_page(const struct subnet_report *report)
{
    char command[512];
    const struct load_config *load = &report->traffic->load;
    double *busy = calloc(report->subnet->port_count, sizeof *busy);
    INVARIANT(busy);
    for (uint32_t i = 0; i < report->subnet->port_count; i++) {
        busy[i] = use_of(report, i);
    }
    (void)snprintf(command, sizeof command,
                   COMMAND " %s --traffic %s --carrier %s --rate %g --bytes %" PRIu32,
                   report->title, load_pattern_names[load->pattern],
                   load_carrier_names[load->carrier], load->rate, load->bytes);
    const struct subnet_page page = {
        .title = report->title,
        .command = command,
        .result = report->result,
        .busy = busy,
    };
    bool is_written = subnet_page_write(report->traffic->page, report->subnet, &page);
    free(busy);
    return is_written
               ? CLI_OK
               : cli_fail(COMMAND, "cannot write %s: %s", report->traffic->page, strerror(errno));
}

int subnet_report_print(const struct subnet_report *report)
{
    int status = report->traffic->page ? write_page(report) : CLI_OK;

    if (report->traffic->json) {
        print_json(report);
    } else {
        print_text(report);
        if (report->traffic->links) {
            print_links(report);
        }
    }
    return is_fault(report) && !report->was_interrupted ? CLI_FAULT : status;
}
