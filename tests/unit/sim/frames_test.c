/* Frames over a link that loses and damages frames, ACKs and NACKs, and that dies and returns:
 * each comes exactly once and in order. The paper's literal rules livelock. */
#include "unit/unit.h"
#include "base/random.h"
#include "sim/frames.h"

enum { PIPE = 4096 }; /* what is on a link at once, at most; a power of two */

/* What is on its way in one direction, in the order in which it was sent. */
struct passing {
    uint64_t arrival_cycle;
    uint64_t content;
    struct frames_answer answer;
    uint16_t number;
};

struct pipe {
    struct passing passing[PIPE];
    uint32_t first, count;
};

struct link {
    struct frames_config config;
    uint32_t frame_cycles, link_cycles;
    double frame_loss, answer_loss; /* lost or damaged: the rules treat both alike */
    uint64_t loss_pattern;          /* a bit for each of the first 64 that are sent: 1 is lost */
    uint32_t loss_pattern_at;
    uint64_t damaged_frame; /* the transmission that is damaged, counted from 1; 0: none */
    uint64_t damaged_every; /* each multiple of this is damaged as well; 0: none */
    uint32_t cursed_count;  /* how often the frame of that number will be damaged */
    uint16_t cursed_number;
    struct base_random random;

    struct frames_sender sender;
    struct frames_receiver receiver;
    struct pipe frames, answers;
    uint64_t contents[FRAMES_WINDOW_MAX]; /* the send buffer */
    uint64_t wanted_count, pushed_count, taken_count;
    uint64_t sent_count, answer_count, nack_count;
    uint64_t free_cycle; /* the data lanes are busy until then */
    uint64_t cycle;
    bool dead;
};

static struct link link_of_test;

