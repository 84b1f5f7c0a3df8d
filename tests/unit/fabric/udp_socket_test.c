/* One socket on the loopback interface: single packets, bursts, and a kernel that refuses.
 *
 * The system calls that send go through this program, which makes some of them fail. */
#define _GNU_SOURCE
#include "unit/unit.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric/udp/socket.h"

/* ---- The system calls ------------------------------------------------------------- */

static struct {
    unsigned sendto_calls, sendmsg_calls;
    unsigned sendto_passes; /* how many work before sendto_error is returned */
    int sendto_error;       /* 0: the kernel's own result */
    unsigned sendmsg_passes;
    int sendmsg_error;
    size_t sendmsg_bytes_max; /* the longest that was passed */
    unsigned told_too_long;   /* so many calls report what ICMP said, and the next one works */
} calls;

static bool is_told(void)
{
    if (calls.told_too_long == 0) {
        return false;
    }
    calls.told_too_long--;
    errno = EMSGSIZE;
    return true;
}

static bool is_refused(int error, unsigned *passes)
{
    if (error == 0 || (*passes)-- != 0) {
        return false;
    }
    *passes = 0;
    errno = error;
    return true;
}

/* In the place of the C library's: the socket's calls go to the kernel directly. */
long syscall(long number, ...)
{
    long (*kernel)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    long words[6];
    va_list rest;
    va_start(rest, number);
    for (size_t i = 0; i < 6; i++) {
        words[i] = va_arg(rest, long);
    }
    va_end(rest);
    if (number == SYS_sendto) {
        calls.sendto_calls++;
        if (is_told() || is_refused(calls.sendto_error, &calls.sendto_passes)) {
            return -1;
        }
    } else if (number == SYS_sendmsg) {
        const struct msghdr *message = (const struct msghdr *)(uintptr_t)words[1];
        calls.sendmsg_calls++;
        if (message->msg_iov[0].iov_len > calls.sendmsg_bytes_max) {
            calls.sendmsg_bytes_max = message->msg_iov[0].iov_len;
        }
        if (is_told() || is_refused(calls.sendmsg_error, &calls.sendmsg_passes)) {
            return -1;
        }
    }
    return kernel(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

/* ---- A pair of sockets ------------------------------------------------------------ */

struct pair {
    struct udp_socket from, to;
    union udp_address from_address, to_address;
};

static union udp_address loopback(int family)
{
    union udp_address address = {0};
    address.any.sa_family = (sa_family_t)family;
    if (family == AF_INET6) {
        address.v6.sin6_addr = in6addr_loopback;
    } else {
        address.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
    return address;
}

static bool pair_open(struct pair *pair, int family)
{
    int from, to;
    union udp_address any = loopback(family);
    if (udp_socket_bind(&any, &pair->from_address, &from) != 0) {
        return false;
    }
    assert_int_equal(udp_socket_bind(&any, &pair->to_address, &to), 0);
    udp_socket_use(&pair->from, from);
    udp_socket_use(&pair->to, to);
    memset(&calls, 0, sizeof calls);
    return true;
}

static void pair_close(struct pair *pair)
{
    udp_socket_close(&pair->from);
    udp_socket_close(&pair->to);
    assert_int_equal(pair->from.fd, -1);
}

static unsigned char burst[8 * UDP_BURST_BYTES_MAX], came[UDP_BURST_BYTES_MAX];

/* Every byte of packet i of a burst depends on i. */
static void fill(uint32_t bytes, uint32_t packet_bytes)
{
    assert_true(bytes <= sizeof burst);
    for (uint32_t i = 0; i < bytes; i++) {
        burst[i] = (unsigned char)(i / packet_bytes * 31 + i % packet_bytes);
    }
}

static bool wait_readable(const struct udp_socket *socket, int timeout_ms)
{
    struct pollfd wait = {.fd = socket->fd, .events = POLLIN};
    return poll(&wait, 1, timeout_ms) == 1;
}

/* Asserts that exactly the bytes of the burst from `at` to `end` come, in whole packets. */
static void expect(struct pair *pair, uint32_t at, uint32_t end, uint32_t packet_bytes)
{
    while (at < end) {
        assert_true(wait_readable(&pair->to, 10000));
        uint32_t bytes = udp_socket_receive(&pair->to, came);
        assert_true(bytes > 0 && bytes <= end - at);
        assert_true(bytes % packet_bytes == 0 || bytes == end - at);
        assert_true(pair->to.offload_receive || bytes <= packet_bytes);
        assert_memory_equal(came, burst + at, bytes);
        at += bytes;
    }
    assert_false(wait_readable(&pair->to, 0));
    assert_int_equal(udp_socket_receive(&pair->to, came), 0);
}

static int try(struct pair *pair, uint32_t bytes, uint32_t packet_bytes, uint32_t *done_bytes)
{
    *done_bytes = 12345;
    return udp_socket_send(&pair->from, &pair->to_address, burst, bytes, packet_bytes, done_bytes);
}

static void expect_sent(struct pair *pair, uint32_t bytes, uint32_t packet_bytes)
{
    uint32_t done_bytes;
    fill(bytes, packet_bytes);
    assert_int_equal(try(pair, bytes, packet_bytes, &done_bytes), 0);
    assert_int_equal(done_bytes, bytes);
    assert_int_equal(pair->from.send_refused, 0);
    expect(pair, 0, bytes, packet_bytes);
}

/* ---- What works ------------------------------------------------------------------- */

/* Runs with offload as the kernel has it, and without: at the sender, the receiver, both. */
static void everywhere(void (*run)(struct pair *pair))
{
    const int families[] = {AF_INET, AF_INET6};
    for (unsigned i = 0; i < 8; i++) {
        struct pair pair;
        if (!pair_open(&pair, families[i / 4])) {
            assert_int_equal(families[i / 4], AF_INET6);
            print_message("no IPv6 here\n");
            return;
        }
        pair.from.offload_send = pair.from.offload_send && !(i & 1);
        if (i & 2) {
            const int off = 0;
            (void)setsockopt(pair.to.fd, IPPROTO_UDP, UDP_GRO, &off, sizeof off);
            pair.to.offload_receive = false;
        }
        run(&pair);
        pair_close(&pair);
    }
}

static void single(struct pair *pair)
{
    const uint32_t sizes[] = {1, 80, 1472, 9000, 60000};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        expect_sent(pair, sizes[i], sizes[i]);
        expect_sent(pair, sizes[i], 65000); /* a short last packet that is the only one */
    }
    /* Nothing but the cheapest call, one for each packet. */
    assert_int_equal(calls.sendmsg_calls, 0);
    assert_int_equal(calls.sendto_calls, 10);
    assert_int_equal(pair->from.send_calls, 10);
}

static void a_packet_is_one_plain_call(void **state)
{
    (void)state;
    everywhere(single);
}

static void bursts(struct pair *pair)
{
    const uint32_t sizes[] = {80, 1000, 1472, 8972, 30000};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint32_t count = 65000 / sizes[i] < 64 ? 65000 / sizes[i] : 64;
        expect_sent(pair, count * sizes[i], sizes[i]);
        expect_sent(pair, (count - 1) * sizes[i] + 1, sizes[i]);
        expect_sent(pair, (count - 1) * sizes[i] + sizes[i] / 2, sizes[i]);
        expect_sent(pair, sizes[i] + 7, sizes[i]);
    }
}

static void bursts_arrive_with_their_short_last_packet(void **state)
{
    (void)state;
    everywhere(bursts);
}

static void long_bursts(struct pair *pair)
{
    /* More packets, and more bytes, than the kernel takes at a time. */
    expect_sent(pair, 200 * 48 + 5, 48);
    expect_sent(pair, 100 * 1472 + 5, 1472);
    /* Up to the last byte; a single call would be 20 bytes too long for IPv6. */
    expect_sent(pair, UDP_BURST_BYTES_MAX, UDP_BURST_BYTES_MAX / 7);
    bool is_v6 = pair->to_address.any.sa_family == AF_INET6;
    assert_true(calls.sendmsg_bytes_max <= (is_v6 ? 65487 : 65507));
    assert_true(pair->from.offload_send == (calls.sendmsg_calls > 0));
}

static void no_call_exceeds_what_the_kernel_takes(void **state)
{
    (void)state;
    everywhere(long_bursts);
}

static void offload_saves_calls_where_it_is(void **state)
{
    (void)state;
    struct pair pair;
    assert_true(pair_open(&pair, AF_INET));
    if (!pair.from.offload_send || !pair.to.offload_receive) {
        print_message("this kernel does not offload\n");
        pair_close(&pair);
        skip();
    }
    expect_sent(&pair, 40 * 1472, 1472);
    assert_int_equal(pair.from.send_calls, 1);
    assert_true(pair.to.receive_calls <= 2); /* the second finds nothing more */
    pair_close(&pair);
}

/* What strangers send: other sizes, and none at all. */
static void foreign(struct pair *pair)
{
    const struct sockaddr *to = &pair->to_address.any;
    socklen_t to_bytes = udp_address_bytes(&pair->to_address);
    fill(5000, 5000);
    const uint32_t sizes[] = {0, 0, 0, 5, 0, 1, 5000, 0, 0, 5000, 17};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_int_equal(syscall(SYS_sendto, pair->from.fd, burst, sizes[i], 0, to, to_bytes),
                         sizes[i]);
    }
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (sizes[i] > 0) {
            assert_int_equal(udp_socket_receive(&pair->to, came), sizes[i]);
            assert_memory_equal(came, burst, sizes[i]);
        }
    }
    /* A flood of empty packets does not hold the receiver up. */
    for (unsigned i = 0; i < 200; i++) {
        assert_int_equal(syscall(SYS_sendto, pair->from.fd, burst, 0, 0, to, to_bytes), 0);
    }
    uint64_t before = pair->to.receive_calls;
    assert_int_equal(udp_socket_receive(&pair->to, came), 0);
    assert_true(pair->to.receive_calls - before < 100);
}

