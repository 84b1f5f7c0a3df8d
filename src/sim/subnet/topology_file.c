/* Reading and writing topology files. Lines are collected first: nodes, and claims of ports about
 * their neighbours. Then nodes are looked up by what the file calls them, and claims become
 * cables. */
#include "sim/subnet/topology_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim/subnet/topology_scan.h"

enum { FILE_BYTES_MAX = 1 << 28 };

bool topology_fault(struct topology_loading *loading, unsigned line, const char *format, ...)
{
    int at = snprintf(loading->error, TOPOLOGY_ERROR_BYTES, "%.120s:%u: ", loading->name, line);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(loading->error + at, TOPOLOGY_ERROR_BYTES - (size_t)at, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- What lines say ----------------------------------------------------------------------- */

bool topology_take_node(struct topology_loading *loading, enum topology_kind kind, uint64_t ports,
                        uint8_t width, uint64_t guid, struct topology_words key,
                        struct topology_words comment)
{
    struct topology *topology = &loading->topology;
    char name[TOPOLOGY_NAME_BYTES] = "";
    if (ports == 0 || ports > TOPOLOGY_PORTS_MAX) {
        return topology_fault(loading, loading->line, "a node has 1 to %d ports",
                              TOPOLOGY_PORTS_MAX);
    }
    if (key.length == 0 || key.length >= TOPOLOGY_NAME_BYTES) {
        return topology_fault(loading, loading->line, "a node's name has 1 to %d bytes",
                              TOPOLOGY_NAME_BYTES - 1);
    }
    if (topology->node_count == TOPOLOGY_NODES_MAX) {
        return topology_fault(loading, loading->line, "%d nodes are the most", TOPOLOGY_NODES_MAX);
    }
    if (topology->node_count == loading->said_room) {
        loading->said_room = 2 * loading->said_room + 64;
        loading->said = realloc(loading->said, loading->said_room * sizeof *loading->said);
        INVARIANT(loading->said);
    }
    memcpy(name, key.at, key.length);
    if (guid == 0) {
        guid = topology_guid(kind, kind == TOPOLOGY_BOARD ? topology->board_count
                                                          : topology->switch_count);
    }
    comment.length = comment.length < TOPOLOGY_NAME_BYTES ? comment.length
                                                          : TOPOLOGY_NAME_BYTES - 1;
    loading->said[topology->node_count] = (struct topology_said){loading->line, key, comment};
    (void)topology_add(topology, kind, (uint32_t)ports, width, guid, name);
    return true;
}

void topology_take_claim(struct topology_loading *loading, const struct topology_claim *claim)
{
    if (loading->claim_count == loading->claim_room) {
        loading->claim_room = 2 * loading->claim_room + 64;
        loading->claims = realloc(loading->claims, loading->claim_room * sizeof *loading->claims);
        INVARIANT(loading->claims);
    }
    loading->claims[loading->claim_count++] = *claim;
}

static bool is_own_format(struct topology_scan scan)
{
    return topology_scan_word(&scan, "switch") || topology_scan_word(&scan, "board") ||
           topology_scan_word(&scan, "link");
}

static bool take_lines(struct topology_loading *loading, const char *bytes, size_t length)
{
    bool (*take_line)(struct topology_loading * loading, struct topology_scan scan) = NULL;
    const char *end = bytes + length;
    for (const char *at = bytes; at < end; at++) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        struct topology_scan scan = {at, line_end ? line_end : end};
        at = scan.end;
        loading->line++;
        for (const char *byte = scan.at; byte < scan.end; byte++) {
            bool is_last = byte + 1 == scan.end;
            if ((unsigned char)*byte < ' ' && *byte != '\t' && !(*byte == '\r' && is_last)) {
                return topology_fault(loading, loading->line, "this is no text");
            }
        }
        while (scan.end > scan.at && memchr(" \t\r", scan.end[-1], 3)) {
            scan.end--;
        }
        topology_skip_blanks(&scan);
        if (scan.at == scan.end || *scan.at == '#') {
            continue;
        }
        if (!take_line) {
            take_line = is_own_format(scan) ? topology_own_line : topology_discovered_line;
        }
        if (!take_line(loading, scan)) {
            return false;
        }
    }
    return loading->topology.node_count > 0 ||
           topology_fault(loading, loading->line ? loading->line : 1, "the file has no node");
}

/* ---- Finding nodes ------------------------------------------------------------------------ */

/* Nodes by the hash of their words; there are more rows than words by half at least. */
struct lookup {
    struct row {
        struct topology_words words;
        uint32_t node; /* TOPOLOGY_NONE: the row is free */
    } * rows;
    uint32_t mask;
};

static void lookup_open(struct lookup *lookup, uint32_t count)
{
    uint32_t rows = 16;
    while (rows < 2 * count) {
        rows *= 2;
    }
    lookup->rows = malloc(rows * sizeof *lookup->rows);
    INVARIANT(lookup->rows);
    for (uint32_t i = 0; i < rows; i++) {
        lookup->rows[i].node = TOPOLOGY_NONE;
    }
    lookup->mask = rows - 1;
}

/* The row of these words, or the free one where they belong. */
static struct row *lookup_find(const struct lookup *lookup, struct topology_words words)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < words.length; i++) {
        hash = (hash ^ (unsigned char)words.at[i]) * 16777619u;
    }
    for (uint32_t i = hash ^ hash >> 16;; i++) {
        struct row *row = &lookup->rows[i & lookup->mask];
        if (row->node == TOPOLOGY_NONE || (row->words.length == words.length &&
                                           memcmp(row->words.at, words.at, words.length) == 0)) {
            return row;
        }
    }
}

