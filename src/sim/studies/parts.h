/* What the studies share. */
#ifndef SIM_STUDIES_PARTS_H
#define SIM_STUDIES_PARTS_H

#include "sim/model/world.h"
#include "sim/studies/study.h"

extern const struct sim_study sim_study_barrier;
extern const struct sim_study sim_study_sum;
extern const struct sim_study sim_study_contexts;
extern const struct sim_study sim_study_transports;
extern const struct sim_study sim_study_loss;
extern const struct sim_study sim_study_networks;
extern const struct sim_study sim_study_message;
extern const struct sim_study sim_study_lock;
extern const struct sim_study sim_study_banks;
extern const struct sim_study sim_study_corepu;
extern const struct sim_study sim_study_users;
extern const struct sim_study sim_study_ring;
extern const struct sim_study sim_study_frames;
extern const struct sim_study sim_study_multicast;
extern const struct sim_study sim_study_bridge;
extern const struct sim_study sim_study_subnet;

/* 10 s of virtual time: a study that takes longer never ends. */
#define SIM_STUDY_LIMIT_PS UINT64_C(10000000000000)

void sim_study_set_number(struct sim_study_row *row, unsigned column, double number);
void sim_study_set_text(struct sim_study_row *row, unsigned column, const char *text);

#endif
