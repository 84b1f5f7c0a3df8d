/* Topology files in both formats: what is taken, every way to be wrong with its line, and that what
 * is written is read again. */
#include "unit/unit.h"

#include "sim/subnet/topology_file.h"
#include "sim/subnet/topology_make.h"

static void expect_read(struct topology *topology, const char *text)
{
    char error[TOPOLOGY_ERROR_BYTES] = "";
    char objection[TOPOLOGY_ERROR_BYTES];
    *topology = (struct topology){0};
    bool good = topology_read_bytes("test.topo", text, strlen(text), topology, error);
    assert_string_equal(error, "");
    assert_true(good);
    assert_null(topology_objection(topology, objection));
}

static void expect_error(const char *text, const char *expected)
{
    struct topology topology = {0};
    char error[TOPOLOGY_ERROR_BYTES] = "";
    assert_false(topology_read_bytes("t", text, strlen(text), &topology, error));
    assert_string_equal(error, expected);
    assert_null(topology.nodes);
}

static void expect_cable(const struct topology *topology, const char *one, uint32_t port,
                         const char *other, uint32_t other_port, uint32_t width)
{
    uint32_t node = topology_find(topology, one);
    uint32_t peer = topology_find(topology, other);
    assert_true(node != TOPOLOGY_NONE && peer != TOPOLOGY_NONE);
    assert_int_equal(topology_port(topology, node, port)->peer_node, peer);
    assert_int_equal(topology_port(topology, node, port)->peer_port, other_port);
    assert_int_equal(topology_port(topology, node, port)->width, width);
    assert_int_equal(topology_port(topology, peer, other_port)->width, width);
}

/* Printed by ibnetdiscover of infiniband-diags 44 in a fabric of ibsim's net-examples/net. */
#define DISCOVERED                                                                        \
    "#\n"                                                                                 \
    "# Topology file: generated on Wed Nov 18 03:58:14 2026\n"                            \
    "#\n"                                                                                 \
    "# Initiated from node 0000000000100000 port 0000000000100001\n"                      \
    "\n"                                                                                  \
    "vendid=0x0\n"                                                                        \
    "devid=0x0\n"                                                                         \
    "sysimgguid=0x200001\n"                                                               \
    "switchguid=0x200001(200001)\n"                                                       \
    "Switch\t8 \"S-0000000000200001\"\t\t# \"Switch2\" base port 0 lid 3 lmc 0\n"         \
    "[3]\t\"S-0000000000200000\"[3]\t\t# \"Switch1\" lid 2 4xSDR\n"                       \
    "[4]\t\"S-0000000000200000\"[4]\t\t# \"Switch1\" lid 2 4xSDR\n"                       \
    "\n"                                                                                  \
    "vendid=0x0\n"                                                                        \
    "devid=0x0\n"                                                                         \
    "sysimgguid=0x200000\n"                                                               \
    "switchguid=0x200000(200000)\n"                                                       \
    "Switch\t8 \"S-0000000000200000\"\t\t# \"Switch1\" base port 0 lid 2 lmc 0\n"         \
    "[1]\t\"H-0000000000100000\"[1](100001) \t\t# \"Hca1\" lid 1 4xSDR\n"                 \
    "[2]\t\"H-0000000000100003\"[2](100005) \t\t# \"Hca2\" lid 4 12xDDR\n"                \
    "[3]\t\"S-0000000000200001\"[3]\t\t# \"Switch2\" lid 3 4xSDR\n"                       \
    "[4]\t\"S-0000000000200001\"[4]\t\t# \"Switch2\" lid 3 4xSDR\n"                       \
    "\n"                                                                                  \
    "vendid=0x0\n"                                                                        \
    "devid=0x0\n"                                                                         \
    "sysimgguid=0x100003\n"                                                               \
    "caguid=0x100003\n"                                                                   \
    "Ca\t2 \"H-0000000000100003\"\t\t# \"Hca2\"\n"                                        \
    "[2](100005) \t\"S-0000000000200000\"[2]\t\t# lid 4 lmc 0 \"Switch1\" lid 2 12xDDR\n" \
    "\n"                                                                                  \
    "vendid=0x0\n"                                                                        \
    "devid=0x0\n"                                                                         \
    "sysimgguid=0x100000\n"                                                               \
    "caguid=0x100000\n"                                                                   \
    "Ca\t2 \"H-0000000000100000\"\t\t# \"Hca1\"\n"                                        \
    "[1](100001) \t\"S-0000000000200000\"[1]\t\t# lid 1 lmc 0 \"Switch1\" lid 2 4xSDR\n"