static uint64_t content_of(uint64_t index)
{
    return index * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

/* A link to carry that many frames; the test sets the fields that stay 0 here. */
static struct link *new_link(struct frames_config config, uint64_t wanted_count, uint16_t first)
{
    struct link *link = &link_of_test;
    memset(link, 0, offsetof(struct link, frames));
    link->frames.first = link->frames.count = 0;
    link->answers.first = link->answers.count = 0;
    link->config = config;
    link->frame_cycles = 2;
    link->link_cycles = 5;
    link->wanted_count = wanted_count;
    link->pushed_count = link->taken_count = 0;
    link->sent_count = link->answer_count = link->nack_count = 0;
    link->free_cycle = link->cycle = 0;
    link->dead = false;
    assert_null(frames_config_objection(&config));
    frames_sender_init(&link->sender, &config, first);
    frames_receiver_init(&link->receiver, &config, first);
    return link;
}

static bool is_lost(struct link *link, double probability)
{
    if (link->loss_pattern_at < 64) {
        if ((link->loss_pattern >> link->loss_pattern_at++ & 1) != 0) {
            return true;
        }
    }
    return link->dead ||
           (double)base_random_below(&link->random, 1u << 30) < probability * (1u << 30);
}

static void put(struct link *link, struct pipe *pipe, double loss, struct passing passing)
{
    if (!is_lost(link, loss)) {
        assert_true(pipe->count < PIPE);
        pipe->passing[(pipe->first + pipe->count++) % PIPE] = passing;
    }
}

static const struct passing *arrived(struct pipe *pipe, uint64_t cycle)
{
    const struct passing *passing = &pipe->passing[pipe->first % PIPE];
    if (pipe->count == 0 || passing->arrival_cycle > cycle) {
        return NULL;
    }
    pipe->first++;
    pipe->count--;
    return passing;
}

static void send_frames(struct link *link)
{
    struct frames_sender *sender = &link->sender;
    if (link->pushed_count < link->wanted_count && frames_sender_has_room(sender)) {
        uint16_t number = frames_sender_push(sender);
        link->contents[frames_slot(sender, number)] = content_of(link->pushed_count++);
    }
    uint16_t number;
    if (link->free_cycle > link->cycle || link->dead) {
        return;
    }
    bool due = frames_sender_due(sender) <= link->cycle;
    bool has_one = frames_sender_next(sender, link->cycle, &number);
    assert_true(due == has_one);
    if (!has_one) {
        return;
    }
    link->free_cycle = link->cycle + link->frame_cycles;
    link->sent_count++;
    bool cursed = number == link->cursed_number && link->cursed_count > 0;
    link->cursed_count -= cursed;
    bool damaged = cursed || link->sent_count == link->damaged_frame ||
                   (link->damaged_every > 0 && link->sent_count % link->damaged_every == 0);
    put(link, &link->frames, damaged ? 1 : link->frame_loss,
        (struct passing){
            .arrival_cycle = link->free_cycle + link->link_cycles,
            .number = number,
            .content = link->contents[frames_slot(sender, number)],
        });
}

static void step(struct link *link)
{
    const struct passing *passing;
    while ((passing = arrived(&link->answers, link->cycle)) != NULL) {
        frames_sender_answered(&link->sender, link->cycle, passing->answer);
    }
    send_frames(link);
    while ((passing = arrived(&link->frames, link->cycle)) != NULL) {
        if (frames_receiver_take(&link->receiver, link->cycle, passing->number)) {
            /* Exactly once and in order: the content is the next one's. */
            assert_true(passing->content == content_of(link->taken_count));
            link->taken_count++;
        }
    }
    struct frames_answer answer;
    bool due = frames_receiver_due(&link->receiver) <= link->cycle;
    bool has_one = frames_receiver_answer(&link->receiver, link->cycle, &answer);
    assert_true(due == has_one);
    if (has_one) {
        link->answer_count++;
        link->nack_count += answer.nack;
        put(link, &link->answers, link->answer_loss,
            (struct passing){.arrival_cycle = link->cycle + link->link_cycles, .answer = answer});
    }
    link->cycle++;
}

static bool is_done(const struct link *link)
{
    return link->taken_count == link->wanted_count && link->pushed_count == link->wanted_count &&
           frames_sender_is_idle(&link->sender);
}

/* True: all has come and is acknowledged before that cycle. */
static bool run(struct link *link, uint64_t cycles_max)
{
    while (link->cycle < cycles_max && !is_done(link)) {
        step(link);
    }
    assert_true(link->taken_count <= link->wanted_count);
    return is_done(link);
}

static const struct frames_config usual = {
    .window = 16, .ack_frames = 4, .ack_cycles = 20, .resend_cycles = 100};

/* ---- Without errors ---------------------------------------------------------------------- */

static void a_link_without_errors_is_kept_busy(void **state)
{
    (void)state;
    for (uint32_t frame_cycles = 1; frame_cycles <= 16; frame_cycles *= 2) {
        for (uint32_t link_cycles = 1; link_cycles <= 64; link_cycles *= 2) {
            for (uint32_t ack_frames = 1; ack_frames <= 8; ack_frames *= 2) {
                struct frames_config config = {
                    .window = frames_window(frame_cycles, link_cycles, ack_frames),
                    .ack_frames = ack_frames,
                    .ack_cycles = ack_frames * frame_cycles,
                };
                config.resend_cycles =
                    frames_round_trip_cycles(frame_cycles, link_cycles, &config) + 1;
                struct link *link = new_link(config, 1000, 65000);
                link->frame_cycles = frame_cycles;
                link->link_cycles = link_cycles;
                assert_true(run(link, 100000));
                assert_int_equal(link->sent_count, 1000);
                assert_int_equal(link->sender.resent_count, 0);
                assert_int_equal(link->sender.timeout_count, 0);
                assert_int_equal(link->nack_count, 0);
                /* They go one behind the other, then comes the last one's way and its ACK's. */
                assert_true(link->cycle <=
                            (1000u + ack_frames) * frame_cycles + 2 * link_cycles + 2);
                /* The count begins anew at each ACK. */
                assert_true(link->answer_count <= 1000 / ack_frames + 1);
            }
        }
    }
}

/* ---- One thing lost ---------------------------------------------------------------------- */

/* One damaged frame costs one NACK, and what followed it is resent once. No timer fires. */
static void a_damaged_frame_costs_one_nack(void **state)
{
    (void)state;
    for (uint64_t damaged = 1; damaged < 200; damaged++) {
        struct link *link = new_link(usual, 200, 65500);
        link->damaged_frame = damaged;
        assert_true(run(link, 100000));
        assert_int_equal(link->nack_count, 1);
        assert_int_equal(link->sender.timeout_count, 0);
        assert_int_equal(link->receiver.duplicate_count, 0);
        assert_true(link->sender.resent_count <= usual.window);
    }
}

static void every_gap_has_its_nack(void **state)
{
    (void)state;
    struct link *link = new_link(usual, 195, 0);
    link->damaged_every = 50;
    assert_true(run(link, 10000));
    assert_int_equal(link->nack_count, link->sent_count / 50);
    assert_true(link->nack_count >= 4);
    assert_int_equal(link->sender.timeout_count, 0);
}

/* The missing frame comes before the NACK could go out: nothing need be resent. */
static void a_nack_that_waits_too_long_is_an_ack(void **state)
{
    (void)state;
    struct frames_receiver receiver;
    struct frames_answer answer;
    frames_receiver_init(&receiver, &usual, 10);
    assert_true(frames_receiver_take(&receiver, 1, 10));
    assert_false(frames_receiver_take(&receiver, 2, 12));
    assert_int_equal(frames_receiver_due(&receiver), 2);
    assert_true(frames_receiver_take(&receiver, 3, 11));
    assert_true(frames_receiver_answer(&receiver, 4, &answer));
    assert_false(answer.nack);
    assert_int_equal(answer.number, 11);
    assert_false(frames_receiver_answer(&receiver, 5, &answer));
}

/* Frames that are acknowledged while they wait to be resent do not go out: new ones have their
 * places in the buffer by then. */
static void what_is_acknowledged_is_not_sent_again(void **state)
{
    (void)state;
    struct frames_sender sender;
    uint16_t number;
    frames_sender_init(&sender, &usual, 65530);
    for (int i = 0; i < 10; i++) {
        frames_sender_push(&sender);
        assert_true(frames_sender_next(&sender, 0, &number));
    }
    assert_false(frames_sender_next(&sender, 99, &number));
    assert_true(frames_sender_next(&sender, 100, &number)); /* the timer */
    assert_int_equal(number, 65530);
    frames_sender_answered(&sender, 101, (struct frames_answer){.number = 65535});
    assert_true(frames_sender_next(&sender, 102, &number));
    assert_int_equal(number, 0);
    /* The link was dead: everything not acknowledged goes out at once. */
    frames_sender_restart(&sender, 103);
    assert_int_equal(frames_sender_due(&sender), 0);
    assert_true(frames_sender_next(&sender, 104, &number));
    assert_int_equal(number, 0);
    assert_true(frames_sender_next(&sender, 104, &number));
    assert_int_equal(number, 1);
}

/* Nothing follows the last frame, so only the timer notices. */
static void a_lost_last_frame_is_sent_again_by_the_timer(void **state)
{
    (void)state;
    struct link *link = new_link(usual, 200, 0);
    link->damaged_frame = 200;
    assert_true(run(link, 100000));
    assert_int_equal(link->nack_count, 0);
    assert_int_equal(link->sender.timeout_count, 1);
    assert_true(link->sender.resent_count <= usual.ack_frames);
}

static void a_lost_last_ack_is_said_again(void **state)
{
    (void)state;
    struct frames_config config = usual;
    config.ack_frames = 1;
    struct link *link = new_link(config, 1, 65535);
    link->loss_pattern = 2; /* the frame comes, its ACK does not */
    assert_true(run(link, 1000));
    assert_int_equal(link->sent_count, 2);
    assert_int_equal(link->receiver.duplicate_count, 1);
}

/* The frame that a NACK asked for is damaged again: the second NACK needs no timer. */
static void a_gap_that_comes_again_has_a_nack_of_its_own(void **state)
{
    (void)state;
    struct link *link = new_link(usual, 100, 0);
    link->cursed_number = 30;
    link->cursed_count = 5;
    assert_true(run(link, 10000));
    assert_int_equal(link->cursed_count, 0);
    assert_int_equal(link->nack_count, 5);
    assert_int_equal(link->sender.timeout_count, 0);
    assert_int_equal(link->receiver.duplicate_count, 0);
}

/* ---- Anything lost ----------------------------------------------------------------------- */

/* Tries every way to lose any of the first 16 things that are sent, in either direction. */
static void every_pattern_of_losses_ends_well(void **state)
{
    (void)state;
    static const struct frames_config configs[] = {
        {.window = 1, .ack_frames = 1, .ack_cycles = 0, .resend_cycles = 30},
        {.window = 2, .ack_frames = 1, .ack_cycles = 0, .resend_cycles = 20},
        {.window = 4, .ack_frames = 2, .ack_cycles = 3, .resend_cycles = 30},
        /* A timer that fires before any answer can have come. */
        {.window = 4, .ack_frames = 4, .ack_cycles = 9, .resend_cycles = 3},
    };
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        for (uint64_t pattern = 0; pattern < 1u << 16; pattern += 1 + pattern % 3) {
            struct link *link = new_link(configs[i], 6, (uint16_t)(65533 + pattern % 4));
            link->loss_pattern = pattern;
            if (!run(link, 3000)) {
                fail_msg("config %zu, losses %#llx: %llu of 6 came", i, (unsigned long long)pattern,
                         (unsigned long long)link->taken_count);
            }
        }
    }
}

