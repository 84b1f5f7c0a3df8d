/* Writing and comparing journals, and the sentence about the first difference. */
#define _GNU_SOURCE
#include "sim/program/journal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "dimmnet.h"
#include "wire/turn.h"

#define JOURNAL_MAGIC UINT64_C(0x314c4e524a4e4d44) /* "DMNJRNL1" */

enum { BUFFER_ENTRIES = 4096, TEXT_BYTES = 96 };

struct head {
    uint64_t magic;
    uint64_t kept;  /* entries in the file */
    uint64_t count; /* steps of the run */
    uint64_t end_ps;
    uint64_t hash;
    uint64_t is_threaded; /* 0 or 1 */
};

/* What the second run did otherwise. */
enum difference { NO_DIFFERENCE, OTHER_STEP, MORE_STEPS, FEWER_STEPS, OTHER_HASH };

struct journal {
    int fd;
    bool is_second;
    bool is_broken; /* the file takes no more; what it has is whole */
    struct head head;
    uint64_t at;                                  /* of the next entry */
    struct journal_entry entries[BUFFER_ENTRIES]; /* from the last multiple of their number on */
    enum difference difference;
    struct journal_entry first, second; /* as each run did it */
    uint64_t end_ps;                    /* of the second run */
};

/* ---- The file ------------------------------------------------------------------------------ */

static off_t place_of(uint64_t entry)
{
    return (off_t)(sizeof(struct head) + entry * sizeof(struct journal_entry));
}

static bool write_all(int fd, const void *bytes, size_t count, off_t place)
{
    const char *from = bytes;
    while (count > 0) {
        ssize_t written = pwrite(fd, from, count, place);
        if (written <= 0) {
            return false;
        }
        from += written;
        place += written;
        count -= (size_t)written;
    }
    return true;
}

/* False: there is less in the file. */
static bool read_all(int fd, void *bytes, size_t count, off_t place)
{
    char *to = bytes;
    while (count > 0) {
        ssize_t got = pread(fd, to, count, place);
        if (got <= 0) {
            return false;
        }
        to += got;
        place += got;
        count -= (size_t)got;
    }
    return true;
}

struct journal *journal_open(int fd, bool is_second)
{
    struct journal *journal = calloc(1, sizeof *journal);
    if (!journal) {
        return NULL;
    }
    journal->fd = fd;
    journal->is_second = is_second;
    journal->head.magic = JOURNAL_MAGIC;
    if (is_second && (!read_all(fd, &journal->head, sizeof journal->head, 0) ||
                      journal->head.magic != JOURNAL_MAGIC)) {
        free(journal);
        return NULL;
    }
    return journal;
}

void journal_close(struct journal *journal)
{
    free(journal);
}

/* The entries from this one on, which is the first of the buffer. */
static void flush(struct journal *journal, uint64_t from)
{
    size_t bytes = (size_t)(journal->head.kept - from) * sizeof *journal->entries;
    if (!write_all(journal->fd, journal->entries, bytes, place_of(from))) {
        journal->is_broken = true;
        journal->head.kept = from;
    }
}

static void keep(struct journal *journal, const struct journal_entry *entry)
{
    journal->head.count++;
    if (journal->is_broken || journal->head.kept == JOURNAL_ENTRIES_MAX) {
        return;
    }
    journal->entries[journal->head.kept++ % BUFFER_ENTRIES] = *entry;
    if (journal->head.kept % BUFFER_ENTRIES == 0) {
        flush(journal, journal->head.kept - BUFFER_ENTRIES);
    }
}

/* The first run's next entry; the caller knows that there is one. */
static const struct journal_entry *next(struct journal *journal)
{
    uint64_t index = journal->at % BUFFER_ENTRIES;
    if (index == 0) {
        uint64_t left = journal->head.kept - journal->at;
        size_t count = left < BUFFER_ENTRIES ? (size_t)left : BUFFER_ENTRIES;
        bool is_there = read_all(journal->fd, journal->entries, count * sizeof *journal->entries,
                                 place_of(journal->at));
        INVARIANT(is_there); /* the file is ours alone */
    }
    return &journal->entries[index];
}

/* ---- Comparing ----------------------------------------------------------------------------- */

