/* Messages by records: once, in order, with the right bytes, through small and full buffers, to
 * channels that are not open yet, and with nodes that die and begin anew. */
#include "services_group.h"

enum { CHANNELS = 2, BYTES_MAX = 96, STEPS = 2500, SEEDS = 400, LIVES = 200 };

/* What every message says about itself; the rest of its bytes follow from that. */
struct letter {
    uint32_t from;
    uint32_t life;
    uint32_t link; /* which connection to the receiver, in that life */
    uint32_t number;
};

struct line {
    uint32_t link;
    uint32_t sent;     /* in this link */
    uint32_t received; /* of the sender's life and link below */
    uint32_t received_life;
    uint32_t received_link;
};

static struct {
    bool open[CLUSTER_NODES_MAX][CHANNELS];
    /* From node to node. */
    struct line lines[CLUSTER_NODES_MAX][CLUSTER_NODES_MAX][CHANNELS];
    uint32_t flags;
    uint64_t received;
    uint64_t lost;
    bool sends;
} play;

static uint32_t length_of(const struct letter *letter)
{
    uint32_t mixed = letter->from * 31 + letter->life * 7 + letter->link * 13 + letter->number * 17;
    return (uint32_t)sizeof *letter + mixed % (BYTES_MAX - (uint32_t)sizeof *letter + 1);
}

static void write_letter(const struct letter *letter, unsigned char *bytes)
{
    memcpy(bytes, letter, sizeof *letter);
    for (uint32_t i = sizeof *letter; i < length_of(letter); i++) {
        bytes[i] = (unsigned char)(letter->number + i);
    }
}

static void open_channel(uint32_t node, uint32_t channel)
{
    uint16_t everybody[CLUSTER_NODES_MAX];
    for (uint32_t i = 0; i < group.count; i++) {
        everybody[i] = (uint16_t)i;
    }
    const struct nic_message_lists lists = {everybody, group.count, everybody, group.count};
    uint32_t flags = (play.flags + node * channel) % 8; /* the same at all nodes, or not */
    cluster_check(
        nic_packet_message_open(group.nodes[node].services, channel, &lists, flags, NULL) == 0);
    cluster_check(nic_packet_message_ask_all(group.nodes[node].services, channel) == 0);
    play.open[node][channel] = true;
}

static void send_letter(uint32_t node, uint32_t to, uint32_t channel)
{
    struct nic_services *services = group.nodes[node].services;
    struct line *line = &play.lines[node][to][channel];
    struct letter letter = {node, group.nodes[node].life, line->link, line->sent};
    unsigned char bytes[BYTES_MAX];
    write_letter(&letter, bytes);
    int error = nic_packet_message_send(services, group.now_ns, channel, (uint16_t)to, bytes,
                                        length_of(&letter));
    if (error == DN_EPEER) {
        cluster_check(to != node);
        cluster_check(nic_packet_message_reconnect(services, channel, (uint16_t)to) == 0);
        line->link++;
        line->sent = 0;
        play.lost++;
        return;
    }
    cluster_check(error == 0 || error == DN_EFULL);
    line->sent += error == 0;
}

static void receive_letter(uint32_t node, uint32_t channel)
{
    unsigned char bytes[BYTES_MAX];
    unsigned char expected[BYTES_MAX];
    uint16_t from;
    uint32_t length;
    int error = nic_packet_message_receive(group.nodes[node].services, group.now_ns, channel, bytes,
                                           sizeof bytes, &from, &length);
    if (error) {
        cluster_check(error == DN_EBUSY);
        return;
    }
    struct letter letter;
    cluster_check(length >= sizeof letter);
    memcpy(&letter, bytes, sizeof letter);
    cluster_check(letter.from == from && length == length_of(&letter));
    write_letter(&letter, expected);
    cluster_check(memcmp(bytes, expected, length) == 0);
    struct line *line = &play.lines[from][node][channel];
    if (letter.life != line->received_life || letter.link != line->received_link) {
        /* A later life or connection starts from 0. */
        bool is_later = letter.life > line->received_life ||
                        (letter.life == line->received_life && letter.link > line->received_link);
        cluster_check(is_later);
        line->received_life = letter.life;
        line->received_link = letter.link;
        line->received = 0;
    }
    cluster_check(letter.number == line->received);
    line->received++;
    play.received++;
}

