/* Taking the lines of topology files apart, in both formats. */
#include "sim/subnet/topology_scan.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- Pieces of a line --------------------------------------------------------------------- */

void topology_skip_blanks(struct topology_scan *scan)
{
    while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\t')) {
        scan->at++;
    }
}

bool topology_scan_char(struct topology_scan *scan, char wanted)
{
    if (scan->at == scan->end || *scan->at != wanted) {
        return false;
    }
    scan->at++;
    return true;
}

static bool is_of_word(char byte)
{
    return isalnum((unsigned char)byte) || byte == '-' || byte == '_';
}

bool topology_scan_word(struct topology_scan *scan, const char *wanted)
{
    size_t length = strlen(wanted);
    if ((size_t)(scan->end - scan->at) < length || memcmp(scan->at, wanted, length) != 0 ||
        ((size_t)(scan->end - scan->at) > length && is_of_word(scan->at[length]))) {
        return false;
    }
    scan->at += length;
    return true;
}

static bool scan_digits(struct topology_scan *scan, unsigned base, uint64_t *number)
{
    const char *at = scan->at;
    uint64_t sum = 0;
    for (; at < scan->end && isxdigit((unsigned char)*at); at++) {
        unsigned digit = *at <= '9' ? (unsigned)(*at - '0') : ((unsigned)*at | 0x20) - 'a' + 10;
        if (digit >= base) {
            break;
        }
        if (sum > (UINT64_MAX - digit) / base) {
            return false;
        }
        sum = sum * base + digit;
    }
    if (at == scan->at) {
        return false;
    }
    scan->at = at;
    *number = sum;
    return true;
}

bool topology_scan_number(struct topology_scan *scan, uint64_t *number)
{
    return scan_digits(scan, 10, number);
}

bool topology_scan_hex(struct topology_scan *scan, uint64_t *number)
{
    struct topology_scan digits = *scan;
    if (!topology_scan_char(&digits, '0') || !topology_scan_char(&digits, 'x') ||
        !scan_digits(&digits, 16, number)) {
        return false;
    }
    *scan = digits;
    return true;
}

bool topology_scan_quoted(struct topology_scan *scan, struct topology_words *words)
{
    if (scan->at == scan->end || *scan->at != '"') {
        return false;
    }
    const char *from = scan->at + 1;
    const char *to = memchr(from, '"', (size_t)(scan->end - from));
    if (!to) {
        return false;
    }
    *words = (struct topology_words){from, (size_t)(to - from)};
    scan->at = to + 1;
    return true;
}

bool topology_scan_words(struct topology_scan *scan, struct topology_words *words)
{
    const char *from = scan->at;
    while (scan->at < scan->end && *scan->at != ' ' && *scan->at != '\t') {
        scan->at++;
    }
    *words = (struct topology_words){from, (size_t)(scan->at - from)};
    return scan->at > from;
}

static bool junk_fault(struct topology_loading *loading, const struct topology_scan *scan,
                       const char *wanted)
{
    int length = scan->end - scan->at < 60 ? (int)(scan->end - scan->at) : 60;
    return topology_fault(loading, loading->line, "%s is wanted where \"%.*s\" stands", wanted,
                          length, scan->at);
}

/* ---- Our own format ----------------------------------------------------------------------- */