static void random_losses_never_lose_double_or_reorder(void **state)
{
    (void)state;
    static const double losses[] = {0, 0.0001, 0.01, 0.1, 0.5};
    uint64_t frames_sent = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct base_random random = {.state = seed};
        uint32_t window = 1u << base_random_below(&random, 9);
        struct frames_config config = {
            .window = window,
            .ack_frames = 1 + (uint32_t)base_random_below(&random, window),
            .ack_cycles = (uint32_t)base_random_below(&random, 60),
            .resend_cycles = 1 + (uint32_t)base_random_below(&random, 300),
        };
        struct link *link = new_link(config, 20000, (uint16_t)base_random_below(&random, 1u << 16));
        link->random = random;
        link->frame_loss = losses[base_random_below(&random, 5)];
        link->answer_loss = losses[base_random_below(&random, 5)];
        link->frame_cycles = 1 + (uint32_t)base_random_below(&random, 8);
        link->link_cycles = 1 + (uint32_t)base_random_below(&random, 40);
        /* Stop-and-wait with half of everything lost is slow; it only has to make progress. */
        (void)run(link, 3000000);
        link->frame_loss = link->answer_loss = 0;
        link->wanted_count = link->pushed_count;
        if (!run(link, link->cycle + 1000000)) {
            fail_msg("seed %llu: %llu of %llu came", (unsigned long long)seed,
                     (unsigned long long)link->taken_count, (unsigned long long)link->wanted_count);
        }
        if (link->pushed_count < 2000) {
            fail_msg("seed %llu: only %llu frames", (unsigned long long)seed,
                     (unsigned long long)link->pushed_count);
        }
        frames_sent += link->sent_count;
    }
    print_message("%llu frames sent\n", (unsigned long long)frames_sent);
    assert_true(frames_sent > 4000000);
}

