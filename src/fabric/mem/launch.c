/* Nodes that share memory have all they need in the launcher's group. */
#include "fabric/launch.h"

static const struct fabric_option options[] = {{.name = NULL}};

static int check(const uint64_t *settings, char *sentence)
{
    (void)settings;
    (void)sentence;
    return 0;
}

static int make(struct fabric_roster *roster, char *sentence)
{
    (void)roster;
    (void)sentence;
    return 0;
}

static void release(struct fabric_roster *roster)
{
    (void)roster;
}

static void descriptors(const struct fabric_roster *roster, uint32_t index, int *fds)
{
    (void)roster;
    (void)index;
    (void)fds;
}

static void hand_over(struct fabric_roster *roster, uint32_t index)
{
    (void)roster;
    (void)index;
}

static bool tell_machine(fabric_tell tell, void *context)
{
    (void)tell;
    (void)context;
    return true;
}

extern const struct fabric_launch mem_launch;
const struct fabric_launch mem_launch = {
    .name = "mem",
    .help = "the memory of this machine",
    .shares_memory = true,
    .options = options,
    .check = check,
    .make = make,
    .release = release,
    .descriptors = descriptors,
    .hand_over = hand_over,
    .tell_machine = tell_machine,
};