static bool find_nodes(struct topology_loading *loading, struct lookup *keys)
{
    for (uint32_t i = 0; i < loading->topology.node_count; i++) {
        const struct topology_said *said = &loading->said[i];
        struct row *row = lookup_find(keys, said->key);
        if (row->node != TOPOLOGY_NONE) {
            return topology_fault(loading, said->line, "\"%.*s\" is a node of line %u already",
                                  (int)said->key.length, said->key.at,
                                  loading->said[row->node].line);
        }
        *row = (struct row){said->key, i};
    }
    return true;
}

/* Nodes are called by their comments where these tell them from all others. */
static void name_nodes(struct topology_loading *loading, const struct lookup *keys)
{
    struct topology *topology = &loading->topology;
    struct lookup comments;
    lookup_open(&comments, topology->node_count);
    bool *is_twice = calloc(topology->node_count, sizeof *is_twice);
    INVARIANT(is_twice);
    for (uint32_t i = 0; i < topology->node_count; i++) {
        struct topology_words comment = loading->said[i].comment;
        if (comment.length == 0) {
            continue;
        }
        const struct row *key = lookup_find(keys, comment);
        struct row *row = lookup_find(&comments, comment);
        if (row->node != TOPOLOGY_NONE) {
            is_twice[row->node] = true;
            is_twice[i] = true;
        } else {
            *row = (struct row){comment, i};
            is_twice[i] = key->node != TOPOLOGY_NONE && key->node != i;
        }
    }
    for (uint32_t i = 0; i < topology->node_count; i++) {
        struct topology_words comment = loading->said[i].comment;
        if (comment.length > 0 && !is_twice[i]) {
            char *name = topology->nodes[i].name;
            memset(name, 0, TOPOLOGY_NAME_BYTES);
            memcpy(name, comment.at, comment.length);
        }
    }
    free(is_twice);
    free(comments.rows);
}

static bool find_end(struct topology_loading *loading, const struct lookup *keys, unsigned line,
                     struct topology_end *end)
{
    if (end->node == TOPOLOGY_NONE) {
        end->node = lookup_find(keys, end->key)->node;
    }
    if (end->node == TOPOLOGY_NONE) {
        int length = end->key.length < 80 ? (int)end->key.length : 80;
        return topology_fault(loading, line, "dangling cable: there is no node \"%.*s\"", length,
                              end->key.at);
    }
    const struct topology_node *node = &loading->topology.nodes[end->node];
    if (end->port == 0 && node->port_count > 1) {
        return topology_fault(loading, line, "%s has %" PRIu32 " ports: which one?", node->name,
                              node->port_count);
    }
    end->port = end->port ? end->port : 1;
    return end->port <= node->port_count ||
           topology_fault(loading, line, "%s has no port %" PRIu32 ", but %" PRIu32, node->name,
                          end->port, node->port_count);
}

/* ---- Cables ------------------------------------------------------------------------------- */

static uint32_t index_of(const struct topology *topology, const struct topology_end *end)
{
    return topology->nodes[end->node].port_first + end->port - 1;
}

static bool used_twice(struct topology_loading *loading, const struct topology_claim *claim,
                       const struct topology_end *end, const struct topology_claim *before)
{
    return topology_fault(loading, claim->line, "%s, port %" PRIu32 " is used by line %u already",
                          loading->topology.nodes[end->node].name, end->port, before->line);
}