static bool are_equal(const struct journal_entry *one, const struct journal_entry *other)
{
    return one->at_ps == other->at_ps && one->amount == other->amount &&
           one->print == other->print && one->rank == other->rank && one->word == other->word;
}

bool journal_add(struct journal *journal, const struct journal_entry *entry)
{
    if (!journal->is_second) {
        keep(journal, entry);
        return true;
    }
    if (journal->difference) {
        return true; /* that has been said */
    }
    if (journal->at < journal->head.kept) {
        const struct journal_entry *first = next(journal);
        if (!are_equal(first, entry)) {
            journal->difference = OTHER_STEP;
            journal->first = *first;
        }
    } else if (journal->at >= journal->head.count) {
        journal->difference = MORE_STEPS;
    }
    journal->second = *entry;
    journal->at++;
    return journal->difference == NO_DIFFERENCE;
}

bool journal_end(struct journal *journal, uint64_t at_ps, uint64_t hash, bool is_threaded)
{
    if (!journal->is_second) {
        flush(journal, journal->head.kept / BUFFER_ENTRIES * BUFFER_ENTRIES);
        journal->head.end_ps = at_ps;
        journal->head.hash = hash;
        journal->head.is_threaded = is_threaded;
        /* Without a head the second run has nothing to compare with, and says so. */
        (void)write_all(journal->fd, &journal->head, sizeof journal->head, 0);
        return true;
    }
    if (journal->difference) {
        return true;
    }
    journal->end_ps = at_ps;
    if (journal->at < journal->head.kept) {
        journal->difference = FEWER_STEPS;
        journal->first = *next(journal);
    } else if (journal->head.hash != hash || journal->head.end_ps != at_ps) {
        journal->difference = OTHER_HASH;
    }
    return journal->difference == NO_DIFFERENCE;
}

/* ---- The sentence -------------------------------------------------------------------------- */

/* 12345678 ps as "12,345.678 ns". */
static const char *time_text(uint64_t ps, char text[TEXT_BYTES])
{
    char digits[32];
    uint64_t ns = ps / 1000;
    size_t used = 0;
    int count = snprintf(digits, sizeof digits, "%" PRIu64, ns);
    for (int i = 0; i < count; i++) {
        text[used++] = digits[i];
        if ((count - i) % 3 == 1 && i + 1 < count) {
            text[used++] = ',';
        }
    }
    (void)snprintf(text + used, TEXT_BYTES - used, ps % 1000 ? ".%03" PRIu64 " ns" : " ns",
                   ps % 1000);
    return text;
}

static uint64_t amount_of(const struct journal_entry *entry)
{
    return entry->amount & ((UINT64_C(1) << 48) - 1);
}

/* "stored 8 bytes to node 3". */
static const char *deed(const struct journal_entry *entry, char text[TEXT_BYTES])
{
    char peer[32] = "";
    uint64_t amount = amount_of(entry);
    if (entry->amount >> 48 > 0) {
        (void)snprintf(peer, sizeof peer, " to node %" PRIu64, (entry->amount >> 48) - 1);
    }
    switch ((enum turn_word)entry->word) {
    case TURN_STORE:
        (void)snprintf(text, TEXT_BYTES, "stored %" PRIu64 " bytes%s", amount, peer);
        break;
    case TURN_BLOCK:
        (void)snprintf(text, TEXT_BYTES, "wrote a block of %" PRIu64 " bytes%s", amount, peer);
        break;
    case TURN_REQUEST: (void)snprintf(text, TEXT_BYTES, "made a request%s", peer); break;
    case TURN_SERVICE: (void)snprintf(text, TEXT_BYTES, "asked for a service%s", peer); break;
    case TURN_LOOK: (void)snprintf(text, TEXT_BYTES, "looked at a word"); break;
    case TURN_COMPUTE: (void)snprintf(text, TEXT_BYTES, "computed %" PRIu64 " ns", amount); break;
    case TURN_PACKET:
        (void)snprintf(text, TEXT_BYTES, "sent a packet of %" PRIu64 " bytes%s", amount, peer);
        break;
    case TURN_WAIT: (void)snprintf(text, TEXT_BYTES, "waited"); break;
    case TURN_LIFE:
        (void)snprintf(text, TEXT_BYTES, "%s", amount == DN_LEFT ? "left" : "died");
        break;
    default: (void)snprintf(text, TEXT_BYTES, "did something else"); break;
    }
    return text;
}