static void what_ibnetdiscover_prints_is_read(void **state)
{
    (void)state;
    struct topology topology;
    expect_read(&topology, DISCOVERED);
    assert_int_equal(topology.board_count, 2);
    assert_int_equal(topology.switch_count, 2);
    assert_int_equal(topology_parts(&topology), 1);
    expect_cable(&topology, "Switch1", 3, "Switch2", 3, 4);
    expect_cable(&topology, "Switch1", 4, "Switch2", 4, 4);
    expect_cable(&topology, "Hca1", 1, "Switch1", 1, 4);
    expect_cable(&topology, "Hca2", 2, "0x200000", 2, 12);
    assert_int_equal(topology.nodes[topology_find(&topology, "Hca2")].guid, 0x100003);
    assert_int_equal(topology_port(&topology, 3, 2)->peer_node, TOPOLOGY_NONE);
    topology_free(&topology);
}

static void what_people_write_for_ibsim_is_read(void **state)
{
    (void)state;
    struct topology topology;
    expect_read(&topology, "width=1\r\n"
                           "Switch\t8 \"Switch1\"\r\n"
                           "[1]\t\"Hca1\"\r\n"
                           "[3]\t\"Switch2\"[3]  w=12 s=1\r\n"
                           "\r\n"
                           "Switch 8 \"Switch2\" # nothing\r\n"
                           "Hca 2 \"Hca1\"\r\n"
                           "[1] \"Switch1\" [1] w=4\r\n"
                           "[2] \"Switch2\" [8]\r\n"
                           "hcaguids=0x50\r\n"
                           "Hca 2 \"Hca2\"\r\n"
                           "Hca 2 \"Hca3\"\r\n"
                           "switchguid=0x90\r\n"
                           "Switch 1 \"Switch3\"\r\n"
                           "Switch 1 \"Switch4\"");
    expect_cable(&topology, "Hca1", 1, "Switch1", 1, 4);
    expect_cable(&topology, "Switch2", 3, "Switch1", 3, 12);
    expect_cable(&topology, "Hca1", 2, "Switch2", 8, 1);
    assert_true(topology.nodes[0].guid == topology_guid(TOPOLOGY_SWITCH, 0));
    assert_true(topology.nodes[1].guid == topology_guid(TOPOLOGY_SWITCH, 1));
    assert_true(topology.nodes[2].guid == topology_guid(TOPOLOGY_BOARD, 0));
    assert_int_equal(topology.nodes[3].guid, 0x50);
    assert_int_equal(topology.nodes[4].guid, 0x53);
    assert_int_equal(topology.nodes[5].guid, 0x90);
    assert_int_equal(topology.nodes[6].guid, 0x91);
    topology_free(&topology);
}

static void a_comment_names_a_node_if_it_is_the_only_one(void **state)
{
    (void)state;
    struct topology topology;
    expect_read(&topology, "Ca 1 \"a\" # \"twin\"\n"
                           "Ca 1 \"b\" # \"twin\"\n"
                           "Ca 1 \"c\" # \"a\"\n"
                           "Ca 1 \"d\" # \"node # 4\"\n"
                           "Ca 1 \"e\" # \"e\"\n"
                           "Ca 1 \"f\" # \"\"\n");
    static const char *const names[] = {"a", "b", "c", "node # 4", "e", "f"};
    for (uint32_t i = 0; i < 6; i++) {
        assert_string_equal(topology.nodes[i].name, names[i]);
    }
    topology_free(&topology);
}

static void our_own_format_is_read(void **state)
{
    (void)state;
    struct topology topology;
    expect_read(&topology, "# cables may come before their nodes\n"
                           "link left sw:1 # as this one\n"
                           "\n"
                           "  switch sw 8 4X 0x77\n"
                           "switch other 2 0x78\n"
                           "switch third 3 1X\n"
                           "board left\n"
                           "board right 2 12X\n"
                           "board far 1X 0x100\n"
                           "link right:2 sw:7 12X\n"
                           "link far third:3\n"
                           "link sw:2\tother:2\n");
    assert_int_equal(topology.node_count, 6);
    expect_cable(&topology, "left", 1, "sw", 1, 4);
    expect_cable(&topology, "right", 2, "sw", 7, 12);
    expect_cable(&topology, "far", 1, "third", 3, 1);
    expect_cable(&topology, "sw", 2, "other", 2, 4);
    assert_int_equal(topology.nodes[topology_find(&topology, "sw")].guid, 0x77);
    assert_int_equal(topology.nodes[topology_find(&topology, "far")].guid, 0x100);
    assert_int_equal(topology_port(&topology, topology_find(&topology, "right"), 1)->width, 12);
    assert_true(topology.nodes[topology_find(&topology, "third")].guid ==
                topology_guid(TOPOLOGY_SWITCH, 2));
    topology_free(&topology);
}

