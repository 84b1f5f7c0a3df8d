/* Where a node is reached, as bytes that hosts tell each other:
 *
 *     | 4 or 6 | 0 | port, as sockets have it | address, 16 bytes | 0 ... | */
#ifndef FABRIC_UDP_CONTACT_H
#define FABRIC_UDP_CONTACT_H

#include "fabric/launch.h"
#include "fabric/udp/roster.h"

void udp_contact_put(struct fabric_contact *contact, const union udp_address *address);
/* False: it is neither IPv4 nor IPv6. */
bool udp_contact_take(const struct fabric_contact *contact, union udp_address *address);

/* The rest is for struct fabric_launch. */
bool udp_contact_is_sound(const struct fabric_contact *contact);
const char *udp_contact_text(const struct fabric_contact *contact,
                             char text[FABRIC_CONTACT_TEXT_BYTES]);
int udp_contact_find_host(const char *name, struct fabric_contact *contact, char *sentence);
int udp_contact_match_hosts(const struct fabric_host *one, const struct fabric_host *other,
                            char *sentence);

#endif
