/* Tables and JSON objects. */
#define _GNU_SOURCE
#include "cli/info/info_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dimmnet.h"
#include "fabric/udp/guard.h"
#include "fabric/udp/socket.h"
#include "host/clock.h"

#define NS_PER_MS UINT64_C(1000000)

enum { TRIPS_BY_LINE = 8 };

static const char *const life_names[] = {
    [DN_STARTING] = "starting", [DN_ATTACHED] = "attached", [DN_LEFT] = "left", [DN_DEAD] = "dead"};

static const char *life_name(enum dn_life life)
{
    return (unsigned)life <= DN_DEAD ? life_names[life] : "?";
}

static const char *yes(bool it_is)
{
    return it_is ? "yes" : "no";
}

static const char *truth(bool it_is)
{
    return it_is ? "true" : "false";
}

/* ---- The machine ------------------------------------------------------------------- */

void info_print_machine(bool json, const struct info_machine *machine)
{
    if (json) {
        printf("{\"what\":\"machine\",\"version\":\"%s\",\"cores\":%u,\"mem\":true,\"udp\":%s,"
               "\"offload_send\":%s,\"offload_receive\":%s,\"cipher\":\"%s\","
               "\"loopback_packet_bytes\":%u,\"loopback_path_bytes\":%u}\n",
               dn_version(), machine->core_count, truth(machine->has_udp),
               truth(machine->offload_send), truth(machine->offload_receive), machine->cipher,
               machine->packet_bytes_max, machine->path_bytes);
        return;
    }
    printf("dimmnet %s, %u core%s\n"
           "fabric mem: yes\n"
           "fabric udp: %s",
           dn_version(), machine->core_count, machine->core_count == 1 ? "" : "s",
           yes(machine->has_udp));
    if (machine->has_udp) {
        printf("; many packets in one call: sending (GSO) %s, receiving (GRO) %s; cipher %s;\n"
               "            packets of %u bytes on the loopback, which would take %u",
               yes(machine->offload_send), yes(machine->offload_receive), machine->cipher,
               machine->packet_bytes_max, machine->path_bytes);
    }
    printf("\n");
}

/* ---- Groups ------------------------------------------------------------------------ */

struct lives {
    uint32_t counts[DN_DEAD + 1];
};

static struct lives count_lives(const struct groups_entry *entry)
{
    struct lives lives = {{0}};
    uint32_t count = entry->group.group->geometry.node_count;
    for (uint32_t rank = 0; rank < count; rank++) {
        enum dn_life life = host_group_life(&entry->group, rank);
        lives.counts[(unsigned)life <= DN_DEAD ? life : DN_DEAD]++;
    }
    return lives;
}

static const char *fabric_of(const struct groups_entry *entry)
{
    return entry->roster.fd >= 0 ? "udp" : "mem";
}

static const struct group_sizes *sizes_of(const struct groups_entry *entry)
{
    return entry->roster.fd >= 0 ? &entry->roster.roster->sizes
                                 : &entry->group.group->geometry.sizes;
}

static void print_json_group(const struct groups_entry *entry)
{
    const struct group_sizes *sizes = sizes_of(entry);
    struct lives lives = count_lives(entry);
    printf("{\"what\":\"group\",\"leader\":%d,\"fabric\":\"%s\",\"nodes\":%u,\"processes\":%u,"
           "\"starting\":%u,\"attached\":%u,\"left\":%u,\"dead\":%u,\"llcm_bytes\":%" PRIu64
           ",\"bank_bytes\":%" PRIu64 ",\"heap_bytes\":%" PRIu64 ",\"registered_bytes\":%" PRIu64,
           (int)entry->leader, fabric_of(entry), entry->group.group->geometry.node_count,
           entry->process_count, lives.counts[DN_STARTING], lives.counts[DN_ATTACHED],
           lives.counts[DN_LEFT], lives.counts[DN_DEAD], sizes->llcm_bytes, sizes->bank_bytes,
           sizes->heap_bytes, sizes->registered_bytes);
    if (entry->roster.fd >= 0) {
        const struct udp_roster *roster = entry->roster.roster;
        printf(",\"packet_bytes\":%u,\"cipher\":\"%s\",\"encrypt\":%s,\"peer_timeout_ms\":%" PRIu64,
               roster->packet_bytes_max, udp_cipher_name((enum udp_cipher)roster->cipher),
               truth(roster->encrypt), roster->peer_timeout_ns / NS_PER_MS);
    }
    printf("}\n");
}

