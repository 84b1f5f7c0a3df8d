/* Addresses as bytes, as text, and of hosts. */
#define _GNU_SOURCE
#include "fabric/udp/launch.h"

#include <netdb.h>
#include <string.h>

#include "fabric/udp/socket.h"

_Static_assert((int)UDP_ADDRESS_TEXT_BYTES <= (int)FABRIC_CONTACT_TEXT_BYTES, "it fits");

void udp_contact_put(struct fabric_contact *contact, const union udp_address *address)
{
    unsigned char *to = contact->bytes;
    memset(to, 0, sizeof contact->bytes);
    if (address->any.sa_family == AF_INET6) {
        to[0] = 6;
        memcpy(to + 2, &address->v6.sin6_port, 2);
        memcpy(to + 4, &address->v6.sin6_addr, 16);
    } else {
        to[0] = 4;
        memcpy(to + 2, &address->v4.sin_port, 2);
        memcpy(to + 4, &address->v4.sin_addr, 4);
    }
}

bool udp_contact_take(const struct fabric_contact *contact, union udp_address *address)
{
    const unsigned char *from = contact->bytes;
    memset(address, 0, sizeof *address);
    if (from[0] == 6) {
        address->v6.sin6_family = AF_INET6;
        memcpy(&address->v6.sin6_port, from + 2, 2);
        memcpy(&address->v6.sin6_addr, from + 4, 16);
        return true;
    }
    address->v4.sin_family = AF_INET;
    memcpy(&address->v4.sin_port, from + 2, 2);
    memcpy(&address->v4.sin_addr, from + 4, 4);
    return from[0] == 4;
}

bool udp_contact_is_sound(const struct fabric_contact *contact)
{
    union udp_address address;
    return udp_contact_take(contact, &address);
}

const char *udp_contact_text(const struct fabric_contact *contact,
                             char text[FABRIC_CONTACT_TEXT_BYTES])
{
    union udp_address address;
    (void)udp_contact_take(contact, &address);
    return udp_address_text(&address, text);
}

static bool is_unspecified(const union udp_address *address)
{
    return address->any.sa_family == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED(&address->v6.sin6_addr)
                                              : address->v4.sin_addr.s_addr == htonl(INADDR_ANY);
}

/* IPv4 where there is both, so that all hosts get the same kind. */
int udp_contact_find_host(const char *name, struct fabric_contact *contact, char *sentence)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *found = NULL;
    union udp_address address = {0};
    int error = getaddrinfo(name, NULL, &hints, &found);
    if (error) {
        hints.ai_family = AF_INET6;
        error = getaddrinfo(name, NULL, &hints, &found) == 0 ? 0 : error;
    }
    if (error) {
        return fabric_launch_refuse(sentence, DN_EINVAL, "\"%s\" is no address: %s", name,
                                    gai_strerror(error));
    }
    memcpy(&address, found->ai_addr,
           found->ai_addrlen < sizeof address ? found->ai_addrlen : sizeof address);
    freeaddrinfo(found);
    if (is_unspecified(&address)) {
        return fabric_launch_refuse(
            sentence, DN_EINVAL, "\"%s\" stands for every address of a host; peers need one", name);
    }
    udp_contact_put(contact, &address);
    return 0;
}

static bool is_loopback(const union udp_address *address)
{
    return address->any.sa_family == AF_INET6
               ? IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr)
               : ntohl(address->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

int udp_contact_match_hosts(const struct fabric_host *one, const struct fabric_host *other,
                            char *sentence)
{
    union udp_address left;
    union udp_address right;
    (void)udp_contact_take(&one->contact, &left);
    (void)udp_contact_take(&other->contact, &right);
    if (left.any.sa_family != right.any.sa_family) {
        return fabric_launch_refuse(
            sentence, DN_EINVAL, "hosts %s and %s have addresses of different kinds, IPv4 and IPv6",
            one->name, other->name);
    }
    if (is_loopback(&left) != is_loopback(&right)) {
        bool is_left = is_loopback(&left);
        return fabric_launch_refuse(sentence, DN_EINVAL,
                                    "host %s has a loopback address, which host %s cannot reach; "
                                    "address=A in the file gives another",
                                    (is_left ? one : other)->name, (is_left ? other : one)->name);
    }
    return 0;
}