/* The largest window: half of all numbers are under way. */
static void the_largest_window_tells_old_from_new(void **state)
{
    (void)state;
    struct frames_config config = {
        .window = FRAMES_WINDOW_MAX, .ack_frames = 64, .ack_cycles = 50, .resend_cycles = 9000};
    struct link *link = new_link(config, 400000, 12345);
    link->frame_cycles = 1;
    link->link_cycles = 1500;
    link->frame_loss = 0.0001;
    link->answer_loss = 0.01;
    link->random.state = 7;
    assert_true(run(link, 100000000));
    assert_true(link->sender.resent_count > 0);

    /* A whole window is out, all has come, every ACK was lost: every number is old. */
    config.resend_cycles = 100000;
    config.ack_cycles = 0;
    link = new_link(config, FRAMES_WINDOW_MAX, 40000);
    link->frame_cycles = 1;
    link->answer_loss = 1;
    while (link->taken_count < FRAMES_WINDOW_MAX) {
        step(link);
    }
    link->answer_loss = 0;
    assert_true(run(link, 1000000));
    assert_true(link->receiver.duplicate_count > 0);
    assert_int_equal(link->receiver.beyond_count, 0);
}

/* ---- Links that die ---------------------------------------------------------------------- */

static void a_link_that_dies_and_returns_goes_on(void **state)
{
    (void)state;
    uint32_t deaths_of_all = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct link *link = new_link(usual, 3000, (uint16_t)(seed * 331));
        link->random.state = seed;
        link->frame_loss = 0.01;
        link->answer_loss = 0.01;
        uint32_t deaths = 0;
        while (!is_done(link) && link->cycle < 3000000) {
            if (base_random_below(&link->random, 400) == 0 && deaths < 50) {
                /* What is on it is lost, in both directions. */
                deaths++;
                link->dead = true;
                link->frames.count = link->answers.count = 0;
                uint64_t until = link->cycle + base_random_below(&link->random, 1000);
                while (link->cycle < until) {
                    step(link);
                }
                link->dead = false;
                frames_sender_restart(&link->sender, link->cycle);
            }
            step(link);
        }
        assert_true(is_done(link));
        deaths_of_all += deaths;
    }
    assert_true(deaths_of_all > 1000);
}