void info_print_list(bool json, const struct groups *groups)
{
    if (!json) {
        printf("\n%s\n", groups->count > 0
                             ? "running groups\n  leader   fabric   nodes  starting  attached  "
                               "    left      dead"
                             : "no group of this user runs here");
    }
    for (size_t i = 0; i < groups->count; i++) {
        const struct groups_entry *entry = &groups->entries[i];
        struct lives lives = count_lives(entry);
        if (json) {
            print_json_group(entry);
        } else {
            printf("  %-8d %-6s %7u %9u %9u %9u %9u\n", (int)entry->leader, fabric_of(entry),
                   entry->group.group->geometry.node_count, lives.counts[DN_STARTING],
                   lives.counts[DN_ATTACHED], lives.counts[DN_LEFT], lives.counts[DN_DEAD]);
        }
    }
}

/* ---- Nodes ------------------------------------------------------------------------- */

/* What a node said of itself last, each word by itself. */
struct report {
#define WORD(name) uint64_t name;
    UDP_REPORT_WORDS(WORD)
#undef WORD
};

/* False: it has not said anything, or on another host. */
static bool read_report(const struct groups_entry *entry, uint32_t rank, struct report *report)
{
    if (entry->roster.fd < 0) {
        return false;
    }
    const struct udp_report *words = udp_roster_report(entry->roster.roster, rank);
#define WORD(name) report->name = atomic_load_explicit(&words->name, memory_order_relaxed);
    UDP_REPORT_WORDS(WORD)
#undef WORD
    return report->updated_ns != 0;
}

static uint32_t read_trip_ns(const struct groups_entry *entry, uint32_t rank, uint32_t peer)
{
    return atomic_load_explicit(&udp_roster_trips(entry->roster.roster, rank)[peer],
                                memory_order_relaxed);
}

static uint64_t age_ms(const struct report *report)
{
    uint64_t now_ns = host_now_ns();
    return now_ns > report->updated_ns ? (now_ns - report->updated_ns) / NS_PER_MS : 0;
}

static void print_json_node(const struct groups_entry *entry, uint32_t rank)
{
    uint32_t node_count = entry->group.group->geometry.node_count;
    struct report report;
    char text[UDP_ADDRESS_TEXT_BYTES];
    printf("{\"what\":\"node\",\"leader\":%d,\"rank\":%u,\"life\":\"%s\",\"process\":%u",
           (int)entry->leader, rank, life_name(host_group_life(&entry->group, rank)),
           host_group_process(&entry->group, rank));
    if (entry->roster.fd >= 0) {
        const union udp_address *address = udp_roster_address(entry->roster.roster, rank);
        printf(",\"address\":\"%s\"", udp_address_text(address, text));
    }
    if (read_report(entry, rank, &report)) {
        printf(",\"report_age_ms\":%" PRIu64, age_ms(&report));
#define WORD(name) printf(",\"" #name "\":%" PRIu64, report.name);
        UDP_REPORT_WORDS(WORD)
#undef WORD
        printf(",\"round_trip_ns\":[");
        for (uint32_t peer = 0; peer < node_count; peer++) {
            printf("%s%u", peer ? "," : "", read_trip_ns(entry, rank, peer));
        }
        printf("]");
    }
    printf("}\n");
}

/* As people write sizes, whole. */
static void print_size(const char *name, uint64_t bytes)
{
    static const char letters[] = "KMGT";
    unsigned scale = 0;
    while (scale < sizeof letters - 1 && bytes % 1024 == 0 && bytes > 0) {
        bytes /= 1024;
        scale++;
    }
    printf("%s %" PRIu64 "%.*s", name, bytes, scale > 0, &letters[scale > 0 ? scale - 1 : 0]);
}