static void what_strangers_send_is_told_apart(void **state)
{
    (void)state;
    everywhere(foreign);
}

/* ---- What the kernel refuses ------------------------------------------------------ */

/* Kernels and devices without checksum offload answer like this; here the test does. */
static void a_kernel_that_does_not_offload_after_all(void **state)
{
    (void)state;
    struct pair pair;
    const int on = 1;
    assert_true(pair_open(&pair, AF_INET));
    if (!pair.from.offload_send ||
        setsockopt(pair.from.fd, SOL_SOCKET, SO_NO_CHECK, &on, sizeof on) != 0) {
        pair_close(&pair);
        skip();
    }
    expect_sent(&pair, 20 * 1000 + 3, 1000);
    assert_false(pair.from.offload_send);
    assert_int_equal(calls.sendmsg_calls, 1);
    assert_int_equal(calls.sendto_calls, 21);
    expect_sent(&pair, 20 * 1000 + 3, 1000);
    assert_int_equal(calls.sendmsg_calls, 1); /* for good */
    pair_close(&pair);
}

static void every_word_for_no_offload_is_understood(void **state)
{
    (void)state;
    const int faults[] = {EIO, EINVAL, ENOPROTOOPT, EOPNOTSUPP, EMSGSIZE};
    for (unsigned i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct pair pair;
        assert_true(pair_open(&pair, AF_INET));
        pair.from.offload_send = true;
        calls.sendmsg_error = faults[i];
        expect_sent(&pair, 7 * 1000 + 3, 1000);
        assert_false(pair.from.offload_send);
        assert_int_equal(calls.sendmsg_calls, 1);
        pair_close(&pair);
    }
}

