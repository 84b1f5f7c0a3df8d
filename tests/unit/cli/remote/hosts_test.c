/* The file of hosts: what it means, what it must not say, and which node runs where. */
#include "cli/remote/hosts.h"

#include "unit/unit.h"

static void good(const char *text, struct hosts *hosts)
{
    char fault[HOSTS_FAULT_BYTES] = "";
    if (!remote_hosts_parse(text, hosts, fault)) {
        fail_msg("refused: %s", fault);
    }
}

static void bad(const char *text, const char *expected)
{
    char fault[HOSTS_FAULT_BYTES] = "";
    struct hosts hosts;
    assert_false(remote_hosts_parse(text, &hosts, fault));
    remote_hosts_release(&hosts);
    if (!strstr(fault, expected)) {
        fail_msg("\"%s\" does not say \"%s\"", fault, expected);
    }
}

static void lines_are_understood(void **state)
{
    (void)state;
    struct hosts hosts;
    good("# two hosts\n"
         "\n"
         "alpha\n"
         "  user@beta\tslots=4   address=192.0.2.2 # the fast one\r\n"
         "gamma address=2001:db8::1 slots=4096",
         &hosts);
    assert_int_equal(hosts.count, 3);
    assert_int_equal(hosts.slots, 4101);
    assert_string_equal(hosts.entries[0].name, "alpha");
    assert_null(hosts.entries[0].address);
    assert_int_equal(hosts.entries[0].slots, 1);
    assert_string_equal(hosts.entries[1].name, "user@beta");
    assert_string_equal(hosts.entries[1].address, "192.0.2.2");
    assert_int_equal(hosts.entries[1].slots, 4);
    assert_string_equal(hosts.entries[2].address, "2001:db8::1");
    remote_hosts_release(&hosts);
}

static void what_makes_no_sense_is_named(void **state)
{
    (void)state;
    bad("", "names no host");
    bad("# only\n\n   \n", "names no host");
    bad("alpha\nbeta slots=0\n", "line 2: slots takes a number");
    bad("alpha slots=\n", "line 1: slots takes a number");
    bad("alpha slots=4097\n", "line 1: slots takes a number");
    bad("alpha slots=2x\n", "line 1: slots takes a number");
    bad("alpha slots=2 slots=3\n", "line 1: slots is given twice");
    bad("alpha address=\n", "line 1: one address");
    bad("alpha address=a address=b\n", "line 1: one address");
    bad("\n\nalpha beta\n", "line 3: slots=N and address=A");
    bad("slots=2 alpha\n", "line 1: a line starts with a host's name");
    bad("-oProxyCommand\n", "line 1: a host's name does not start");
}

static void too_many_hosts_are_refused(void **state)
{
    (void)state;
    static char text[2 * 4097 + 1];
    for (unsigned i = 0; i < 4097; i++) {
        memcpy(text + 2 * i, "a\n", 2);
    }
    bad(text, "line 4097: too many hosts");
}

static void hosts_are_filled_in_order(void **state)
{
    (void)state;
    struct hosts hosts;
    good("a slots=2\nb\nc slots=3\nd slots=9\n", &hosts);
    assert_true(remote_hosts_assign(&hosts, 5));
    static const uint32_t first[] = {0, 2, 3, 5};
    static const uint32_t count[] = {2, 1, 2, 0};
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(hosts.entries[i].rank_first, first[i]);
        assert_int_equal(hosts.entries[i].rank_count, count[i]);
    }
    assert_true(remote_hosts_assign(&hosts, 15));
    assert_false(remote_hosts_assign(&hosts, 16));
    remote_hosts_release(&hosts);
}

static void a_file_that_is_not_there(void **state)
{
    (void)state;
    char fault[HOSTS_FAULT_BYTES];
    struct hosts hosts;
    assert_false(remote_hosts_read("/no/such/file", &hosts, fault));
    assert_string_equal(fault, "No such file or directory");
    assert_false(remote_hosts_read("/", &hosts, fault));
    assert_string_equal(fault, "Is a directory");
    remote_hosts_release(&hosts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_understood),
        cmocka_unit_test(what_makes_no_sense_is_named),
        cmocka_unit_test(too_many_hosts_are_refused),
        cmocka_unit_test(hosts_are_filled_in_order),
        cmocka_unit_test(a_file_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
