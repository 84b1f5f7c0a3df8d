/* What a launcher makes for a group: on one host all at once, on several in steps whose bytes the
 * hosts tell each other. */
#define _GNU_SOURCE
#include "unit/unit.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fabric/launch.h"
#include "fabric/udp/board/entry.h"
#include "fabric/udp/board/server.h"
#include "fabric/udp/guard.h"
#include "fabric/udp/launch.h"
#include "fabric/udp/roster.h"
#include "fabric/udp/socket.h"

enum { ENCRYPT, NO_AUTH, MTU, PEER_TIMEOUT, PORT, RELAY_PORT, BOARD };
enum { NODES = 5, NODES_OF_ONE = 2, MTU_BYTES = 2000, HEADERS_BYTES = 28 };

static const struct group_sizes sizes = {4096, 8192, 12288, 16384};

/* A test's settings, as for a user who gives no option, and the last sentence. */
static const struct fabric_launch *fabric;
static uint64_t settings[FABRIC_OPTIONS_MAX];
static char sentence[FABRIC_SENTENCE_BYTES];

static int set_up(void **state)
{
    (void)state;
    fabric = fabric_launch_find("udp");
    assert_non_null(fabric);
    fabric_launch_defaults(fabric, settings);
    sentence[0] = '\0';
    return 0;
}

static struct fabric_roster open_roster(uint32_t rank_first, uint32_t rank_count)
{
    struct fabric_roster roster = {
        .fabric = fabric,
        .settings = settings,
        .node_count = NODES,
        .rank_first = rank_first,
        .rank_count = rank_count,
        .sizes = sizes,
    };
    assert_int_equal(fabric_roster_open(&roster), 0);
    return roster;
}

static struct fabric_contact contact_of(const char *name)
{
    struct fabric_contact contact;
    assert_int_equal(fabric->find_host(name, &contact, sentence), 0);
    return contact;
}