static void offload_is_not_given_up_for_other_reasons(void **state)
{
    (void)state;
    struct pair pair;
    uint32_t done_bytes;
    assert_true(pair_open(&pair, AF_INET));
    pair.from.offload_send = true;
    fill(5000, 1000);
    /* Not even one such packet fits. */
    calls.sendmsg_error = EINVAL;
    calls.sendto_error = EMSGSIZE;
    assert_int_equal(try(&pair, 5000, 1000, &done_bytes), DN_ETOOLONG);
    assert_int_equal(done_bytes, 0);
    assert_true(pair.from.offload_send);
    /* Nor is there room for one now. */
    calls.sendto_error = EAGAIN;
    assert_int_equal(try(&pair, 5000, 1000, &done_bytes), DN_EBUSY);
    assert_int_equal(done_bytes, 0);
    assert_true(pair.from.offload_send);
    /* Nor may one go there. */
    calls.sendto_error = EPERM;
    assert_int_equal(try(&pair, 5000, 1000, &done_bytes), 0);
    assert_int_equal(done_bytes, 5000);
    assert_int_equal(pair.from.send_refused, 5);
    assert_true(pair.from.offload_send);
    pair_close(&pair);
}

/* Somebody forges ICMP messages so fast that several calls in a row report one. */
static void what_icmp_says_again_and_again_is_not_believed(void **state)
{
    (void)state;
    struct pair pair;
    assert_true(pair_open(&pair, AF_INET));
    udp_socket_connect(&pair.from, &pair.to_address);
    bool offload = pair.from.offload_send;
    for (unsigned told = 1; told < 16; told++) {
        calls.told_too_long = told;
        expect_sent(&pair, 1000, 1000);
        calls.told_too_long = told;
        expect_sent(&pair, 20 * 1000 + 3, 1000);
        assert_int_equal(pair.from.offload_send, offload);
    }
    /* What the link itself refuses, it refuses each time. */
    uint32_t done_bytes;
    calls.sendto_error = calls.sendmsg_error = EMSGSIZE;
    assert_int_equal(try(&pair, 5000, 1000, &done_bytes), DN_ETOOLONG);
    assert_int_equal(done_bytes, 0);
    assert_int_equal(pair.from.offload_send, offload);
    pair_close(&pair);
}

