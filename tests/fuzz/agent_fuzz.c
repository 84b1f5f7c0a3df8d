/* The frames between launcher and agent on any bytes, from either side: a frame that is taken lies
 * inside them, and put again gives the same bytes. The rest is read as a file of hosts. */
#include "cli/remote/frame.h"
#include "cli/remote/hosts.h"
#include "cli/remote/order.h"
#include "fuzz.h"

static void try_order(const unsigned char *bytes, size_t length)
{
    struct order_read read;
    if (!remote_order_take(bytes, length, &read)) {
        return;
    }
    const struct order *order = &read.order;
    FUZZ_ASSERT(order->rank_first + order->rank_count <= order->node_count);
    FUZZ_ASSERT(order->node_count <= GROUP_NODES_MAX && order->argv[0] != NULL);
    FUZZ_ASSERT(remote_order_bytes(order) == length);
    unsigned char *again = fuzz_copy(bytes, length);
    remote_order_put(again, order);
    struct order_read twice;
    FUZZ_ASSERT(remote_order_take(again, length, &twice));
    FUZZ_ASSERT(strcmp(twice.order.folder, order->folder) == 0);
    remote_order_release(&twice);
    free(again);
    remote_order_release(&read);
}

/* Any contact that a fabric accepts can be printed. */
static void try_contact(const unsigned char *bytes, size_t length)
{
    struct fabric_contact contact;
    char text[FABRIC_CONTACT_TEXT_BYTES];
    if (length < sizeof contact.bytes) {
        return;
    }
    memcpy(contact.bytes, bytes, sizeof contact.bytes);
    for (const struct fabric_launch *const *fabric = fabric_launches; *fabric; fabric++) {
        if ((*fabric)->spans_hosts && (*fabric)->contact_is_sound(&contact)) {
            FUZZ_ASSERT(strlen((*fabric)->contact_text(&contact, text)) < sizeof text);
        }
    }
}

static void try_frames(const unsigned char *bytes, size_t length, enum frame_sender sender)
{
    size_t at = 0;
    struct frame frame;
    size_t whole;
    while (remote_frame_take(bytes + at, length - at, sender, &frame, &whole) == FRAME_IS_WHOLE) {
        FUZZ_ASSERT(whole <= length - at);
        FUZZ_ASSERT(frame.tail + frame.tail_bytes == bytes + at + whole);
        FUZZ_ASSERT(remote_frame_bytes(frame.kind, frame.tail_bytes) == whole);
        unsigned char *again = fuzz_copy(bytes + at, whole);
        (void)remote_frame_put(again, frame.kind, frame.words, frame.tail, frame.tail_bytes);
        FUZZ_ASSERT(memcmp(again, bytes + at, whole) == 0);
        free(again);
        if (frame.kind == FRAME_ORDER) {
            try_order(frame.tail, frame.tail_bytes);
        }
        try_contact(frame.tail, frame.tail_bytes);
        at += whole;
    }
}

static void try_hosts(const unsigned char *bytes, size_t length)
{
    char *text = (char *)fuzz_copy(bytes, length + 1);
    char fault[HOSTS_FAULT_BYTES];
    struct hosts hosts;
    text[length] = '\0';
    if (remote_hosts_parse(text, &hosts, fault)) {
        uint32_t slots = hosts.slots < GROUP_NODES_MAX ? hosts.slots : GROUP_NODES_MAX;
        FUZZ_ASSERT(hosts.count >= 1 && remote_hosts_assign(&hosts, slots));
        for (uint32_t i = 0; i < hosts.count; i++) {
            FUZZ_ASSERT(hosts.entries[i].name[0] != '-' && hosts.entries[i].name[0] != '\0');
        }
    }
    remote_hosts_release(&hosts);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    unsigned char *copy = fuzz_copy(data, bytes);
    try_frames(copy, bytes, FRAME_OF_AGENT);
    try_frames(copy, bytes, FRAME_OF_LAUNCHER);
    try_order(copy, bytes);
    if (bytes > 0) {
        try_hosts(copy, bytes - 1);
    }
    free(copy);
    return 0;
}
