/* The slow stages of waiting, and waiting for several words. */
#define _GNU_SOURCE
#include "shmem/wait.h"

#include "shmem/failure.h"

/* A program of one thread whose every peer finalizes waits in vain: nobody will write. With
 * more threads one of this PE's own may. */
static bool is_hopeless(const struct dn_node *node, void *context, bool forever)
{
    return inner_nobody_left(node, context, forever) ||
           (shmem_state.thread_level == SHMEM_THREAD_SINGLE && shmem_others_finalize());
}

/* The wait is over without its condition. A death that is not accepted yet is a reason to go on; so
 * is one that is, when nobody is left who could store the value. If all others have finished, and
 * none of them has died, the program waits by mistake. */
static void fail_wait(int error, const char *call)
{
    int dead = inner_unacknowledged(shmem_state.node);
    bool is_last = error == DN_EPEER && dead < 0 &&
                   (shmem_others_finalize() || inner_peers_all_gone(shmem_state.node));
    if (is_last && shmem_state.goes_on) {
        dead = shmem_dead_member(&shmem_state.world);
    }
    if (is_last && dead < 0) {
        shmem_fail(call, "this PE waits for a value that cannot come any more: all other PEs have "
                         "called shmem_finalize or left the program");
    }
    shmem_on_error(call, error, dead < 0 ? SHMEM_NOBODY : dead);
}

/* Stores to the words from first to last, of so many bytes each, wake the sleeper. False: a death
 * has ended the wait. */
static bool wait_for(bool (*holds)(void *context), void *context, const void *first,
                     const void *last, unsigned bytes, const char *call)
{
    struct inner_condition condition = {
        holds, is_hopeless, context, shmem_group_address(first), shmem_group_address(last), bytes};
    shmem_require_initialised(call);
    int error = inner_wait(shmem_state.node, &condition, DN_FOREVER);
    if (error) {
        fail_wait(error, call);
    }
    return !error;
}

/* ---- One word ----------------------------------------------------------------------------- */

static void check_word(const void *word, unsigned bytes, const char *call)
{
    struct dn_remote remote;
    shmem_require_initialised(call);
    if (shmem_state.debug && !shmem_remote_of(word, bytes, shmem_state.my_pe, &remote)) {
        shmem_fail(call, "address %p is not symmetric: no other PE can write there", word);
    }
}

bool shmem_wait_slowly(const void *word, unsigned bytes, struct base_range range, const char *call)
{
    struct base_watched_word watched = {word, bytes, range};
    check_word(word, bytes, call);
    struct inner_trace trace = inner_trace_wait(shmem_state.node, call, word, bytes);
    /* A wait that is recorded has not polled closely yet. */
    int polls = trace.is_begun && inner_polls_closely(shmem_state.node) ? INNER_CLOSE_POLLS : 0;
    for (; polls > 0 && !base_word_holds(word, bytes, range); polls--) {
        cpu_relax_briefly();
    }
    bool holds = wait_for(base_watched_word_holds, &watched, word, word, bytes, call);
    inner_trace_end(trace, holds ? 0 : DN_EPEER);
    return holds;
}

_Noreturn void shmem_wait_refuse(int cmp, const char *call)
{
    if ((unsigned)cmp > SHMEM_CMP_LE) {
        shmem_fail(call, "%d is no comparison: use one of SHMEM_CMP_EQ, NE, GT, GE, LT and LE",
                   cmp);
    }
    shmem_fail(call, "no value is %s: the wait would never end",
               cmp == SHMEM_CMP_GT ? "greater than the greatest" : "less than the least");
}

void shmem_look_again(void)
{
    if (shmem_state.initialised) {
        inner_look_again(shmem_state.node);
    }
}

/* ---- Several words ------------------------------------------------------------------------- */

static bool takes_part(const struct shmem_words *words, size_t index)
{
    return !words->status || words->status[index] == 0;
}

