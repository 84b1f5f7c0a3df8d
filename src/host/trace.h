/* Records of a node's library calls, for `dimmnet run --trace`; and the moments at which the
 * program leaves calls, for fabrics in virtual time that count what it computes between them.
 *
 * The launcher makes a memory file for each node, and the node inherits its descriptor. A call
 * claims a record by one atomic addition and fills it in: no lock, no system call. The file
 * outlives its process, so the launcher also reads what a killed node has recorded.
 *
 * Only the outermost call of a thread is recorded, under its own name: what it calls inside is
 * its own affair. A record is published when its call begins, so the call in which a node died or
 * hung is there as well, and once more when it ends.
 *
 * Times are those of host_now_ns. Places are counted from the start of a node's memory, which
 * has the same layout at every node; so a write and a wait for it name the same number, whatever
 * areas they were named by. */
#ifndef HOST_TRACE_H
#define HOST_TRACE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "dimmnet.h"
#include "host/clock.h"

/* The descriptor of the node's records. */
#define HOST_ENV_TRACE_FD "DIMMNET_TRACE_FD"

#define HOST_TRACE_MAGIC UINT64_C(0x31636172745f6e64) /* "dn_trac1" */
#define HOST_TRACE_NOWHERE UINT64_MAX                 /* a place that is none */
#define HOST_TRACE_NOBODY (-1)                        /* a peer that is none */

enum {
    HOST_TRACE_NAMES = 1000, /* of calls that one node makes; the rest have no name */
    HOST_TRACE_NAME_BYTES = 64,
    HOST_TRACE_HEAD_BYTES = 1 << 16, /* the records begin there */
};

/* What a call does, as far as a reader of traces needs to know. */
enum host_trace_kind {
    HOST_TRACE_OTHER,      /* joins, leaves, names memory, makes teams */
    HOST_TRACE_STORE,      /* writes a word: a kick's store */
    HOST_TRACE_PUT,        /* writes a block */
    HOST_TRACE_PUT_SIGNAL, /* writes a block and then a flag of 8 bytes */
    HOST_TRACE_GET,        /* reads, and changes nothing */
    HOST_TRACE_ATOMIC,     /* changes a word */
    HOST_TRACE_ORDER,      /* orders or completes what was sent */
    HOST_TRACE_WAIT,       /* waits for a word of this node, or found it by a test */
    HOST_TRACE_BARRIER,
    HOST_TRACE_COLLECTIVE,
    HOST_TRACE_LOCK,
    HOST_TRACE_SEND,    /* a message: begins it, also where another call completes it */
    HOST_TRACE_RECEIVE, /* a message: the call that gave it to the program */
    HOST_TRACE_KINDS
};

/* A record is OPEN while its call is under way. */
enum host_trace_state { HOST_TRACE_FREE, HOST_TRACE_OPEN, HOST_TRACE_DONE };

/* One line of the cache. The state is written last, with release, and pairs with the acquire of
 * whoever reads the file: what a record that is not FREE says is whole. */
struct host_trace_record {
    uint64_t begin_ns;
    uint64_t end_ns;     /* 0 while OPEN */
    uint64_t place;      /* at the peer, or of the word waited for; or HOST_TRACE_NOWHERE */
    uint64_t bytes;      /* of payload, or of that word */
    uint64_t flag_place; /* of a PUT_SIGNAL's flag; else HOST_TRACE_NOWHERE */
    uint64_t team;       /* of a BARRIER or COLLECTIVE: the team's key, 0 for all nodes */
    int32_t peer;        /* a rank; or HOST_TRACE_NOBODY */
    uint32_t area;       /* by which the place was named; of messages the channel */
    int16_t result;      /* 0 or DN_E... */
    uint16_t name;       /* of the call, in the file's names */
    uint16_t thread;     /* of this node, in the order in which they made their first call */
    uint8_t kind;        /* enum host_trace_kind */
    _Atomic uint8_t state;
};
_Static_assert(sizeof(struct host_trace_record) == CACHE_LINE_BYTES, "a record is one line");

/* The start of the file; the records follow at HOST_TRACE_HEAD_BYTES. */
struct host_trace_file {
    uint64_t magic;
    uint32_t name_count; /* names[0] stands for all that found no room */
    char names[HOST_TRACE_NAMES][HOST_TRACE_NAME_BYTES];
    alignas(CACHE_LINE_BYTES) _Atomic uint64_t claimed; /* records, those without room included */
};
_Static_assert(sizeof(struct host_trace_file) <= HOST_TRACE_HEAD_BYTES, "the head has room");

/* ---- For the launcher --------------------------------------------------------------------- */

/* Makes a file for so many records, which takes no memory until they are written. Gives a
 * descriptor that is close-on-exec, or -1 and errno. */
int host_trace_file_make(uint64_t record_count);

/* ---- For the node ------------------------------------------------------------------------- */

struct dn_node;

/* Whether calls are recorded, or metered: set while a node attaches, before it has a lane. */
extern bool host_trace_is_on __attribute__((visibility("hidden")));

struct fabric;

/* Begins to record if the launcher wants it, and to meter if the fabric does. 0, or DN_EGROUP,
 * DN_ENOMEM. */
int host_trace_start(const struct fabric *fabric);
/* The time for a record; 0: none is made, and a virtual clock need not be asked. */
uint64_t host_trace_now_ns(void);
/* Ends it; what is there stays. Also for a forked child, whose calls are not the node's. */
void host_trace_stop(void);

/* What a record says of its call besides name and times. */
struct host_trace_what {
    enum host_trace_kind kind;
    int peer;
    uint32_t area;
    uint64_t place;
    uint64_t bytes;
    uint64_t flag_place;
    uint64_t team;
};

static inline struct host_trace_what host_trace_call(enum host_trace_kind kind)
{
    return (struct host_trace_what){.kind = kind,
                                    .peer = HOST_TRACE_NOBODY,
                                    .place = HOST_TRACE_NOWHERE,
                                    .flag_place = HOST_TRACE_NOWHERE};
}

/* The same with a remote address, with a flag behind what is written there, and with a word of
 * this node. Whatever the arguments are, these
 * only look at them; what names no place is nowhere. */
struct host_trace_what host_trace_remote(enum host_trace_kind kind, const struct dn_node *node,
                                         struct dn_remote remote, uint64_t bytes);
struct host_trace_what host_trace_signal(const struct dn_node *node, struct dn_remote remote,
                                         uint64_t bytes, struct dn_remote flag);
struct host_trace_what host_trace_word(enum host_trace_kind kind, const struct dn_node *node,
                                       const void *word, uint64_t bytes);

/* Whether this thread's call is to be recorded: it is not inside another one. Then host_trace_begin
 * and host_trace_end follow. */
bool host_trace_enter(void) __attribute__((cold));

/* Publishes a record of a call that begins. `name` stays valid as long as the process. Gives NULL
 * if there is no room. The owner may change the record's other fields until it ends it. */
struct host_trace_record *host_trace_begin(const char *name, const struct host_trace_what *what)
    __attribute__((cold));
void host_trace_end(struct host_trace_record *record, int result) __attribute__((cold));

/* Records a call that is over, unless it was made inside another one. */
void host_trace_note(const char *name, const struct host_trace_what *what, uint64_t begin_ns,
                     uint64_t end_ns, int result) __attribute__((cold));

/* A call that makes no record is over, unless it was made inside another one. */
void host_trace_left(void) __attribute__((cold));

/* The next call that this thread records has this name: the one that a library above has for it. */
void host_trace_rename(const char *name) __attribute__((cold));

#endif
