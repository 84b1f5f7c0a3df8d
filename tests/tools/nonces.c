/* Looks for numbers used twice among the packets that the relay recorded: what a listener without
 * the key would look for, because two packets with one key and one number give the key away.
 *
 *     nonces FILE
 *
 * A sender's key follows from its rank and its incarnation, and the number is the packet's
 * counter (doc/wire.md). Prints one line of name=number: the packets, the lives that spoke (ranks
 * and incarnations), and how many packets had a number that their sender had used before. */
#define _GNU_SOURCE
#include "tool.h"

enum { PREFIX_BYTES = 36, SOURCE_AT = 4, INCARNATION_AT = 12, COUNTER_AT = 28 };

/* The numbers of the wire are little endian, as those of the machines that this runs on. */
struct nonce {
    uint16_t rank;
    uint32_t incarnation;
    uint64_t counter;
};

static struct {
    struct nonce *all;
    size_t count, room;
} seen;

static void add(const unsigned char *packet)
{
    if (seen.count == seen.room) {
        seen.room = seen.room ? 2 * seen.room : 4096;
        seen.all = realloc(seen.all, seen.room * sizeof *seen.all);
        if (!seen.all) {
            tool_die("nonces", "no memory for", "the packets");
        }
    }
    struct nonce *nonce = &seen.all[seen.count++];
    memset(nonce, 0, sizeof *nonce);
    memcpy(&nonce->rank, packet + SOURCE_AT, sizeof nonce->rank);
    memcpy(&nonce->incarnation, packet + INCARNATION_AT, sizeof nonce->incarnation);
    memcpy(&nonce->counter, packet + COUNTER_AT, sizeof nonce->counter);
}

static void read_record(const char *path)
{
    static unsigned char data[TOOL_DATAGRAM_BYTES_MAX];
    struct tool_record head;
    FILE *file = fopen(path, "rbe");
    if (!file) {
        tool_die("nonces", "cannot read", path);
    }
    while (fread(&head, sizeof head, 1, file) == 1 && head.bytes <= sizeof data &&
           (head.bytes == 0 || fread(data, head.bytes, 1, file) == 1)) {
        if (head.bytes >= PREFIX_BYTES) {
            add(data);
        }
    }
    (void)fclose(file);
}

static bool is_same_life(const struct nonce *one, const struct nonce *other)
{
    return one->rank == other->rank && one->incarnation == other->incarnation;
}

static int by_life_and_counter(const void *left, const void *right)
{
    const struct nonce *one = left;
    const struct nonce *other = right;
    if (one->rank != other->rank) {
        return one->rank < other->rank ? -1 : 1;
    }
    if (one->incarnation != other->incarnation) {
        return one->incarnation < other->incarnation ? -1 : 1;
    }
    return one->counter < other->counter ? -1 : one->counter > other->counter;
}

int main(int argc, char **argv)
{
    uint64_t lives = 0;
    uint64_t twice = 0;
    if (argc != 2) {
        tool_die("nonces", "wanted:", "FILE");
    }
    read_record(argv[1]);
    if (seen.count > 0) {
        qsort(seen.all, seen.count, sizeof *seen.all, by_life_and_counter);
    }
    for (size_t i = 0; i < seen.count; i++) {
        bool is_new = i == 0 || !is_same_life(&seen.all[i], &seen.all[i - 1]);
        lives += is_new;
        twice += !is_new && seen.all[i].counter == seen.all[i - 1].counter;
    }
    (void)printf("nonces: packets=%zu lives=%llu twice=%llu\n", seen.count,
                 (unsigned long long)lives, (unsigned long long)twice);
    free(seen.all);
    return 0;
}