static void what_is_no_topology_is_refused(void **state)
{
    (void)state;
    expect_error("", "t:1: the file has no node");
    expect_error("# nothing\n\n", "t:2: the file has no node");
    expect_error("vendid=0x0\n", "t:1: the file has no node");
    expect_error("hello\n", "t:1: a node, a port or a GUID is wanted where \"hello\" stands");
    expect_error("switch a 2\nSwitch 2 \"b\"\n",
                 "t:2: switch, board or link is wanted where \"Switch 2 \"b\"\" stands");
    expect_error("Switch 2 \"a\"\nboard b\n",
                 "t:2: a node, a port or a GUID is wanted where \"board b\" stands");
    expect_error("switch a 2\nboard \x01\n", "t:2: this is no text");
    expect_error("include \"x\"\n",
                 "t:1: \"include\" is not understood: boards, switches and cables are");
    expect_error("Rt 2 \"r\"\n", "t:1: \"Rt\" is not understood: boards, switches and cables are");
}

static void wrong_nodes_are_refused(void **state)
{
    (void)state;
    expect_error("switch\n", "t:1: a node's name is missing");
    expect_error("switch a\n", "t:1: a switch's number of ports is wanted where \"\" stands");
    expect_error("switch a 4X\n", "t:1: a switch's number of ports is wanted where \"4X\" stands");
    expect_error("switch a 255\n", "t:1: a node has 1 to 254 ports");
    expect_error("Ca 0 \"a\"\n", "t:1: a node has 1 to 254 ports");
    expect_error("switch a 4 3X\n", "t:1: a width is 1X, 4X or 12X");
    expect_error("switch a 4 4\n",
                 "t:1: a width as 4X, or a GUID as 0x1234 is wanted where \"4\" stands");
    expect_error("switch a 4 4X 0x1 0x2\n", "t:1: the line's end is wanted where \"0x2\" stands");
    expect_error("board a:1\n", "t:1: a name has no ':' and no '\"'");
    expect_error("board a 0x0\n", "t:1: a GUID is not 0");
    expect_error(
        "board a 0x12345678123456789\n",
        "t:1: a number of ports, a width or a GUID is wanted where \"0x12345678123456789\" "
        "stands");
    expect_error("board a\nboard b\nboard a\n", "t:3: \"a\" is a node of line 1 already");
    expect_error("Ca 1 \"a\"\nSwitch 3 \"a\"\n", "t:2: \"a\" is a node of line 1 already");
    expect_error("board a 0x8\nswitch b 2 0x8\n",
                 "t:2: b: its GUID 0x0000000000000008 is also that of a");
    expect_error("switch b 2 0x9\nboard a 0x8\n",
                 "t:1: b: its GUID 0x0000000000000009 is that of a port of a");
    expect_error("Switch 4 sw\n", "t:1: a node's text in quotes is wanted where \"sw\" stands");
    expect_error("Switch 4 \"\"\n", "t:1: a node's name has 1 to 63 bytes");
    expect_error("Switch \"a\"\n", "t:1: the number of ports is wanted where \"\"a\"\" stands");
    expect_error("Switch 4 \"a\" b\n",
                 "t:1: the line's end or a comment is wanted where \"b\" stands");
    expect_error("caguid=0x0\n", "t:1: a GUID is not 0");
    expect_error("caguid 0x1\n", "t:1: '=' is wanted where \"0x1\" stands");
    expect_error("width=8\n", "t:1: a width is 1, 4 or 12");
    char name[128] = "board ";
    memset(name + 6, 'x', TOPOLOGY_NAME_BYTES);
    expect_error(name, "t:1: a node's name has 1 to 63 bytes");
}

