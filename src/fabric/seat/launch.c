/* The launcher's side: a page of turns for each node, and the simulator. */
#define _GNU_SOURCE
#include "fabric/seat/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/seat/state.h"

struct making {
    struct turn_page **pages;
    int *fds; /* of the pages, until the nodes have them */
    void *simulator;
};

static const struct fabric_option options[] = {
    [SEAT_KILL] = {.name = "kill",
                   .value = "RANK@TIME,...",
                   .help = "kill these nodes at these moments of virtual time: 3@120us,1@2ms"},
    [SEAT_FAULTS] = {.name = "faults",
                     .value = "FILE",
                     .help = "the same from a file, a line for each: kill RANK TIME; or random "
                             "COUNT UNTIL SEED, which kills so many nodes by chance"},
    [SEAT_JSON] = {.name = "json", .value = "FILE", .help = "write the report as JSON"},
    [SEAT_HTML] = {.name = "html", .value = "FILE", .help = "write the report as a page"},
    [SEAT_STAGES] = {.name = "stages",
                     .value = "FILE",
                     .help = "write a trace of every packet's stages for ui.perfetto.dev"},
    [SEAT_SETTINGS] = {0},
};

/* A page in a file without a name, of fixed size. */
static int make_page(const struct fabric_roster *roster, uint32_t rank, int *fd,
                     struct turn_page **page)
{
    *fd = memfd_create("dimmnet-seat", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*fd < 0 || fchmod(*fd, 0600) != 0 || ftruncate(*fd, sizeof **page) != 0 ||
        fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        return DN_ESYSTEM;
    }
    *page = mmap(NULL, sizeof **page, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (*page == MAP_FAILED) {
        *page = NULL;
        return DN_ESYSTEM;
    }
    /* No node needs the others' pages, and a fork would copy what is known of each. */
    (void)madvise(*page, sizeof **page, MADV_DONTFORK);
    const struct group_sizes *sizes = &roster->sizes;
    (*page)->version = TURN_VERSION;
    (*page)->rank = rank;
    (*page)->node_count = roster->node_count;
    (*page)->terms = (struct turn_terms){.sizes = {sizes->llcm_bytes, sizes->bank_bytes,
                                                   sizes->heap_bytes, sizes->registered_bytes}};
    (*page)->magic = TURN_MAGIC;
    return 0;
}

static int make_pages(struct fabric_roster *roster, struct making *making)
{
    for (uint32_t rank = 0; rank < roster->node_count; rank++) {
        int error = make_page(roster, rank, &making->fds[rank], &making->pages[rank]);
        if (error) {
            return error;
        }
    }
    return 0;
}

static int make(struct fabric_roster *roster, char *sentence)
{
    if (!&seat_simulator) {
        return fabric_launch_refuse(sentence, DN_EINVAL,
                                    "this build has no simulator (-Dsim=false)");
    }
    struct making *making = calloc(1, sizeof *making);
    if (!making) {
        return fabric_launch_refuse(sentence, DN_ENOMEM, "no memory");
    }
    roster->state = making;
    making->pages = calloc(roster->node_count, sizeof *making->pages);
    making->fds = malloc(roster->node_count * sizeof *making->fds);
    if (!making->pages || !making->fds) {
        return fabric_launch_refuse(sentence, DN_ENOMEM, "no memory");
    }
    memset(making->fds, -1, roster->node_count * sizeof *making->fds);
    if (make_pages(roster, making) != 0) {
        return fabric_launch_refuse(sentence, DN_ESYSTEM, "cannot make the nodes' pages: %s",
                                    strerror(errno));
    }
    struct seat_order order = {
        .words = roster->words,
        .node_count = roster->node_count,
        .pages = making->pages,
        .notify_fd = roster->notify_fd,
        .repeat = roster->repeat,
    };
    for (unsigned i = 0; i < SEAT_SETTINGS; i++) {
        order.texts[i] = (const char *)(uintptr_t)roster->settings[i];
    }
    return seat_simulator.begin(&order, &making->simulator, sentence);
}

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

static void release(struct fabric_roster *roster)
{
    struct making *making = roster->state;
    if (!making) {
        return;
    }
    if (making->simulator) {
        seat_simulator.end(making->simulator);
    }
    for (uint32_t rank = 0; rank < roster->node_count && making->fds; rank++) {
        close_fd(&making->fds[rank]);
        if (making->pages[rank]) {
            (void)munmap(making->pages[rank], sizeof *making->pages[rank]);
        }
    }
    free(making->pages);
    free(making->fds);
    free(making);
    roster->state = NULL;
}

static void descriptors(const struct fabric_roster *roster, uint32_t index, int *fds)
{
    const struct making *making = roster->state;
    fds[0] = making->fds[index];
}

static void hand_over(struct fabric_roster *roster, uint32_t index)
{
    struct making *making = roster->state;
    close_fd(&making->fds[index]);
}

static void ended(struct fabric_roster *roster, uint32_t index, bool well)
{
    struct making *making = roster->state;
    seat_simulator.ended(making->simulator, index, well);
}

static void cut(struct fabric_roster *roster)
{
    struct making *making = roster->state;
    seat_simulator.cut(making->simulator);
}

static bool report(struct fabric_roster *roster)
{
    struct making *making = roster->state;
    return seat_simulator.report(making->simulator);
}

static const char *fault(struct fabric_roster *roster)
{
    struct making *making = roster->state;
    return making && making->simulator ? seat_simulator.fault(making->simulator) : NULL;
}

const struct fabric_launch seat_launch = {
    .name = "sim",
    .help = "a simulated machine, in virtual time: sim:MACHINE[,NAME=VALUE...]",
    .words = "MACHINE[,NAME=VALUE...]",
    .takes_turns = true,
    .options = options,
    .make = make,
    .release = release,
    .files_by_node = 1,
    .variables = {SEAT_ENV_PAGE_FD},
    .descriptors = descriptors,
    .hand_over = hand_over,
    .ended = ended,
    .cut = cut,
    .report = report,
    .fault = fault,
};
