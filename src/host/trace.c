/* Recording. */
#define _GNU_SOURCE
#include "host/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "group/address.h"
#include "host/node.h"

bool host_trace_is_on;

/* The mapping stays until the process ends: another thread may be in a call when the node
 * leaves. */
static struct host_trace_file *file;
static struct host_trace_record *records;
static uint64_t record_count; /* as the file's size has it */
static bool is_recording;
/* The fabric's, or NULL. */
static void (*entered_call)(void);
static void (*left_call)(void);

struct caller {
    bool is_inside;      /* a call that is recorded, or was to be */
    uint16_t number;     /* 0: it has made no call yet */
    const char *renamed; /* or NULL */
};
static _Thread_local struct caller thread;

static _Atomic uint16_t thread_count;

/* ---- Names -------------------------------------------------------------------------------- */

/* Found by the address of their text: the texts are constants. */
enum { NAME_PLACES = 4096 }; /* a power of two, far above HOST_TRACE_NAMES */

static struct {
    const char *_Atomic text; /* set after the index, with release; pairs with find_name */
    uint16_t index;
} names[NAME_PLACES];
static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER; /* for changes */

/* The place of a name, or the free one that it would get. */
static unsigned find_name(const char *text)
{
    unsigned place = (unsigned)((uintptr_t)text * UINT64_C(0x9e3779b97f4a7c15) >> 40);
    for (;; place++) {
        const char *found = atomic_load_explicit(&names[place % NAME_PLACES].text,
                                                 memory_order_acquire);
        if (!found || found == text) {
            return place % NAME_PLACES;
        }
    }
}

static __attribute__((noinline)) uint16_t add_name(const char *text)
{
    uint16_t index = 0;
    pthread_mutex_lock(&names_lock);
    unsigned place = find_name(text);
    if (atomic_load_explicit(&names[place].text, memory_order_relaxed)) {
        index = names[place].index;
    } else if (file->name_count < HOST_TRACE_NAMES) {
        index = (uint16_t)file->name_count++;
        (void)strncpy(file->names[index], text, HOST_TRACE_NAME_BYTES - 1);
        names[place].index = index;
        atomic_store_explicit(&names[place].text, text, memory_order_release);
    }
    pthread_mutex_unlock(&names_lock);
    return index;
}

static uint16_t index_of(const char *text)
{
    unsigned place = find_name(text);
    return LIKELY(atomic_load_explicit(&names[place].text, memory_order_relaxed) != NULL)
               ? names[place].index
               : add_name(text);
}

/* ---- The file ----------------------------------------------------------------------------- */

int host_trace_file_make(uint64_t count)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(count, sizeof(struct host_trace_record), &bytes) ||
        __builtin_add_overflow(bytes, HOST_TRACE_HEAD_BYTES, &bytes) || bytes > INT64_MAX) {
        errno = EFBIG;
        return -1;
    }
    int fd = memfd_create("dn-trace", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        return -1;
    }
    /* As for the group's memory: nobody else opens it, and nobody cuts it under a reader. */
    const uint64_t magic = HOST_TRACE_MAGIC;
    if (fchmod(fd, 0600) != 0 || ftruncate(fd, (off_t)bytes) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
        pwrite(fd, &magic, sizeof magic, 0) != (ssize_t)sizeof magic) {
        int saved = errno;
        (void)close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

/* The size of what may be such a file; 0: it is none. */
static uint64_t measure(int fd)
{
    struct stat status;
    int seals = fcntl(fd, F_GET_SEALS);
    bool fits = seals >= 0 && (seals & F_SEAL_SHRINK) && fstat(fd, &status) == 0 &&
                status.st_size >= HOST_TRACE_HEAD_BYTES;
    return fits ? (uint64_t)status.st_size : 0;
}

static int start_recording(void)
{
    uint64_t fd;
    if (!getenv(HOST_ENV_GROUP_FD) || !getenv(HOST_ENV_TRACE_FD)) {
        return 0;
    }
    if (!fabric_environment_number(HOST_ENV_TRACE_FD, INT32_MAX, &fd)) {
        return DN_EGROUP;
    }
    uint64_t bytes = measure((int)fd);
    if (bytes == 0) {
        return DN_EGROUP;
    }
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, (int)fd, 0);
    if (map == MAP_FAILED) {
        return DN_ENOMEM;
    }
    struct host_trace_file *mapped = map;
    if (mapped->magic != HOST_TRACE_MAGIC || fcntl((int)fd, F_SETFD, FD_CLOEXEC) != 0) {
        (void)munmap(map, bytes);
        return DN_EGROUP;
    }
    (void)madvise(map, bytes, MADV_DONTDUMP);
    memset(names, 0, sizeof names); /* their indices were another file's */
    file = mapped;
    file->name_count = 1;
    records = (struct host_trace_record *)(void *)((unsigned char *)map + HOST_TRACE_HEAD_BYTES);
    record_count = (bytes - HOST_TRACE_HEAD_BYTES) / sizeof *records;
    is_recording = true;
    return 0;
}

