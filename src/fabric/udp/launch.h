/* The parts of this fabric's launcher's side: see struct fabric_launch.
 *
 * contact.c: where a node is reached, as bytes that hosts tell each other:
 *
 *     | 4 or 6 | 0 | port, as sockets have it | address, 16 bytes | 0 ... |
 *
 * show.c: what `dimmnet info` shows. */
#ifndef FABRIC_UDP_LAUNCH_H
#define FABRIC_UDP_LAUNCH_H

#include "fabric/launch.h"
#include "fabric/udp/roster.h"

void udp_contact_put(struct fabric_contact *contact, const union udp_address *address);
/* False: it is neither IPv4 nor IPv6. */
bool udp_contact_take(const struct fabric_contact *contact, union udp_address *address);

bool udp_contact_is_sound(const struct fabric_contact *contact);
const char *udp_contact_text(const struct fabric_contact *contact,
                             char text[FABRIC_CONTACT_TEXT_BYTES]);
int udp_contact_find_host(const char *name, struct fabric_contact *contact, char *sentence);
int udp_contact_match_hosts(const struct fabric_host *one, const struct fabric_host *other,
                            char *sentence);

bool udp_show_machine(fabric_tell tell, void *context);
int udp_show_look(int fd, struct fabric_look *look);
void udp_show_look_away(struct fabric_look *look);
void udp_show_group(const struct fabric_look *look, fabric_tell tell, void *context);
bool udp_show_node(const struct fabric_look *look, uint32_t rank, fabric_tell tell, void *context);
const char *udp_show_address(const struct fabric_look *look, uint32_t rank,
                             char text[FABRIC_CONTACT_TEXT_BYTES]);
uint32_t udp_show_trip_ns(const struct fabric_look *look, uint32_t rank, uint32_t peer);

#endif