/* Both ends of a cable have the width that either claim says, or that they have in common. */
static bool agree_on_width(struct topology_loading *loading, const struct topology_claim *claim,
                           const struct topology_claim *back)
{
    struct topology *topology = &loading->topology;
    struct topology_port *own = topology_port(topology, claim->own.node, claim->own.port);
    struct topology_port *peer = topology_port(topology, claim->peer.node, claim->peer.port);
    uint8_t said = claim->width ? claim->width : back->width;
    uint8_t own_width = said ? said : own->width;
    uint8_t peer_width = back->width ? back->width : said ? said : peer->width;
    if (own_width != peer_width) {
        return topology_fault(
            loading, claim->line, "%s, port %" PRIu32 " is %uX, and %s, port %" PRIu32 " is %uX",
            topology->nodes[claim->own.node].name, claim->own.port, (unsigned)own_width,
            topology->nodes[claim->peer.node].name, claim->peer.port, (unsigned)peer_width);
    }
    own->width = own_width;
    peer->width = own_width;
    return true;
}

/* `of` has each port's claim, or NULL. A claim that nobody answers stands for both ends. */
static bool join_claim(struct topology_loading *loading, const struct topology_claim **of,
                       const struct topology_claim *claim)
{
    struct topology *topology = &loading->topology;
    uint32_t own = index_of(topology, &claim->own);
    uint32_t peer = index_of(topology, &claim->peer);
    if (own == peer) {
        return topology_fault(loading, claim->line, "%s, port %" PRIu32 " is at both ends",
                              topology->nodes[claim->own.node].name, claim->own.port);
    }
    const struct topology_claim *back = of[peer];
    if (!back) {
        of[peer] = claim;
    } else if (back->own.node != claim->peer.node || back->own.port != claim->peer.port) {
        return used_twice(loading, claim, &claim->peer, back); /* it stands for that end, too */
    } else if (index_of(topology, &back->peer) != own) {
        return topology_fault(loading, claim->line,
                              "the ends of a cable disagree: %s, port %" PRIu32
                              " has another neighbour in line %u",
                              topology->nodes[claim->peer.node].name, claim->peer.port, back->line);
    } else if (topology->ports[own].peer_node != TOPOLOGY_NONE) {
        return true; /* the other end came first */
    }
    if (!agree_on_width(loading, claim, back ? back : claim)) {
        return false;
    }
    topology_join(topology, claim->own.node, claim->own.port, claim->peer.node, claim->peer.port);
    return true;
}

static bool join_claims(struct topology_loading *loading)
{
    const struct topology_claim **of = calloc(loading->topology.port_count, sizeof *of);
    INVARIANT(of);
    bool good = true;
    for (uint32_t i = 0; good && i < loading->claim_count; i++) {
        const struct topology_claim *claim = &loading->claims[i];
        const struct topology_claim **own = &of[index_of(&loading->topology, &claim->own)];
        good = !*own || used_twice(loading, claim, &claim->own, *own);
        *own = claim;
    }
    for (uint32_t i = 0; good && i < loading->claim_count; i++) {
        good = join_claim(loading, of, &loading->claims[i]);
    }
    free(of);
    return good;
}

/* ---- The whole ---------------------------------------------------------------------------- */

static bool make_whole(struct topology_loading *loading)
{
    struct lookup keys;
    char text[TOPOLOGY_ERROR_BYTES];
    uint32_t node;
    lookup_open(&keys, loading->topology.node_count);
    bool good = find_nodes(loading, &keys);
    if (good) {
        name_nodes(loading, &keys);
    }
    for (uint32_t i = 0; good && i < loading->claim_count; i++) {
        struct topology_claim *claim = &loading->claims[i];
        good = find_end(loading, &keys, claim->line, &claim->own) &&
               find_end(loading, &keys, claim->line, &claim->peer);
    }
    free(keys.rows);
    good = good && join_claims(loading);
    if (good && topology_objection_at(&loading->topology, &node, text)) {
        return topology_fault(loading, loading->said[node].line, "%.180s", text);
    }
    return good;
}

bool topology_read_bytes(const char *name, const void *bytes, size_t length,
                         struct topology *topology, char error[TOPOLOGY_ERROR_BYTES])
{
    struct topology_loading loading = {
        .name = name,
        .error = error,
        .node = TOPOLOGY_NONE,
        .width = 4,
    };
    bool good = take_lines(&loading, bytes, length) && make_whole(&loading);
    free(loading.said);
    free(loading.claims);
    if (good) {
        *topology = loading.topology;
    } else {
        topology_free(&loading.topology);
    }
    return good;
}

