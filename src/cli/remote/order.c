/* An order's bytes: numbers first, then the contact, then texts, each with its end. */
#include "cli/remote/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/little.h"

enum {
    AT_NODE_COUNT,
    AT_RANK_FIRST,
    AT_RANK_COUNT,
    AT_LLCM,
    AT_BANK,
    AT_HEAP,
    AT_REGISTERED,
    AT_NO_PIN,
    AT_ARGUMENTS,
    AT_VARIABLES,
    AT_SETTINGS,
    NUMBERS = AT_SETTINGS + FABRIC_OPTIONS_MAX,

    FIXED_BYTES = 8 * NUMBERS + FABRIC_CONTACT_BYTES,
    LIST_MAX = 1 << 18,
};

/* ---- Writing ------------------------------------------------------------------------- */

static size_t list_length(char *const *list)
{
    size_t length = 0;
    while (list[length]) {
        length++;
    }
    return length;
}

/* Gives the place behind the text; `to` NULL: nothing is written. */
static size_t put_text(unsigned char *to, size_t at, const char *text)
{
    size_t bytes = strlen(text) + 1;
    if (to) {
        memcpy(to + at, text, bytes);
    }
    return at + bytes;
}

/* Likewise for all texts. */
static size_t put_texts(unsigned char *to, const struct order *order)
{
    size_t at = put_text(to, FIXED_BYTES, order->fabric);
    at = put_text(to, at, order->command);
    at = put_text(to, at, order->group_id);
    at = put_text(to, at, order->host_id);
    at = put_text(to, at, order->folder);
    for (char *const *word = order->argv; *word; word++) {
        at = put_text(to, at, *word);
    }
    for (char *const *word = order->environment; *word; word++) {
        at = put_text(to, at, *word);
    }
    return at;
}

size_t remote_order_bytes(const struct order *order)
{
    return put_texts(NULL, order);
}

void remote_order_put(unsigned char *to, const struct order *order)
{
    uint64_t numbers[NUMBERS] = {
        [AT_NODE_COUNT] = order->node_count,
        [AT_RANK_FIRST] = order->rank_first,
        [AT_RANK_COUNT] = order->rank_count,
        [AT_LLCM] = order->sizes.llcm_bytes,
        [AT_BANK] = order->sizes.bank_bytes,
        [AT_HEAP] = order->sizes.heap_bytes,
        [AT_REGISTERED] = order->sizes.registered_bytes,
        [AT_NO_PIN] = order->no_pin,
        [AT_ARGUMENTS] = list_length(order->argv),
        [AT_VARIABLES] = list_length(order->environment),
    };
    memcpy(&numbers[AT_SETTINGS], order->settings, sizeof order->settings);
    for (unsigned i = 0; i < NUMBERS; i++) {
        base_little_put(to + 8 * (size_t)i, 8, numbers[i]);
    }
    memcpy(to + 8 * (size_t)NUMBERS, order->contact.bytes, FABRIC_CONTACT_BYTES);
    (void)put_texts(to, order);
}

/* ---- Reading ------------------------------------------------------------------------- */

static bool numbers_make_sense(const uint64_t *numbers)
{
    return numbers[AT_NODE_COUNT] >= 1 && numbers[AT_NODE_COUNT] <= GROUP_NODES_MAX &&
           numbers[AT_RANK_FIRST] < numbers[AT_NODE_COUNT] && numbers[AT_RANK_COUNT] >= 1 &&
           numbers[AT_RANK_COUNT] <= numbers[AT_NODE_COUNT] - numbers[AT_RANK_FIRST] &&
           numbers[AT_NO_PIN] <= 1 && numbers[AT_ARGUMENTS] >= 1 &&
           numbers[AT_ARGUMENTS] <= LIST_MAX && numbers[AT_VARIABLES] <= LIST_MAX;
}

static void take_numbers(const uint64_t *numbers, struct order *order)
{
    *order = (struct order){
        .node_count = (uint32_t)numbers[AT_NODE_COUNT],
        .rank_first = (uint32_t)numbers[AT_RANK_FIRST],
        .rank_count = (uint32_t)numbers[AT_RANK_COUNT],
        .sizes = {.llcm_bytes = numbers[AT_LLCM],
                  .bank_bytes = numbers[AT_BANK],
                  .heap_bytes = numbers[AT_HEAP],
                  .registered_bytes = numbers[AT_REGISTERED]},
        .no_pin = numbers[AT_NO_PIN] != 0,
    };
    memcpy(order->settings, &numbers[AT_SETTINGS], sizeof order->settings);
}

/* The next text; NULL: it has no end. */
static char *next_text(char **at, const char *end)
{
    char *text = *at;
    char *last = memchr(text, '\0', (size_t)(end - text));
    if (last) {
        *at = last + 1;
    }
    return last ? text : NULL;
}

/* False: there are not as many texts as the numbers say. */
static bool take_texts(struct order_read *read, size_t bytes, size_t arguments, size_t variables)
{
    char *at = read->text;
    const char *end = read->text + bytes;
    struct order *order = &read->order;
    order->fabric = next_text(&at, end);
    order->command = order->fabric ? next_text(&at, end) : NULL;
    order->group_id = order->command ? next_text(&at, end) : NULL;
    order->host_id = order->group_id ? next_text(&at, end) : NULL;
    order->folder = order->host_id ? next_text(&at, end) : NULL;
    if (!order->folder) {
        return false;
    }
    char **list = read->lists;
    for (size_t i = 0; i < arguments + variables; i++) {
        /* A NULL between the two lists and another at the end: the memory is zeroed. */
        list[i < arguments ? i : i + 1] = next_text(&at, end);
        if (!list[i < arguments ? i : i + 1]) {
            return false;
        }
    }
    order->argv = list;
    order->environment = list + arguments + 1;
    return at == end;
}

bool remote_order_take(const unsigned char *bytes, size_t length, struct order_read *read)
{
    uint64_t numbers[NUMBERS];
    *read = (struct order_read){0};
    if (length < FIXED_BYTES) {
        return false;
    }
    for (unsigned i = 0; i < NUMBERS; i++) {
        numbers[i] = base_little_get(bytes + 8 * (size_t)i, 8);
    }
    if (!numbers_make_sense(numbers)) {
        return false;
    }
    take_numbers(numbers, &read->order);
    memcpy(read->order.contact.bytes, bytes + 8 * (size_t)NUMBERS, FABRIC_CONTACT_BYTES);
    size_t text_bytes = length - FIXED_BYTES;
    size_t arguments = numbers[AT_ARGUMENTS];
    size_t variables = numbers[AT_VARIABLES];
    read->text = malloc(text_bytes + 1);
    read->lists = calloc(arguments + variables + 2, sizeof *read->lists);
    if (read->text && read->lists) {
        memcpy(read->text, bytes + FIXED_BYTES, text_bytes);
        if (take_texts(read, text_bytes, arguments, variables)) {
            return true;
        }
    }
    remote_order_release(read);
    return false;
}

void remote_order_release(struct order_read *read)
{
    free(read->text);
    free(read->lists);
    *read = (struct order_read){0};
}
