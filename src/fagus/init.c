/* Beginning and end, and what concerns the whole group. */
#include "base/uncancelled.h"
#include "fagus/state.h"
#include "fagus/sync.h"

static int open_parts(void)
{
    int error = fagus_all_or_none(fagus_lanes_open());
    if (error) {
        return error;
    }
    int refused = fagus_port_open();
    error = fagus_all_or_none(refused);
    if (error) {
        if (!refused) {
            fagus_port_close();
        }
        return error;
    }
    refused = fagus_syncs_open();
    error = fagus_all_or_none(refused);
    if (error) {
        if (!refused) {
            fagus_syncs_close();
        }
        fagus_port_close();
    }
    return error;
}

int fagus_init(void)
{
    int cancellable = base_uncancelled_begin();
    fagus_collective_begin();
    int error = fagus_state.node ? FAGUS_ESTATE : fagus_space_open();
    if (!error) {
        error = open_parts();
        if (error) {
            (void)fagus_space_close();
        }
    }
    fagus_collective_end();
    base_uncancelled_end(cancellable);
    return error;
}

/* A node that others do not finalize with stays; when one has died there is nobody to wait
 * for. */
int fagus_finalize(void)
{
    if (fagus_check_open()) {
        return FAGUS_ESTATE;
    }
    int cancellable = base_uncancelled_begin();
    fagus_collective_begin();
    int error = fagus_agree("fagus_finalize", NULL, 0);
    if (!error || error == FAGUS_EPEER) {
        fagus_syncs_close();
        fagus_port_close();
        int failed = fagus_space_close();
        error = error ? error : failed;
    }
    fagus_collective_end();
    base_uncancelled_end(cancellable);
    return error;
}

int fagus_rank(void)
{
    return fagus_state.node ? fagus_state.rank : FAGUS_ESTATE;
}

int fagus_size(void)
{
    return fagus_state.node ? fagus_state.size : FAGUS_ESTATE;
}

int fagus_distribute(void *variable, size_t bytes)
{
    int error = fagus_check_open();
    if (error) {
        return error;
    }
    const uint64_t length = bytes;
    fagus_collective_begin();
    if (!variable || bytes == 0) {
        error = fagus_refuse(FAGUS_EINVAL);
    } else {
        error = fagus_agree("fagus_distribute", &length, 1);
        error = error ? error : fagus_error_of(dn_broadcast(fagus_state.team, variable, bytes, 0));
    }
    fagus_collective_end();
    return error;
}
