/* Pages for secrets. */
#define _GNU_SOURCE
#include "fabric/udp/vault.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dimmnet.h"

static uint64_t page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

int udp_vault_open(struct udp_vault *vault, uint64_t piece_bytes, uint32_t piece_count)
{
    uint64_t page = page_bytes();
    uint64_t bytes;
    bool fits = round_up(piece_bytes, CACHE_LINE_BYTES, &piece_bytes) &&
                !__builtin_mul_overflow(piece_bytes, (uint64_t)piece_count, &bytes) &&
                round_up(bytes, page, &bytes) && bytes <= UINT64_MAX / 2;
    INVARIANT(fits && bytes > 0);
    unsigned char *map = mmap(NULL, bytes + 2 * page, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) {
        return DN_ENOMEM;
    }
    unsigned char *pages = map + page;
    /* Without these two there would be no vault. Linux has had them for longer than the rest that
     * this fabric needs, so they do not fail. */
    if (mprotect(pages, bytes, PROT_READ | PROT_WRITE) != 0 ||
        madvise(pages, bytes, MADV_DONTDUMP) != 0 || madvise(pages, bytes, MADV_DONTFORK) != 0) {
        (void)munmap(map, bytes + 2 * page);
        return DN_ENOMEM;
    }
    *vault = (struct udp_vault){
        .pages = pages,
        .bytes = bytes,
        .piece_bytes = piece_bytes,
        .piece_count = piece_count,
        .is_locked = true,
    };
    return 0;
}

static void lock_up_to(struct udp_vault *vault, uint64_t end)
{
    bool fits = round_up(end, page_bytes(), &end);
    INVARIANT(fits && end <= vault->bytes);
    if (vault->is_locked && end > vault->locked_bytes) {
        vault->is_locked = mlock(vault->pages + vault->locked_bytes, end - vault->locked_bytes) ==
                           0;
        vault->locked_bytes = vault->is_locked ? end : vault->locked_bytes;
    }
}

void *udp_vault_take(struct udp_vault *vault)
{
    void *piece = vault->given;
    if (piece) {
        memcpy(&vault->given, piece, sizeof vault->given);
        memset(piece, 0, sizeof vault->given);
        return piece;
    }
    if (vault->touched_count == vault->piece_count) {
        return NULL;
    }
    uint64_t at = vault->touched_count++ * vault->piece_bytes;
    lock_up_to(vault, at + vault->piece_bytes);
    return vault->pages + at;
}

void udp_vault_give(struct udp_vault *vault, void *piece)
{
    explicit_bzero(piece, vault->piece_bytes);
    memcpy(piece, &vault->given, sizeof vault->given);
    vault->given = piece;
}

void udp_vault_close(struct udp_vault *vault)
{
    if (!vault->pages) {
        return;
    }
    uint64_t page = page_bytes();
    explicit_bzero(vault->pages, vault->touched_count * vault->piece_bytes);
    (void)munmap(vault->pages - page, vault->bytes + 2 * page);
    *vault = (struct udp_vault){.pages = NULL};
}