static void host_acts(uint32_t node)
{
    uint32_t channel = (uint32_t)cluster_below(CHANNELS);
    if (!play.open[node][channel]) {
        if (cluster_percent(20)) {
            open_channel(node, channel);
        }
        return;
    }
    if (play.sends && cluster_percent(60)) {
        send_letter(node, (uint32_t)cluster_below(group.count), channel);
    } else {
        receive_letter(node, channel);
    }
}

static void disturb(void)
{
    uint32_t node = (uint32_t)cluster_below(group.count);
    uint32_t other = (uint32_t)cluster_below(group.count);
    if (!group.nodes[node].alive) {
        for (uint32_t i = 0; i < group.count * CHANNELS; i++) {
            /* What both sides knew about the old life. */
            struct line *out = &play.lines[node][i / CHANNELS][i % CHANNELS];
            struct line *in = &play.lines[i / CHANNELS][node][i % CHANNELS];
            out->link = 0;
            out->sent = 0;
            in->received = 0;
            in->received_life = 0;
            in->received_link = 0;
        }
        memset(play.open[node], 0, sizeof play.open[node]);
        cluster_restart(node);
    } else if (node != other && group.nodes[other].alive && cluster_percent(30)) {
        cluster_cut(node, other);
    } else {
        cluster_kill(node);
    }
}

/* Asserts that everything taken from a living node for a living node has been received. */
static void all_arrived(void)
{
    for (uint32_t i = 0; i < group.count * group.count * CHANNELS; i++) {
        uint32_t from = i / CHANNELS / group.count;
        uint32_t to = i / CHANNELS % group.count;
        uint32_t channel = i % CHANNELS;
        const struct line *line = &play.lines[from][to][channel];
        uint32_t count = 0;
        if (!group.nodes[from].alive || !group.nodes[to].alive || !play.open[from][channel]) {
            continue;
        }
        int error = nic_packet_message_outstanding(group.nodes[from].services, channel,
                                                   (uint16_t)to, &count);
        cluster_check(error == 0 || error == DN_EPEER);
        if (error == 0) {
            cluster_check(count == 0);
            bool is_newest = line->received_life == group.nodes[from].life &&
                             line->received_link == line->link;
            cluster_check(line->sent == (is_newest ? line->received : 0));
        }
    }
}

static void begin(uint64_t seed, uint32_t count, uint32_t flags)
{
    struct nic_services_config config = cluster_config();
    memset(&play, 0, sizeof play);
    play.flags = flags;
    play.sends = true;
    cluster_begin(seed, count, &config);
}

static void finish(void)
{
    play.sends = false;
    for (uint32_t i = 0; i < group.count * CHANNELS; i++) {
        if (group.nodes[i / CHANNELS].alive && !play.open[i / CHANNELS][i % CHANNELS]) {
            open_channel(i / CHANNELS, i % CHANNELS);
        }
    }
    cluster_settle(host_acts);
    for (uint32_t i = 0; i < group.count * CHANNELS * 64; i++) {
        if (group.nodes[i % group.count].alive) {
            receive_letter(i % group.count, i / group.count % CHANNELS);
        }
    }
    cluster_settle(host_acts);
    all_arrived();
    cluster_assert_nobody_watches();
    cluster_end();
}

static void play_messages(uint64_t seed, bool deadly)
{
    begin(seed, 1 + (uint32_t)(seed % CLUSTER_NODES_MAX), (uint32_t)(seed / 8 % 8));
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t node = (uint32_t)cluster_below(group.count);
        cluster_step();
        if (group.nodes[node].alive) {
            host_acts(node);
        }
        if (deadly && cluster_below(LIVES) == 0) {
            disturb();
        }
    }
    finish();
}

static void messages_arrive_once_and_in_order(void **state)
{
    uint64_t received = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play_messages(seed, false);
        cluster_check(play.lost == 0);
        received += play.received;
    }
    assert_true(received > SEEDS * 100);
}

