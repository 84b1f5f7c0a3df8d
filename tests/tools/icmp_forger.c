/* A forger of ICMP: tells a host that packets of a running job do not fit the path.
 *
 *     icmp_forger --port PORT --peer-port PORT --mtu BYTES --seconds S VICTIM PEER
 *
 * VICTIM and PEER are addresses of two nodes, the ports theirs. Every 50 ms the victim hears
 * "fragmentation needed" (IPv4) or "packet too big" (IPv6) about a packet of its own to the peer:
 * first with MTU 68, the least that there is, then with BYTES, in turns. Only the packet's first
 * bytes are quoted, all of which anybody can know or guess. Needs root; ends after S seconds. */
#define _GNU_SOURCE
#include <netinet/icmp6.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tool.h"

#define TOOL "icmp_forger"

enum { GAP_MS = 50, MTU_LEAST = 68, QUOTED_BYTES = 1500, MESSAGE_BYTES_MAX = 128 };

static uint64_t port, peer_port, mtu = 552, seconds = 1;

static void quote_udp(struct udphdr *udp, uint16_t bytes)
{
    udp->source = htons((uint16_t)port);
    udp->dest = htons((uint16_t)peer_port);
    udp->len = htons(bytes);
}

static uint16_t sum_of(const unsigned char *bytes, size_t count)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < count; i += 2) {
        sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
    }
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return htons((uint16_t)~sum);
}

/* Gives the bytes of the message. */
static size_t forge_v4(unsigned char *message, const char *victim, const char *peer, uint64_t told)
{
    struct icmphdr icmp = {.type = ICMP_DEST_UNREACH, .code = ICMP_FRAG_NEEDED};
    struct iphdr ip = {.version = 4,
                       .ihl = 5,
                       .tot_len = htons(QUOTED_BYTES),
                       .frag_off = htons(IP_DF),
                       .ttl = 64,
                       .protocol = IPPROTO_UDP};
    struct udphdr udp = {0};
    icmp.un.frag.mtu = htons((uint16_t)told);
    if (inet_pton(AF_INET, victim, &ip.saddr) != 1 || inet_pton(AF_INET, peer, &ip.daddr) != 1) {
        tool_die(TOOL, "not two addresses:", victim);
    }
    ip.check = sum_of((const unsigned char *)&ip, sizeof ip);
    quote_udp(&udp, QUOTED_BYTES - sizeof ip);
    memcpy(message, &icmp, sizeof icmp);
    memcpy(message + sizeof icmp, &ip, sizeof ip);
    memcpy(message + sizeof icmp + sizeof ip, &udp, sizeof udp);
    size_t bytes = sizeof icmp + sizeof ip + sizeof udp;
    icmp.checksum = sum_of(message, bytes);
    memcpy(message, &icmp, sizeof icmp);
    return bytes;
}

/* The same; the kernel adds the checksum. */
static size_t forge_v6(unsigned char *message, const char *victim, const char *peer, uint64_t told)
{
    struct icmp6_hdr icmp = {.icmp6_type = ICMP6_PACKET_TOO_BIG};
    struct ip6_hdr ip = {0};
    struct udphdr udp = {0};
    icmp.icmp6_mtu = htonl((uint32_t)told);
    ip.ip6_flow = htonl(UINT32_C(6) << 28);
    ip.ip6_plen = htons(QUOTED_BYTES);
    ip.ip6_nxt = IPPROTO_UDP;
    ip.ip6_hlim = 64;
    if (inet_pton(AF_INET6, victim, &ip.ip6_src) != 1 ||
        inet_pton(AF_INET6, peer, &ip.ip6_dst) != 1) {
        tool_die(TOOL, "not two addresses:", victim);
    }
    quote_udp(&udp, QUOTED_BYTES);
    memcpy(message, &icmp, sizeof icmp);
    memcpy(message + sizeof icmp, &ip, sizeof ip);
    memcpy(message + sizeof icmp + sizeof ip, &udp, sizeof udp);
    return sizeof icmp + sizeof ip + sizeof udp;
}

static void forge(int fd, bool is_v6, const char *victim, const char *peer, uint64_t told)
{
    unsigned char message[MESSAGE_BYTES_MAX];
    size_t bytes = is_v6 ? forge_v6(message, victim, peer, told)
                         : forge_v4(message, victim, peer, told);
    struct sockaddr_in to4 = {.sin_family = AF_INET};
    struct sockaddr_in6 to6 = {.sin6_family = AF_INET6};
    const struct sockaddr *to = is_v6 ? (const struct sockaddr *)&to6
                                      : (const struct sockaddr *)&to4;
    (void)inet_pton(AF_INET, victim, &to4.sin_addr);
    (void)inet_pton(AF_INET6, victim, &to6.sin6_addr);
    if (sendto(fd, message, bytes, 0, to, is_v6 ? sizeof to6 : sizeof to4) < 0) {
        tool_die(TOOL, "cannot send to", victim);
    }
}

int main(int argc, char **argv)
{
    const struct tool_number numbers[] = {{"--port", &port, UINT16_MAX},
                                          {"--peer-port", &peer_port, UINT16_MAX},
                                          {"--mtu", &mtu, UINT16_MAX},
                                          {"--seconds", &seconds, 3600}};
    int at = 1;
    tool_end_with_parent(TOOL);
    while (at + 1 < argc && tool_take_number(TOOL, numbers, sizeof numbers / sizeof numbers[0],
                                             argv[at], argv[at + 1])) {
        at += 2;
    }
    errno = 0;
    if (argc - at != 2) {
        tool_die(TOOL, "wants", "two addresses after its options");
    }
    bool is_v6 = strchr(argv[at], ':') != NULL;
    int fd = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_RAW, is_v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
    if (fd < 0) {
        tool_die(TOOL, "cannot open", "a raw socket");
    }
    uint64_t count = 0;
    for (uint64_t end_ns = tool_now_ns() + seconds * TOOL_SECOND; tool_now_ns() < end_ns;) {
        forge(fd, is_v6, argv[at], argv[at + 1], count % 2 == 0 ? MTU_LEAST : mtu);
        count++;
        (void)usleep(GAP_MS * 1000);
    }
    printf("forged=%llu\n", (unsigned long long)count);
    return 0;
}
