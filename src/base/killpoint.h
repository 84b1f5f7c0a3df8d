/* Kill points: the named steps of everything that changes shared memory.
 *
 * In the kill-point build (-Dkillpoints=true) each KILL_POINT registers its name in
 * a section of its own, so that a test can list all of them, and a process can be
 * told to die by SIGKILL at the n-th passage of one. In every other build it is
 * nothing at all. The dying itself is a hook, because the protocol folders do no
 * I/O. */
#ifndef BASE_KILLPOINT_H
#define BASE_KILLPOINT_H

#ifdef DN_KILLPOINTS

struct base_killpoint {
    const char *name;
};

/* Called at each passage; NULL does nothing. */
extern void (*base_killpoint_hook)(const char *name);

/* The registered points; the same name may occur more than once. */
extern const struct base_killpoint *const base_killpoints_first;
extern const struct base_killpoint *const base_killpoints_end;

#define KILL_POINT(point_name)                                                       \
    do {                                                                             \
        static const struct base_killpoint killpoint_here                            \
            __attribute__((section("dn_killpoints"), used, aligned(8))) = {point_name}; \
        if (base_killpoint_hook) {                                                   \
            base_killpoint_hook(killpoint_here.name);                                \
        }                                                                            \
    } while (0)

#else

#define KILL_POINT(point_name) ((void)0)

#endif

#endif
