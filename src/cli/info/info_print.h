/* What `dimmnet info` prints: tables for people, or one JSON object per line. */
#ifndef CLI_INFO_INFO_PRINT_H
#define CLI_INFO_INFO_PRINT_H

#include "cli/info/groups.h"

void info_print_machine(bool json);

/* One line for each group. */
void info_print_list(bool json, const struct groups *groups);

/* All about one. */
void info_print_group(bool json, const struct groups_entry *entry);

#endif