static bool holds_at(const struct shmem_words *words, size_t index)
{
    unsigned bytes = words->type.bytes;
    const unsigned char *word = (const unsigned char *)words->words + index * bytes;
    uint64_t wanted = words->value;
    if (words->values) {
        wanted = base_word_load((const unsigned char *)words->values + index * bytes, bytes);
    }
    struct base_range range;
    return base_range_make((enum dn_comparison)words->cmp, wanted, words->type, &range) &&
           base_word_holds(word, bytes, range);
}

/* Whether any word takes part; checks the rest of the arguments as well. */
static bool check_words(const struct shmem_words *words)
{
    shmem_require_initialised(words->call);
    if ((unsigned)words->cmp > SHMEM_CMP_LE) {
        shmem_wait_refuse(words->cmp, words->call);
    }
    for (size_t i = 0; i < words->count; i++) {
        if (takes_part(words, i)) {
            check_word(words->words, words->type.bytes, words->call);
            return true;
        }
    }
    return false;
}

/* Waits for what a look has not found, or lets others go on before the next look. True: it has
 * come, and whoever waits goes on. */
static bool go_on(const struct shmem_words *words, bool waits, bool (*holds)(void *context),
                  void *context)
{
    const unsigned char *first = words->words;
    unsigned bytes = words->type.bytes;
    if (waits) {
        return wait_for(holds, context, first, first + (words->count - 1) * bytes, bytes,
                        words->call);
    }
    shmem_look_again();
    return false;
}

/* Waits are recorded with all of their words; looks are not, since programs repeat them. */
static struct inner_trace begin_trace(const struct shmem_words *words, bool waits)
{
    return waits ? inner_trace_wait(shmem_state.node, words->call, words->words,
                                    words->count * words->type.bytes)
                 : (struct inner_trace){0};
}

struct search {
    const struct shmem_words *words;
    size_t index; /* of all: the words before it hold or have held */
};

static bool all_hold(void *context)
{
    struct search *search = context;
    const struct shmem_words *words = search->words;
    /* A word that held once has met its condition, as the specification has it. */
    while (search->index < words->count) {
        if (takes_part(words, search->index) && !holds_at(words, search->index)) {
            return false;
        }
        search->index++;
    }
    return true;
}

/* Each search goes on behind what the last one of this thread found, so that none of the
 * words that hold is passed over for ever. */
static _Thread_local size_t search_start;

static bool any_holds(void *context)
{
    struct search *search = context;
    const struct shmem_words *words = search->words;
    size_t index = search_start % words->count;
    for (size_t i = 0; i < words->count; i++) {
        if (takes_part(words, index) && holds_at(words, index)) {
            search->index = index;
            search_start = index + 1;
            return true;
        }
        index = index + 1 < words->count ? index + 1 : 0;
    }
    return false;
}

static size_t collect(const struct shmem_words *words, size_t *indices)
{
    size_t found = 0;
    for (size_t i = 0; i < words->count; i++) {
        if (takes_part(words, i) && holds_at(words, i)) {
            indices[found++] = i;
        }
    }
    return found;
}

int shmem_words_all(const struct shmem_words *words, bool waits)
{
    struct search search = {words, 0};
    bool takes_part = check_words(words);
    struct inner_trace trace = begin_trace(words, waits);
    bool hold = !takes_part || all_hold(&search) || go_on(words, waits, all_hold, &search);
    inner_trace_end(trace, 0);
    return hold;
}

size_t shmem_words_any(const struct shmem_words *words, bool waits)
{
    struct search search = {words, SIZE_MAX};
    bool takes_part = check_words(words);
    struct inner_trace trace = begin_trace(words, waits);
    if (takes_part && !any_holds(&search)) {
        (void)go_on(words, waits, any_holds, &search);
    }
    inner_trace_end(trace, 0);
    return search.index;
}

size_t shmem_words_some(const struct shmem_words *words, bool waits, size_t *indices)
{
    struct search search = {words, SIZE_MAX};
    size_t found = 0;
    if (!check_words(words)) {
        return 0;
    }
    struct inner_trace trace = begin_trace(words, waits);
    do { /* what held may have changed before it was collected */
        found = collect(words, indices);
    } while (found == 0 && go_on(words, waits, any_holds, &search));
    inner_trace_end(trace, 0);
    return found;
}
