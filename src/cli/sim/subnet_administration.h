/* What a board asks of a subnet's administration, which is part of its manager: the service level
 * of a path, and to be a member of a multicast group. Datagrams of class 3, to be sent by
 * subnet_server_ask. */
#ifndef CLI_SIM_SUBNET_ADMINISTRATION_H
#define CLI_SIM_SUBNET_ADMINISTRATION_H

#include "wire/ib_mad.h"

/* Whether an answer says that all went well. */
bool administration_is_good(const unsigned char *mad);

void administration_path(unsigned char mad[WIRE_MAD_BYTES], uint64_t tid, uint16_t from_lid,
                         uint16_t to_lid);
uint8_t administration_path_level(const unsigned char *mad);

/* The group is made if there is none. */
void administration_join(unsigned char mad[WIRE_MAD_BYTES], uint64_t tid, uint64_t port_guid);
uint16_t administration_group_lid(const unsigned char *mad);

#endif
