/* What the fake fabric carries: one queue for each pair of nodes. Between its own files. */
#ifndef UNIT_FAKE_PACKETS_H
#define UNIT_FAKE_PACKETS_H

#include "unit/fake_fabric.h"

/* The rank in whose copy a host keeps the words in front. */
uint32_t fake_first_of_host(uint32_t rank);
/* In whose copy lies what that rank finds at an offset of the group's memory. */
uint32_t fake_home(uint32_t rank, uint64_t offset);

static inline unsigned char *fake_place(uint32_t rank, uint64_t offset)
{
    return (unsigned char *)fake->copies[rank] + offset;
}

static inline bool fake_is_gone(const struct fake_node *node, uint32_t rank)
{
    return group_life_gone(group_life(&node->process.view, rank));
}

/* Sends bytes to a place at that rank, the last piece first. DN_EPEER. */
int fake_carry(struct fake_node *node, uint32_t rank, uint64_t offset, const void *from,
               uint64_t bytes, bool is_library);
/* Whether a rank permits an operation of the library's at a place; false is counted. With
 * receive_lock, or in a process with all nodes. */
bool fake_permits(uint32_t from, uint32_t to, const struct wire_operation *operation,
                  uint64_t offset);
/* Waits until what stands in a queue now is delivered, or its receiver is gone for this node. */
void fake_drain(const struct fake_node *node, uint32_t from, uint32_t to);

void fake_make_services(struct fake_node *node);
/* With services_lock: a round of sending. */
void fake_send_records(struct fake_node *node);
/* The same, unless the node is silent or has no services. */
void fake_serve(struct fake_node *node);
/* A silence is noticed by those that watch or have sent. Nothing comes from there afterwards. */
void fake_notice(struct fake_node *node, uint32_t peer);

/* Lets a few things happen anywhere; true: something came to a node. */
bool fake_move_on(void);

#endif