static void print_head(const struct groups_entry *entry)
{
    const struct group_sizes *sizes = sizes_of(entry);
    uint32_t node_count = entry->group.group->geometry.node_count;
    printf("group of process %d: fabric %s, %u node%s\nmemory of each node: ", (int)entry->leader,
           fabric_of(entry), node_count, node_count == 1 ? "" : "s");
    print_size("LLCM", sizes->llcm_bytes);
    print_size(", bank", sizes->bank_bytes);
    print_size(", heap", sizes->heap_bytes);
    print_size(", registered up to", sizes->registered_bytes);
    printf("\n");
    if (entry->roster.fd >= 0) {
        const struct udp_roster *roster = entry->roster.roster;
        printf("packets of up to %u bytes, %s%s; who is silent for %" PRIu64 " ms is dead\n",
               roster->packet_bytes_max,
               roster->cipher == UDP_CIPHER_NONE ? "not authenticated"
                                                 : udp_cipher_name((enum udp_cipher)roster->cipher),
               roster->cipher == UDP_CIPHER_NONE ? ""
               : roster->encrypt                 ? ", encrypted"
                                                 : ", authenticated",
               roster->peer_timeout_ns / NS_PER_MS);
    }
}

static void print_lives(const struct groups_entry *entry)
{
    uint32_t count = entry->group.group->geometry.node_count;
    char text[UDP_ADDRESS_TEXT_BYTES];
    printf("\n  rank  life       process");
    printf("%s\n", entry->roster.fd >= 0 ? "  address" : "");
    for (uint32_t rank = 0; rank < count; rank++) {
        printf("%6u  %-8s %9u", rank, life_name(host_group_life(&entry->group, rank)),
               host_group_process(&entry->group, rank));
        if (entry->roster.fd >= 0) {
            printf("  %s", udp_address_text(udp_roster_address(entry->roster.roster, rank), text));
        }
        printf("\n");
    }
}

static void print_counters(const struct groups_entry *entry)
{
    uint32_t count = entry->group.group->geometry.node_count;
    printf("\n  rank  offload       sent   received     resent   twice  refused  header misses"
           "  evicted  calls out    in\n");
    for (uint32_t rank = 0; rank < count; rank++) {
        struct report report;
        if (!read_report(entry, rank, &report)) {
            printf("%6u  has reported nothing here\n", rank);
            continue;
        }
        uint64_t refused = report.malformed + report.not_authentic + report.not_ours;
        printf("%6u  %s%s %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %7" PRIu64 " %8" PRIu64
               " %14" PRIu64 " %8" PRIu64 " %10" PRIu64 " %5" PRIu64 "\n",
               rank, report.offload_send ? "GSO " : "-   ", report.offload_receive ? "GRO" : "-  ",
               report.packets_sent, report.packets_received, report.retransmissions,
               report.duplicates, refused, report.header_misses,
               report.send_contexts_evicted + report.receive_contexts_evicted, report.send_calls,
               report.receive_calls);
    }
}

static void print_trips(const struct groups_entry *entry)
{
    uint32_t count = entry->group.group->geometry.node_count;
    bool begun = false;
    for (uint32_t rank = 0; rank < count; rank++) {
        unsigned printed = 0;
        for (uint32_t peer = 0; peer < count; peer++) {
            uint32_t trip_ns = read_trip_ns(entry, rank, peer);
            if (trip_ns == 0 || peer == rank) {
                continue;
            }
            if (!begun) {
                printf("\n  rank  round trips, in us, to\n");
                begun = true;
            }
            if (printed == 0) {
                printf("%6u ", rank);
            } else if (printed % TRIPS_BY_LINE == 0) {
                printf("\n       ");
            }
            printed++;
            printf("  %u: %.1f", peer, (double)trip_ns / 1e3);
        }
        if (printed > 0) {
            printf("\n");
        }
    }
}

void info_print_group(bool json, const struct groups_entry *entry)
{
    uint32_t count = entry->group.group->geometry.node_count;
    if (json) {
        print_json_group(entry);
        for (uint32_t rank = 0; rank < count; rank++) {
            print_json_node(entry, rank);
        }
        return;
    }
    print_head(entry);
    print_lives(entry);
    if (entry->roster.fd >= 0) {
        print_counters(entry);
        print_trips(entry);
    }
}
