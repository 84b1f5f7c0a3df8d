/* Threads of a node's program. */
#include <errno.h>
#include <unistd.h>

#include "base/uncancelled.h"
#include "fagus/handle.h"
#include "fagus/state.h"

struct fagus_thread {
    struct fagus_handle handle; /* marked with the process, as fagus_finalize ends no thread */
    pthread_t thread;
    void *(*run)(void *);
    void *argument;
    _Atomic bool is_joined; /* or about to be */
};

static struct fagus_handles handles = FAGUS_HANDLES(struct fagus_thread);

/* Opens the thread's lane before the program's own work begins. */
static void *run_thread(void *argument)
{
    const struct fagus_thread *thread = argument;
    (void)fagus_lane();
    return thread->run(thread->argument);
}

int fagus_thread_create(struct fagus_thread **thread, void *(*run)(void *), void *argument)
{
    int error = thread && run ? fagus_check_open() : FAGUS_EINVAL;
    if (error) {
        return error;
    }
    uint64_t mark = (uint64_t)getpid();
    struct fagus_handle *made = fagus_handle_open(&handles, mark);
    if (!made) {
        return FAGUS_ENOMEM;
    }
    struct fagus_thread *opened = (struct fagus_thread *)(void *)made;
    opened->run = run;
    opened->argument = argument;
    int refused = pthread_create(&opened->thread, NULL, run_thread, opened);
    if (refused) {
        (void)fagus_handle_close(made, mark);
        errno = refused;
        return FAGUS_ESYSTEM;
    }
    *thread = opened;
    return 0;
}

int fagus_thread_join(struct fagus_thread *thread, void **result)
{
    uint64_t mark = (uint64_t)getpid();
    if (!thread || !fagus_handle_is_open(&thread->handle, mark) ||
        pthread_equal(thread->thread, pthread_self()) ||
        atomic_exchange(&thread->is_joined, true)) {
        return FAGUS_EINVAL;
    }
    void *returned;
    int cancellable = base_uncancelled_begin();
    int refused = pthread_join(thread->thread, &returned);
    base_uncancelled_end(cancellable);
    /* Not before its end: it reads the handle when it begins. */
    (void)fagus_handle_close(&thread->handle, mark);
    if (refused) {
        errno = refused;
        return FAGUS_ESYSTEM;
    }
    if (result) {
        *result = returned;
    }
    return 0;
}
