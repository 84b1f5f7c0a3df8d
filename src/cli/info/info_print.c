/* Tables and JSON objects. */
#define _GNU_SOURCE
#include "cli/info/info_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dimmnet.h"

enum { TRIPS_BY_LINE = 8 };

static const char *const life_names[] = {
    [DN_STARTING] = "starting", [DN_ATTACHED] = "attached", [DN_LEFT] = "left", [DN_DEAD] = "dead"};

static const char *life_name(enum dn_life life)
{
    return (unsigned)life <= DN_DEAD ? life_names[life] : "?";
}

/* ---- Facts ------------------------------------------------------------------------- */

/* More members of an object. */
static void print_member(void *context, const struct fabric_fact *fact)
{
    (void)context;
    if (!fact->name) {
        return;
    }
    switch (fact->kind) {
    case FABRIC_NUMBER: printf(",\"%s\":%" PRIu64, fact->name, fact->number); break;
    case FABRIC_TRUTH: printf(",\"%s\":%s", fact->name, fact->number ? "true" : "false"); break;
    case FABRIC_TEXT: printf(",\"%s\":\"%s\"", fact->name, fact->text); break;
    }
}

static void print_value(const struct fabric_fact *fact, int width)
{
    switch (fact->kind) {
    case FABRIC_NUMBER: printf("%*" PRIu64, width, fact->number); break;
    case FABRIC_TRUTH: printf("%*s", width, fact->number ? "yes" : "no"); break;
    case FABRIC_TEXT: printf("%*s", width, fact->text); break;
    }
}

/* "packet bytes 1472, cipher AES-256-GCM"; the context is what stands before the next one. */
static void print_phrase(void *context, const struct fabric_fact *fact)
{
    const char **before = context;
    if (fact->heading) {
        printf("%s%s ", *before, fact->heading);
        print_value(fact, 0);
        *before = ", ";
    }
}

static void print_line(void *context, const struct fabric_fact *fact)
{
    (void)context;
    if (fact->heading) {
        printf("    %s: ", fact->heading);
        print_value(fact, 0);
        printf("\n");
    }
}

static void print_heading(void *context, const struct fabric_fact *fact)
{
    (void)context;
    printf("%s%s", fact->heading ? "  " : "", fact->heading ? fact->heading : "");
}

/* Below its heading. */
static void print_cell(void *context, const struct fabric_fact *fact)
{
    (void)context;
    if (fact->heading) {
        print_value(fact, 2 + (int)strlen(fact->heading));
    }
}

static void keep_silent(void *context, const struct fabric_fact *fact)
{
    (void)context;
    (void)fact;
}

/* ---- The machine ------------------------------------------------------------------- */

void info_print_machine(bool json)
{
    uint32_t core_count = host_core_count();
    if (json) {
        printf("{\"what\":\"machine\",\"version\":\"%s\",\"cores\":%u", dn_version(), core_count);
    } else {
        printf("dimmnet %s, %u core%s\n", dn_version(), core_count, core_count == 1 ? "" : "s");
    }
    for (const struct fabric_launch *const *each = fabric_launches; *each; each++) {
        const struct fabric_launch *fabric = *each;
        bool works = !fabric->tell_machine ||
                     fabric->tell_machine(json ? print_member : keep_silent, NULL);
        if (json) {
            printf(",\"%s\":%s", fabric->name, works ? "true" : "false");
            continue;
        }
        printf("fabric %s: %s\n", fabric->name, works ? "yes" : "no");
        if (works && fabric->tell_machine) {
            (void)fabric->tell_machine(print_line, NULL);
        }
    }
    if (json) {
        printf("}\n");
    }
}

/* ---- Groups ------------------------------------------------------------------------ */

struct lives {
    uint32_t counts[DN_DEAD + 1];
};

static struct lives count_lives(const struct groups_entry *entry)
{
    struct lives lives = {{0}};
    uint32_t count = entry->group.facts.geometry.node_count;
    for (uint32_t rank = 0; rank < count; rank++) {
        enum dn_life life = host_group_life(&entry->group, rank);
        lives.counts[(unsigned)life <= DN_DEAD ? life : DN_DEAD]++;
    }
    return lives;
}

static const struct group_sizes *sizes_of(const struct groups_entry *entry)
{
    return entry->look.state ? &entry->look.sizes : &entry->group.facts.geometry.sizes;
}

