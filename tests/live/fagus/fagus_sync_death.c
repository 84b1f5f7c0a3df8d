/* Nodes that die holding a variable, having had it last, waiting for it, reading it, or anywhere.
 * fagus_sync_death STORY BYTES: the survivors say what they got and found.
 *
 * All bytes of the object are equal in a version, so half of one shows. */
#include <signal.h>

#include "fagus_live.h"

enum { VERSIONS = 6 };

static struct fagus_sync *variable;
static unsigned char *object;
static size_t bytes;
static struct fagus_flag *flag; /* never set: those who wait for it hear of deaths */
static struct fagus_flag *met;  /* how many have done everything */

static void die(void)
{
    (void)kill(getpid(), SIGKILL);
    for (;;) {
        (void)pause();
    }
}

static void write_version(unsigned version)
{
    memset(object, (int)version, bytes);
}

static void set_up(int home)
{
    object = fagus_get(bytes, home);
    fagus_expect(fagus_sync_create(&variable), 0);
    fagus_expect(fagus_bind(variable, object, bytes), 0);
    fagus_expect(fagus_flag_create(&flag, 0), 0);
    fagus_expect(fagus_flag_create(&met, 0), 0);
}

/* Releases versions 1 to VERSIONS, by the nodes in turn, the last one by `last`. */
static void release_versions(int last)
{
    for (int version = 1; version <= VERSIONS; version++) {
        int writer = (last + VERSIONS - version) % me.size;
        if (writer == me.rank) {
            fagus_expect(fagus_acquire(variable, FAGUS_WRITE), 0);
            write_version((unsigned)version);
            fagus_expect(fagus_release(variable), 0);
        }
        fagus_expect(fagus_barrier(NULL), 0);
    }
}

static void hear_of_a_death(void)
{
    fagus_expect(fagus_flag_wait(flag, 1, LIVE_PATIENCE_NS), FAGUS_EPEER);
}

static const char *word_of(int result)
{
    switch (result) {
    case 0: return "held";
    case FAGUS_EOWNERDEAD: return "owner dead";
    case FAGUS_ELOST: return "lost";
    case FAGUS_EPEER: return "peer";
    default: return fagus_strerror(result);
    }
}

/* Acquires once; tells the result and the version found. */
static int acquire_and_tell(enum fagus_mode mode)
{
    int result = fagus_acquire_timed(variable, mode, LIVE_PATIENCE_NS);
    bool is_sound = result == 0 || result == FAGUS_EOWNERDEAD;
    if (is_sound) {
        require_else(live_all_are(object, bytes, object[0]), "torn: %u and others", object[0]);
        (void)dprintf(STDOUT_FILENO, "%s %u\n", word_of(result), object[0]);
    } else {
        (void)dprintf(STDOUT_FILENO, "%s\n", word_of(result));
    }
    return result;
}

static void fagus_expect_or_peer(int result)
{
    require_else(result == 0 || result == FAGUS_EPEER, "%s", word_of(result));
}

static void leave_and_survive(void)
{
    (void)fagus_finalize();
    (void)dprintf(STDOUT_FILENO, "ok survivor\n");
}

/* Each death is told once; a node that is told more often than there are nodes is told that the
 * flag's node, or every node, is gone. */
static int wait_through_deaths(struct fagus_flag *awaited, uint64_t value)
{
    int told = 0;
    int result;
    do {
        result = fagus_flag_wait(awaited, value, LIVE_PATIENCE_NS);
    } while (result == FAGUS_EPEER && told++ < me.size);
    require_else(result == 0 || result == FAGUS_EPEER, "%s", word_of(result));
    return result;
}

/* After a death fagus_finalize waits for nobody, and a node that leaves takes its copies and
 * records along. So the survivors meet first, at node 0, which is one of them: if that has left,
 * all have met. */
static void meet_and_survive(int dead)
{
    fagus_expect(fagus_flag_add(met, 1, NULL), 0);
    (void)wait_through_deaths(met, (uint64_t)(me.size - dead));
    leave_and_survive();
}

