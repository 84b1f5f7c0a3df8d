/* A stranger: a program without the group's secret that sends to the ports of a running job.
 *
 *     stranger --to PORT --nodes COUNT --rate PACKETS_PER_S [--seconds S] [--packets N] [--seed S]
 *              [--garbage] [--replay FILE] [--foreign FILE]
 *
 * --garbage      anything: random bytes of any length, and packets whose first bytes look right
 * --replay FILE  what the relay recorded of the job: as it is, to another node, and with
 *                bits flipped; the record is read while the relay still writes it
 * --foreign FILE what the relay recorded of another group, as it is, and with the header of one
 *                of this job's packets (from --replay) in place of its own
 *
 * The kinds asked for take turns. It ends after S seconds, after about N packets or on SIGTERM, and
 * tells how many of each it sent in one line of name=number. */
#define _GNU_SOURCE
#include <sys/socket.h>
#include <unistd.h>

#include "base/random.h"
#include "tool.h"

enum {
    NODES_MAX = 64,
    KEPT_MAX = 4096,       /* the packets of a record that are kept */
    KEPT_BYTES_MAX = 9216, /* the longest packet (doc/wire.md) */
    HEADER_BYTES = 28,     /* before the counter */
    TICK_US = 500,         /* packets are sent in small bursts */
};

struct packet {
    uint32_t rank;
    uint32_t bytes;
    unsigned char data[KEPT_BYTES_MAX];
};

/* What is known of a record: its last packets. */
struct memory {
    const char *path;
    FILE *file;
    struct packet *packets;
    uint64_t count; /* of all that were read; the last KEPT_MAX are kept */
};

enum kind { GARBAGE, PLAUSIBLE, REPLAYED, MISDIRECTED, HARMED, FOREIGN, GRAFTED, KINDS };

static const char *const kind_names[KINDS] = {"garbage", "plausible", "replayed", "misdirected",
                                              "harmed",  "foreign",   "grafted"};

static struct {
    uint64_t to, nodes, rate, seconds, seed, packets;
    bool garbage;
    struct memory own, foreign;
} options = {.rate = 1000, .seconds = 30, .seed = 1, .packets = UINT64_MAX};

static struct base_random randomness;
static uint64_t sent[KINDS];
static uint64_t all_sent;
static uint64_t refused;
static volatile sig_atomic_t ended;

static void on_end(int signal_number)
{
    (void)signal_number;
    ended = 1;
}

static uint64_t below(uint64_t limit)
{
    return base_random_below(&randomness, limit);
}

/* ---- Records ------------------------------------------------------------------------------ */

static void open_memory(struct memory *memory)
{
    if (!memory->path) {
        return;
    }
    memory->file = fopen(memory->path, "rbe");
    memory->packets = calloc(KEPT_MAX, sizeof *memory->packets);
    if (!memory->file || !memory->packets) {
        tool_die("stranger", "cannot read", memory->path);
    }
}

/* Reads one more packet, if all of it is there by now. */
static bool read_packet(struct memory *memory)
{
    struct packet *packet = &memory->packets[memory->count % KEPT_MAX];
    long start = ftell(memory->file);
    struct tool_record head;
    clearerr(memory->file);
    if (fread(&head, sizeof head, 1, memory->file) == 1 && head.bytes <= KEPT_BYTES_MAX &&
        (head.bytes == 0 || fread(packet->data, head.bytes, 1, memory->file) == 1)) {
        packet->rank = head.rank;
        packet->bytes = head.bytes;
        memory->count++;
        return true;
    }
    (void)fseek(memory->file, start, SEEK_SET);
    return false;
}

static void read_on(struct memory *memory)
{
    for (int i = 0; memory->file && i < KEPT_MAX && read_packet(memory); i++) {
    }
}

static const struct packet *any_of(const struct memory *memory)
{
    uint64_t kept = memory->count < KEPT_MAX ? memory->count : KEPT_MAX;
    return kept > 0 ? &memory->packets[below(kept)] : NULL;
}

/* ---- Packets ------------------------------------------------------------------------------ */

static void fill_random(unsigned char *data, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++) {
        data[i] = (unsigned char)base_random_next(&randomness);
    }
}

static void make_garbage(struct packet *packet, bool plausible)
{
    packet->rank = (uint32_t)below(options.nodes);
    packet->bytes = (uint32_t)below(below(4) ? 200 : KEPT_BYTES_MAX + 1);
    fill_random(packet->data, packet->bytes);
    if (plausible && packet->bytes >= HEADER_BYTES) {
        memset(packet->data, 0, HEADER_BYTES);
        packet->data[0] = 1;                             /* version */
        packet->data[1] = (unsigned char)(below(3) + 1); /* kind */
        packet->data[4] = (unsigned char)below(options.nodes);
        packet->data[6] = (unsigned char)packet->rank;
        packet->data[12] = 1;
        packet->data[16] = 1;
    }
}