static void messages_are_in_order_across_lives(void **state)
{
    uint64_t received = 0;
    uint64_t lost = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play_messages(1000000 + seed, true);
        received += play.received;
        lost += play.lost;
    }
    assert_true(received > SEEDS * 100);
    assert_true(lost > SEEDS);
}

/* ---- By hand ------------------------------------------------------------------------- */

/* A context may have another number at each end, and the next one goes on with its SEQIDs. */
static void contexts_are_joined_by_numbers(void **state)
{
    const uint16_t zero[] = {0};
    const uint16_t one[] = {1};
    const struct nic_message_lists sends = {one, 1, NULL, 0};
    const struct nic_message_lists receives = {NULL, 0, zero, 1};
    struct nic_services *sender;
    struct nic_services *receiver;
    unsigned char byte;
    uint16_t from;
    uint32_t length;
    (void)state;
    begin(1, 2, 0);
    sender = group.nodes[0].services;
    receiver = group.nodes[1].services;
    assert_int_equal(nic_packet_message_open(receiver, 1, &receives, 0, NULL), 0);
    for (uint32_t life = 0; life < 3; life++) {
        assert_int_equal(nic_packet_message_open(sender, life % 2, &sends, 0, NULL), 0);
        assert_int_equal(nic_packet_message_connect(sender, life % 2, 1, 1, life), 0);
        byte = (unsigned char)life;
        assert_int_equal(nic_packet_message_send(sender, 1, life % 2, 1, &byte, 1), 0);
        cluster_settle(NULL);
        assert_int_equal(nic_packet_message_outstanding(sender, life % 2, 1, &length), 0);
        assert_int_equal(length, 0);
        assert_int_equal(nic_packet_message_receive(receiver, 1, 1, &byte, 1, &from, &length), 0);
        assert_int_equal(byte, life);
        nic_packet_message_close(sender, 1, life % 2);
        nic_packet_message_close(sender, 1, life % 2);
    }
    /* With something under way, too: nobody is watched any more, and the answer finds nobody. */
    assert_int_equal(nic_packet_message_open(sender, 1, &sends, 0, NULL), 0);
    assert_int_equal(nic_packet_message_connect(sender, 1, 1, 1, 3), 0);
    assert_int_equal(nic_packet_message_send(sender, 1, 1, 1, &byte, 1), 0);
    cluster_run(0);
    nic_packet_message_close(sender, 1, 1);
    cluster_settle(NULL);
    cluster_assert_nobody_watches();
    assert_int_equal(nic_packet_message_send(sender, 1, 1, 1, &byte, 1), DN_EINVAL);
    assert_int_equal(nic_packet_message_connect(sender, 1, 1, 1, 0), DN_EINVAL);
    cluster_end();
}

/* Records get lost only where the sender looks for that, and a record of another service never
 * comes by datagram. */
static void only_what_is_sent_again_may_get_lost(void **state)
{
    const uint16_t both[] = {0, 1};
    const struct nic_message_lists lists = {both, 2, both, 2};
    struct nic_service_packet packet;
    (void)state;
    begin(1, 2, 0);
    for (uint32_t i = 0; i < 2; i++) {
        struct nic_services *services = group.nodes[i].services;
        uint32_t flags = i == 0 ? DN_CONTEXT_LOSS_DETECTION : 0;
        assert_int_equal(nic_packet_message_open(services, 0, &lists, flags, NULL), 0);
        assert_int_equal(nic_packet_message_send(services, 1, 0, (uint16_t)(1 - i), "x", 1), 0);
        nic_services_begin(services);
        assert_true(nic_services_next(services, 1, &packet));
        assert_int_equal(packet.may_get_lost, i == 0);
    }
    /* The answer goes as the message came. */
    struct nic_services *receiver = group.nodes[1].services;
    nic_services_begin(group.nodes[0].services);
    assert_true(nic_services_next(group.nodes[0].services, 1, &packet));
    nic_services_deliver_datagram(receiver, 1, 0, &packet.operation);
    struct nic_service_packet answer;
    nic_services_begin(receiver);
    bool is_answer = false;
    while (!is_answer && nic_services_next(receiver, 1, &answer)) {
        is_answer = answer.operation.area >> 24 == PX_ACK;
        nic_services_sent(receiver, 1, &answer);
    }
    assert_true(is_answer && answer.may_get_lost);
    assert_int_equal(nic_services_counters(receiver)->malformed, 0);
    packet.operation.detail = WIRE_BARRIER;
    nic_services_deliver_datagram(receiver, 1, 0, &packet.operation);
    assert_int_equal(nic_services_counters(receiver)->malformed, 1);
    cluster_end();
}

