/* A trace that Perfetto opens: spans of virtual time, a process for each node (or switch), a
 * track for each pipeline stage. Only spans that touch the wanted window are written. */
#ifndef SIM_MODEL_TIMELINE_H
#define SIM_MODEL_TIMELINE_H

#include "sim/model/machine.h"

struct sim_timeline;

/* Tracks of a node: the stages by number, then these. */
enum {
    SIM_TRACK_HOST = SIM_STAGES, /* + user */
    SIM_TRACK_CORE = SIM_TRACK_HOST + 64,
    SIM_TRACK_BANK,
    SIM_TRACK_PORT, /* + port, at a switch */
    /* + port * SIM_TRACK_CHANNELS + virtual channel, at a router (src/sim/ring) */
    SIM_TRACK_CHANNEL = SIM_TRACK_PORT + (1 << 17),
    SIM_TRACK_CHANNELS = 64,
    /* + port * SIM_TRACK_CHANNELS + virtual lane, in a subnet (src/sim/subnet) */
    SIM_TRACK_LANE = SIM_TRACK_CHANNEL + 16 * SIM_TRACK_CHANNELS,
};
/* Switches are processes after the nodes, routers after both. */
#define SIM_TIMELINE_SWITCH UINT32_C(0x80000000)
#define SIM_TIMELINE_ROUTER UINT32_C(0xc0000000)

/* NULL: the file cannot be written; the error says why. */
struct sim_timeline *sim_timeline_open(const char *path, uint64_t from_ps, uint64_t to_ps,
                                       char error[SIM_ERROR_BYTES]);

/* `packet` joins the spans of one packet (0: it belongs to none). The name is copied. */
void sim_timeline_span(struct sim_timeline *timeline, uint32_t node, uint32_t track,
                       const char *name, uint64_t from_ps, uint64_t to_ps, uint64_t packet);

/* False: something could not be written. */
bool sim_timeline_close(struct sim_timeline *timeline);

#endif