/* What is sent is the same but for its content. */
static bool is_of_content(const struct journal *journal)
{
    const struct journal_entry *first = &journal->first;
    const struct journal_entry *second = &journal->second;
    return journal->difference == OTHER_STEP && first->at_ps == second->at_ps &&
           first->rank == second->rank && first->word == second->word &&
           first->amount == second->amount;
}

static int say_other_step(const struct journal *journal, char *text, size_t room)
{
    const struct journal_entry *first = &journal->first;
    const struct journal_entry *second = &journal->second;
    const struct journal_entry *early = first->at_ps < second->at_ps ? first : second;
    char time[TEXT_BYTES];
    char other_time[TEXT_BYTES];
    char did[TEXT_BYTES];
    char other_did[TEXT_BYTES];
    int used = snprintf(text, room, "the second run differs: at %s of virtual time node %u ",
                        time_text(early->at_ps, time), early->rank);
    text += used;
    room -= (size_t)used;
    if (is_of_content(journal)) {
        return used + snprintf(text, room,
                               first->word == TURN_WAIT || first->word == TURN_LOOK
                                   ? "%s in another way"
                                   : "%s with other content",
                               deed(second, did));
    }
    if (first->rank == second->rank && first->at_ps == second->at_ps) {
        return used + snprintf(text, room, "%s; in the first run it %s", deed(second, did),
                               deed(first, other_did));
    }
    const struct journal_entry *late = early == first ? second : first;
    (void)time_text(late->at_ps, other_time);
    return used + snprintf(text, room,
                           early == first
                               ? "%s in the first run only; the second went on with node %u, which "
                                 "%s at %s"
                               : "%s, and in the first run it did not; that went on with node %u, "
                                 "which %s at %s",
                           deed(early, did), late->rank, deed(late, other_did), other_time);
}

static int say_difference(const struct journal *journal, char *text, size_t room)
{
    char time[TEXT_BYTES];
    char other_time[TEXT_BYTES];
    char did[TEXT_BYTES];
    switch (journal->difference) {
    case OTHER_STEP: return say_other_step(journal, text, room);
    case MORE_STEPS:
        return snprintf(text, room,
                        "the second run differs: at %s of virtual time node %u %s, and the first "
                        "run had ended",
                        time_text(journal->second.at_ps, time), journal->second.rank,
                        deed(&journal->second, did));
    case FEWER_STEPS:
        return snprintf(text, room,
                        "the second run differs: at %s of virtual time node %u %s in the first run "
                        "only; the second ended at %s",
                        time_text(journal->first.at_ps, time), journal->first.rank,
                        deed(&journal->first, did), time_text(journal->end_ps, other_time));
    case NO_DIFFERENCE:
    case OTHER_HASH: break;
    }
    return snprintf(text, room,
                    "the second run differs: the nodes did the same up to %s of virtual time, and "
                    "of what came then no journal is kept",
                    time_text(journal->second.at_ps, time));
}

void journal_explain(const struct journal *journal, bool is_threaded,
                     char sentence[JOURNAL_SENTENCE_BYTES])
{
    int used = say_difference(journal, sentence, JOURNAL_SENTENCE_BYTES);
    size_t room = (size_t)used < JOURNAL_SENTENCE_BYTES ? JOURNAL_SENTENCE_BYTES - (size_t)used : 0;
    const char *cure = is_of_content(journal)
                           ? "the time of day, a process id, an address or a random number may be "
                             "in it: take dn_time_ns, ranks, offsets and fixed seeds"
                           : "what it does may depend on real time, an address or a random number, "
                             "or on memory that another node writes and nobody waits for";
    if (is_threaded || journal->head.is_threaded) {
        cure = "several of its threads call the library, and the kernel decides which comes first: "
               "let one thread of each node call it";
    }
    if (room > 0) {
        (void)snprintf(sentence + used, room, " (%s)", cure);
    }
}