static void a_destination_is_given_up(void **state)
{
    const uint16_t both[] = {0, 1};
    const struct nic_message_lists lists = {both, 2, both, 2};
    (void)state;
    begin(1, 2, 0);
    struct nic_services *sender = group.nodes[0].services;
    assert_int_equal(nic_packet_message_disconnect(sender, 1, 0, 1), DN_EINVAL);
    assert_int_equal(nic_packet_message_open(sender, 0, &lists, 0, NULL), 0);
    assert_int_equal(nic_packet_message_disconnect(sender, 1, 0, 2), DN_ERANK);
    assert_int_equal(nic_packet_message_send(sender, 1, 0, 1, "x", 1), 0);
    assert_int_equal(nic_packet_message_disconnect(sender, 1, 0, 1), 0);
    cluster_run(0);
    assert_int_equal(group.wires[0][1].count, 0);
    cluster_assert_nobody_watches();
    assert_int_equal(nic_packet_message_send(sender, 1, 0, 1, "x", 1), DN_EPEER);
    cluster_end();
}

static void a_node_that_is_no_source_is_told(void **state)
{
    const uint16_t both[] = {0, 1};
    uint32_t count;
    (void)state;
    begin(1, 2, 0);
    struct nic_services *sender = group.nodes[0].services;
    const struct nic_message_lists sends = {both, 2, both, 2};
    const struct nic_message_lists refuses = {both, 2, NULL, 0};
    assert_int_equal(nic_packet_message_open(sender, 0, &sends, 0, NULL), 0);
    assert_int_equal(nic_packet_message_open(group.nodes[1].services, 0, &refuses, 0, NULL), 0);
    assert_int_equal(nic_packet_message_send(sender, 1, 0, 1, "hello", 5), 0);
    cluster_settle(NULL);
    assert_int_equal(nic_packet_message_send(sender, 1, 0, 1, "hello", 5), DN_ERANK);
    assert_int_equal(nic_packet_message_outstanding(sender, 0, 1, &count), DN_ERANK);
    cluster_assert_nobody_watches();
    cluster_end();
}

static void callers_mistakes_are_told(void **state)
{
    const uint16_t both[] = {0, 1};
    const uint16_t twice[] = {1, 1};
    const uint16_t nobody[] = {0, 2};
    unsigned char bytes[BYTES_MAX + 1] = {0};
    uint16_t from;
    uint32_t length;
    (void)state;
    begin(1, 2, 0);
    struct nic_services *services = group.nodes[0].services;
    const struct nic_message_lists good = {both, 1, both, 2};
    const struct nic_message_lists doubled = {twice, 2, both, 2};
    const struct nic_message_lists strange = {both, 2, nobody, 2};
    assert_int_equal(nic_packet_message_open(services, CHANNELS, &good, 0, NULL), DN_EINVAL);
    assert_int_equal(nic_packet_message_open(services, 0, &good, 8, NULL), DN_EINVAL);
    assert_int_equal(nic_packet_message_open(services, 0, &doubled, 0, NULL), DN_EINVAL);
    assert_int_equal(nic_packet_message_open(services, 0, &strange, 0, NULL), DN_ERANK);
    assert_int_equal(nic_packet_message_send(services, 1, 0, 1, bytes, 1), DN_EINVAL);
    assert_int_equal(nic_packet_message_open(services, 0, &good, 0, NULL), 0);
    assert_int_equal(nic_packet_message_open(services, 0, &good, 0, NULL), DN_EBUSY);
    assert_int_equal(nic_packet_message_send(services, 1, 0, 1, bytes, 1), DN_ERANK);
    assert_int_equal(nic_packet_message_send(services, 1, 0, 0, bytes, BYTES_MAX + 1), DN_ETOOLONG);
    assert_int_equal(nic_packet_message_send(services, 1, 0, 0, bytes, 16), 0);
    assert_int_equal(nic_packet_message_reconnect(services, 0, 1), DN_ERANK);
    cluster_settle(NULL);
    assert_int_equal(nic_packet_message_receive(services, 1, 0, bytes, 15, &from, &length),
                     DN_ETOOLONG);
    assert_int_equal(length, 16);
    assert_int_equal(nic_packet_message_receive(services, 1, 0, bytes, 16, &from, &length), 0);
    assert_int_equal(from, 0);
    assert_int_equal(nic_packet_message_receive(services, 1, 0, bytes, 16, &from, &length),
                     DN_EBUSY);
    cluster_end();
}

