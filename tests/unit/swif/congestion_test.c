/* Congestion control at a simulated bottleneck: a line that takes a while for each packet,
 * with a queue before it and a delay behind it. */
#include "unit/unit.h"

#include "base/random.h"
#include "swif/congestion.h"

enum { SENDERS_MAX = 8, PACKET_BYTES = 1000, RING = 4096, WINDOW_MAX = 248 };

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define S UINT64_C(1000000000)

struct packet {
    uint32_t sender;
    bool lost;
    uint64_t back_ns; /* when the acknowledgement comes, or the loss is noticed */
    struct swif_sent sent;
};

static struct {
    uint64_t now_ns;
    uint64_t packet_ns; /* the line's time for a packet */
    uint64_t delay_ns;  /* there and back */
    uint64_t free_ns;   /* when the line has sent all that it was given */
    uint32_t loss_permille;
    uint32_t senders;
    bool hungry; /* senders always have something to send */
    struct base_random random;
    struct swif_congestion congestion[SENDERS_MAX];
    uint32_t under_way[SENDERS_MAX];
    uint64_t arrived[SENDERS_MAX];
    struct packet ring[RING]; /* under way, in the order in which they come back */
    uint32_t head, tail;
    uint64_t queue_worst_ns;
} line;

static void line_make(uint32_t senders, uint64_t packet_ns, uint64_t delay_ns)
{
    memset(&line, 0, sizeof line);
    line.now_ns = line.free_ns = S;
    line.packet_ns = packet_ns;
    line.delay_ns = delay_ns;
    line.senders = senders;
    line.hungry = true;
    line.random.state = 5;
    for (uint32_t i = 0; i < senders; i++) {
        swif_congestion_init(&line.congestion[i], line.now_ns);
    }
}

static void line_send(uint32_t sender)
{
    struct packet *packet = &line.ring[line.head++ % RING];
    assert_true(line.head - line.tail < RING);
    uint64_t start_ns = line.free_ns > line.now_ns ? line.free_ns : line.now_ns;
    line.free_ns = start_ns + line.packet_ns;
    *packet = (struct packet){.sender = sender, .back_ns = line.free_ns + line.delay_ns};
    packet->lost = base_random_below(&line.random, 1000) < line.loss_permille;
    swif_congestion_sent(&line.congestion[sender], line.now_ns, &packet->sent);
    line.under_way[sender]++;
    if (line.free_ns - line.now_ns > line.queue_worst_ns) {
        line.queue_worst_ns = line.free_ns - line.now_ns;
    }
}

static bool line_may_send(uint32_t sender)
{
    const struct swif_congestion *congestion = &line.congestion[sender];
    return line.under_way[sender] < swif_congestion_window(congestion) &&
           congestion->pace_ns <= line.now_ns;
}

static void line_back(void)
{
    struct packet packet = line.ring[line.tail++ % RING];
    line.now_ns = packet.back_ns;
    line.under_way[packet.sender]--;
    if (!packet.lost) {
        struct swif_feedback feedback = {.bytes = PACKET_BYTES,
                                         .rtt_ns = line.now_ns - packet.sent.at_ns,
                                         .sent = packet.sent,
                                         .window_max = WINDOW_MAX,
                                         .limited = line.hungry};
        swif_congestion_acked(&line.congestion[packet.sender], line.now_ns, &feedback);
        line.arrived[packet.sender]++;
    }
}

/* Gives the share of the line that was used. */
static double line_run(uint64_t span_ns)
{
    uint64_t begin_ns = line.now_ns;
    uint64_t before = 0;
    uint64_t after = 0;
    line.queue_worst_ns = 0;
    for (uint32_t i = 0; i < line.senders; i++) {
        before += line.arrived[i];
    }
    while (line.now_ns < begin_ns + span_ns) {
        uint64_t pace_ns = UINT64_MAX;
        for (uint32_t i = 0; i < line.senders; i++) {
            while (line_may_send(i)) {
                line_send(i);
            }
            if (line.under_way[i] == 0 && line.congestion[i].pace_ns < pace_ns) {
                pace_ns = line.congestion[i].pace_ns;
            }
        }
        if (line.head != line.tail && line.ring[line.tail % RING].back_ns <= pace_ns) {
            line_back();
        } else {
            line.now_ns = pace_ns;
        }
    }
    for (uint32_t i = 0; i < line.senders; i++) {
        after += line.arrived[i];
    }
    return (double)((after - before) * line.packet_ns) / (double)(line.now_ns - begin_ns);
}

static void one_sender_fills_the_line_and_queues_little(void **state)
{
    (void)state;
    line_make(1, 2 * US, 100 * US); /* 51 packets fill it */
    (void)line_run(20 * MS);
    double used = line_run(100 * MS);
    assert_true(used > 0.97);
    assert_true(line.queue_worst_ns < 15 * line.packet_ns);
}