/* The whole file; NULL, and errno: it cannot be read. */
static char *fetch(const char *path, size_t *length)
{
    size_t room = 1 << 16;
    char *bytes = NULL;
    FILE *file = fopen(path, "r");
    if (!file) {
        return NULL;
    }
    *length = 0;
    do {
        room *= 2;
        bytes = realloc(bytes, room);
        INVARIANT(bytes);
        *length += fread(bytes + *length, 1, room - *length, file);
    } while (*length == room && room < FILE_BYTES_MAX);
    int fault = *length == room ? EFBIG : ferror(file) ? errno : 0;
    (void)fclose(file);
    if (fault) {
        free(bytes);
        errno = fault;
        return NULL;
    }
    return bytes;
}

bool topology_read(const char *path, struct topology *topology, char error[TOPOLOGY_ERROR_BYTES])
{
    size_t length;
    char *bytes = fetch(path, &length);
    if (!bytes) {
        (void)snprintf(error, TOPOLOGY_ERROR_BYTES, "cannot read %.200s: %s", path,
                       strerror(errno));
        return false;
    }
    bool good = topology_read_bytes(path, bytes, length, topology, error);
    free(bytes);
    return good;
}

/* ---- Writing ------------------------------------------------------------------------------ */

static unsigned lid_of(const struct topology_lids *lids, const struct topology *topology,
                       uint32_t node, uint32_t port)
{
    bool is_switch = topology->nodes[node].kind == TOPOLOGY_SWITCH;
    return lids ? lids->lid(lids->context, node, is_switch ? 0 : port) : 0;
}

static void write_port(FILE *file, const struct topology *topology,
                       const struct topology_lids *lids, uint32_t number, uint32_t port)
{
    const struct topology_node *node = &topology->nodes[number];
    const struct topology_port *of = topology_port(topology, number, port);
    if (of->peer_node == TOPOLOGY_NONE) {
        return;
    }
    const struct topology_node *peer = &topology->nodes[of->peer_node];
    (void)fprintf(file, "[%" PRIu32 "]", port);
    if (node->kind == TOPOLOGY_BOARD) {
        (void)fprintf(file, "(%" PRIx64 ") ", node->guid + port);
    }
    (void)fprintf(file, "\t\"%c-%016" PRIx64 "\"[%u]", peer->kind == TOPOLOGY_BOARD ? 'H' : 'S',
                  peer->guid, (unsigned)of->peer_port);
    if (peer->kind == TOPOLOGY_BOARD) {
        (void)fprintf(file, "(%" PRIx64 ") ", peer->guid + of->peer_port);
    }
    (void)fprintf(file, "\t\t# ");
    if (node->kind == TOPOLOGY_BOARD) {
        (void)fprintf(file, "lid %u lmc 0 ", lid_of(lids, topology, number, port));
    }
    (void)fprintf(file, "\"%s\" lid %u %uxSDR\n", peer->name,
                  lid_of(lids, topology, of->peer_node, of->peer_port), (unsigned)of->width);
}

void topology_write(FILE *file, const struct topology *topology, const struct topology_lids *lids)
{
    for (uint32_t i = 0; i < topology->node_count; i++) {
        const struct topology_node *node = &topology->nodes[i];
        bool is_switch = node->kind == TOPOLOGY_SWITCH;
        (void)fprintf(file, "%svendid=0x0\ndevid=0x0\nsysimgguid=0x%" PRIx64 "\n", i ? "\n" : "",
                      node->guid);
        if (is_switch) {
            (void)fprintf(file, "switchguid=0x%" PRIx64 "(%" PRIx64 ")\n", node->guid, node->guid);
            (void)fprintf(file,
                          "Switch\t%" PRIu32 " \"S-%016" PRIx64
                          "\"\t\t# \"%s\" base port 0 lid %u lmc 0\n",
                          node->port_count, node->guid, node->name, lid_of(lids, topology, i, 0));
        } else {
            (void)fprintf(file, "caguid=0x%" PRIx64 "\n", node->guid);
            (void)fprintf(file, "Ca\t%" PRIu32 " \"H-%016" PRIx64 "\"\t\t# \"%s\"\n",
                          node->port_count, node->guid, node->name);
        }
        for (uint32_t port = 1; port <= node->port_count; port++) {
            write_port(file, topology, lids, i, port);
        }
    }
}