/* Fills node 1's receive buffer from node 0, until the sender has nothing to do but wait. */
static uint32_t fill(uint32_t flags)
{
    const uint16_t both[] = {0, 1};
    unsigned char bytes[BYTES_MAX] = {0};
    begin(1, 2, flags);
    group.wire_room = CLUSTER_WIRE_MAX;
    for (uint32_t i = 0; i < 2; i++) {
        const struct nic_message_lists lists = {both, 2, both, 2};
        assert_int_equal(nic_packet_message_open(group.nodes[i].services, 0, &lists, flags, NULL),
                         0);
    }
    cluster_settle(NULL);
    uint32_t sent = 0;
    for (uint32_t i = 0; i < 100; i++) {
        int error = nic_packet_message_send(group.nodes[0].services, group.now_ns, 0, 1, bytes, 80);
        sent += error == 0;
        cluster_run(0);
        while (group.wires[0][1].count) {
            cluster_deliver(0, 1);
        }
        cluster_run(1);
        while (group.wires[1][0].count) {
            cluster_deliver(1, 0);
        }
    }
    return sent;
}

static void a_refused_message_waits_for_its_back_off(void **state)
{
    (void)state;
    assert_int_equal(fill(DN_CONTEXT_BACK_OFF), 2 + 3); /* in RB, and in SB */
    const struct nic_services *sender = group.nodes[0].services;
    uint64_t deadline_ns = nic_services_deadline_ns(sender, group.now_ns);
    assert_true(deadline_ns > group.now_ns);
    assert_true(deadline_ns <= group.now_ns + (group.config.message_back_off_ns << 6));
    cluster_run(0);
    assert_int_equal(group.wires[0][1].count, 0);
    group.now_ns = deadline_ns;
    assert_int_equal(nic_services_deadline_ns(sender, group.now_ns), UINT64_MAX);
    cluster_run(0);
    assert_true(group.wires[0][1].count > 0);
    cluster_end();
}

static void a_stopped_sender_waits_for_the_receiver(void **state)
{
    unsigned char bytes[BYTES_MAX];
    uint16_t from;
    uint32_t length;
    (void)state;
    assert_int_equal(fill(DN_CONTEXT_RESEND_REQUEST), 2 + 3);
    assert_int_equal(nic_services_deadline_ns(group.nodes[0].services, group.now_ns), UINT64_MAX);
    assert_true(cluster_is_quiet());
    assert_true(group.wires[0][1].watched);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(nic_packet_message_receive(group.nodes[1].services, group.now_ns, 0, bytes,
                                                    sizeof bytes, &from, &length),
                         0);
        cluster_settle(NULL);
    }
    cluster_assert_nobody_watches();
    cluster_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts_are_joined_by_numbers),
        cmocka_unit_test(only_what_is_sent_again_may_get_lost),
        cmocka_unit_test(a_destination_is_given_up),
        cmocka_unit_test(a_node_that_is_no_source_is_told),
        cmocka_unit_test(callers_mistakes_are_told),
        cmocka_unit_test(a_refused_message_waits_for_its_back_off),
        cmocka_unit_test(a_stopped_sender_waits_for_the_receiver),
        cmocka_unit_test(messages_arrive_once_and_in_order),
        cmocka_unit_test(messages_are_in_order_across_lives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
