/* What `dimmnet info` prints: tables for people, or one JSON object a line. */
#ifndef CLI_INFO_INFO_PRINT_H
#define CLI_INFO_INFO_PRINT_H

#include "cli/info/groups.h"

/* What the `udp` fabric finds on this machine. */
struct info_machine {
    uint32_t core_count;
    bool has_udp; /* a socket could be made */
    bool offload_send;
    bool offload_receive;
    const char *cipher;
    uint32_t packet_bytes_max; /* on the loopback, as large as the protocol makes them */
    uint32_t path_bytes;       /* that the loopback would take */
};

void info_print_machine(bool json, const struct info_machine *machine);

/* One line for each group. */
void info_print_list(bool json, const struct groups *groups);

/* All about one. */
void info_print_group(bool json, const struct groups_entry *entry);

#endif