static void the_window_shrinks_when_the_line_gets_slower_and_grows_again(void **state)
{
    (void)state;
    line_make(1, 2 * US, 100 * US);
    (void)line_run(50 * MS);
    uint32_t wide = swif_congestion_window(&line.congestion[0]);
    line.packet_ns = 20 * US;
    (void)line_run(50 * MS);
    uint32_t narrow = swif_congestion_window(&line.congestion[0]);
    assert_true(narrow < wide / 3);
    assert_true(line_run(50 * MS) > 0.95);
    assert_true(line.queue_worst_ns < 15 * line.packet_ns);
    line.packet_ns = 2 * US;
    (void)line_run(50 * MS);
    assert_true(line_run(50 * MS) > 0.95);
}

static void random_loss_changes_nothing(void **state)
{
    (void)state;
    line_make(1, 2 * US, 100 * US);
    line.loss_permille = 50;
    (void)line_run(20 * MS);
    assert_true(line_run(100 * MS) > 0.95 * 0.95);
}

/* A latecomer takes the others' queue for the length of the way, and leaves more packets in it. The
 * receiver's grants even that out (share_test.c). */
static void nobody_is_driven_from_the_line(void **state)
{
    (void)state;
    line_make(SENDERS_MAX, 2 * US, 100 * US);
    (void)line_run(200 * MS);
    memset(line.arrived, 0, sizeof line.arrived);
    assert_true(line_run(400 * MS) > 0.97);
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    for (uint32_t i = 0; i < SENDERS_MAX; i++) {
        least = line.arrived[i] < least ? line.arrived[i] : least;
        most = line.arrived[i] > most ? line.arrived[i] : most;
    }
    print_message("shares %llu to %llu\n", (unsigned long long)least, (unsigned long long)most);
    assert_true(most < 4 * least);
}

static void a_sender_with_little_to_say_does_not_grow(void **state)
{
    (void)state;
    line_make(1, 2 * US, 100 * US);
    line.hungry = false;
    uint32_t before = line.congestion[0].window;
    for (uint32_t i = 0; i < 1000; i++) {
        line_send(0);
        line_back();
    }
    assert_int_equal(line.congestion[0].window, before);
}

static void below_one_packet_the_window_is_a_pause(void **state)
{
    (void)state;
    line_make(1, 2 * US, 100 * US);
    struct swif_congestion *congestion = &line.congestion[0];
    (void)line_run(10 * MS);
    for (uint32_t i = 0; i < 64; i++) {
        swif_congestion_silence(congestion);
    }
    assert_true(congestion->window < SWIF_WINDOW_ONE && congestion->window > 0);
    assert_int_equal(swif_congestion_window(congestion), 1);
    struct swif_sent sent;
    swif_congestion_sent(congestion, line.now_ns, &sent);
    assert_true(congestion->pace_ns >= line.now_ns + 2 * congestion->srtt_ns);
    assert_true(congestion->pace_ns <= line.now_ns + 100 * congestion->srtt_ns);
    /* And it recovers. */
    (void)line_run(50 * MS);
    assert_true(line_run(50 * MS) > 0.95);
}

/* A node that sends one packet and waits for the answer never has another one that the window
 * holds back, and still must not pause between packets for ever. */
static void after_silence_a_ping_pong_gets_rid_of_the_pause(void **state)
{
    (void)state;
    line_make(1, 2 * US, 10 * US);
    line.hungry = false;
    for (int i = 0; i < 12; i++) {
        swif_congestion_silence(&line.congestion[0]);
    }
    for (int i = 0; i < 20; i++) {
        line.now_ns += 100 * US; /* the pauses are over */
        line_send(0);
        line_back();
    }
    assert_true(line.congestion[0].window >= SWIF_WINDOW_ONE);
    line_send(0);
    assert_true(line.congestion[0].pace_ns <= line.now_ns);
}

/* The shortest round trip is forgotten after ten seconds, in the middle of a round. */
/* On a long way the pause is not longer than a round trip or a quarter of a second: what is lost
 * several times would else wait for seconds. */
static void after_silence_on_a_long_way_the_pause_is_short(void **state)
{
    (void)state;
    static const uint64_t trips_ns[] = {S / 10, S / 3, S};
    for (unsigned i = 0; i < 3; i++) {
        struct swif_congestion congestion;
        struct swif_sent sent;
        swif_congestion_init(&congestion, S);
        congestion.srtt_ns = trips_ns[i];
        for (unsigned silence = 0; silence < 20; silence++) {
            swif_congestion_silence(&congestion);
        }
        assert_true(congestion.window < SWIF_WINDOW_ONE);
        swif_congestion_sent(&congestion, S, &sent);
        assert_true(congestion.pace_ns - S >= trips_ns[i]);
        assert_true(congestion.pace_ns - S <= (trips_ns[i] > S / 4 ? trips_ns[i] : S / 4));
    }
}

