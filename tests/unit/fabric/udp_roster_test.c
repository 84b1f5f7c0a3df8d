/* The roster: a node maps what the launcher wrote; anything that is no roster is refused. */
#define _GNU_SOURCE
#include "unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric/udp/roster.h"

enum { NODES = 5 };

static struct udp_roster_file create(uint32_t node_count)
{
    struct udp_roster_file made;
    assert_int_equal(udp_roster_create(node_count, &made), 0);
    return made;
}

static int map_again(const struct udp_roster_file *made, struct udp_roster_file *mapped)
{
    int fd = dup(made->fd);
    assert_true(fd >= 0);
    int error = udp_roster_map(fd, mapped);
    if (error) {
        assert_int_equal(fcntl(fd, F_GETFD), 0); /* the descriptor is as it was */
        assert_int_equal(close(fd), 0);
    } else {
        assert_int_equal(mapped->fd, fd);
        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    }
    return error;
}

static void what_was_written_is_mapped(void **state)
{
    (void)state;
    struct udp_roster_file made = create(NODES);
    assert_int_equal(fcntl(made.fd, F_GETFD), FD_CLOEXEC);
    made.roster->pgid = 4711;
    made.roster->packet_bytes_max = 1472;
    for (uint32_t rank = 0; rank < NODES; rank++) {
        udp_roster_address(made.roster, rank)->v4 = (struct sockaddr_in){
            .sin_family = AF_INET, .sin_port = (in_port_t)rank, .sin_addr = {rank * 77}};
    }
    assert_int_equal(udp_roster_seal(&made), 0);

    struct udp_roster_file mapped;
    assert_int_equal(map_again(&made, &mapped), 0);
    assert_ptr_not_equal(mapped.roster, made.roster);
    assert_int_equal(mapped.roster->pgid, 4711);
    assert_int_equal(mapped.roster->packet_bytes_max, 1472);
    assert_int_equal(mapped.roster->node_count, NODES);
    for (uint32_t rank = 0; rank < NODES; rank++) {
        const struct sockaddr_in *address = &udp_roster_address(mapped.roster, rank)->v4;
        assert_int_equal(address->sin_port, rank);
        assert_int_equal(address->sin_addr.s_addr, rank * 77);
    }

    /* Reports go the other way, each beside the others. */
    for (uint32_t rank = 0; rank < NODES; rank++) {
        atomic_store(&udp_roster_report(mapped.roster, rank)->packets_sent, 100 + rank);
        atomic_store(&udp_roster_report(mapped.roster, rank)->updated_ns, 200 + rank);
        for (uint32_t peer = 0; peer < NODES; peer++) {
            atomic_store(&udp_roster_trips(mapped.roster, rank)[peer], 10 * rank + peer);
        }
    }
    for (uint32_t rank = 0; rank < NODES; rank++) {
        assert_int_equal(atomic_load(&udp_roster_report(made.roster, rank)->packets_sent),
                         100 + rank);
        assert_int_equal(atomic_load(&udp_roster_report(made.roster, rank)->updated_ns),
                         200 + rank);
        for (uint32_t peer = 0; peer < NODES; peer++) {
            assert_int_equal(atomic_load(&udp_roster_trips(made.roster, rank)[peer]),
                             10 * rank + peer);
        }
    }
    udp_roster_unmap(&mapped);
    assert_int_equal(mapped.fd, -1);
    assert_null(mapped.roster);
    udp_roster_unmap(&made);
}

static void the_largest_group_has_room(void **state)
{
    (void)state;
    struct udp_roster_file made = create(GROUP_NODES_MAX);
    udp_roster_address(made.roster, GROUP_NODES_MAX - 1)->v6.sin6_scope_id = 5;
    assert_int_equal(udp_roster_seal(&made), 0);
    struct udp_roster_file mapped;
    assert_int_equal(map_again(&made, &mapped), 0);
    assert_int_equal(udp_roster_address(mapped.roster, GROUP_NODES_MAX - 1)->v6.sin6_scope_id, 5);
    _Atomic uint32_t *last = &udp_roster_trips(mapped.roster,
                                               GROUP_NODES_MAX - 1)[GROUP_NODES_MAX - 1];
    atomic_store(last, 6);
    assert_true((uintptr_t)(last + 1) <=
                (uintptr_t)mapped.roster + mapped.roster->layout.file_bytes);
    assert_int_equal(
        atomic_load(&udp_roster_trips(made.roster, GROUP_NODES_MAX - 1)[GROUP_NODES_MAX - 1]), 6);
    udp_roster_unmap(&mapped);
    udp_roster_unmap(&made);
}