/* All survivors read, then write, in any order; they find nothing but whole versions. */
static void go_on(void)
{
    for (int i = 0; i < 20; i++) {
        int result = fagus_acquire_timed(variable, i % 2 ? FAGUS_READ : FAGUS_WRITE,
                                         LIVE_PATIENCE_NS);
        require_else(result == 0, "%s", word_of(result));
        require(live_all_are(object, bytes, object[0]));
        if (i % 2 == 0) {
            write_version(object[0] + 1u);
        }
        fagus_expect(fagus_release(variable), 0);
    }
}

/* ---- Stories -------------------------------------------------------------------------------- */

/* Node 1 dies half way through writing; version VERSIONS was released by node 2. */
static void holder(void)
{
    set_up(0);
    release_versions(2 % me.size);
    if (me.rank == 1) {
        fagus_expect(fagus_acquire(variable, FAGUS_WRITE), 0);
        memset(object, 99, bytes / 2);
    }
    fagus_expect(fagus_barrier(NULL), 0);
    if (me.rank == 1) {
        live_sleep_ns(20 * LIVE_MS);
        die();
    }
    int result = acquire_and_tell(me.rank % 2 ? FAGUS_WRITE : FAGUS_READ);
    if (result != FAGUS_EPEER) {
        fagus_expect(fagus_release(variable), 0);
    }
    meet_and_survive(1);
}

/* The same for a node that released the last version itself. */
static void owner_who_writes(void)
{
    set_up(0);
    release_versions(1);
    if (me.rank == 1) {
        fagus_expect(fagus_acquire(variable, FAGUS_WRITE), 0);
        memset(object, 99, bytes / 2);
    }
    fagus_expect(fagus_barrier(NULL), 0);
    if (me.rank == 1) {
        live_sleep_ns(20 * LIVE_MS);
        die();
    }
    int result = acquire_and_tell(FAGUS_WRITE);
    if (result != FAGUS_EPEER) {
        write_version(50);
        fagus_expect(fagus_release(variable), 0);
        go_on();
    }
    meet_and_survive(1);
}

/* As `holder`; the survivors see in turn that it stays lost for readers, and node 0 mends it. Where
 * memory is shared it finds what the dead node had written so far. */
static void mended(void)
{
    set_up(0);
    release_versions(2 % me.size);
    if (me.rank == 1) {
        fagus_expect(fagus_acquire(variable, FAGUS_WRITE), 0);
        memset(object, 99, bytes / 2);
    }
    fagus_expect(fagus_barrier(NULL), 0);
    if (me.rank == 1) {
        die();
    }
    if (me.rank == 0) {
        for (int i = 0; i < 2; i++) {
            (void)acquire_and_tell(FAGUS_READ);
            fagus_expect(fagus_release(variable), 0);
        }
        int result = acquire_and_tell(FAGUS_WRITE);
        if (result == FAGUS_ELOST && fagus_nodes_share()) {
            require(live_all_are(object, bytes / 2, 99));
            require(live_all_are(object + bytes / 2, bytes - bytes / 2, VERSIONS));
        }
        write_version(50);
        fagus_expect(fagus_release(variable), 0);
        (void)acquire_and_tell(FAGUS_READ);
        fagus_expect(fagus_release(variable), 0);
        go_on();
    } else {
        hear_of_a_death();
    }
    meet_and_survive(1);
}

enum { MANY_RANGES = 20 };

static struct fagus_range many[MANY_RANGES];

/* Node 1 binds many ranges anew, releases them and dies before any other node has learnt of it. */
static void lone_binder(void)
{
    set_up(0);
    release_versions(0);
    size_t piece = bytes / MANY_RANGES / 8 * 8;
    for (size_t i = 0; i < MANY_RANGES; i++) {
        many[i] = (struct fagus_range){object + i * piece, piece / 2};
    }
    if (me.rank == 1) {
        fagus_expect(fagus_acquire(variable, FAGUS_WRITE), 0);
        fagus_expect(fagus_rebind(variable, many, MANY_RANGES), 0);
        write_version(7);
        fagus_expect(fagus_release(variable), 0);
    }
    fagus_expect(fagus_barrier(NULL), 0);
    if (me.rank == 1) {
        die();
    }
    hear_of_a_death();
    if (me.rank == 0) {
        for (int i = 0; i < 2; i++) {
            int result = fagus_acquire_timed(variable, i ? FAGUS_WRITE : FAGUS_READ,
                                             LIVE_PATIENCE_NS);
            (void)dprintf(STDOUT_FILENO, "%s\n", word_of(result));
            fagus_expect(fagus_release(variable), 0);
        }
        require(fagus_acquire_timed(variable, FAGUS_WRITE, LIVE_PATIENCE_NS) != FAGUS_EPEER);
        fagus_expect(fagus_rebind(variable, &(struct fagus_range){object, bytes}, 1), 0);
        write_version(50);
        fagus_expect(fagus_release(variable), 0);
        go_on();
    } else {
        int result = FAGUS_ELOST;
        /* Until node 0 has bound it again. */
        while (result == FAGUS_ELOST || object[bytes - 1] < 50) {
            result = fagus_acquire_timed(variable, FAGUS_READ, LIVE_PATIENCE_NS);
            require_else(result == 0 || result == FAGUS_ELOST, "%s", word_of(result));
            fagus_expect(fagus_release(variable), 0);
            live_sleep_ns(LIVE_MS);
        }
        go_on();
    }
    meet_and_survive(1);
}