/* What may follow a node's name: ports, width, GUID, each once and in this order. */
static bool take_own_node(struct topology_loading *loading, struct topology_scan *scan,
                          enum topology_kind kind)
{
    struct topology_words name;
    uint64_t ports = kind == TOPOLOGY_BOARD;
    uint64_t width = 4;
    uint64_t guid = 0;
    topology_skip_blanks(scan);
    if (!topology_scan_words(scan, &name)) {
        return topology_fault(loading, loading->line, "a node's name is missing");
    }
    if (memchr(name.at, ':', name.length) || memchr(name.at, '"', name.length)) {
        return topology_fault(loading, loading->line, "a name has no ':' and no '\"'");
    }
    topology_skip_blanks(scan);
    struct topology_scan before = *scan;
    bool has_guid = topology_scan_hex(scan, &guid);
    bool has_number = !has_guid && topology_scan_number(scan, &width);
    if (has_number && !topology_scan_char(scan, 'X')) {
        if (scan->at < scan->end && is_of_word(*scan->at)) {
            return junk_fault(loading, &before, "a number of ports, a width or a GUID");
        }
        ports = width;
        width = 4;
        topology_skip_blanks(scan);
        before = *scan;
        has_guid = topology_scan_hex(scan, &guid);
        has_number = !has_guid && topology_scan_number(scan, &width);
        if (has_number && !topology_scan_char(scan, 'X')) {
            return junk_fault(loading, &before, "a width as 4X, or a GUID as 0x1234");
        }
    } else if (kind == TOPOLOGY_SWITCH) {
        return junk_fault(loading, &before, "a switch's number of ports");
    }
    if (!topology_is_width(width)) {
        return topology_fault(loading, loading->line, "a width is 1X, 4X or 12X");
    }
    topology_skip_blanks(scan);
    if (!has_guid) {
        has_guid = topology_scan_hex(scan, &guid);
    }
    if (has_guid && guid == 0) {
        return topology_fault(loading, loading->line, "a GUID is not 0");
    }
    return topology_take_node(loading, kind, ports, (uint8_t)width, guid, name,
                              (struct topology_words){0});
}

/* NAME or NAME:PORT */
static bool take_own_end(struct topology_loading *loading, struct topology_scan *scan,
                         struct topology_end *end)
{
    topology_skip_blanks(scan);
    *end = (struct topology_end){.node = TOPOLOGY_NONE};
    if (!topology_scan_words(scan, &end->key)) {
        return topology_fault(loading, loading->line, "a link has two ends, as NAME:PORT");
    }
    const char *colon = memchr(end->key.at, ':', end->key.length);
    if (!colon) {
        return true;
    }
    struct topology_scan port = {colon + 1, end->key.at + end->key.length};
    uint64_t number;
    if (!topology_scan_number(&port, &number) || port.at != port.end || number == 0 ||
        number > TOPOLOGY_PORTS_MAX) {
        return topology_fault(loading, loading->line, "a port is a number from 1 to %d",
                              TOPOLOGY_PORTS_MAX);
    }
    end->port = (uint32_t)number;
    end->key.length = (size_t)(colon - end->key.at);
    return true;
}

static bool take_own_link(struct topology_loading *loading, struct topology_scan *scan)
{
    struct topology_claim claim = {.line = loading->line};
    uint64_t width = 0;
    if (!take_own_end(loading, scan, &claim.own) || !take_own_end(loading, scan, &claim.peer)) {
        return false;
    }
    topology_skip_blanks(scan);
    struct topology_scan before = *scan;
    if (topology_scan_number(scan, &width) &&
        (!topology_scan_char(scan, 'X') || !topology_is_width(width))) {
        return junk_fault(loading, &before, "a width 1X, 4X or 12X");
    }
    claim.width = (uint8_t)width;
    topology_take_claim(loading, &claim);
    /* Both ends are said, so that a port in two lines is found however they name it. */
    struct topology_end own = claim.own;
    claim.own = claim.peer;
    claim.peer = own;
    topology_take_claim(loading, &claim);
    return true;
}

bool topology_own_line(struct topology_loading *loading, struct topology_scan scan)
{
    const char *hash = memchr(scan.at, '#', (size_t)(scan.end - scan.at));
    scan.end = hash ? hash : scan.end;
    bool good;
    if (topology_scan_word(&scan, "switch")) {
        good = take_own_node(loading, &scan, TOPOLOGY_SWITCH);
    } else if (topology_scan_word(&scan, "board")) {
        good = take_own_node(loading, &scan, TOPOLOGY_BOARD);
    } else if (topology_scan_word(&scan, "link")) {
        good = take_own_link(loading, &scan);
    } else {
        return junk_fault(loading, &scan, "switch, board or link");
    }
    topology_skip_blanks(&scan);
    return good && (scan.at == scan.end || junk_fault(loading, &scan, "the line's end"));
}

/* ---- ibnetdiscover's format --------------------------------------------------------------- */