/* ---- The literal rules ------------------------------------------------------------------- */

enum { PATIENCE = 100000, FRAMES = 200 };

static struct link *literal_link(uint32_t ack_frames, uint64_t damaged_frame)
{
    struct frames_config config = {.window = 64,
                                   .ack_frames = ack_frames,
                                   .ack_cycles = 20,
                                   .resend_cycles = 100,
                                   .literal_rules = true};
    struct link *link = new_link(config, FRAMES, 0);
    link->damaged_frame = damaged_frame;
    return link;
}

/* One of 200 frames is damaged before the first ACK. Every frame that is resent has come before and
 * makes a NACK, for which all are resent; a new one never gets its turn. */
static void the_literal_rules_livelock(void **state)
{
    (void)state;
    struct link *link = literal_link(16, 0);
    assert_true(run(link, PATIENCE)); /* They work while nothing goes wrong. */
    assert_int_equal(link->sent_count, FRAMES);

    link = literal_link(16, 9);
    assert_false(run(link, PATIENCE));
    uint64_t taken = link->taken_count;
    uint64_t sent = link->sent_count;
    assert_true(taken < 20);
    assert_false(run(link, 2 * PATIENCE));
    assert_int_equal(link->taken_count, taken);
    assert_true(link->sent_count > sent + PATIENCE / link->frame_cycles - 10);
    assert_int_equal(link->sender.oldest, 0);

    /* The same frame damaged, with the repaired rules. */
    link = literal_link(16, 9);
    struct frames_config config = link->config;
    config.literal_rules = false;
    link = new_link(config, FRAMES, 0);
    link->damaged_frame = 9;
    assert_true(run(link, PATIENCE));
    assert_true(link->sent_count < FRAMES + 20 && link->cycle < 1000);
}

/* Wherever the damaged frame is, the literal rules mostly never end: they resend for ever, or wait
 * for what nobody sends. The repaired rules always end. */
static void the_literal_rules_seldom_recover(void **state)
{
    (void)state;
    for (uint32_t ack_frames = 1; ack_frames <= 64; ack_frames *= 8) {
        uint32_t livelocks = 0;
        uint32_t silent = 0;
        for (uint64_t damaged = 1; damaged <= FRAMES; damaged++) {
            struct link *link = literal_link(ack_frames, damaged);
            if (!run(link, PATIENCE)) {
                uint64_t sent = link->sent_count;
                assert_false(run(link, PATIENCE + 1000));
                livelocks += link->sent_count > sent;
                silent += link->sent_count == sent;
            }
        }
        print_message("ACK from %u frames on: of 200 places of the damaged frame %u livelock, "
                      "%u fall silent\n",
                      ack_frames, livelocks, silent);
        assert_true(livelocks + silent > 180);
        assert_true(ack_frames < 64 || livelocks > 40);
    }
}

/* ---- What makes no sense ------------------------------------------------------------------ */