/* Node 1 released the last version and dies idle; with `copied` node 2 has read it. */
static void owner(bool copied)
{
    set_up(0);
    release_versions(1);
    if (copied && me.rank == 2) {
        fagus_expect(fagus_acquire(variable, FAGUS_READ), 0);
        fagus_expect(fagus_release(variable), 0);
    }
    fagus_expect(fagus_barrier(NULL), 0);
    if (me.rank == 1) {
        die();
    }
    hear_of_a_death();
    int result = acquire_and_tell(FAGUS_READ);
    if (result != FAGUS_EPEER) {
        fagus_expect(fagus_release(variable), 0);
    }
    meet_and_survive(1);
}

static void lone_owner(void)
{
    owner(false);
}

static void copied_owner(void)
{
    owner(true);
}

/* Node 1 released the last version and waits for the others in fagus_finalize: they can still get
 * it. */
static void owner_waits_to_leave(void)
{
    set_up(0);
    release_versions(1);
    if (me.rank != 1) {
        live_sleep_ns(20 * LIVE_MS);
        (void)acquire_and_tell(FAGUS_READ);
        fagus_expect(fagus_release(variable), 0);
    }
    fagus_expect(fagus_finalize(), 0);
    (void)dprintf(STDOUT_FILENO, "ok survivor\n");
}

/* After node 2 has died nobody waits for anybody: node 1, which released the last version, leaves.
 * What was only in its memory is lost if that is out of reach, but no node gets an old version. */
static void owner_leaves(void)
{
    set_up(0);
    release_versions(1);
    if (me.rank == 2) {
        die();
    }
    hear_of_a_death();
    if (me.rank == 0) {
        fagus_expect(fagus_flag_wait(flag, 1, LIVE_PATIENCE_NS), FAGUS_EPEER); /* all are gone */
        (void)acquire_and_tell(FAGUS_READ);
        fagus_expect(fagus_release(variable), 0);
    }
    leave_and_survive();
}

/* Node 0 holds it, the others queue, node 1 dies in the queue. */
static void waiter(void)
{
    set_up(0);
    release_versions(0);
    if (me.rank == 0) {
        fagus_expect(fagus_acquire(variable, FAGUS_WRITE), 0);
    }
    fagus_expect(fagus_barrier(NULL), 0);
    if (me.rank == 1) {
        (void)signal(SIGALRM, SIG_DFL);
        live_die_in(30 * LIVE_MS);
        (void)fagus_acquire(variable, FAGUS_WRITE);
        live_fail(__FILE__, __LINE__, "the waiter was not killed in time");
    }
    if (me.rank == 0) {
        hear_of_a_death();
        write_version(VERSIONS + 1);
        fagus_expect(fagus_release(variable), 0);
    } else {
        int result = fagus_acquire_timed(variable, FAGUS_WRITE, LIVE_PATIENCE_NS);
        /* The lock may have been given to the dead one first. */
        require_else(result == 0 || result == FAGUS_EOWNERDEAD, "%s", word_of(result));
        (void)dprintf(STDOUT_FILENO, "found %u\n", object[0]);
        fagus_expect(fagus_release(variable), 0);
    }
    go_on();
    meet_and_survive(1);
}

