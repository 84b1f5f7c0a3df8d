/* The list of kill points, as the linker gathered it. */
#include "base/killpoint.h"

#ifdef DN_KILLPOINTS

void (*base_killpoint_hook)(const char *name);

/* Named by the linker after the section. Weak: a program may contain no point. */
extern const struct base_killpoint __start_dn_killpoints[] __attribute__((weak));
extern const struct base_killpoint __stop_dn_killpoints[] __attribute__((weak));

const struct base_killpoint *const base_killpoints_first = __start_dn_killpoints;
const struct base_killpoint *const base_killpoints_end = __stop_dn_killpoints;

#else

/* ISO C wants a translation unit to hold something. */
typedef int base_killpoint_unused;

#endif