static void a_full_kernel_says_how_far_it_came(void **state)
{
    (void)state;
    const int faults[] = {EAGAIN, ENOBUFS, ENOMEM};
    for (unsigned i = 0; i < 2 * sizeof faults / sizeof faults[0]; i++) {
        struct pair pair;
        uint32_t done_bytes;
        bool offload = i % 2;
        assert_true(pair_open(&pair, AF_INET));
        offload = offload && pair.from.offload_send;
        pair.from.offload_send = offload;
        fill(150 * 100, 100);
        calls.sendto_error = calls.sendmsg_error = faults[i / 2];
        assert_int_equal(try(&pair, 100, 100, &done_bytes), DN_EBUSY);
        assert_int_equal(done_bytes, 0);

        calls.sendto_passes = 5;
        calls.sendmsg_passes = 1;
        uint32_t before = offload ? 64 * 100 : 5 * 100;
        assert_int_equal(try(&pair, 150 * 100, 100, &done_bytes), DN_EBUSY);
        assert_int_equal(done_bytes, before);
        expect(&pair, 0, before, 100);

        calls.sendto_error = calls.sendmsg_error = 0;
        assert_int_equal(udp_socket_send(&pair.from, &pair.to_address, burst + before,
                                         150 * 100 - before, 100, &done_bytes),
                         0);
        assert_int_equal(done_bytes, 150 * 100 - before);
        expect(&pair, before, 150 * 100, 100);
        assert_int_equal(pair.from.send_refused, 0);
        pair_close(&pair);
    }
}

