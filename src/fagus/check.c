/* Pages that fault, and what to say then. */
#define _GNU_SOURCE
#include "fagus/check.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "fagus/bound.h"
#include "fagus/environment.h"

bool fagus_check_is_on;

static struct sigaction action_before;
static pthread_mutex_t guard_lock =
    PTHREAD_MUTEX_INITIALIZER; /* one thread at a time changes protections */

/* ---- Protections ------------------------------------------------------------------------ */

static int allowed(const struct fagus_sync *sync)
{
    if (sync->has_barriers) {
        return PROT_READ | PROT_WRITE;
    }
    switch (atomic_load_explicit(&sync->check_mode, memory_order_relaxed)) {
    case FAGUS_WRITE: return PROT_READ | PROT_WRITE;
    case FAGUS_READ: return PROT_READ;
    default: return PROT_NONE;
    }
}

/* What lies on a page: pieces in order, so that what is between them is bound to nothing. */
struct page {
    uint64_t at; /* all before it has been seen */
    int allowed;
    bool has_free; /* memory of the program's that is bound to nothing */
};

static void see_free(struct page *page, uint64_t end)
{
    uint64_t offset;
    /* An allocation begins with a page: what follows its end is nobody's. */
    if (page->at < end && fagus_offset_of(fagus_pointer_at(page->at), 1, &offset) == 0) {
        page->has_free = true;
    }
}

static void see(const struct fagus_bound *bound, void *context)
{
    struct page *page = context;
    see_free(page, bound->offset);
    page->allowed |= allowed(bound->sync);
    uint64_t end = bound->offset + bound->bytes;
    page->at = end > page->at ? end : page->at;
}

static int page_allows(uint64_t start)
{
    struct page page = {.at = start, .allowed = PROT_NONE};
    fagus_bound_each(start, fagus_state.page_bytes, see, &page);
    see_free(&page, start + fagus_state.page_bytes);
    return page.has_free ? PROT_READ | PROT_WRITE : page.allowed;
}

static void protect(uint64_t start, uint64_t end, int protection)
{
    if (start < end) {
        /* A page that cannot be guarded is not checked. */
        (void)mprotect(fagus_pointer_at(start), end - start, protection);
    }
}

/* Whole pages of a range at once, those at its ends by what else is there. */
static void protect_range(const struct fagus_extent *range, int protection)
{
    uint64_t page_bytes = fagus_state.page_bytes;
    uint64_t end = range->offset + range->bytes;
    uint64_t first = range->offset / page_bytes * page_bytes;
    uint64_t last = (end - 1) / page_bytes * page_bytes;
    uint64_t inner = first < range->offset ? first + page_bytes : first;
    uint64_t inner_end = last + page_bytes > end ? last : last + page_bytes;
    if (first < range->offset) {
        protect(first, first + page_bytes, page_allows(first));
    }
    protect(inner, inner_end, protection);
    if (last + page_bytes > end && (last != first || first == range->offset)) {
        protect(last, last + page_bytes, page_allows(last));
    }
}

void fagus_check_protect(struct fagus_sync *sync)
{
    (void)pthread_mutex_lock(&guard_lock);
    for (size_t i = 0; i < sync->range_count; i++) {
        protect_range(&sync->ranges[i], allowed(sync));
    }
    (void)pthread_mutex_unlock(&guard_lock);
}

/* The table still has the ranges; an open page says nothing wrong until the next change. */
void fagus_check_release(struct fagus_sync *sync)
{
    uint64_t page_bytes = fagus_state.page_bytes;
    (void)pthread_mutex_lock(&guard_lock);
    for (size_t i = 0; i < sync->range_count; i++) {
        uint64_t end = sync->ranges[i].offset + sync->ranges[i].bytes;
        uint64_t first = sync->ranges[i].offset / page_bytes * page_bytes;
        protect(first, ((end - 1) / page_bytes + 1) * page_bytes, PROT_READ | PROT_WRITE);
    }
    (void)pthread_mutex_unlock(&guard_lock);
}

/* ---- The report, from a signal handler -------------------------------------------------- */

/* Text is put together without stdio: only what a handler may call. */
struct text {
    char letters[1024];
    size_t count;
};

static void add(struct text *text, const char *more)
{
    while (*more && text->count < sizeof text->letters - 1) {
        text->letters[text->count++] = *more++;
    }
    text->letters[text->count] = 0;
}

static void add_number(struct text *text, uint64_t number, unsigned base)
{
    char digits[24];
    size_t at = sizeof digits - 1;
    digits[at] = 0;
    do {
        digits[--at] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number);
    add(text, base == 16 ? "0x" : "");
    add(text, digits + at);
}

enum access { ACCESS_UNKNOWN, ACCESS_READ, ACCESS_WRITE };

static uintptr_t instruction_of(const ucontext_t *context, enum access *access)
{
    *access = ACCESS_UNKNOWN;
#if defined(__x86_64__)
    *access = context->uc_mcontext.gregs[REG_ERR] & 2 ? ACCESS_WRITE : ACCESS_READ;
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)context->uc_mcontext.pc;
#else
    (void)context;
    return 0;
#endif
}

struct culprits {
    uint64_t offset; /* of the access */
    const struct fagus_bound *hit;
    struct fagus_bound found;
    unsigned others; /* on the same page */
};