/* Node 1 dies while it reads: writers do not wait for it. */
static void reader(void)
{
    set_up(0);
    release_versions(2 % me.size);
    fagus_expect(fagus_acquire(variable, FAGUS_READ), 0);
    fagus_expect(fagus_barrier(NULL), 0);
    if (me.rank == 1) {
        die();
    }
    fagus_expect(fagus_release(variable), 0);
    go_on();
    meet_and_survive(1);
}

/* The node that manages it dies. */
static void manager(void)
{
    set_up(1);
    release_versions(0);
    fagus_expect(fagus_acquire(variable, FAGUS_READ), 0);
    fagus_expect(fagus_release(variable), 0);
    fagus_expect(fagus_barrier(NULL), 0);
    if (me.rank == 1) {
        die();
    }
    hear_of_a_death();
    int result = acquire_and_tell(FAGUS_WRITE);
    if (result == FAGUS_EPEER) {
        fagus_expect(fagus_release(variable), FAGUS_ENOTHELD);
    } else {
        fagus_expect(fagus_release(variable), 0);
        go_on();
    }
    meet_and_survive(1);
}

/* A holder finds the manager gone only when it releases. */
static void holder_loses_the_manager(void)
{
    set_up(1);
    release_versions(0);
    if (me.rank == 0) {
        fagus_expect(fagus_acquire(variable, FAGUS_WRITE), 0);
        write_version(VERSIONS + 1);
    }
    fagus_expect(fagus_barrier(NULL), 0);
    if (me.rank == 1) {
        die();
    }
    hear_of_a_death();
    if (me.rank == 0) {
        int result = fagus_release(variable);
        require(result == 0 || result == FAGUS_EPEER);
        (void)dprintf(STDOUT_FILENO, "released %s\n", word_of(result));
    }
    meet_and_survive(1);
}

/* A version that is larger than all before it, on all nodes: the time. */
static void write_stamp(uint64_t stamp, bool is_half)
{
    memset(object + 8, (int)live_mix(stamp) & 0xff, is_half ? bytes / 2 - 8 : bytes - 8);
    memcpy(object, &stamp, sizeof stamp);
}

static uint64_t read_stamp(void)
{
    uint64_t stamp;
    memcpy(&stamp, object, sizeof stamp);
    unsigned char wanted = stamp ? (unsigned char)live_mix(stamp) : 0;
    require_else(live_all_are(object + 8, bytes - 8, wanted), "torn version");
    return stamp;
}

/* Two nodes die at any moment while all read and write. What a node holds is whole and not older
 * than what it had before, unless it was told that the object is lost. */
static void storm(void)
{
    set_up(0);
    fagus_expect(fagus_barrier(NULL), 0);
    uint64_t random = me.seed + (uint64_t)me.rank * 977;
    uint64_t begin_ns = live_now_ns();
    uint64_t death_ns = begin_ns + live_random(&random, 60) * LIVE_MS;
    bool dies = me.rank == 1 || me.rank == me.size - 1;
    uint64_t last = 0;
    for (uint64_t now_ns = 0; now_ns < begin_ns + 200 * LIVE_MS; now_ns = live_now_ns()) {
        enum fagus_mode mode = live_random(&random, 2) ? FAGUS_READ : FAGUS_WRITE;
        bool has_come = dies && now_ns >= death_ns;
        int result = fagus_acquire_timed(variable, mode, LIVE_PATIENCE_NS);
        if (has_come && live_random(&random, 2)) {
            die();
        }
        require_else(result == 0 || result == FAGUS_EOWNERDEAD || result == FAGUS_ELOST, "%s",
                     word_of(result));
        if (result != FAGUS_ELOST) {
            uint64_t found = read_stamp();
            require_else(found >= last, "older by %llu ns", (unsigned long long)(last - found));
            last = found;
        }
        if (mode == FAGUS_WRITE) {
            uint64_t stamp = live_now_ns();
            write_stamp(stamp, true);
            if (has_come) {
                die();
            }
            write_stamp(stamp, false);
            last = stamp;
        }
        fagus_expect(fagus_release(variable), 0);
        if (live_random(&random, 8) == 0) {
            live_sleep_ns(50 * LIVE_US);
        }
    }
    if (dies) {
        die();
    }
    meet_and_survive(2);
}

