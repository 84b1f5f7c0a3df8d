/* The plan for a child is made before the fork, and carried out in the child.
 *
 * In a program that is linked statically nearly everything may lie in pages that parent and child
 * share until then: the variables of the C library and of this one. The child must write none of
 * them, and trust none of them, for the parent goes on. So the plan lies in memory of its own, it
 * is found through a variable of the thread, and the child carries it out before anything else:
 * where the C library's fork() calls _Fork(), the linker puts our function in between. Otherwise a
 * handler of pthread_atfork does it, which is the first one because it was registered before the
 * program ran.
 *
 * From version 2.41 on, glibc's _Fork() writes variables in the child itself (it gives a lock back
 * that the parent took), which nobody can prevent. */
#define _GNU_SOURCE
#include "host/fork.h"

#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/uncancelled.h"
#include "host/pages.h"

struct plan {
    size_t bytes; /* of itself */
    int fd;       /* the group's file */
    bool is_done;
    struct host_pieces pieces; /* their list is `list` */
    struct host_piece list[];
};

static struct host_process *parent;
static void (*forget_in_child)(void);

/* Of the thread that is in fork(). */
static __thread struct plan *prepared;

/* Whether fork() has called our function. It may never do so although the program was linked that
 * way: a shared C library's fork() calls its own _Fork(). Guarded by the table_lock. */
static bool fork_calls_us;

/* ---- The plan ------------------------------------------------------------------------ */

static struct plan *make_plan(const struct host_piece *list, size_t count)
{
    size_t bytes = sizeof(struct plan) + count * sizeof *list;
    struct plan *plan = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                             0);
    if (plan == MAP_FAILED) {
        return NULL; /* then there is none for a child either */
    }
    plan->bytes = bytes;
    plan->fd = parent->group.fd;
    plan->pieces = (struct host_pieces){.list = plan->list, .count = count};
    if (list) {
        memcpy(plan->list, list, count * sizeof *list);
    }
    return plan;
}

/* From the table of moved pages, without copies: takes no lock and allocates nothing else. */
static struct plan *plan_of_ranges(void)
{
    const struct host_moved *moved = &parent->memory.moved;
    struct plan *plan = make_plan(NULL, moved->count);
    for (size_t i = 0; plan && i < plan->pieces.count; i++) {
        plan->list[i] = (struct host_piece){
            .start = moved->ranges[i].start,
            .bytes = moved->ranges[i].bytes,
            .protection = PROT_READ | PROT_WRITE,
            .file_offset = host_memory_file_offset(parent, moved->ranges[i].place),
        };
    }
    return plan;
}

/* With copies if there is memory for them. What other threads of the parent write while they are
 * made may or may not be in them, as with any fork() of such a program. */
static struct plan *plan_of_pages(void)
{
    struct host_pieces pieces = {0};
    struct plan *plan = NULL;
    if (host_memory_list_all(parent, &pieces) == 0) {
        plan = make_plan(pieces.list, pieces.count);
    }
    host_pieces_free(&pieces);
    if (!plan) {
        return plan_of_ranges();
    }
    (void)host_pages_reserve(&plan->pieces);
    return plan;
}

static void copy_pages(struct plan *plan)
{
    if (host_pages_copy(plan->fd, &plan->pieces) != 0) {
        host_pages_drop(&plan->pieces);
    }
}

static void carry_out(struct plan *plan)
{
    if (!plan->is_done) {
        host_pages_replace(plan->fd, &plan->pieces);
        plan->is_done = true;
    }
}

static void drop(struct plan *plan)
{
    host_pages_drop(&plan->pieces);
    (void)munmap(plan, plan->bytes);
}

/* ---- Around the fork ------------------------------------------------------------------- */

/* The linker's names for a function of ours in the place of _Fork, and for that one. */
pid_t fork_wrapped(void) __asm__("__wrap__Fork");
pid_t fork_real(void) __asm__("__real__Fork") __attribute__((weak));

bool host_fork_version_spares(const char *version)
{
    char *rest;
    unsigned long major = strtoul(version, &rest, 10);
    unsigned long minor = *rest == '.' ? strtoul(rest + 1, NULL, 10) : 0;
    return major < 2 || (major == 2 && minor < 41);
}

bool host_fork_spares_variables(void)
{
    return fork_real != NULL && host_fork_version_spares(gnu_get_libc_version());
}

/* What is copied here lacks what the C library writes from now on until the fork. Only a program
 * that is linked statically has that in its pages, and there our function copies again. */
static void before(void)
{
    int cancellable = base_uncancelled_begin();
    pthread_mutex_lock(&parent->table_lock);
    prepared = parent->memory.moved.count > 0 ? plan_of_pages() : NULL;
    if (prepared && !fork_calls_us) {
        copy_pages(prepared);
    }
    base_uncancelled_end(cancellable);
}

/* A program that calls _Fork() itself has no plan, because no handlers run. */
pid_t fork_wrapped(void)
{
    struct plan *plan = prepared;
    bool is_alone = !plan && parent && parent->memory.moved.count > 0;
    if (is_alone) {
        plan = plan_of_ranges();
    } else if (plan) {
        fork_calls_us = true;
        copy_pages(plan);
    }
    pid_t child = fork_real();
    if (child == 0 && plan) {
        carry_out(plan);
    }
    if (is_alone && plan) {
        drop(plan);
    }
    return child;
}

static void drop_prepared(void)
{
    if (prepared) {
        drop(prepared);
        prepared = NULL;
    }
}

static void after_in_parent(void)
{
    drop_prepared();
    pthread_mutex_unlock(&parent->table_lock);
}

static void after_in_child(void)
{
    if (prepared) {
        carry_out(prepared);
    }
    drop_prepared();
    host_memory_forget(parent);
    forget_in_child();
}

bool host_fork_watch(struct host_process *process, void (*forget)(void))
{
    if (!parent && pthread_atfork(before, after_in_parent, after_in_child) == 0) {
        parent = process;
        forget_in_child = forget;
    }
    return parent != NULL;
}