static void a_new_shortest_round_trip_does_not_upset_the_window(void **state)
{
    (void)state;
    struct swif_congestion congestion;
    uint64_t now_ns = S;
    swif_congestion_init(&congestion, now_ns);
    congestion.starting = false;
    congestion.window = 100 * SWIF_WINDOW_ONE;
    congestion.srtt_ns = 100 * US;
    congestion.shortest_ns = 90 * US;
    congestion.shortest_at_ns = now_ns;
    congestion.round_at_ns = now_ns + 10 * S;
    struct swif_feedback feedback = {.bytes = PACKET_BYTES, .window_max = WINDOW_MAX};
    feedback.rtt_ns = 91 * US;
    feedback.sent.at_ns = now_ns + 10 * S - 91 * US;
    swif_congestion_acked(&congestion, now_ns + 10 * S, &feedback);
    feedback.rtt_ns = 95 * US;
    feedback.sent.at_ns = now_ns + 10 * S + US;
    swif_congestion_acked(&congestion, now_ns + 10 * S + 96 * US, &feedback);
    assert_in_range(congestion.window, 95 * SWIF_WINDOW_ONE, 107 * SWIF_WINDOW_ONE);
}

static void measure(struct swif_congestion *congestion, uint64_t rtt_ns, uint32_t times)
{
    for (uint64_t now_ns = 100 * S; times > 0; times--, now_ns += rtt_ns) {
        struct swif_feedback feedback = {.bytes = PACKET_BYTES,
                                         .rtt_ns = rtt_ns,
                                         .rtt_usual_ns = 20 * MS,
                                         .sent = {now_ns - rtt_ns, 0, 0},
                                         .window_max = WINDOW_MAX};
        swif_congestion_acked(congestion, now_ns, &feedback);
    }
}

/* Otherwise the next loss would be mended, and the pause of a small window be over, only after as
 * long a time again. */
static void a_peer_that_stood_still_is_no_long_way(void **state)
{
    (void)state;
    struct swif_congestion congestion;
    swif_congestion_init(&congestion, S);
    measure(&congestion, 200 * US, 20);
    measure(&congestion, 5 * S, 2);
    assert_true(congestion.srtt_ns + 4 * congestion.rttvar_ns < 60 * MS);
    measure(&congestion, 200 * US, 20);
    assert_true(congestion.srtt_ns < 2 * MS);
    /* Nor is one that came late to its socket. */
    swif_congestion_init(&congestion, S);
    measure(&congestion, 5 * S, 1);
    assert_true(congestion.srtt_ns + 4 * congestion.rttvar_ns < 100 * MS);
}

static void a_long_way_is_learnt(void **state)
{
    (void)state;
    struct swif_congestion congestion;
    swif_congestion_init(&congestion, S);
    measure(&congestion, 500 * MS, 8);
    assert_true(congestion.srtt_ns + 4 * congestion.rttvar_ns > 500 * MS);
    measure(&congestion, 500 * MS, 40);
    assert_in_range(congestion.srtt_ns, 490 * MS, 510 * MS);
}

static void the_window_stays_within_its_bounds(void **state)
{
    (void)state;
    struct base_random random = {.state = (uint64_t)time(NULL)};
    print_message("seed %llu\n", (unsigned long long)random.state);
    struct swif_congestion congestion;
    uint64_t now_ns = S;
    swif_congestion_init(&congestion, now_ns);
    for (uint32_t i = 0; i < 200000; i++) {
        now_ns += base_random_below(&random, i % 100 == 0 ? 11 * S : MS);
        uint64_t rtt_ns = 1 +
                          base_random_below(&random, UINT64_C(1) << base_random_below(&random, 40));
        struct swif_sent sent = {now_ns - (rtt_ns < now_ns ? rtt_ns : now_ns), 0, 0};
        struct swif_feedback feedback = {.bytes = PACKET_BYTES,
                                         .rtt_ns = rtt_ns,
                                         .sent = sent,
                                         .window_max = WINDOW_MAX,
                                         .limited = base_random_below(&random, 2) == 0};
        swif_congestion_acked(&congestion, now_ns, &feedback);
        if (base_random_below(&random, 50) == 0) {
            swif_congestion_silence(&congestion);
        }
        uint32_t window = swif_congestion_window(&congestion);
        assert_in_range(window, 1, WINDOW_MAX);
        assert_true(congestion.window > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_sender_fills_the_line_and_queues_little),
        cmocka_unit_test(the_window_shrinks_when_the_line_gets_slower_and_grows_again),
        cmocka_unit_test(random_loss_changes_nothing),
        cmocka_unit_test(nobody_is_driven_from_the_line),
        cmocka_unit_test(a_sender_with_little_to_say_does_not_grow),
        cmocka_unit_test(below_one_packet_the_window_is_a_pause),
        cmocka_unit_test(after_silence_a_ping_pong_gets_rid_of_the_pause),
        cmocka_unit_test(after_silence_on_a_long_way_the_pause_is_short),
        cmocka_unit_test(a_new_shortest_round_trip_does_not_upset_the_window),
        cmocka_unit_test(a_peer_that_stood_still_is_no_long_way),
        cmocka_unit_test(a_long_way_is_learnt),
        cmocka_unit_test(the_window_stays_within_its_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
