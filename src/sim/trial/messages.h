/* Paper 004's SEND/RECEIVE on a machine: every node but the first sends messages to the first,
 * which reads them one after the other. For `dimmnet sim run message` and `dimmnet sim study
 * message`. */
#ifndef SIM_TRIAL_MESSAGES_H
#define SIM_TRIAL_MESSAGES_H

#include "sim/model/world.h"

/* What a sender does about a message that the receiver had no room for: the choices that the paper
 * leaves open. */
enum sim_resend {
    SIM_RESEND_NACK,     /* sends it again at once */
    SIM_RESEND_BACK_OFF, /* waits first, longer each time */
    /* Waits until the receiver asks for it, which it does when there is room for the message. */
    SIM_RESEND_REQUEST_ALL,  /* all senders are asked at once */
    SIM_RESEND_REQUEST,      /* only as many as there is room for, in turn */
    SIM_RESEND_REQUEST_HALF, /* in turn, and only when half of RB is free */
    SIM_RESENDS,
};
extern const char *const sim_resend_names[SIM_RESENDS];

struct sim_messages_wish {
    const struct sim_machine *machine;
    enum sim_topology topology;
    uint32_t node_count;
    uint32_t rounds;  /* messages of each sender */
    uint64_t bytes;   /* of a message; in pieces where it is longer than the MTU */
    uint64_t send_ps; /* a sender's own work before each message: up to twice that, at random */
    uint64_t read_ps; /* the receiver's own work on each */
    uint32_t resend;  /* enum sim_resend */
    bool detects_loss;
    uint32_t loss_ppm; /* 0: as the machine says */
    uint64_t seed;
    struct sim_message_config buffers; /* a field of 0 takes its default */
    uint64_t limit_ps;
    struct sim_timeline *timeline; /* may be NULL */
};

struct sim_messages_result {
    struct sim_message_config buffers; /* as they were */
    uint64_t first_ps;                 /* the first message was kicked */
    uint64_t last_ps;                  /* the last one was read */
    uint64_t pieces;                   /* read */
    uint64_t latency_ps,
        latency_most_ps; /* of all together, from the kick to the end of the read */
    uint64_t packets;    /* of data */
    uint64_t repeated;   /* of them, not for the first time */
    uint64_t refused;    /* for want of room */
    uint64_t dropped;    /* behind a refused or lost one, or known already */
    uint64_t silences;   /* time-outs of loss detection */
    uint64_t core_ps;    /* the receiver's CorePU was busy */
    uint64_t virtual_ps;
    struct sim_world_counters counters;
};

/* What is wrong with such buffers on any machine, or NULL. */
const char *sim_messages_objection(const struct sim_message_config *buffers);

/* The smallest RB for that many messages of so many bytes. */
uint32_t sim_messages_room(uint32_t count, uint64_t bytes);

/* round_ps, which may be NULL, gets how long the receiver took for each round of messages, one of
 * each sender. False: the error says why in one line. */
bool sim_messages_run(const struct sim_messages_wish *wish, uint64_t *round_ps,
                      struct sim_messages_result *result, char error[SIM_ERROR_BYTES]);

#endif
