/* BOTF windows: a map of the free ones and a count for each user. */
#include "nic/window.h"

_Static_assert(NIC_WINDOWS == 64, "`free` has a bit for each window");

void nic_window_init(struct nic_windows *windows, struct nic_window *memory)
{
    *windows = (struct nic_windows){.free = ~UINT64_C(0), .windows = memory};
}

int nic_window_take(struct nic_windows *windows, uint32_t user, uint32_t pgid, uint32_t *window)
{
    INVARIANT(user < NIC_USERS);
    if (windows->held[user] >= __builtin_popcountll(windows->free)) {
        return DN_EFULL;
    }
    uint32_t taken = (uint32_t)__builtin_ctzll(windows->free);
    windows->free &= ~(UINT64_C(1) << taken);
    windows->held[user]++;
    windows->windows[taken].pgid = pgid;
    windows->windows[taken].user = user;
    *window = taken;
    return 0;
}

void nic_window_give(struct nic_windows *windows, uint32_t window)
{
    uint32_t user = nic_window_at(windows, window)->user;
    INVARIANT(windows->held[user] > 0);
    windows->held[user]--;
    windows->free |= UINT64_C(1) << window;
}

struct nic_window *nic_window_at(struct nic_windows *windows, uint32_t window)
{
    INVARIANT(window < NIC_WINDOWS && !(windows->free >> window & 1));
    return &windows->windows[window];
}