static void wrong_cables_are_refused(void **state)
{
    (void)state;
#define NODES "switch s 4\nboard a\nboard b\n"
    expect_error(NODES "link a\n", "t:4: a link has two ends, as NAME:PORT");
    expect_error(NODES "link a s\n", "t:4: s has 4 ports: which one?");
    expect_error(NODES "link a s:0\n", "t:4: a port is a number from 1 to 254");
    expect_error(NODES "link a s:x\n", "t:4: a port is a number from 1 to 254");
    expect_error(NODES "link a s:5\n", "t:4: s has no port 5, but 4");
    expect_error(NODES "link a s:1 2X\n",
                 "t:4: a width 1X, 4X or 12X is wanted where \"2X\" stands");
    expect_error(NODES "link a s:1 4X 1\n", "t:4: the line's end is wanted where \"1\" stands");
    expect_error(NODES "link a c:1\n", "t:4: dangling cable: there is no node \"c\"");
    expect_error(NODES "link a s:1\nlink s:1 b\n", "t:5: s, port 1 is used by line 4 already");
    expect_error(NODES "link a s:1\nlink s:1 a\n", "t:5: s, port 1 is used by line 4 already");
    expect_error(NODES "link s:1 s:1\n", "t:4: s, port 1 is used by line 4 already");
    expect_error(NODES "board c 1X\nlink c s:1\n", "t:5: c, port 1 is 1X, and s, port 1 is 4X");
}

static void ends_that_disagree_are_refused(void **state)
{
    (void)state;
#define SWITCHES "Switch 4 \"s\"\n[1] \"t\"[2]\n[2] \"t\"[1]\n"
    expect_error("[1] \"t\"[1]\n", "t:1: a port stands before any node");
    expect_error(SWITCHES, "t:2: dangling cable: there is no node \"t\"");
    expect_error(SWITCHES "Switch 1 \"t\"\n", "t:2: t has no port 2, but 1");
    expect_error(SWITCHES "[5] \"s\"[3]\n", "t:2: dangling cable: there is no node \"t\"");
    expect_error("Switch 4 \"s\"\n[5] \"s\"[3]\n", "t:2: s has no port 5, but 4");
    expect_error("Switch 4 \"s\"\n[3] \"s\"[3]\n", "t:2: s, port 3 is at both ends");
    expect_error(SWITCHES "[1] \"t\"[3]\n\nSwitch 4 \"t\"\n",
                 "t:4: s, port 1 is used by line 2 already");
    expect_error(SWITCHES "Switch 4 \"t\"\n[2] \"s\"[3]\n",
                 "t:2: the ends of a cable disagree: t, port 2 has another neighbour in line 5");
    expect_error(SWITCHES "Switch 4 \"t\"\nCa 1 \"c\"\n[1] \"t\"[1]\n",
                 "t:6: t, port 1 is used by line 3 already");
    expect_error(SWITCHES "Switch 4 \"t\"\n[2] \"s\"[1] w=12\n[1] \"s\"[2] # 4xSDR\n[3] \"s\"[4]\n"
                          "Ca 1 \"c\"\n[1] \"t\"[4] # 8xSDR\n",
                 "t:9: a cable has 1, 4 or 12 lanes, not 8");
    expect_error("Switch 4 \"s\"\n[1] \"t\"[2] w=1\nSwitch 4 \"t\"\n[2] \"s\"[1] # 4xSDR\n",
                 "t:2: s, port 1 is 1X, and t, port 2 is 4X");
    expect_error("Switch 4 \"s\"\n[0] \"t\"[2]\n", "t:2: a port is a number from 1 to 254");
    expect_error("Switch 4 \"s\"\n[1 \"t\"[2]\n",
                 "t:2: a port as [1] is wanted where \"[1 \"t\"[2]\" stands");
    expect_error("Switch 4 \"s\"\n[1] t\n",
                 "t:2: the neighbour's text in quotes is wanted where \"t\" stands");
    expect_error("Switch 4 \"s\"\n[1] \"t\"[1] x=1\n",
                 "t:2: the line's end or a comment is wanted where \"x=1\" stands");
}

static void a_cable_may_be_listed_at_one_end(void **state)
{
    (void)state;
    struct topology topology;
    expect_read(&topology, SWITCHES "Switch 4 \"t\"\n");
    expect_cable(&topology, "s", 1, "t", 2, 4);
    expect_cable(&topology, "s", 2, "t", 1, 4);
    topology_free(&topology);
}

