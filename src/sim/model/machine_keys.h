/* The values of a machine, one slot each: machine.h's keys first, then each stage's. A slot says
 * what a file calls the value, what it may be, and where its field is. */
#ifndef SIM_MODEL_MACHINE_KEYS_H
#define SIM_MODEL_MACHINE_KEYS_H

#include "sim/model/machine.h"

enum sim_stage_key {
#define SIM_STAGE_KEY_ENUM(key, kind, optional, help) SIM_STAGE_KEY_##key,
    SIM_STAGE_KEYS(SIM_STAGE_KEY_ENUM)
#undef SIM_STAGE_KEY_ENUM
        SIM_STAGE_KEY_COUNT,
};

enum { SIM_SLOTS = SIM_MACHINE_KEY_COUNT + SIM_STAGES * SIM_STAGE_KEY_COUNT };

struct sim_slot {
    const char *section; /* as in a file: "host", "stage header_tlb" */
    const char *key;     /* as in a file, with its unit: "write_ns" */
    enum sim_key_kind kind;
    bool optional;
    const char *help;
    size_t offset;            /* of its field in struct sim_machine */
    const char *const *words; /* of SIM_KEY_CHOICE and SIM_KEY_CLOCK */
    unsigned word_count;
};

struct sim_slot sim_slot_get(unsigned number);

static inline unsigned sim_stage_slot(enum sim_stage_name stage, enum sim_stage_key key)
{
    return SIM_MACHINE_KEY_COUNT + (unsigned)stage * SIM_STAGE_KEY_COUNT + (unsigned)key;
}

/* Whether a file can give it: padding and link have no sections of their own. */
bool sim_slot_is_said(unsigned number);

/* The key NULL: the section's first one. SIM_SLOTS: there is none. */
unsigned sim_slot_find(const char *section, const char *key);

enum { SIM_FAULT_BYTES = 128 };

/* Turns the text into what the slot's field keeps. False: the fault says what is wrong, as in
 * "is no number". */
bool sim_value_read(unsigned number, const char *text, uint64_t *value,
                    char fault[SIM_FAULT_BYTES]);

/* Turns it back into text, as in a file. */
void sim_value_write(unsigned number, uint64_t value, char *text, size_t room);

uint64_t *sim_slot_field(struct sim_machine *machine, unsigned number);
uint64_t sim_slot_value(const struct sim_machine *machine, unsigned number);

#endif