static void a_sealed_file_keeps_its_size(void **state)
{
    (void)state;
    struct udp_roster_file made = create(NODES);
    struct udp_roster_file mapped;
    off_t bytes = (off_t)made.roster->layout.file_bytes;
    assert_int_equal(map_again(&made, &mapped), DN_EGROUP); /* not yet */
    assert_int_equal(udp_roster_seal(&made), 0);
    assert_int_equal(ftruncate(made.fd, bytes - 4096), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(made.fd, bytes + 4096), -1);
    assert_int_equal(errno, EPERM);
    struct stat status;
    assert_int_equal(fstat(made.fd, &status), 0);
    assert_int_equal(status.st_size, bytes);
    assert_int_equal(status.st_mode & 0777, 0600);
    udp_roster_unmap(&made);
}

static void what_is_no_roster_is_refused(void **state)
{
    (void)state;
    struct udp_roster_file mapped = {.fd = -77};
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    int empty = memfd_create("empty", MFD_ALLOW_SEALING);
    int zeroes = memfd_create("zeroes", MFD_ALLOW_SEALING);
    assert_true(empty >= 0 && zeroes >= 0);
    assert_int_equal(ftruncate(zeroes, 1 << 20), 0);
    assert_int_equal(fcntl(empty, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    assert_int_equal(fcntl(zeroes, F_ADD_SEALS, F_SEAL_SHRINK), 0);

    const int descriptors[] = {-1, pipes[0], empty, zeroes};
    for (size_t i = 0; i < sizeof descriptors / sizeof descriptors[0]; i++) {
        assert_int_equal(udp_roster_map(descriptors[i], &mapped), DN_EGROUP);
        assert_int_equal(mapped.fd, -77);
    }
    assert_int_equal(fcntl(zeroes, F_GETFD), 0);
    (void)close(pipes[0]);
    (void)close(pipes[1]);
    (void)close(empty);
    (void)close(zeroes);
}

static void sizes_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    struct udp_roster_file made = create(NODES);
    struct udp_roster_file mapped;
    assert_int_equal(udp_roster_seal(&made), 0);
    struct udp_roster *roster = made.roster;
    const struct udp_roster good = *roster;

    struct udp_roster bad[] = {good, good, good, good, good, good, good, good, good, good};
    bad[0].magic ^= 1;
    bad[1].node_count = 0;
    bad[2].node_count = GROUP_NODES_MAX + 1;
    bad[3].node_count = UINT32_MAX;
    bad[4].node_count = 2000; /* more than the file has room for */
    bad[5].layout.file_bytes += 4096;
    bad[6].layout.addresses_offset = UINT64_MAX - 8;
    bad[7].layout.reports_offset = good.layout.file_bytes;
    bad[8].layout.report_stride_bytes = UINT64_MAX / 2;
    bad[9].layout.report_stride_bytes -= 4;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        *roster = bad[i];
        assert_int_equal(map_again(&made, &mapped), DN_EGROUP);
    }
    *roster = good;
    roster->version++;
    assert_int_equal(map_again(&made, &mapped), DN_EVERSION);
    *roster = good;
    assert_int_equal(map_again(&made, &mapped), 0);
    udp_roster_unmap(&mapped);

    /* The same bytes in a file that may shrink. */
    int unsealed = memfd_create("unsealed", MFD_ALLOW_SEALING);
    assert_int_equal(write(unsealed, roster, good.layout.file_bytes), good.layout.file_bytes);
    assert_int_equal(udp_roster_map(unsealed, &mapped), DN_EGROUP);
    assert_int_equal(fcntl(unsealed, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    assert_int_equal(udp_roster_map(unsealed, &mapped), 0);
    udp_roster_unmap(&mapped);
    udp_roster_unmap(&made);
}

/* How a child ends that does this with the mapping: 0, or the signal. */
static int end_of_child(void (*act)(struct udp_roster *roster), struct udp_roster_file *made)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGSEGV, SIG_DFL);
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        struct udp_roster_file mapped;
        if (udp_roster_map(made->fd, &mapped) != 0) {
            _exit(1);
        }
        act(mapped.roster);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void write_report(struct udp_roster *roster)
{
    atomic_store(&udp_roster_report(roster, 0)->stale, 3);
}

static void write_address(struct udp_roster *roster)
{
    udp_roster_address(roster, NODES - 1)->v4.sin_port = 3;
}

static void write_cipher(struct udp_roster *roster)
{
    roster->cipher = 0;
}

static void nodes_write_reports_only(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* they would report the fault as one of the test */
#endif
    struct udp_roster_file made = create(NODES);
    assert_int_equal(udp_roster_seal(&made), 0);
    assert_int_equal(end_of_child(write_report, &made), 0);
    assert_int_equal(end_of_child(write_address, &made), SIGSEGV);
    assert_int_equal(end_of_child(write_cipher, &made), SIGSEGV);
    assert_int_equal(atomic_load(&udp_roster_report(made.roster, 0)->stale), 3);
    assert_int_equal(udp_roster_address(made.roster, NODES - 1)->v4.sin_port, 0);
    udp_roster_unmap(&made);
}

static void who_may_only_read_can_look(void **state)
{
    (void)state;
    struct udp_roster_file made = create(NODES);
    assert_int_equal(udp_roster_seal(&made), 0);
    atomic_store(&udp_roster_report(made.roster, 2)->timeouts, 12);
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", made.fd);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    struct udp_roster_file copied;
    assert_int_equal(udp_roster_look(fd, &copied), 0);
    assert_int_equal(atomic_load(&udp_roster_report(copied.roster, 2)->timeouts), 12);
    udp_roster_unmap(&copied);
    udp_roster_unmap(&made);
}

static void a_secret_is_taken_once(void **state)
{
    (void)state;
    unsigned char secret[UDP_SECRET_BYTES];
    unsigned char taken[UDP_SECRET_BYTES] = {0};
    int fd;
    memset(secret, 0xa5, sizeof secret);
    assert_int_equal(udp_secret_leave(secret, &fd), 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    int other = dup(fd);
    assert_int_equal(udp_secret_take(fd, taken), 0);
    assert_memory_equal(taken, secret, sizeof secret);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    assert_int_equal(udp_secret_take(other, taken), DN_EGROUP);
    assert_int_equal(fcntl(other, F_GETFD), -1);
}

static void what_is_no_secret_is_refused(void **state)
{
    (void)state;
    unsigned char taken[UDP_SECRET_BYTES];
    int ends[2];
    assert_int_equal(udp_secret_take(-1, taken), DN_EGROUP);
    int file = memfd_create("file", 0);
    assert_int_equal(write(file, taken, 0), 0);
    assert_int_equal(udp_secret_take(file, taken), DN_EGROUP);
    assert_int_equal(fcntl(file, F_GETFD), 0); /* somebody else's */
    (void)close(file);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "too short", 9), 9);
    assert_int_equal(udp_secret_take(ends[0], taken), DN_EGROUP);
    (void)close(ends[1]);
}