/* KEY=0x1234 or KEY=1234; what follows is not read. */
static bool take_value(struct topology_loading *loading, struct topology_scan *scan,
                       uint64_t *value)
{
    topology_skip_blanks(scan);
    if (!topology_scan_char(scan, '=')) {
        return junk_fault(loading, scan, "'='");
    }
    topology_skip_blanks(scan);
    return topology_scan_hex(scan, value) || topology_scan_number(scan, value) ||
           junk_fault(loading, scan, "a number");
}

static bool take_setting(struct topology_loading *loading, struct topology_scan *scan)
{
    static const char *const ignored[] = {"vendid", "devid", "sysimgguid", "speed"};
    uint64_t value;
    for (unsigned i = 0; i < sizeof ignored / sizeof ignored[0]; i++) {
        if (topology_scan_word(scan, ignored[i])) {
            return take_value(loading, scan, &value);
        }
    }
    bool is_switch = topology_scan_word(scan, "switchguid");
    if (is_switch || topology_scan_word(scan, "caguid") || topology_scan_word(scan, "hcaguids")) {
        if (!take_value(loading, scan, &value)) {
            return false;
        }
        loading->guid[is_switch ? TOPOLOGY_SWITCH : TOPOLOGY_BOARD] = value;
        return value != 0 || topology_fault(loading, loading->line, "a GUID is not 0");
    }
    if (topology_scan_word(scan, "width")) {
        if (!take_value(loading, scan, &value)) {
            return false;
        }
        loading->width = topology_is_width(value) ? (uint8_t)value : 4;
        return topology_is_width(value) ||
               topology_fault(loading, loading->line, "a width is 1, 4 or 12");
    }
    return junk_fault(loading, scan, "a node, a port or a GUID");
}

/* The first text in quotes of a comment. */
static struct topology_words comment_name(struct topology_scan scan)
{
    struct topology_words name = {0};
    topology_skip_blanks(&scan);
    if (topology_scan_char(&scan, '#')) {
        topology_skip_blanks(&scan);
        (void)topology_scan_quoted(&scan, &name);
    }
    return name;
}

static bool take_discovered_node(struct topology_loading *loading, struct topology_scan *scan,
                                 enum topology_kind kind)
{
    uint64_t ports;
    struct topology_words key;
    topology_skip_blanks(scan);
    if (!topology_scan_number(scan, &ports)) {
        return junk_fault(loading, scan, "the number of ports");
    }
    topology_skip_blanks(scan);
    if (!topology_scan_quoted(scan, &key)) {
        return junk_fault(loading, scan, "a node's text in quotes");
    }
    topology_skip_blanks(scan);
    if (scan->at < scan->end && *scan->at != '#') {
        return junk_fault(loading, scan, "the line's end or a comment");
    }
    uint64_t guid = loading->guid[kind];
    if (!topology_take_node(loading, kind, ports, loading->width, guid, key, comment_name(*scan))) {
        return false;
    }
    loading->node = loading->topology.node_count - 1;
    /* As in ibsim one GUID goes on for the nodes that follow. */
    loading->guid[kind] += guid ? 1 + (kind == TOPOLOGY_BOARD ? ports : 0) : 0;
    return true;
}

/* [3], within ports that any node can have. */
static bool take_port_number(struct topology_loading *loading, struct topology_scan *scan,
                             uint32_t *port)
{
    uint64_t number;
    struct topology_scan before = *scan;
    if (!topology_scan_char(scan, '[') || !topology_scan_number(scan, &number) ||
        !topology_scan_char(scan, ']')) {
        *scan = before;
        return junk_fault(loading, &before, "a port as [1]");
    }
    if (number == 0 || number > TOPOLOGY_PORTS_MAX) {
        return topology_fault(loading, loading->line, "a port is a number from 1 to %d",
                              TOPOLOGY_PORTS_MAX);
    }
    *port = (uint32_t)number;
    return true;
}

/* Skips what stands between that and the next blank, quote or bracket: "(guid)". */
static void skip_guid(struct topology_scan *scan)
{
    topology_skip_blanks(scan);
    if (scan->at < scan->end && *scan->at == '(') {
        const char *to = memchr(scan->at, ')', (size_t)(scan->end - scan->at));
        scan->at = to ? to + 1 : scan->at;
    }
    topology_skip_blanks(scan);
}