/* Writes words that no other node writes, as many as each of the others has. */
static size_t write_own_share(int value)
{
    size_t share = bytes / (size_t)me.size / 8 * 8;
    memset(object + (size_t)me.rank * share, value, share);
    return share;
}

/* A node dies at a barrier with data: the others are told, and none waits for ever. */
static void barrier(void)
{
    set_up(0);
    for (int i = 0; i < 3; i++) {
        size_t share = write_own_share(i + 1);
        fagus_expect(fagus_barrier(variable), 0);
        require(live_all_are(object, share * (size_t)me.size, (unsigned char)(i + 1)));
        fagus_expect(fagus_barrier(NULL), 0); /* no node writes what another still looks at */
    }
    if (me.rank == 1) {
        die();
    }
    fagus_expect(fagus_barrier(variable), FAGUS_EPEER);
    (void)dprintf(STDOUT_FILENO, "peer\n");
    meet_and_survive(1);
}

/* After a barrier that some passed and some did not, the version is what its last holder
 * released: no node takes for it what the barrier had made there. The last node, which lives,
 * releases one. */
static void release_after_barriers(struct fagus_flag *released, struct fagus_flag *done)
{
    enum { RELEASED = 1, NOT_HELD = 2 };
    uint64_t said = 0;
    int result;
    if (me.rank == me.size - 1) {
        result = fagus_acquire_timed(variable, FAGUS_WRITE, LIVE_PATIENCE_NS);
        said = result == FAGUS_EPEER ? NOT_HELD : RELEASED;
        if (said == RELEASED) {
            write_version(250);
            fagus_expect(fagus_release(variable), 0);
        }
        fagus_expect(fagus_flag_set(released, said), 0);
    } else {
        fagus_expect(wait_through_deaths(released, RELEASED), 0);
        fagus_expect(fagus_flag_read(released, &said), 0);
        if (said == RELEASED) {
            result = fagus_acquire_timed(variable, FAGUS_READ, LIVE_PATIENCE_NS);
            require_else(result == 0 || result == FAGUS_EOWNERDEAD, "%s", word_of(result));
            require_else(live_all_are(object, bytes, 250), "%u, not what was released", object[0]);
            fagus_expect(fagus_release(variable), 0);
        }
        fagus_expect(fagus_flag_add(done, 1, NULL), 0);
    }
    /* All stay until all have read it: the last node has it, and the manager is needed. */
    (void)wait_through_deaths(done, (uint64_t)me.size - 2);
}

/* Barriers with data until a node dies, at whatever step; what passed is the same on all. */
static void barriers_until_a_death(void)
{
    struct fagus_flag *released;
    struct fagus_flag *done;
    set_up(0);
    fagus_expect(fagus_flag_create(&released, me.size - 1), 0);
    fagus_expect(fagus_flag_create(&done, me.size - 1), 0);
    for (int i = 0; i < 200; i++) {
        size_t share = write_own_share(i + 1);
        int result = fagus_barrier(variable);
        if (result != 0) {
            require_else(result == FAGUS_EPEER, "%s", word_of(result));
            break;
        }
        require_else(live_all_are(object, share * (size_t)me.size, (unsigned char)(i + 1)),
                     "not the same after barrier %d", i);
        fagus_expect_or_peer(fagus_barrier(NULL));
    }
    release_after_barriers(released, done);
    leave_and_survive();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } stories[] = {
        {"holder", holder},
        {"mended", mended},
        {"lone_binder", lone_binder},
        {"owner_who_writes", owner_who_writes},
        {"lone_owner", lone_owner},
        {"copied_owner", copied_owner},
        {"owner_waits_to_leave", owner_waits_to_leave},
        {"owner_leaves", owner_leaves},
        {"waiter", waiter},
        {"reader", reader},
        {"manager", manager},
        {"holder_loses_the_manager", holder_loses_the_manager},
        {"storm", storm},
        {"barrier", barrier},
        {"barriers_until_a_death", barriers_until_a_death},
    };
    require(argc == 3);
    bytes = strtoull(argv[2], NULL, 10);
    for (size_t i = 0; i < LIVE_COUNT(stories); i++) {
        if (strcmp(stories[i].name, argv[1]) == 0) {
            me.check = stories[i].name;
            fagus_begin();
            stories[i].run();
            return 0;
        }
    }
    return 2;
}