static void what_may_not_go_is_counted_and_lost(void **state)
{
    (void)state;
    const int faults[] = {ECONNREFUSED, EPERM,    EACCES, ENETUNREACH,
                          EHOSTUNREACH, ENETDOWN, EINVAL, EIO};
    for (unsigned i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct pair pair;
        uint32_t done_bytes;
        assert_true(pair_open(&pair, AF_INET));
        fill(450, 100);
        calls.sendto_error = faults[i];
        assert_int_equal(try(&pair, 80, 100, &done_bytes), 0);
        assert_int_equal(done_bytes, 80);
        assert_int_equal(pair.from.send_refused, 1);

        pair.from.offload_send = false;
        assert_int_equal(try(&pair, 450, 100, &done_bytes), 0);
        assert_int_equal(done_bytes, 450);
        assert_int_equal(pair.from.send_refused, 6);

        pair.from.offload_send = true;
        calls.sendmsg_error = faults[i];
        assert_int_equal(try(&pair, 450, 100, &done_bytes), 0);
        assert_int_equal(done_bytes, 450);
        assert_int_equal(pair.from.send_refused, 11);
        expect(&pair, 0, 0, 100);
        pair_close(&pair);
    }
}

/* The same by the true kernel. */
static void nobody_there_and_no_way_there(void **state)
{
    (void)state;
    struct pair pair;
    uint32_t done_bytes;
    assert_true(pair_open(&pair, AF_INET));
    udp_socket_close(&pair.to);
    for (unsigned i = 0; i < 3; i++) { /* ICMP's answer to the first might stop the second */
        assert_int_equal(try(&pair, 450, 100, &done_bytes), 0);
        assert_int_equal(done_bytes, 450);
    }
    assert_int_equal(udp_socket_receive(&pair.from, came), 0);

    pair.to_address.v4.sin_addr.s_addr = htonl(INADDR_BROADCAST); /* not allowed */
    uint64_t before = pair.from.send_refused;
    assert_int_equal(try(&pair, 100, 100, &done_bytes), 0);
    assert_int_equal(pair.from.send_refused, before + 1);
    udp_socket_close(&pair.from);
}

static void too_long(struct pair *pair)
{
    uint32_t done_bytes;
    uint32_t fits = udp_path_bytes(&pair->to_address);
    assert_true(fits > 1000 && fits <= UDP_BURST_BYTES_MAX);
    expect_sent(pair, fits, fits);
    fill(2 * 65530, 65530);
    assert_int_equal(try(pair, 65530, 65530, &done_bytes), DN_ETOOLONG);
    assert_int_equal(done_bytes, 0);
    assert_int_equal(try(pair, 2 * 65530, 65530, &done_bytes), DN_ETOOLONG);
    assert_int_equal(done_bytes, 0);
    assert_int_equal(pair->from.send_refused, 0);
}

static void what_cannot_be_sent_whole_is_not_sent(void **state)
{
    (void)state;
    everywhere(too_long);
}

/* ---- A narrow path, in a network of its own --------------------------------------- */

enum { NARROW_BYTES = 1500 };

/* A network of this process's own with a loopback interface of a small MTU. */
static bool enter_narrow_network(void)
{
    if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
        return false;
    }
    struct ifreq request = {.ifr_name = "lo"};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    request.ifr_mtu = NARROW_BYTES;
    bool done = fd >= 0 && ioctl(fd, SIOCSIFMTU, &request) == 0;
    request.ifr_flags = IFF_UP;
    done = done && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    (void)close(fd);
    return done;
}

static void narrow(struct pair *pair)
{
    uint32_t headers = pair->to_address.any.sa_family == AF_INET6 ? 48 : 28;
    uint32_t fits = udp_path_bytes(&pair->to_address), done_bytes;
    bool offload = pair->from.offload_send;
    assert_int_equal(fits, NARROW_BYTES - headers);
    expect_sent(pair, fits, fits);
    expect_sent(pair, 10 * fits + 3, fits);
    fill(10 * (fits + 1), fits + 1);
    assert_int_equal(try(pair, fits + 1, fits + 1, &done_bytes), DN_ETOOLONG);
    assert_int_equal(try(pair, 10 * (fits + 1), fits + 1, &done_bytes), DN_ETOOLONG);
    assert_int_equal(done_bytes, 0);
    /* That is no reason to give up offload for shorter ones, where it works. */
    assert_true(pair->from.offload_send == offload);
    expect_sent(pair, 10 * fits + 3, fits);

    union udp_address elsewhere = loopback(AF_INET);
    elsewhere.v4.sin_addr.s_addr = htonl(0xc0000201); /* 192.0.2.1: there is no route */
    elsewhere.v4.sin_port = htons(9);
    assert_int_equal(udp_path_bytes(&elsewhere), 0);
    assert_int_equal(errno, ENETUNREACH);
}