int host_trace_start(const struct fabric *fabric)
{
    int error = start_recording();
    if (fabric->meters && fabric->meters()) {
        entered_call = fabric->entered_call;
        left_call = fabric->left_call;
    }
    host_trace_is_on = !error && (is_recording || left_call);
    return error;
}

void host_trace_stop(void)
{
    host_trace_is_on = false;
    is_recording = false;
    entered_call = left_call = NULL;
}

uint64_t host_trace_now_ns(void)
{
    return is_recording ? host_now_ns() : 0;
}

/* ---- Places ------------------------------------------------------------------------------- */

struct host_trace_what host_trace_remote(enum host_trace_kind kind, const struct dn_node *node,
                                         struct dn_remote remote, uint64_t bytes)
{
    struct host_trace_what what = host_trace_call(kind);
    what.peer = remote.rank;
    what.area = remote.area;
    what.bytes = bytes;
    if (!host_node_open(node) || (uint32_t)remote.rank >= node->lane.node_count) {
        return what;
    }
    const struct group_view *view = &node->process->view;
    uint64_t offset;
    if (group_area_is_built_in(remote.area)) {
        what.place = view->facts.geometry.segment_offset[remote.area] + remote.offset;
    } else if (remote.area != FABRIC_AREA_GROUP &&
               group_area_find(view, remote, bytes, 0, &offset) == 0) {
        what.place = offset;
    }
    return what;
}

struct host_trace_what host_trace_signal(const struct dn_node *node, struct dn_remote remote,
                                         uint64_t bytes, struct dn_remote flag)
{
    struct host_trace_what what = host_trace_remote(HOST_TRACE_PUT_SIGNAL, node, remote, bytes);
    what.flag_place = host_trace_remote(HOST_TRACE_STORE, node, flag, sizeof(uint64_t)).place;
    return what;
}

struct host_trace_what host_trace_word(enum host_trace_kind kind, const struct dn_node *node,
                                       const void *word, uint64_t bytes)
{
    struct host_trace_what what = host_trace_call(kind);
    uint64_t offset;
    what.bytes = bytes;
    if (word && host_node_open(node) && host_memory_offset(node->process, word, bytes, &offset)) {
        what.place = offset;
    }
    return what;
}

/* ---- Records ------------------------------------------------------------------------------ */

/* The call that was not made inside another one ends. */
static void leave(void)
{
    thread.is_inside = false;
    if (left_call) {
        left_call();
    }
}

/* The next free record with all but times and state filled in; NULL: there is none. */
static struct host_trace_record *claim(const char *name, const struct host_trace_what *what)
{
    if (!is_recording) {
        return NULL;
    }
    uint64_t index = atomic_fetch_add_explicit(&file->claimed, 1, memory_order_relaxed);
    if (UNLIKELY(index >= record_count)) {
        return NULL;
    }
    if (UNLIKELY(thread.number == 0)) {
        thread.number = (uint16_t)(atomic_fetch_add(&thread_count, 1) + 1);
    }
    struct host_trace_record *record = &records[index];
    record->place = what->place;
    record->bytes = what->bytes;
    record->flag_place = what->flag_place;
    record->team = what->team;
    record->peer = what->peer;
    record->area = what->area;
    record->name = index_of(name);
    record->thread = (uint16_t)(thread.number - 1);
    record->kind = (uint8_t)what->kind;
    return record;
}

/* The name that a library above has for the call, once. */
static const char *take_name(const char *name)
{
    const char *renamed = thread.renamed;
    thread.renamed = NULL;
    return renamed ? renamed : name;
}

bool host_trace_enter(void)
{
    bool was_inside = thread.is_inside;
    thread.is_inside = true;
    return !was_inside;
}

struct host_trace_record *host_trace_begin(const char *name, const struct host_trace_what *what)
{
    if (entered_call) {
        entered_call();
    }
    uint64_t begin_ns = host_trace_now_ns();
    struct host_trace_record *record = claim(take_name(name), what);
    if (record) {
        record->begin_ns = begin_ns;
        atomic_store_explicit(&record->state, HOST_TRACE_OPEN, memory_order_release);
    }
    return record;
}

void host_trace_end(struct host_trace_record *record, int result)
{
    if (record) {
        record->result = (int16_t)result;
        record->end_ns = host_now_ns();
        atomic_store_explicit(&record->state, HOST_TRACE_DONE, memory_order_release);
    }
    leave();
}

void host_trace_note(const char *name, const struct host_trace_what *what, uint64_t begin_ns,
                     uint64_t end_ns, int result)
{
    if (thread.is_inside) {
        return;
    }
    struct host_trace_record *record = claim(take_name(name), what);
    if (record) {
        record->begin_ns = begin_ns;
        record->end_ns = end_ns;
        record->result = (int16_t)result;
        atomic_store_explicit(&record->state, HOST_TRACE_DONE, memory_order_release);
    }
    leave();
}

void host_trace_left(void)
{
    if (!thread.is_inside) {
        leave();
    }
}

void host_trace_rename(const char *name)
{
    if (!thread.is_inside) {
        thread.renamed = name;
    }
}