/* The last word of a comment may be a width and a speed: 4xSDR. 0: it is none. */
static uint64_t comment_width(const struct topology_scan *scan)
{
    const char *from = scan->end;
    uint64_t width;
    while (from > scan->at && from[-1] != ' ' && from[-1] != '\t') {
        from--;
    }
    struct topology_scan last = {from, scan->end};
    return topology_scan_number(&last, &width) && topology_scan_char(&last, 'x') ? width : 0;
}

/* ibsim's w=4 and s=1, and then a comment. */
static bool take_port_options(struct topology_loading *loading, struct topology_scan *scan,
                              uint64_t *width)
{
    uint64_t value;
    while (scan->at < scan->end && *scan->at != '#') {
        bool is_width = topology_scan_word(scan, "w");
        if (!is_width && !topology_scan_word(scan, "s")) {
            return junk_fault(loading, scan, "the line's end or a comment");
        }
        if (!take_value(loading, scan, &value)) {
            return false;
        }
        *width = is_width ? value : *width;
        if (is_width && !topology_is_width(value)) {
            return topology_fault(loading, loading->line, "a width is 1, 4 or 12");
        }
        topology_skip_blanks(scan);
    }
    if (scan->at < scan->end && comment_width(scan)) {
        *width = comment_width(scan);
    }
    return true;
}

static bool take_port(struct topology_loading *loading, struct topology_scan *scan)
{
    struct topology_claim claim = {
        .own.node = loading->node,
        .peer.node = TOPOLOGY_NONE,
        .peer.port = 1, /* where ibsim's files say none */
        .line = loading->line,
    };
    uint64_t width = 0;
    if (loading->node == TOPOLOGY_NONE) {
        return topology_fault(loading, loading->line, "a port stands before any node");
    }
    if (!take_port_number(loading, scan, &claim.own.port)) {
        return false;
    }
    skip_guid(scan);
    if (topology_scan_word(scan, "[ext")) { /* [ext 3]: how a chassis calls the port */
        const char *to = memchr(scan->at, ']', (size_t)(scan->end - scan->at));
        scan->at = to ? to + 1 : scan->at;
        topology_skip_blanks(scan);
    }
    if (!topology_scan_quoted(scan, &claim.peer.key)) {
        return junk_fault(loading, scan, "the neighbour's text in quotes");
    }
    topology_skip_blanks(scan);
    if (scan->at < scan->end && *scan->at == '[' &&
        !take_port_number(loading, scan, &claim.peer.port)) {
        return false;
    }
    skip_guid(scan);
    if (!take_port_options(loading, scan, &width)) {
        return false;
    }
    if (width && !topology_is_width(width)) {
        return topology_fault(loading, loading->line, "a cable has 1, 4 or 12 lanes, not %" PRIu64,
                              width);
    }
    claim.width = (uint8_t)width;
    topology_take_claim(loading, &claim);
    return true;
}

bool topology_discovered_line(struct topology_loading *loading, struct topology_scan scan)
{
    static const char *const refused[] = {"Rt", "rtguid", "include", "do", "module", "pdebug"};
    if (*scan.at == '[') {
        return take_port(loading, &scan);
    }
    for (unsigned i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (topology_scan_word(&scan, refused[i])) {
            return topology_fault(loading, loading->line,
                                  "\"%s\" is not understood: boards, switches and cables are",
                                  refused[i]);
        }
    }
    /* With -g ibnetdiscover says which chassis comes next. */
    if (topology_scan_word(&scan, "Chassis") || topology_scan_word(&scan, "Non-Chassis")) {
        return true;
    }
    if (topology_scan_word(&scan, "Switch")) {
        return take_discovered_node(loading, &scan, TOPOLOGY_SWITCH);
    }
    if (topology_scan_word(&scan, "Ca") || topology_scan_word(&scan, "Hca")) {
        return take_discovered_node(loading, &scan, TOPOLOGY_BOARD);
    }
    return take_setting(loading, &scan);
}