static void narrow_everywhere(void **state)
{
    (void)state;
    everywhere(narrow);
}

static void packets_that_do_not_fit_the_path_any_more(void **state)
{
    (void)state;
    enum { FORBIDDEN = 77 };
    if (getenv("DN_TEST_EMULATED")) {
        skip(); /* emulators do not ask the kernel about paths */
    }
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct CMUnitTest inside[] = {cmocka_unit_test(narrow_everywhere)};
        if (!enter_narrow_network()) {
            _exit(FORBIDDEN);
        }
        _exit(cmocka_run_group_tests_name("fabric/udp/socket, narrow", inside, NULL, NULL) != 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == FORBIDDEN) {
        print_message("this machine forbids networks of one's own\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- Sockets and addresses -------------------------------------------------------- */

static void a_bound_socket_is_as_promised(void **state)
{
    (void)state;
    union udp_address wanted = loopback(AF_INET), bound, again;
    int fd, second = -77, bytes = 0;
    socklen_t value_bytes = sizeof bytes;
    assert_int_equal(udp_socket_bind(&wanted, &bound, &fd), 0);
    assert_int_equal(bound.v4.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
    assert_int_not_equal(bound.v4.sin_port, 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &value_bytes), 0);
    assert_true(bytes >= 200000);

    /* Port taken. */
    assert_int_equal(udp_socket_bind(&bound, &again, &second), DN_ESYSTEM);
    assert_int_equal(errno, EADDRINUSE);
    assert_int_equal(second, -77);
    (void)close(fd);
}

static void addresses_are_readable(void **state)
{
    (void)state;
    char text[UDP_ADDRESS_TEXT_BYTES];
    union udp_address address = loopback(AF_INET);
    address.v4.sin_port = htons(7000);
    assert_string_equal(udp_address_text(&address, text), "127.0.0.1:7000");
    address = loopback(AF_INET6);
    address.v6.sin6_port = htons(65535);
    assert_string_equal(udp_address_text(&address, text), "[::1]:65535");
    memset(&address.v6.sin6_addr, 0xfe, sizeof address.v6.sin6_addr);
    assert_string_equal(udp_address_text(&address, text),
                        "[fefe:fefe:fefe:fefe:fefe:fefe:fefe:fefe]:65535");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packet_is_one_plain_call),
        cmocka_unit_test(bursts_arrive_with_their_short_last_packet),
        cmocka_unit_test(no_call_exceeds_what_the_kernel_takes),
        cmocka_unit_test(offload_saves_calls_where_it_is),
        cmocka_unit_test(what_strangers_send_is_told_apart),
        cmocka_unit_test(a_kernel_that_does_not_offload_after_all),
        cmocka_unit_test(every_word_for_no_offload_is_understood),
        cmocka_unit_test(offload_is_not_given_up_for_other_reasons),
        cmocka_unit_test(what_icmp_says_again_and_again_is_not_believed),
        cmocka_unit_test(a_full_kernel_says_how_far_it_came),
        cmocka_unit_test(what_may_not_go_is_counted_and_lost),
        cmocka_unit_test(nobody_there_and_no_way_there),
        cmocka_unit_test(what_cannot_be_sent_whole_is_not_sent),
        cmocka_unit_test(packets_that_do_not_fit_the_path_any_more),
        cmocka_unit_test(a_bound_socket_is_as_promised),
        cmocka_unit_test(addresses_are_readable),
    };
    return cmocka_run_group_tests_name("fabric/udp/socket", tests, NULL, NULL);
}
