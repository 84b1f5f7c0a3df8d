/* Losses, and time-outs in which nothing came back.
 *
 * All that is under way then counts as lost, and one packet at a time goes out until something is
 * answered. What comes at last may answer an earlier copy: then nothing was silent, but the way is
 * longer than the time-outs, as it is always at the start of a long one. */
#include "swif/state.h"

void swif_hold_for_lost(struct swif_ltee *ltee, uint32_t sequence)
{
    if (!swif_bit(&ltee->here, sequence) && !swif_bit(&ltee->lost, sequence)) {
        swif_bit_set(&ltee->lost, sequence);
        ltee->lost_count++;
        ltee->under_way--;
    }
}

void swif_hold_all_for_lost(struct swif_ltee *ltee)
{
    for (uint32_t sequence = ltee->oldest; sequence != ltee->unsent; sequence++) {
        swif_hold_for_lost(ltee, sequence);
    }
}

/* All that was sent has arrived, but the oldest packet has not been carried out, or the word of
 * that was lost. Sending it again makes the receiver say which. */
static void ask_again(struct swif_ltee *ltee)
{
    swif_bit_clear(&ltee->here, ltee->oldest);
    ltee->under_way++;
    swif_hold_for_lost(ltee, ltee->oldest);
}

void swif_silence(struct swif *swif, uint64_t now_ns, struct swif_ltee *ltee)
{
    swif_hold_all_for_lost(ltee);
    if (ltee->silences == 1) {
        swif_copies_begin(&ltee->copies, swif->counter);
    }
    const struct swif_buffer *lost = NULL;
    if (ltee->lost_count != 0) {
        lost = swif_buffer_at(swif, ltee, swif_first_lost(ltee));
    }
    if (!swif_path_blame(swif, now_ns, ltee, lost) && ltee->silences > 1) {
        swif_congestion_silence(&ltee->congestion);
    }
    if (!lost) {
        ask_again(ltee);
    }
}

void swif_silence_is_over(const struct swif *swif, uint64_t now_ns, struct swif_ltee *ltee,
                          struct swif_reading *reading)
{
    const struct swif_copy *copy = swif_copies_find(&ltee->copies, reading->ack->echo);
    if (copy && reading->feedback.rtt_ns == 0) {
        /* Nothing else has arrived since it went. */
        struct swif_sent sent = {copy->at_ns, ltee->congestion.delivered_bytes,
                                 ltee->congestion.delivered_at_ns};
        swif_measure(now_ns, ltee, &sent, reading);
    }
    /* On a way that has been measured and is not long, the peer stood still. The window then stays
     * small, and what waits meanwhile travels together. */
    bool may_be_long = ltee->congestion.srtt_ns == 0 ||
                       reading->feedback.rtt_ns > swif->config.rto_max_ns;
    if (may_be_long && (copy || swif_copies_echo_is_older(&ltee->copies, reading->ack->echo))) {
        swif_congestion_was_no_silence(&ltee->congestion);
    }
}
