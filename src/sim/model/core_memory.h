/* What the core processor keeps in its data SRAM: the services' tables. */
#ifndef SIM_MODEL_CORE_MEMORY_H
#define SIM_MODEL_CORE_MEMORY_H

#include "nic/services.h"
#include "sim/model/machine.h"

/* Bytes of the tables, as a 32-bit processor would lay them out. */
uint64_t sim_core_table_bytes(const struct nic_services_config *config);

/* How many requests for locks can wait at a manager beside the other tables; 0: none, or the others
 * alone do not fit. */
uint32_t sim_core_waiters_max(const struct sim_machine *machine,
                              const struct nic_services_config *config);

/* False: the tables do not fit; the error says what they need and what there is. */
bool sim_core_tables_fit(const struct sim_machine *machine,
                         const struct nic_services_config *config, char error[SIM_ERROR_BYTES]);

#endif
