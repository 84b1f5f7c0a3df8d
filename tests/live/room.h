/* Arrays in each kind of memory in which collective calls may find their data. */
#ifndef LIVE_ROOM_H
#define LIVE_ROOM_H

#include "live.h"

enum place { PRIVATE, HEAP, BANK, PLACES };

static struct {
    unsigned char *at[PLACES];
    size_t bytes;
} room;

/* Twice the largest array, in each kind of memory. */
static void make_room(size_t bytes)
{
    void *heap;
    room.bytes = (bytes + 127) / 64 * 64;
    expect(dn_alloc(me.node, 2 * room.bytes, &heap), 0);
    room.at[HEAP] = heap;
    room.at[BANK] = me.bank;
    room.at[PRIVATE] = malloc(2 * room.bytes);
    require(room.at[PRIVATE] != NULL && me.bank_bytes >= 2 * room.bytes);
}

static void free_room(void)
{
    expect(dn_free(me.node, room.at[HEAP]), 0);
    free(room.at[PRIVATE]);
}

#endif