/* Makes a packet of a kind; false: nothing is known yet to make it from. */
static bool make(enum kind kind, struct packet *packet)
{
    const struct packet *own = any_of(&options.own);
    const struct packet *foreign = any_of(&options.foreign);
    switch (kind) {
    case GARBAGE:
    case PLAUSIBLE: make_garbage(packet, kind == PLAUSIBLE); return options.garbage;
    case REPLAYED:
    case MISDIRECTED:
    case HARMED:
        if (!own) {
            return false;
        }
        *packet = *own;
        if (kind == MISDIRECTED) {
            packet->rank += 1 + (uint32_t)below(options.nodes > 1 ? options.nodes - 1 : 1);
        }
        if (kind == HARMED && packet->bytes > 0) {
            uint64_t bit = below(8 * (uint64_t)packet->bytes);
            packet->data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        }
        return true;
    default:
        if (!foreign || (kind == GRAFTED && !own)) {
            return false;
        }
        *packet = *foreign;
        packet->rank = (uint32_t)(packet->rank % options.nodes);
        if (kind == GRAFTED && packet->bytes >= HEADER_BYTES && own->bytes >= HEADER_BYTES) {
            /* All but the lengths, which must fit what follows. */
            memcpy(packet->data, own->data, HEADER_BYTES - 4);
            packet->rank = own->rank;
        }
        return true;
    }
}

static void send_packet(int fd, enum kind kind)
{
    static struct packet packet;
    if (!make(kind, &packet)) {
        return;
    }
    struct sockaddr_in to = tool_loopback(options.to + packet.rank % options.nodes);
    if (sendto(fd, packet.data, packet.bytes, 0, (const struct sockaddr *)&to, sizeof to) < 0) {
        refused++;
    } else {
        sent[kind]++;
        all_sent++;
    }
}

static void parse(int argc, char **argv)
{
    const struct tool_number numbers[] = {
        {"--to", &options.to, 65535},          {"--nodes", &options.nodes, NODES_MAX},
        {"--rate", &options.rate, 10000000},   {"--seconds", &options.seconds, 3600},
        {"--seed", &options.seed, UINT64_MAX}, {"--packets", &options.packets, UINT64_MAX},
    };
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--garbage") == 0) {
            options.garbage = true;
        } else if (strcmp(argv[i], "--replay") == 0 && argv[i + 1]) {
            options.own.path = argv[++i];
        } else if (strcmp(argv[i], "--foreign") == 0 && argv[i + 1]) {
            options.foreign.path = argv[++i];
        } else if (!tool_take_number("stranger", numbers, sizeof numbers / sizeof numbers[0],
                                     argv[i], argv[i + 1])) {
            tool_die("stranger", "unknown option", argv[i]);
        } else {
            i++;
        }
    }
    if (options.to == 0 || options.nodes == 0 || options.rate == 0) {
        tool_die("stranger", "wanted:", "--to PORT --nodes COUNT --rate PACKETS_PER_S");
    }
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_end};
    struct timespec tick = {.tv_nsec = TICK_US * 1000};
    tool_end_with_parent("stranger");
    parse(argc, argv);
    randomness.state = options.seed;
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
    open_memory(&options.own);
    open_memory(&options.foreign);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        tool_die("stranger", "has no", "socket");
    }
    uint64_t start_ns = tool_now_ns();
    uint64_t number = 0;
    uint64_t now_ns;
    while (!ended && all_sent < options.packets &&
           (now_ns = tool_now_ns()) - start_ns < options.seconds * TOOL_SECOND) {
        uint64_t due = (uint64_t)((double)(now_ns - start_ns) * (double)options.rate / 1e9);
        read_on(&options.own);
        read_on(&options.foreign);
        for (; number < due && !ended && all_sent < options.packets; number++) {
            send_packet(fd, (enum kind)(number % KINDS));
        }
        (void)nanosleep(&tick, NULL);
    }
    (void)printf("stranger:");
    for (int kind = 0; kind < KINDS; kind++) {
        (void)printf(" %s=%llu", kind_names[kind], (unsigned long long)sent[kind]);
    }
    (void)printf(" refused=%llu\n", (unsigned long long)refused);
    (void)close(fd);
    return 0;
}
