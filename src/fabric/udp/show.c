/* The machine, the roster of a group and the reports in it, as facts. */
#include "fabric/udp/launch.h"

#include "fabric/clock.h"
#include "fabric/udp/guard.h"
#include "fabric/udp/socket.h"
#include "wire/packet.h"

#define NS_PER_MS UINT64_C(1000000)

struct telling {
    fabric_tell tell;
    void *context;
};

static void number(struct telling to, const char *name, const char *heading, uint64_t value)
{
    to.tell(to.context, &(struct fabric_fact){name, heading, FABRIC_NUMBER, value, NULL});
}

static void truth(struct telling to, const char *name, const char *heading, bool value)
{
    to.tell(to.context, &(struct fabric_fact){name, heading, FABRIC_TRUTH, value, NULL});
}

static void text(struct telling to, const char *name, const char *heading, const char *value)
{
    to.tell(to.context, &(struct fabric_fact){name, heading, FABRIC_TEXT, 0, value});
}

bool udp_show_machine(fabric_tell tell, void *context)
{
    struct telling to = {tell, context};
    union udp_address here = {
        .v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
    union udp_address bound;
    struct udp_socket socket = {.fd = -1};
    uint32_t path_bytes = 0;
    int fd;
    if (udp_socket_bind(&here, &bound, &fd) == 0) {
        udp_socket_use(&socket, fd);
        path_bytes = udp_path_bytes(&bound);
        udp_socket_close(&socket);
    }
    truth(to, "offload_send", "sending many packets in one call (GSO)", socket.offload_send);
    truth(to, "offload_receive", "receiving many packets in one call (GRO)",
          socket.offload_receive);
    text(to, "cipher", "cipher", udp_cipher_name(udp_cipher_best()));
    number(to, "loopback_packet_bytes", "bytes of a packet on the loopback",
           path_bytes < WIRE_PACKET_BYTES_MAX ? path_bytes : WIRE_PACKET_BYTES_MAX);
    number(to, "loopback_path_bytes", "bytes that the loopback would take", path_bytes);
    return path_bytes > 0;
}

int udp_show_look(int fd, struct fabric_look *look)
{
    struct udp_roster_file file;
    int error = udp_roster_look(fd, &file);
    if (!error) {
        *look = (struct fabric_look){
            .node_count = file.roster->node_count,
            .sizes = file.roster->sizes,
            .fd = fd,
            .state = file.roster,
            .bytes = file.bytes,
        };
    }
    return error;
}

void udp_show_look_away(struct fabric_look *look)
{
    struct udp_roster_file file = {look->fd, look->state, look->bytes};
    udp_roster_unmap(&file);
    look->state = NULL;
}

void udp_show_group(const struct fabric_look *look, fabric_tell tell, void *context)
{
    struct telling to = {tell, context};
    const struct udp_roster *roster = look->state;
    number(to, "packet_bytes", "packet bytes", roster->packet_bytes_max);
    text(to, "cipher", "cipher", udp_cipher_name((enum udp_cipher)roster->cipher));
    truth(to, "encrypt", NULL, roster->encrypt);
    text(to, "protection", "protection",
         roster->cipher == UDP_CIPHER_NONE ? "none"
         : roster->encrypt                 ? "encrypted"
                                           : "authenticated");
    number(to, "peer_timeout_ms",
           "dead after so many ms of silence:", roster->peer_timeout_ns / NS_PER_MS);
}

/* What a node said of itself last, each word by itself. */
struct report {
#define WORD(name) uint64_t name;
    UDP_REPORT_WORDS(WORD)
#undef WORD
};

bool udp_show_node(const struct fabric_look *look, uint32_t rank, fabric_tell tell, void *context)
{
    static const char *const offloads[2][2] = {{"-   -  ", "-   GRO"}, {"GSO -  ", "GSO GRO"}};
    struct telling to = {tell, context};
    const struct udp_report *words = udp_roster_report(look->state, rank);
    uint64_t now_ns = fabric_now_ns();
    struct report report;
#define WORD(name) report.name = atomic_load_explicit(&words->name, memory_order_relaxed);
    UDP_REPORT_WORDS(WORD)
#undef WORD
    if (report.updated_ns == 0) {
        return false;
    }
    number(to, "report_age_ms", NULL,
           now_ns > report.updated_ns ? (now_ns - report.updated_ns) / NS_PER_MS : 0);
#define WORD(name) number(to, #name, NULL, report.name);
    UDP_REPORT_WORDS(WORD)
#undef WORD
    text(to, NULL, "offload", offloads[report.offload_send != 0][report.offload_receive != 0]);
    number(to, NULL, "      sent", report.packets_sent);
    number(to, NULL, "  received", report.packets_received);
    number(to, NULL, "    resent", report.retransmissions);
    number(to, NULL, "  twice", report.duplicates);
    number(to, NULL, "refused", report.malformed + report.not_authentic + report.not_ours);
    number(to, NULL, "header misses", report.header_misses);
    number(to, NULL, "evicted", report.send_contexts_evicted + report.receive_contexts_evicted);
    number(to, NULL, "calls out", report.send_calls);
    number(to, NULL, "calls in", report.receive_calls);
    return true;
}

const char *udp_show_address(const struct fabric_look *look, uint32_t rank,
                             char text[FABRIC_CONTACT_TEXT_BYTES])
{
    return udp_address_text(udp_roster_address(look->state, rank), text);
}

uint32_t udp_show_trip_ns(const struct fabric_look *look, uint32_t rank, uint32_t peer)
{
    return atomic_load_explicit(&udp_roster_trips(look->state, rank)[peer], memory_order_relaxed);
}