static void too_many_nodes_are_refused(void **state)
{
    (void)state;
    char *text = malloc((TOPOLOGY_NODES_MAX + 1) * (size_t)16);
    assert_non_null(text);
    size_t length = 0;
    for (uint32_t i = 0; i <= TOPOLOGY_NODES_MAX; i++) {
        length += (size_t)sprintf(text + length, "board %u\n", (unsigned)i);
    }
    expect_error(text, "t:49152: 49151 nodes are the most");
    *strrchr(text, 'b') = '\0';
    struct topology topology;
    expect_read(&topology, text);
    assert_int_equal(topology.node_count, TOPOLOGY_NODES_MAX);
    topology_free(&topology);
    free(text);
}

static char *written(const struct topology *topology, const struct topology_lids *lids)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    assert_non_null(file);
    topology_write(file, topology, lids);
    assert_int_equal(fclose(file), 0);
    return text;
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    static const char *const texts[] = {"ring:8x2,width=12", "torus:3x3x3,boards=2,width=1",
                                        "fat-tree:64", "random:20,switches=8", "mesh:2x1x5"};
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct topology topology;
        struct topology again;
        char error[TOPOLOGY_ERROR_BYTES];
        assert_true(topology_make(texts[i], &topology, error));
        char *text = written(&topology, NULL);
        expect_read(&again, text);
        assert_int_equal(again.node_count, topology.node_count);
        assert_int_equal(again.port_count, topology.port_count);
        assert_memory_equal(again.nodes, topology.nodes,
                            topology.node_count * sizeof *topology.nodes);
        for (uint32_t port = 0; port < topology.port_count; port++) {
            assert_int_equal(again.ports[port].peer_node, topology.ports[port].peer_node);
            assert_int_equal(again.ports[port].peer_port, topology.ports[port].peer_port);
        }
        free(text);
        topology_free(&again);
        topology_free(&topology);
    }
}

static uint16_t tens(void *context, uint32_t node, uint32_t port)
{
    (void)context;
    return (uint16_t)(10 * node + port);
}

static void it_looks_as_ibnetdiscover_prints_it(void **state)
{
    (void)state;
    struct topology topology;
    const struct topology_lids lids = {.lid = tens};
    expect_read(&topology, "switch sw 4 0x20\nboard left 0x10\nlink left sw:3\n");
    char *text = written(&topology, &lids);
    assert_string_equal(text,
                        "vendid=0x0\ndevid=0x0\nsysimgguid=0x20\nswitchguid=0x20(20)\n"
                        "Switch\t4 \"S-0000000000000020\"\t\t# \"sw\" base port 0 lid 0 lmc 0\n"
                        "[3]\t\"H-0000000000000010\"[1](11) \t\t# \"left\" lid 11 4xSDR\n"
                        "\n"
                        "vendid=0x0\ndevid=0x0\nsysimgguid=0x10\ncaguid=0x10\n"
                        "Ca\t1 \"H-0000000000000010\"\t\t# \"left\"\n"
                        "[1](11) \t\"S-0000000000000020\"[3]\t\t"
                        "# lid 11 lmc 0 \"sw\" lid 0 4xSDR\n");
    free(text);
    topology_free(&topology);
}

static void a_file_that_is_not_there_is_named(void **state)
{
    (void)state;
    struct topology topology = {0};
    char error[TOPOLOGY_ERROR_BYTES];
    assert_false(topology_read("/nowhere/a.topo", &topology, error));
    assert_string_equal(error, "cannot read /nowhere/a.topo: No such file or directory");
    assert_false(topology_read("/", &topology, error));
    assert_string_equal(error, "cannot read /: Is a directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ibnetdiscover_prints_is_read),
        cmocka_unit_test(what_people_write_for_ibsim_is_read),
        cmocka_unit_test(a_comment_names_a_node_if_it_is_the_only_one),
        cmocka_unit_test(our_own_format_is_read),
        cmocka_unit_test(what_is_no_topology_is_refused),
        cmocka_unit_test(wrong_nodes_are_refused),
        cmocka_unit_test(wrong_cables_are_refused),
        cmocka_unit_test(ends_that_disagree_are_refused),
        cmocka_unit_test(a_cable_may_be_listed_at_one_end),
        cmocka_unit_test(too_many_nodes_are_refused),
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(it_looks_as_ibnetdiscover_prints_it),
        cmocka_unit_test(a_file_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
