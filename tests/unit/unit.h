/* What every unit test starts with: cmocka and its prerequisites, a clock, threads.
 *
 * cmocka's assertions jump out of the test, which only the main thread may do. Other
 * threads count with unit_expect, and the main thread asserts that nothing was
 * counted once it has joined them. */
#ifndef UNIT_UNIT_H
#define UNIT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base.h"

#define UNIT_MS UINT64_C(1000000)

static inline uint64_t unit_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Longer than anything that works takes, even on a loaded machine in an emulator. */
#define UNIT_PATIENCE_NS (10000 * UNIT_MS)

static _Atomic uint32_t unit_faults;

static inline void unit_fault(const char *file, int line, const char *what)
{
    if (atomic_fetch_add(&unit_faults, 1) < 5) {
        print_error("%s:%d: %s\n", file, line, what);
    }
}

#define unit_expect(condition)                                     \
    do {                                                           \
        if (!(condition)) {                                        \
            unit_fault(__FILE__, __LINE__, "not so: " #condition); \
        }                                                          \
    } while (0)

static inline void unit_assert_no_faults(void)
{
    assert_int_equal(atomic_exchange(&unit_faults, 0), 0);
}

/* Runs `count` threads, each with its own number, to their end. */
struct unit_thread {
    pthread_t thread;
    void (*run)(uint32_t number, void *context);
    void *context;
    uint32_t number;
};

static inline void *unit_thread_main(void *argument)
{
    struct unit_thread *thread = argument;
    thread->run(thread->number, thread->context);
    return NULL;
}

static inline void unit_run_threads(uint32_t count, void (*run)(uint32_t number, void *context),
                                    void *context)
{
    struct unit_thread threads[64];
    assert_true(count <= sizeof threads / sizeof threads[0]);
    for (uint32_t i = 0; i < count; i++) {
        threads[i] = (struct unit_thread){.run = run, .context = context, .number = i};
        assert_int_equal(pthread_create(&threads[i].thread, NULL, unit_thread_main, &threads[i]),
                         0);
    }
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(pthread_join(threads[i].thread, NULL), 0);
    }
    unit_assert_no_faults();
}

/* An emulator of user programs keeps mappings of its own beside the program's, so what /proc says
 * of this process is not what the process sees: tests that move pages are skipped there. */
static inline void unit_needs_true_mappings(void)
{
    if (getenv("DN_TEST_EMULATED")) {
        skip();
    }
}

#endif
