/* What `dimmnet info` shows of this fabric: see struct fabric_launch. */
#ifndef FABRIC_UDP_SHOW_H
#define FABRIC_UDP_SHOW_H

#include "fabric/launch.h"

bool udp_show_machine(fabric_tell tell, void *context);
int udp_show_look(int fd, struct fabric_look *look);
void udp_show_look_away(struct fabric_look *look);
void udp_show_group(const struct fabric_look *look, fabric_tell tell, void *context);
bool udp_show_node(const struct fabric_look *look, uint32_t rank, fabric_tell tell, void *context);
const char *udp_show_address(const struct fabric_look *look, uint32_t rank,
                             char text[FABRIC_CONTACT_TEXT_BYTES]);
uint32_t udp_show_trip_ns(const struct fabric_look *look, uint32_t rank, uint32_t peer);

#endif
