/* The one table of error codes: name and sentence. */
#include "base/error.h"

#include <stddef.h>

#include "dimmnet.h"

struct row {
    int code;
    const char *name;
    const char *sentence;
};

static const struct row table[] = {
#define ERROR(code, text)            \
    {                                \
        code, #code, #code ": " text \
    }
    ERROR(DN_OK, "no error"),
    ERROR(DN_EINVAL, "an argument is NULL or has no meaning"),
    ERROR(DN_ESTATE, "the node is not attached (detached before, or a forked child)"),
    ERROR(DN_ERANK, "there is no such rank in the group"),
    ERROR(DN_EAREA, "there is no such area at that rank"),
    ERROR(DN_ESTALE, "the area was deregistered; ask its owner for the new one"),
    ERROR(DN_ERANGE, "offset and length leave the area"),
    ERROR(DN_EALIGN, "the word is not aligned to its size"),
    ERROR(DN_EPEER, "a peer died or left; dn_failure_ack lists and accepts the deaths"),
    ERROR(DN_ETIMEOUT, "the time-out passed first"),
    ERROR(DN_ENOMEM, "out of memory; the sizes are given by dimmnet run --llcm, --bank, --heap "
                     "and DN_REGISTERED_BYTES"),
    ERROR(DN_EFULL, "a table of fixed size is full; release something first"),
    ERROR(DN_EMISMATCH, "the nodes disagree on a collective call's arguments"),
    ERROR(DN_EGROUP, "the group cannot be used: it is not from dimmnet run, or a peer has "
                     "overwritten its words"),
    ERROR(DN_EVERSION, "launcher and library differ in version; install both from one build"),
    ERROR(DN_ESYSTEM, "the operating system refused; errno says why"),
    ERROR(DN_EOWNERDEAD, "the lock is held, but its last holder died: check what it guards"),
    ERROR(DN_EBUSY, "somebody else has it"),
    ERROR(DN_ENOTHELD, "the lock is not held through this handle"),
    ERROR(DN_ETOOLONG, "the message is longer than the buffer; receive it with a larger one"),
    ERROR(DN_EUNMAPPED, "part of the memory is not mapped; check the pointer and the length"),
    ERROR(DN_ESHARED, "the memory is shared already; register private memory, or dn_alloc it"),
    ERROR(DN_EREADONLY, "the memory cannot be read and written; register writable memory"),
    ERROR(DN_EFILE, "the memory is a mapped file; copy what is needed and register the copy"),
    ERROR(DN_ESTACK, "the memory is a thread's stack; use malloc or a static variable"),
    ERROR(DN_ESPECIAL, "the memory is the kernel's, a device's or made of huge pages; use malloc"),
    ERROR(DN_ETHREADS, "a thread could not be stopped; unblock DN_STOP_SIGNAL in all threads, set "
                       "it to a signal that the program does not use, or register before "
                       "starting threads"),
    ERROR(DN_ENOTSUP, "this fabric does not offer what was asked for; ask without it"),
    ERROR(DN_ERIGHTS, "the area's owner does not let other nodes do that; see dn_rights_set"),
#undef ERROR
};

/* NULL: there is no such code. */
static const struct row *find_row(int error)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].code == error) {
            return &table[i];
        }
    }
    return NULL;
}

static const struct row *row_of(int error)
{
    static const struct row unknown = {0, "unknown", "unknown error code"};
    const struct row *row = find_row(error);
    return row ? row : &unknown;
}

bool base_error_is_known(int error)
{
    return find_row(error) != NULL;
}

const char *base_error_sentence(int error)
{
    return row_of(error)->sentence;
}

const char *base_error_name(int error)
{
    return row_of(error)->name;
}
