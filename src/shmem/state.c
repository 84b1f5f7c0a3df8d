/* The one state, what is said, and how a job ends. */
#define _GNU_SOURCE
#include "shmem/state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/uncancelled.h"

struct shmem_state shmem_state = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct shmem_context shmem_no_context;

enum { SENTENCE_BYTES = 640 };

/* In one write, so that lines of several PEs stay whole. */
static __attribute__((format(printf, 2, 0))) void say(const char *call, const char *format,
                                                      va_list arguments)
{
    char sentence[SENTENCE_BYTES];
    int cancellable = base_uncancelled_begin();
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    if (shmem_state.n_pes > 0) {
        (void)dprintf(STDERR_FILENO, "PE %d: %s: %s\n", shmem_state.my_pe, call, sentence);
    } else {
        (void)dprintf(STDERR_FILENO, "%s: %s\n", call, sentence);
    }
    base_uncancelled_end(cancellable);
}

void shmem_say(const char *call, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(call, format, arguments);
    va_end(arguments);
}

/* The first PE with something to say says it; the others' troubles follow from that one. */
_Noreturn void shmem_fail(const char *call, const char *format, ...)
{
    int status = EXIT_FAILURE;
    (void)base_uncancelled_begin(); /* the process ends here */
    bool first = shmem_want_end(&status);
    if (first) {
        va_list arguments;
        va_start(arguments, format);
        say(call, format, arguments);
        va_end(arguments);
    }
    shmem_end(first, status);
}

void shmem_require_initialised(const char *call)
{
    if (UNLIKELY(!shmem_state.initialised)) {
        shmem_fail(call, shmem_state.n_pes > 0 ? "called after shmem_finalize or in a forked child"
                                               : "called before shmem_init or shmem_init_thread");
    }
}
