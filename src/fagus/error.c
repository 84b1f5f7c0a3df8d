/* The one table of Fagus's errors. */
#include "fagus/space.h"

static const struct {
    int code;
    const char *sentence;
} table[] = {
#define ERROR(code, text)     \
    {                         \
        code, #code ": " text \
    }
    ERROR(FAGUS_OK, "no error"),
    ERROR(FAGUS_EINVAL, "an argument, or a FAGUS_ variable of the environment, makes no sense"),
    ERROR(FAGUS_ESTATE, "not between fagus_init and fagus_finalize, a forked child, or a second "
                        "fagus_init"),
    ERROR(FAGUS_ENOMEM, "the shared space or this machine's memory is used up; DN_HEAP_BYTES or "
                        "dimmnet run --heap gives the space its size"),
    ERROR(FAGUS_EPEER, "a node that is needed has died or left"),
    ERROR(FAGUS_EOWNERDEAD, "acquired, but the last holder died: the ranges hold the last "
                            "released version"),
    ERROR(FAGUS_ELOST,
          "acquired, but no living node has the last released version; make the ranges "
          "right and release them"),
    ERROR(FAGUS_ETIMEOUT, "the time is up"),
    ERROR(FAGUS_EBUSY, "somebody else has it"),
    ERROR(FAGUS_ENOTHELD, "this thread has not acquired it, or not for writing"),
    ERROR(FAGUS_EHELD, "this thread has acquired it already"),
    ERROR(FAGUS_EOVERLAP, "the range overlaps one that is bound already; unbind that first"),
    ERROR(FAGUS_ERANGE, "the range is not from fagus_alloc, or leaves its allocation"),
    ERROR(FAGUS_EMISMATCH, "the nodes made different collective calls, or with different numbers"),
    ERROR(FAGUS_EFULL, "a table of the library is full; free something first"),
    ERROR(FAGUS_ESYSTEM, "the operating system refused; errno says why"),
#undef ERROR
};

const char *fagus_strerror(int error)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].code == error) {
            return table[i].sentence;
        }
    }
    return "unknown error code";
}

int fagus_error_of(int dn_error)
{
    switch (dn_error) {
    case DN_OK: return FAGUS_OK;
    case DN_EPEER: return FAGUS_EPEER;
    case DN_ETIMEOUT: return FAGUS_ETIMEOUT;
    case DN_ENOMEM: return FAGUS_ENOMEM;
    case DN_EFULL: return FAGUS_EFULL;
    case DN_EMISMATCH: return FAGUS_EMISMATCH;
    case DN_EOWNERDEAD: return FAGUS_EOWNERDEAD;
    case DN_EBUSY: return FAGUS_EBUSY;
    case DN_ENOTHELD: return FAGUS_ENOTHELD;
    case DN_ESYSTEM: return FAGUS_ESYSTEM;
    case DN_ERANGE: return FAGUS_ERANGE;
    /* A rank that has left cannot come back, nor join a launcher of another version. */
    case DN_ESTATE:
    case DN_EGROUP:
    case DN_EVERSION: return FAGUS_ESTATE;
    default: return FAGUS_EINVAL;
    }
}