static void print_json_group(const struct groups_entry *entry)
{
    const struct group_sizes *sizes = sizes_of(entry);
    struct lives lives = count_lives(entry);
    printf("{\"what\":\"group\",\"leader\":%d,\"fabric\":\"%s\",\"nodes\":%u,\"processes\":%u,"
           "\"starting\":%u,\"attached\":%u,\"left\":%u,\"dead\":%u,\"llcm_bytes\":%" PRIu64
           ",\"bank_bytes\":%" PRIu64 ",\"heap_bytes\":%" PRIu64 ",\"registered_bytes\":%" PRIu64,
           (int)entry->leader, entry->fabric->name, entry->group.facts.geometry.node_count,
           entry->process_count, lives.counts[DN_STARTING], lives.counts[DN_ATTACHED],
           lives.counts[DN_LEFT], lives.counts[DN_DEAD], sizes->llcm_bytes, sizes->bank_bytes,
           sizes->heap_bytes, sizes->registered_bytes);
    if (entry->look.state) {
        entry->fabric->tell_group(&entry->look, print_member, NULL);
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
            printf("  %-8d %-6s %7u %9u %9u %9u %9u\n", (int)entry->leader, entry->fabric->name,
                   entry->group.facts.geometry.node_count, lives.counts[DN_STARTING],
                   lives.counts[DN_ATTACHED], lives.counts[DN_LEFT], lives.counts[DN_DEAD]);
        }
    }
}

/* ---- Nodes ------------------------------------------------------------------------- */

static void print_json_node(const struct groups_entry *entry, uint32_t rank)
{
    const struct fabric_launch *fabric = entry->fabric;
    uint32_t node_count = entry->group.facts.geometry.node_count;
    char text[FABRIC_CONTACT_TEXT_BYTES];
    printf("{\"what\":\"node\",\"leader\":%d,\"rank\":%u,\"life\":\"%s\",\"process\":%u",
           (int)entry->leader, rank, life_name(host_group_life(&entry->group, rank)),
           host_group_process(&entry->group, rank));
    if (entry->look.state) {
        printf(",\"address\":\"%s\"", fabric->node_text(&entry->look, rank, text));
        if (fabric->tell_node(&entry->look, rank, print_member, NULL)) {
            printf(",\"round_trip_ns\":[");
            for (uint32_t peer = 0; peer < node_count; peer++) {
                printf("%s%u", peer ? "," : "", fabric->trip_ns(&entry->look, rank, peer));
            }
            printf("]");
        }
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
    uint32_t node_count = entry->group.facts.geometry.node_count;
    printf("group of process %d: fabric %s, %u node%s\nmemory of each node: ", (int)entry->leader,
           entry->fabric->name, node_count, node_count == 1 ? "" : "s");
    print_size("LLCM", sizes->llcm_bytes);
    print_size(", bank", sizes->bank_bytes);
    print_size(", heap", sizes->heap_bytes);
    print_size(", registered up to", sizes->registered_bytes);
    printf("\n");
    if (entry->look.state) {
        const char *before = "";
        entry->fabric->tell_group(&entry->look, print_phrase, &before);
        printf("\n");
    }
}

static void print_lives(const struct groups_entry *entry)
{
    uint32_t count = entry->group.facts.geometry.node_count;
    char text[FABRIC_CONTACT_TEXT_BYTES];
    printf("\n  rank  life       process%s\n", entry->look.state ? "  address" : "");
    for (uint32_t rank = 0; rank < count; rank++) {
        printf("%6u  %-8s %9u", rank, life_name(host_group_life(&entry->group, rank)),
               host_group_process(&entry->group, rank));
        if (entry->look.state) {
            printf("  %s", entry->fabric->node_text(&entry->look, rank, text));
        }
        printf("\n");
    }
}

/* The first node that has something to tell gives the headings. */
static void print_counters(const struct groups_entry *entry)
{
    const struct fabric_launch *fabric = entry->fabric;
    uint32_t count = entry->group.facts.geometry.node_count;
    printf("\n  rank");
    for (uint32_t rank = 0;
         rank < count && !fabric->tell_node(&entry->look, rank, print_heading, NULL); rank++) {
    }
    for (uint32_t rank = 0; rank < count; rank++) {
        printf("\n%6u", rank);
        if (!fabric->tell_node(&entry->look, rank, print_cell, NULL)) {
            printf("  has reported nothing here");
        }
    }
    printf("\n");
}

static void print_trips(const struct groups_entry *entry)
{
    uint32_t count = entry->group.facts.geometry.node_count;
    bool begun = false;
    for (uint32_t rank = 0; rank < count; rank++) {
        unsigned printed = 0;
        for (uint32_t peer = 0; peer < count; peer++) {
            uint32_t trip_ns = entry->fabric->trip_ns(&entry->look, rank, peer);
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
    uint32_t count = entry->group.facts.geometry.node_count;
    if (json) {
        print_json_group(entry);
        for (uint32_t rank = 0; rank < count; rank++) {
            print_json_node(entry, rank);
        }
        return;
    }
    print_head(entry);
    print_lives(entry);
    if (entry->look.state) {
        print_counters(entry);
        print_trips(entry);
    }
}