/* Maps a descriptor of its own, which ends with the mapping. */
static struct udp_roster_file map(const struct fabric_roster *roster, uint32_t index)
{
    struct udp_roster_file file;
    int fds[FABRIC_DESCRIPTORS_MAX];
    fabric->descriptors(roster, index, fds);
    int fd = fcntl(fds[0], F_DUPFD_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(udp_roster_map(fd, &file), 0);
    return file;
}

/* ---- Contacts and settings ------------------------------------------------------------- */

static void contacts_are_taken_as_they_were_put(void **state)
{
    (void)state;
    struct fabric_contact contact;
    union udp_address taken;
    union udp_address address = {.v4 = {.sin_family = AF_INET, .sin_port = htons(7001)}};
    char text[FABRIC_CONTACT_TEXT_BYTES];
    assert_int_equal(inet_pton(AF_INET, "192.0.2.7", &address.v4.sin_addr), 1);
    udp_contact_put(&contact, &address);
    assert_true(udp_contact_take(&contact, &taken));
    assert_memory_equal(&taken.v4, &address.v4, sizeof taken.v4);
    assert_string_equal(fabric->contact_text(&contact, text), "192.0.2.7:7001");
    address = (union udp_address){.v6 = {.sin6_family = AF_INET6, .sin6_port = htons(7002)}};
    assert_int_equal(inet_pton(AF_INET6, "2001:db8::7", &address.v6.sin6_addr), 1);
    udp_contact_put(&contact, &address);
    assert_true(udp_contact_take(&contact, &taken));
    assert_memory_equal(&taken.v6, &address.v6, sizeof taken.v6);
    assert_string_equal(fabric->contact_text(&contact, text), "[2001:db8::7]:7002");
    assert_true(fabric->contact_is_sound(&contact));
    contact.bytes[0] = 5;
    assert_false(fabric->contact_is_sound(&contact));
}

static void hosts_that_cannot_meet_are_refused(void **state)
{
    (void)state;
    struct fabric_host here = {"here", contact_of("127.0.0.1")};
    struct fabric_host near = {"near", contact_of("127.0.0.2")};
    struct fabric_host far = {"far", contact_of("192.0.2.7")};
    struct fabric_host other = {"other", contact_of("2001:db8::7")};
    assert_int_equal(fabric->match_hosts(&here, &near, sentence), 0);
    assert_string_equal(sentence, "");
    assert_int_equal(fabric->match_hosts(&far, &here, sentence), DN_EINVAL);
    assert_non_null(strstr(sentence, "host here has a loopback address, which host far"));
    assert_int_equal(fabric->match_hosts(&far, &other, sentence), DN_EINVAL);
    assert_non_null(strstr(sentence, "hosts far and other"));
    assert_int_equal(fabric->find_host("no such address", &far.contact, sentence), DN_EINVAL);
    assert_non_null(strstr(sentence, "\"no such address\" is no address"));
}

static void settings_are_checked(void **state)
{
    (void)state;
    assert_true(fabric_launch_accepts(fabric, settings));
    assert_int_equal(settings[PEER_TIMEOUT], 10000);
    assert_int_equal(fabric->silence_ns(settings), UINT64_C(10000000000));
    for (unsigned i = 0; fabric->options[i].name; i++) {
        uint64_t kept = settings[i];
        settings[i] = fabric->options[i].most;
        assert_true(fabric_launch_accepts(fabric, settings));
        settings[i]++;
        assert_false(fabric_launch_accepts(fabric, settings));
        settings[i] = kept;
    }
    settings[PEER_TIMEOUT] = 0;
    assert_false(fabric_launch_accepts(fabric, settings));
    settings[ENCRYPT] = 1;
    assert_int_equal(fabric->check(settings, sentence), 0);
    settings[NO_AUTH] = 1;
    assert_int_equal(fabric->check(settings, sentence), DN_EINVAL);
    assert_non_null(strstr(sentence, "choose one"));
    settings[NO_AUTH] = 0;
    settings[BOARD] = 7000;
    assert_int_equal(fabric->check(settings, sentence), 0);
    settings[PORT] = 7001;
    assert_int_equal(fabric->check(settings, sentence), DN_EINVAL);
    assert_non_null(strstr(sentence, "at a --board all nodes of a host have one port"));
    settings[PORT] = 0;
    settings[RELAY_PORT] = 7001;
    assert_int_equal(fabric->check(settings, sentence), DN_EINVAL);
}

/* ---- One host -------------------------------------------------------------------------- */

static void a_group_on_one_host(void **state)
{
    (void)state;
    settings[MTU] = MTU_BYTES;
    settings[ENCRYPT] = 1;
    struct fabric_roster roster = open_roster(0, NODES);
    assert_int_equal(fabric->make(&roster, sentence), 0);
    assert_string_equal(sentence, "");
    for (uint32_t i = 0; i < NODES; i++) {
        struct udp_roster_file file = map(&roster, i);
        union udp_address bound;
        socklen_t bytes = sizeof bound;
        int fds[FABRIC_DESCRIPTORS_MAX];
        assert_int_equal(file.roster->node_count, NODES);
        assert_memory_equal(&file.roster->sizes, &sizes, sizeof sizes);
        /* An emulator does not tell the path's MTU, and less is taken then. */
        if (!getenv("DN_TEST_EMULATED")) {
            assert_int_equal(file.roster->packet_bytes_max, MTU_BYTES - HEADERS_BYTES);
        }
        assert_int_equal(file.roster->cipher, udp_cipher_best());
        assert_int_equal(file.roster->encrypt, 1);
        fabric->descriptors(&roster, i, fds);
        assert_int_equal(getsockname(fds[1], &bound.any, &bytes), 0);
        assert_int_equal(bound.v4.sin_port, udp_roster_address(file.roster, i)->v4.sin_port);
        fabric->hand_over(&roster, i);
        assert_int_equal(fcntl(fds[1], F_GETFD), -1);
        assert_int_equal(fcntl(fds[2], F_GETFD), -1);
        udp_roster_unmap(&file);
    }
    fabric_roster_release(&roster);
}

static void what_cannot_be_made_is_said(void **state)
{
    (void)state;
    struct fabric_roster roster = open_roster(0, NODES);
    settings[MTU] = 100;
    assert_int_equal(fabric->make(&roster, sentence), DN_EINVAL);
    assert_non_null(strstr(sentence, "an MTU of 100 bytes is too small"));
    fabric_roster_release(&roster);
    roster = open_roster(0, NODES);
    settings[PORT] = UINT16_MAX;
    assert_int_equal(fabric->make(&roster, sentence), DN_EINVAL);
    assert_string_equal(sentence, "there are no 5 ports from 65535 on");
    fabric_roster_release(&roster);
}

static void without_proof_there_is_a_warning(void **state)
{
    (void)state;
    settings[NO_AUTH] = 1;
    struct fabric_roster roster = open_roster(0, NODES);
    assert_int_equal(fabric->make(&roster, sentence), 0);
    assert_non_null(strstr(sentence, "packets are not authenticated"));
    struct udp_roster_file file = map(&roster, 0);
    assert_int_equal(file.roster->cipher, UDP_CIPHER_NONE);
    udp_roster_unmap(&file);
    fabric_roster_release(&roster);
}

struct serving {
    struct udp_board *board;
    int stop_fd;
};

static void *serve(void *context)
{
    const struct serving *serving = context;
    unit_expect(udp_board_serve(serving->board, serving->stop_fd) == 0);
    return NULL;
}

/* All nodes have the board's address, and the kernel knows whose packets are whose. */
static void a_group_on_a_board(void **state)
{
    (void)state;
    static struct udp_board board;
    const union udp_address wanted = {
        .v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
    if (getenv("DN_TEST_EMULATED")) {
        skip(); /* emulators of Linux do not know the board's filter */
    }
    struct fabric_roster roster = open_roster(0, NODES);
    settings[BOARD] = 1;
    assert_int_equal(fabric->make(&roster, sentence), DN_EPEER);
    assert_non_null(strstr(sentence, "there is no board at 127.0.0.1:1"));
    fabric_roster_release(&roster);
    sentence[0] = '\0';
    assert_int_equal(udp_board_open(&board, &wanted, sentence), 0);
    int stop_fd = eventfd(0, EFD_CLOEXEC);
    struct serving serving = {&board, stop_fd};
    pthread_t server;
    assert_int_equal(pthread_create(&server, NULL, serve, &serving), 0);
    settings[BOARD] = ntohs(board.address.v4.sin_port);
    roster = open_roster(0, NODES);
    assert_int_equal(fabric->make(&roster, sentence), 0);
    struct udp_roster_file file = map(&roster, 0);
    struct udp_board_answer answer;
    assert_int_equal(udp_board_look(&board.address, &answer, sentence), 0);
    assert_int_equal(answer.count, NODES);
    for (uint32_t i = 0; i < NODES; i++) {
        struct udp_socket used;
        int fds[FABRIC_DESCRIPTORS_MAX];
        fabric->descriptors(&roster, i, fds);
        assert_memory_equal(udp_roster_address(file.roster, i), &board.address,
                            sizeof board.address.v4);
        assert_int_equal(answer.seats[i].pgid, file.roster->pgid);
        assert_int_equal(answer.seats[i].rank, i);
        udp_socket_use(&used, fds[1]);
        assert_true(used.is_shared);
        fabric->hand_over(&roster, i);
    }
    udp_roster_unmap(&file);
    fabric_roster_release(&roster);
    do {
        assert_int_equal(udp_board_look(&board.address, &answer, sentence), 0);
    } while (answer.count != 0);
    assert_int_equal(eventfd_write(stop_fd, 1), 0);
    assert_int_equal(pthread_join(server, NULL), 0);
    assert_int_equal(unit_faults, 0);
    (void)close(stop_fd);
    udp_board_close(&board);
}

/* ---- Several hosts --------------------------------------------------------------------- */

/* Two hosts, and a launcher that is neither, up to what they have found. */
struct fleet {
    struct fabric_roster hosts[2];
    struct fabric_roster launcher;
    struct fabric_finding findings[2];
};

static void open_fleet(struct fleet *fleet)
{
    static const char *const names[] = {"127.0.0.1", "127.0.0.2"};
    fleet->hosts[0] = open_roster(0, NODES_OF_ONE);
    fleet->hosts[1] = open_roster(NODES_OF_ONE, NODES - NODES_OF_ONE);
    fleet->launcher = open_roster(0, 0);
    for (unsigned i = 0; i < 2; i++) {
        struct fabric_roster *host = &fleet->hosts[i];
        struct fabric_contact contact = contact_of(names[i]);
        assert_int_equal(fabric->bind(host, &contact, sentence), 0);
        memcpy(&fleet->launcher.contacts[host->rank_first], &host->contacts[host->rank_first],
               host->rank_count * sizeof contact);
    }
    for (unsigned i = 0; i < 2; i++) {
        uint32_t rank;
        memcpy(fleet->hosts[i].contacts, fleet->launcher.contacts,
               NODES * sizeof *fleet->launcher.contacts);
        assert_int_equal(fabric->survey(&fleet->hosts[i], &fleet->findings[i], &rank), 0);
    }
}

static void release_fleet(struct fleet *fleet)
{
    fabric_roster_release(&fleet->hosts[0]);
    fabric_roster_release(&fleet->hosts[1]);
    fabric_roster_release(&fleet->launcher);
}

/* The last part of the terms, behind their five numbers. */
static const unsigned char *terms_secret(const struct fabric_terms *terms)
{
    return terms->bytes + 5 * sizeof(uint64_t);
}

/* A descriptor of its own for the pipe that a node gets. */
static int secret_fd(const struct fabric_roster *roster, uint32_t index)
{
    int fds[FABRIC_DESCRIPTORS_MAX];
    fabric->descriptors(roster, index, fds);
    return fcntl(fds[2], F_DUPFD_CLOEXEC, 0);
}

static void all_hosts_get_the_same_terms(void **state)
{
    (void)state;
    struct fleet fleet;
    struct fabric_terms terms;
    unsigned char secret[UDP_SECRET_BYTES];
    open_fleet(&fleet);
    fabric->merge(&fleet.findings[0], &fleet.findings[1]);
    assert_int_equal(fabric->agree(&fleet.launcher, &fleet.findings[0], &terms, sentence), 0);
    assert_int_equal(fabric->seal(&fleet.launcher, &terms, sentence), 0);
    struct udp_roster_file ours = map(&fleet.launcher, 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(fabric->seal(&fleet.hosts[i], &terms, sentence), 0);
        struct udp_roster_file file = map(&fleet.hosts[i], 0);
        /* Everything before the reports: addresses, sizes, and no secret. */
        assert_memory_equal(file.roster, ours.roster, ours.roster->layout.reports_offset);
        assert_null(memmem(file.roster, file.roster->layout.file_bytes, terms_secret(&terms),
                           UDP_SECRET_BYTES));
        udp_roster_unmap(&file);
        for (uint32_t node = 0; node < fleet.hosts[i].rank_count; node++) {
            assert_int_equal(udp_secret_take(secret_fd(&fleet.hosts[i], node), secret), 0);
            assert_memory_equal(secret, terms_secret(&terms), sizeof secret);
        }
    }
    assert_int_equal(ours.roster->peer_timeout_ns, fabric->silence_ns(settings));
    assert_string_equal(sentence, "");
    udp_roster_unmap(&ours);
    release_fleet(&fleet);
}

/* A finding as another host might send it: two little-endian numbers, ciphers and path. */
static struct fabric_finding finding(unsigned char ciphers, unsigned path_bytes)
{
    struct fabric_finding made = {{0}};
    made.bytes[0] = ciphers;
    made.bytes[8] = (unsigned char)path_bytes;
    made.bytes[9] = (unsigned char)(path_bytes >> 8);
    return made;
}

static void what_all_hosts_can_do_is_agreed(void **state)
{
    (void)state;
    enum { AES = 1 << UDP_CIPHER_AES_256_GCM, CHACHA = 1 << UDP_CIPHER_CHACHA20 };
    struct fleet fleet;
    struct fabric_terms terms;
    open_fleet(&fleet);
    struct fabric_finding all = finding(AES | CHACHA, 8000);
    struct fabric_finding narrow = finding(CHACHA, 1472);
    struct fabric_finding wide = finding(AES | CHACHA, 3000);
    fabric->merge(&all, &narrow);
    fabric->merge(&all, &wide);
    assert_int_equal(fabric->agree(&fleet.launcher, &all, &terms, sentence), 0);
    assert_int_equal(fabric->seal(&fleet.launcher, &terms, sentence), 0);
    struct udp_roster_file file = map(&fleet.launcher, 0);
    assert_int_equal(file.roster->packet_bytes_max, 1472);
    assert_int_equal(file.roster->cipher, UDP_CIPHER_CHACHA20);
    udp_roster_unmap(&file);
    struct fabric_finding other = finding(AES, 1472);
    fabric->merge(&all, &other);
    assert_int_equal(fabric->agree(&fleet.launcher, &all, &terms, sentence), DN_EINVAL);
    assert_string_equal(sentence, "there is no cipher that all hosts can do");
    release_fleet(&fleet);
}

static void terms_are_checked(void **state)
{
    (void)state;
    enum { CIPHER_AT = 8 * 3 };
    struct fleet fleet;
    struct fabric_terms terms;
    open_fleet(&fleet);
    assert_int_equal(fabric->agree(&fleet.launcher, &fleet.findings[0], &terms, sentence), 0);
    for (unsigned place = 0; place < 5; place++) {
        struct fabric_terms wrong = terms;
        memset(wrong.bytes + 8 * place, 0xff, 8);
        bool is_free = place == 2; /* any peer time-out is valid */
        assert_int_equal(fabric->seal(&fleet.launcher, &wrong, sentence), is_free ? 0 : DN_EINVAL);
    }
    terms.bytes[CIPHER_AT] = 77;
    assert_int_equal(fabric->seal(&fleet.hosts[0], &terms, sentence), DN_EINVAL);
    assert_string_equal(sentence, "unknown cipher 77");
    release_fleet(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(contacts_are_taken_as_they_were_put, set_up),
        cmocka_unit_test_setup(hosts_that_cannot_meet_are_refused, set_up),
        cmocka_unit_test_setup(settings_are_checked, set_up),
        cmocka_unit_test_setup(a_group_on_one_host, set_up),
        cmocka_unit_test_setup(what_cannot_be_made_is_said, set_up),
        cmocka_unit_test_setup(without_proof_there_is_a_warning, set_up),
        cmocka_unit_test_setup(a_group_on_a_board, set_up),
        cmocka_unit_test_setup(all_hosts_get_the_same_terms, set_up),
        cmocka_unit_test_setup(what_all_hosts_can_do_is_agreed, set_up),
        cmocka_unit_test_setup(terms_are_checked, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
