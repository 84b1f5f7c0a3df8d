/* What peers by packets may do in the group's memory as this node has it: the rules of
 * FABRIC_AREA_GROUP, by which the library's own operations name it.
 *
 * A peer reads what the library keeps in service memory, of whatever node, and LLCM, bank and heap
 * of this node as far as others have the right to read there. It writes
 *
 *   in the mirror of itself            anything: its node's memory, the area table of its port
 *   in this node's service memory      what this node has granted it, of a team's block, of a
 *                                      message box or of staging memory (enum fabric_grant_kind);
 *                                      and its own bit among the users of a message slot
 *   in words of a node that is gone    what that node might: a member of a team leaves with the
 *                                      others what it has seen of a dead one
 *
 * and nothing else: not the group's words, lives or ports, not what this node keeps for itself or
 * for others, and no data area, which has a name and rights of its own.
 *
 * One caller at a time. */
#ifndef FABRIC_GRANTS_H
#define FABRIC_GRANTS_H

#include "group/memory.h"
#include "wire/operation.h"

enum fabric_grant_kind {
    /* A block of a team's words (group/team.h). Each member writes its own line, and, in this
     * member's line of the tree, its own byte; every member may decide the outcome. */
    FABRIC_GRANT_TEAM,
    /* A box (group/message.h). Each source writes its own ring, and the words beside it that are
     * the sender's. */
    FABRIC_GRANT_BOX,
    /* Memory into which every member of a team puts what this one is to have. */
    FABRIC_GRANT_STAGING,
};

struct fabric_grant {
    enum fabric_grant_kind kind;
    uint64_t offset;       /* of the block, box or staging memory, in this node's memory */
    const uint32_t *ranks; /* members in team order, or sources */
    uint32_t count;
    uint32_t index;      /* TEAM: this member */
    uint64_t unit_count; /* BOX: of each ring */
    uint64_t bytes;      /* STAGING */
};

struct fabric_grants;

/* Starts with what the team of all needs. `control` tells lives as well, and earlier. DN_ENOMEM. */
int fabric_grants_make(const struct group_view *view, const struct group_view *control,
                       struct fabric_grants **made);
void fabric_grants_free(struct fabric_grants *grants);

/* The list of ranks is copied. DN_ENOMEM. */
int fabric_grants_add(struct fabric_grants *grants, const struct fabric_grant *grant);
/* By the grant's offset. */
void fabric_grants_remove(struct fabric_grants *grants, uint64_t offset);

/* Whether a peer may do this, at an address that counts from the start of the group's memory and
 * with all its bytes within it. */
bool fabric_grants_permit(struct fabric_grants *grants, uint32_t source,
                          const struct wire_operation *operation, uint64_t address);

#endif