static void collect(const struct fagus_bound *bound, void *context)
{
    struct culprits *culprits = context;
    if (culprits->offset - bound->offset < bound->bytes) {
        culprits->found = *bound;
        culprits->hit = &culprits->found;
    } else {
        culprits->others++;
    }
}

static void say_what(struct text *text, const struct culprits *culprits)
{
    if (!culprits->hit) {
        add(text, ", which is bound to nothing that this node knows; a variable on its page is not "
                  "held\n");
        return;
    }
    const struct fagus_bound *hit = culprits->hit;
    uint32_t mode = atomic_load_explicit(&hit->sync->check_mode, memory_order_relaxed);
    add(text, ", byte ");
    add_number(text, culprits->offset - hit->offset, 10);
    add(text, " of ");
    add_number(text, hit->bytes, 10);
    add(text, " at ");
    add_number(text, (uintptr_t)fagus_pointer_at(hit->offset), 16);
    add(text, " that are bound to \"");
    add(text, hit->sync->name);
    add(text, mode == FAGUS_READ ? "\", which this node holds for reading only\n"
                                 : "\", which this node does not hold\n");
    if (culprits->others) {
        add(text, "fagus: the page holds ranges of ");
        add_number(text, culprits->others, 10);
        add(text, " other bindings, too; accesses to them may go unnoticed\n");
    }
    add(text, mode == FAGUS_READ
                  ? "fagus: acquire it for writing (FAGUS_WRITE) before\n"
                  : "fagus: acquire it before, and release it after; a variable that is only used "
                    "with fagus_barrier needs one barrier after it is bound\n");
}

/* Asks addr2line, if there is one, for the source line. The raw system call: fork() would run
 * handlers that a signal may have interrupted. */
static void say_source_line(const char *file, uintptr_t address)
{
    struct text number = {.count = 0};
    add_number(&number, address, 16);
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        char program[] = "addr2line";
        char options[] = "-Cfpie";
        char *arguments[] = {program, options, (char *)(uintptr_t)file, number.letters, NULL};
        (void)alarm(5);
        (void)dup2(STDERR_FILENO, STDOUT_FILENO);
        (void)execvp(program, arguments);
        _exit(127);
    }
    if (child > 0) {
        (void)waitpid(child, NULL, 0);
    }
}

static void say_where(uintptr_t instruction)
{
    struct text text = {.count = 0};
    Dl_info info = {0};
    add(&text, "fagus: by the instruction at ");
    add_number(&text, instruction, 16);
    bool is_known = dladdr((void *)instruction, &info) != 0 && info.dli_fname != NULL;
    uintptr_t in_file = instruction - (uintptr_t)info.dli_fbase;
    if (is_known) {
        add(&text, ", in ");
        add(&text, info.dli_sname ? info.dli_sname : "a function without a name");
        add(&text, " of ");
        add(&text, info.dli_fname);
        add(&text, "; addr2line -e that ");
        add_number(&text, in_file, 16);
        add(&text, " says (with debug information):\n");
    } else {
        add(&text, "\n");
    }
    (void)!write(STDERR_FILENO, text.letters, text.count);
    if (is_known) {
        /* A program that is not position independent has its addresses in its file. */
        const unsigned char *header = info.dli_fbase;
        bool is_fixed = header[16] == 2; /* e_type ET_EXEC */
        say_source_line(info.dli_fname, is_fixed ? instruction : in_file);
    }
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    uintptr_t address = (uintptr_t)info->si_addr;
    uint64_t offset = address - (uintptr_t)fagus_state.base;
    if (!fagus_state.node || offset >= fagus_state.bytes || info->si_code != SEGV_ACCERR) {
        /* Not ours: it happens again, and the handler before us gets it. */
        (void)sigaction(number, &action_before, NULL);
        return;
    }
    struct text text = {.count = 0};
    enum access access;
    uintptr_t instruction = instruction_of(context, &access);
    struct culprits culprits = {.offset = offset};
    uint64_t page = offset / fagus_state.page_bytes * fagus_state.page_bytes;
    if (fagus_bound_try_lock()) { /* and it stays locked */
        fagus_bound_each_unlocked(page, fagus_state.page_bytes, collect, &culprits);
    }
    add(&text, "fagus: node ");
    add_number(&text, (uint64_t)fagus_state.rank, 10);
    add(&text, access == ACCESS_WRITE  ? ": write to "
               : access == ACCESS_READ ? ": read of "
                                       : ": access to ");
    add_number(&text, address, 16);
    say_what(&text, &culprits);
    (void)!write(STDERR_FILENO, text.letters, text.count);
    say_where(instruction);
    _exit(EXIT_FAILURE);
}

/* ---- Set-up ----------------------------------------------------------------------------- */

int fagus_check_open_guard(void)
{
    if (!fagus_environment.check) {
        return 0;
    }
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    if (sigaction(SIGSEGV, &action, &action_before) != 0) {
        return FAGUS_ESYSTEM;
    }
    fagus_check_is_on = true;
    return 0;
}

void fagus_check_close(void)
{
    if (fagus_check_is_on) {
        fagus_check_is_on = false;
        (void)sigaction(SIGSEGV, &action_before, NULL);
    }
}