static void answers_that_make_no_sense_change_nothing(void **state)
{
    (void)state;
    struct frames_sender sender;
    frames_sender_init(&sender, &usual, 65530);
    for (int i = 0; i < 12; i++) {
        frames_sender_push(&sender);
    }
    uint16_t number;
    for (int i = 0; i < 10; i++) {
        assert_true(frames_sender_next(&sender, 1, &number));
        assert_int_equal(number, (uint16_t)(65530 + i));
    }
    frames_sender_answered(&sender, 2, (struct frames_answer){.number = 65533});
    /* 65534 .. 3 are out and not acknowledged. */
    assert_int_equal(sender.oldest, 65534);
    for (uint32_t offered = 0; offered < 1u << 16; offered++) {
        uint16_t since_oldest = (uint16_t)(offered - 65534);
        struct frames_sender before = sender;
        if (since_oldest >= 6 && since_oldest != 65535) { /* an ACK for what was never sent */
            frames_sender_answered(&sender, 3, (struct frames_answer){.number = (uint16_t)offered});
        }
        if (since_oldest > 6) { /* a NACK of what was acknowledged, or never sent */
            frames_sender_answered(
                &sender, 3, (struct frames_answer){.number = (uint16_t)offered, .nack = true});
        }
        assert_memory_equal(&sender, &before, sizeof sender);
    }
    /* The same again: no news. */
    struct frames_sender before = sender;
    frames_sender_answered(&sender, 3, (struct frames_answer){.number = 65533});
    assert_memory_equal(&sender, &before, sizeof sender);
    /* All that went out has come, and the next is asked for: nothing need be resent. */
    frames_sender_answered(&sender, 3, (struct frames_answer){.number = 4, .nack = true});
    assert_int_equal(sender.oldest, 4);
    assert_int_equal(sender.next, 4);
    assert_true(sender.timer_cycle == FRAMES_NEVER);
}

static void the_window_is_bounded_by_the_send_buffer(void **state)
{
    (void)state;
    for (uint32_t window = 1; window <= FRAMES_WINDOW_MAX; window *= 2) {
        struct frames_config config = usual;
        config.window = window;
        config.ack_frames = 1;
        struct frames_sender sender;
        frames_sender_init(&sender, &config, 60000);
        uint32_t count = 0;
        while (frames_sender_has_room(&sender)) {
            uint16_t number = frames_sender_push(&sender);
            assert_true(frames_slot(&sender, number) < window);
            count++;
        }
        assert_int_equal(count, window);
    }
}

static void bad_configs_are_refused(void **state)
{
    (void)state;
    struct frames_config config = usual;
    assert_null(frames_config_objection(&config));
    config.window = 0;
    assert_non_null(frames_config_objection(&config));
    config.window = 12;
    assert_non_null(frames_config_objection(&config));
    config.window = 2 * FRAMES_WINDOW_MAX;
    assert_non_null(frames_config_objection(&config));
    config = usual;
    config.ack_frames = 0;
    assert_non_null(frames_config_objection(&config));
    config.ack_frames = config.window + 1;
    assert_non_null(frames_config_objection(&config));
    config = usual;
    config.resend_cycles = 0;
    assert_non_null(frames_config_objection(&config));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_without_errors_is_kept_busy),
        cmocka_unit_test(a_damaged_frame_costs_one_nack),
        cmocka_unit_test(every_gap_has_its_nack),
        cmocka_unit_test(a_nack_that_waits_too_long_is_an_ack),
        cmocka_unit_test(what_is_acknowledged_is_not_sent_again),
        cmocka_unit_test(a_lost_last_frame_is_sent_again_by_the_timer),
        cmocka_unit_test(a_lost_last_ack_is_said_again),
        cmocka_unit_test(a_gap_that_comes_again_has_a_nack_of_its_own),
        cmocka_unit_test(every_pattern_of_losses_ends_well),
        cmocka_unit_test(random_losses_never_lose_double_or_reorder),
        cmocka_unit_test(the_largest_window_tells_old_from_new),
        cmocka_unit_test(a_link_that_dies_and_returns_goes_on),
        cmocka_unit_test(the_literal_rules_livelock),
        cmocka_unit_test(the_literal_rules_seldom_recover),
        cmocka_unit_test(answers_that_make_no_sense_change_nothing),
        cmocka_unit_test(the_window_is_bounded_by_the_send_buffer),
        cmocka_unit_test(bad_configs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
