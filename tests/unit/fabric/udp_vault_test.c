/* Memory for secrets: pieces are apart and wiped; the pages are locked, in no core file and in no
 * child. */
#define _GNU_SOURCE
#include "unit/unit.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric/udp/vault.h"

enum { PIECE_BYTES = 500, PIECES = 40 };

static struct udp_vault open_vault(void)
{
    struct udp_vault vault;
    assert_int_equal(udp_vault_open(&vault, PIECE_BYTES, PIECES), 0);
    return vault;
}

static bool is_zero(const unsigned char *piece)
{
    unsigned char any = 0;
    for (unsigned i = 0; i < PIECE_BYTES; i++) {
        any |= piece[i];
    }
    return any == 0;
}

static void pieces_are_zero_and_apart(void **state)
{
    (void)state;
    struct udp_vault vault = open_vault();
    unsigned char *pieces[PIECES];
    for (unsigned i = 0; i < PIECES; i++) {
        pieces[i] = udp_vault_take(&vault);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % CACHE_LINE_BYTES, 0);
        assert_true(is_zero(pieces[i]));
        memset(pieces[i], (int)i + 1, PIECE_BYTES);
    }
    assert_null(udp_vault_take(&vault));
    for (unsigned i = 0; i < PIECES; i++) {
        assert_int_equal(pieces[i][0], i + 1);
        assert_int_equal(pieces[i][PIECE_BYTES - 1], i + 1);
    }
    udp_vault_close(&vault);
    assert_null(vault.pages);
    udp_vault_close(&vault); /* nothing to do */
}

static void pieces_come_back_wiped(void **state)
{
    (void)state;
    struct udp_vault vault = open_vault();
    unsigned char *pieces[PIECES];
    for (unsigned i = 0; i < PIECES; i++) {
        pieces[i] = udp_vault_take(&vault);
        memset(pieces[i], 0xa5, PIECE_BYTES);
    }
    udp_vault_give(&vault, pieces[7]);
    assert_int_equal(pieces[7][PIECE_BYTES - 1], 0);
    udp_vault_give(&vault, pieces[3]);
    assert_ptr_equal(udp_vault_take(&vault), pieces[3]);
    assert_ptr_equal(udp_vault_take(&vault), pieces[7]);
    assert_true(is_zero(pieces[3]) && is_zero(pieces[7]));
    assert_null(udp_vault_take(&vault));
    udp_vault_close(&vault);
}

/* What the kernel says of the mapping that holds an address. */
static bool flags_of(const void *address, char flags[256])
{
    char line[256];
    bool is_here = false;
    bool found = false;
    FILE *maps = fopen("/proc/self/smaps", "r");
    assert_non_null(maps);
    while (!found && fgets(line, sizeof line, maps)) {
        unsigned long start;
        unsigned long end;
        if (sscanf(line, "%lx-%lx ", &start, &end) == 2) {
            is_here = start <= (uintptr_t)address && (uintptr_t)address < end;
        } else if (is_here && strncmp(line, "VmFlags:", 8) == 0) {
            (void)snprintf(flags, 256, "%s", line);
            found = true;
        }
    }
    (void)fclose(maps);
    return found;
}

/* The kernel says the same of the lock as the vault, where sanitizers let programs lock at all. */
static void assert_locked(const struct udp_vault *vault, const char *flags)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_int_equal(strstr(flags, " lo") != NULL, vault->is_locked);
#else
    (void)vault;
    (void)flags;
#endif
}

static void pages_are_kept_from_others(void **state)
{
    (void)state;
    if (getenv("DN_TEST_EMULATED")) {
        skip(); /* an emulator takes no advice */
    }
    struct udp_vault vault = open_vault();
    char flags[256] = "";
    unsigned char *piece = udp_vault_take(&vault);
    assert_true(flags_of(piece, flags));
    assert_non_null(strstr(flags, " dd")); /* not dumped */
    assert_non_null(strstr(flags, " dc")); /* not copied by fork */
    assert_locked(&vault, flags);
    /* Pages are locked as pieces are taken. */
    for (unsigned i = 1; i < PIECES; i++) {
        piece = udp_vault_take(&vault);
    }
    assert_true(flags_of(piece, flags));
    assert_locked(&vault, flags);
    assert_int_equal(vault.locked_bytes, vault.is_locked ? vault.bytes : vault.locked_bytes);
    udp_vault_close(&vault);
}

/* How a child ends that reads this byte. */
static int end_of_reader(const unsigned char *byte)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGSEGV, SIG_DFL);
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        _exit(*(const volatile unsigned char *)byte);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void children_and_strays_get_nothing(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* they would report the fault as one of the test */
#endif
    if (getenv("DN_TEST_EMULATED")) {
        skip();
    }
    struct udp_vault vault = open_vault();
    const unsigned char *piece = udp_vault_take(&vault);
    assert_int_equal(end_of_reader(piece), SIGSEGV);
    assert_int_equal(end_of_reader(vault.pages - 1), SIGSEGV);
    assert_int_equal(end_of_reader(vault.pages + vault.bytes), SIGSEGV);
    udp_vault_close(&vault);
}

/* Whether all pieces can be used, and none is locked. */
static bool works_unlocked(void)
{
    struct udp_vault vault = {.pages = NULL};
    bool works = udp_vault_open(&vault, PIECE_BYTES, PIECES) == 0;
    for (unsigned i = 0; i < PIECES && works; i++) {
        unsigned char *piece = udp_vault_take(&vault);
        works = piece && is_zero(piece);
        if (works) {
            memset(piece, 0xa5, PIECE_BYTES);
        }
    }
    works = works && !vault.is_locked && vault.locked_bytes == 0;
    udp_vault_close(&vault);
    return works;
}

/* A user's process without the right to lock anything. */
static void without_locks_it_works_as_well(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* they say that everything is locked, and lock nothing */
#endif
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bool has_none = setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){0, 0}) == 0 &&
                        (getuid() != 0 || setuid(65534) == 0);
        _exit(!has_none ? 77 : works_unlocked() ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77));
    if (WEXITSTATUS(status) == 77) {
        skip(); /* rights cannot be given up here */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_zero_and_apart),
        cmocka_unit_test(pieces_come_back_wiped),
        cmocka_unit_test(pages_are_kept_from_others),
        cmocka_unit_test(children_and_strays_get_nothing),
        cmocka_unit_test(without_locks_it_works_as_well),
    };
    return cmocka_run_group_tests_name("fabric/udp/vault", tests, NULL, NULL);
}