/* Every node of the host can write the file: it may open its descriptor anew. */
static void what_is_written_over_a_roster_changes_no_copy(void **state)
{
    (void)state;
    struct udp_roster_file made = create(NODES);
    udp_roster_address(made.roster, 1)->v4.sin_port = 7;
    assert_int_equal(udp_roster_seal(&made), 0);
    atomic_store(&udp_roster_report(made.roster, 2)->timeouts, 12);
    struct udp_roster_file mapped;
    struct udp_roster_file copied;
    assert_int_equal(map_again(&made, &mapped), 0);
    int fd = dup(made.fd);
    assert_int_equal(udp_roster_look(fd, &copied), 0);
    const struct udp_roster good = *made.roster;
    memset(made.roster, 0xff, good.layout.reports_offset);
    assert_memory_equal(mapped.roster, &good, sizeof good);
    assert_int_equal(udp_roster_address(mapped.roster, 1)->v4.sin_port, 7);
    assert_int_equal(udp_roster_address(copied.roster, 1)->v4.sin_port, 7);
    assert_int_equal(atomic_load(&udp_roster_report(copied.roster, 2)->timeouts), 12);
    /* Each knows by itself how much to give back: the page behind is somebody else's. */
    udp_roster_unmap(&copied);
    udp_roster_unmap(&mapped);
    uint64_t bytes = made.bytes;
    void *start = made.roster;
    udp_roster_unmap(&made);
    assert_int_equal(msync(start, bytes, MS_ASYNC), -1);
    assert_int_equal(errno, ENOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_mapped),
        cmocka_unit_test(the_largest_group_has_room),
        cmocka_unit_test(a_sealed_file_keeps_its_size),
        cmocka_unit_test(what_is_no_roster_is_refused),
        cmocka_unit_test(sizes_that_do_not_fit_are_refused),
        cmocka_unit_test(nodes_write_reports_only),
        cmocka_unit_test(who_may_only_read_can_look),
        cmocka_unit_test(what_is_written_over_a_roster_changes_no_copy),
        cmocka_unit_test(a_secret_is_taken_once),
        cmocka_unit_test(what_is_no_secret_is_refused),
    };
    return cmocka_run_group_tests_name("fabric/udp/roster", tests, NULL, NULL);
}
