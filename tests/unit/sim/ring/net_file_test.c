/* Network files: values, settings, and every way to be wrong, with its line. */
#include "unit/unit.h"

#include "sim/ring/net_file.h"

static bool load_text(struct net_file *file, const char *text, const char *setting,
                      char error[NET_ERROR_BYTES])
{
    return net_file_load_bytes(file, "folder/test.ini", text, strlen(text), &setting,
                               setting != NULL, error);
}

static void expect_loaded(struct net_file *file, const char *text, const char *setting)
{
    char error[NET_ERROR_BYTES] = "";
    bool loaded = load_text(file, text, setting, error);
    assert_string_equal(error, "");
    assert_true(loaded);
}

static void expect_error(const char *text, const char *setting, const char *expected)
{
    struct net_file file;
    char error[NET_ERROR_BYTES] = "";
    assert_false(load_text(&file, text, setting, error));
    assert_string_equal(error, expected);
}

#define RING "[network]\nshape = ring\nwidth = 8\n"

static void what_is_not_said_is_the_boards(void **state)
{
    (void)state;
    struct net_file file;
    struct net_config board;
    struct net_traffic_config traffic;
    struct net_measure_config measure;
    net_config_default(&board, 24);
    net_traffic_config_default(&traffic);
    net_measure_config_default(&measure, 24);
    expect_loaded(&file, "[network]\nwidth = 24\n", NULL);
    assert_memory_equal(&file.experiment.network, &board, sizeof board);
    assert_memory_equal(&file.experiment.traffic, &traffic, sizeof traffic);
    assert_memory_equal(&file.experiment.measure, &measure, sizeof measure);
    assert_string_equal(file.name, "test");
    net_measure_config_default(&measure, 6);
    expect_loaded(&file, "[network]\nshape = mesh\nwidth = 2\nheight = 3\n", NULL);
    assert_memory_equal(&file.experiment.measure, &measure, sizeof measure);
}

static void values_are_taken(void **state)
{
    (void)state;
    struct net_file file;
    expect_loaded(&file,
                  "[network]\n"
                  "text = what it is | with a bar\n"
                  "shape = torus\n"
                  "width = 4 | because\n"
                  "height = 6\n"
                  "vcs = 8\n"
                  "clock_mhz = 62.5 | paper 003\n"
                  "[delays]\n"
                  "link_cycles = 9\n"
                  "[errors]\n"
                  "bit_error_rate = 1e-6\n"
                  "rules = literal\n"
                  "outage = 0 1 100 200\n"
                  "outage = 5 1 10 20 | up and down\n"
                  "[traffic]\n"
                  "pattern = hot-spot\n"
                  "hot_node = 23\n"
                  "hot_share = .25\n"
                  "rate = 0.125\n"
                  "[measure]\n"
                  "cycles = 1000\n",
                  NULL);
    const struct net_experiment *experiment = &file.experiment;
    assert_string_equal(file.text, "what it is | with a bar");
    assert_int_equal(experiment->network.shape, NET_TORUS);
    assert_int_equal(experiment->network.width, 4);
    assert_int_equal(experiment->network.height, 6);
    assert_int_equal(experiment->network.vcs, 8);
    assert_int_equal(experiment->network.clock_khz, 62500);
    assert_int_equal(experiment->network.link_cycles, 9);
    assert_true(experiment->network.bit_error_rate == 1e-6);
    assert_true(experiment->network.literal_rules);
    assert_int_equal(experiment->outage_count, 2);
    assert_int_equal(experiment->outages[1].from, 5);
    assert_int_equal(experiment->outages[1].return_cycle, 20);
    assert_int_equal(experiment->traffic.pattern, NET_HOT_SPOT);
    assert_int_equal(experiment->traffic.hot_node, 23);
    assert_true(experiment->traffic.hot_share == 0.25);
    assert_true(experiment->traffic.rate == 0.125);
    assert_int_equal(experiment->measure.cycles, 1000);
}

static void a_mesh_has_its_own_routing(void **state)
{
    (void)state;
    struct net_file file;
    expect_loaded(&file, "[network]\nshape = mesh\nwidth = 3\nheight = 3\n", NULL);
    assert_int_equal(file.experiment.network.routing, NET_DIMENSION);
}

static void settings_change_what_the_file_says(void **state)
{
    (void)state;
    struct net_file file;
    expect_loaded(&file, RING, "network.width=16");
    assert_int_equal(file.experiment.network.width, 16);
    expect_loaded(&file, RING "[traffic]\npattern = trace\ntrace = a.txt\n", NULL);
    assert_string_equal(file.experiment.traffic.trace, "folder/a.txt");
    expect_loaded(&file, RING "[traffic]\npattern = trace\n", "traffic.trace=a.txt");
    assert_string_equal(file.experiment.traffic.trace, "a.txt");
    expect_error(RING, "network.width", "--set network.width: it is not section.key=value");
    expect_error(RING, "width=9", "--set width=9: it is not section.key=value");
    expect_error(RING, "network.colour=9", "--set network.colour=9: there is no such key");
    expect_error(RING, "network.width=x",
                 "--set network.width: \"x\" is no whole number from 1 to 16384");
    expect_error(RING, "network.vcs=3",
                 "--set: [network] vcs: 3 channels cannot be shared equally by 2 virtual networks");
}

static void mistakes_name_file_line_and_key(void **state)
{
    (void)state;
#define AT "folder/test.ini:"
    expect_error("[network]\nwidth = many\n", NULL,
                 AT "2: [network] width: \"many\" is no whole number from 1 to 16384");
    expect_error("[network]\nshape = star\n", NULL,
                 AT "2: [network] shape: \"star\" is none of ring mesh torus");
    expect_error(RING "colour = red\n", NULL, AT "4: [network] has no key \"colour\"");
    expect_error(RING "[colours]\n", NULL, AT "4: there is no section [colours]");
    expect_error("width = 8\n", NULL, AT "1: \"width\" stands before any section");
    expect_error(RING "width = 9\n", NULL, AT "4: [network] width: it is already said in line 3");
    expect_error(RING "text = a\ntext = b\n", NULL,
                 AT "5: [network] text: it is already said in line 4");
    expect_error(RING "nonsense\n", NULL,
                 AT "4: this is neither a [section] nor key = value | source");
    expect_error(RING "buffer_flits = 0\n", NULL,
                 AT "4: [network] buffer_flits: is 0, a channel holds 1 to 32768 flits");
    expect_error(RING "[traffic]\nrate = 1.5\n", NULL,
                 AT "5: [traffic] rate: \"1.5\" is no number from 0 to 1");
    expect_error(RING "[traffic]\nrate = nan\n", NULL,
                 AT "5: [traffic] rate: \"nan\" is no number from 0 to 1");
    expect_error(RING "[traffic]\npattern = transpose\n", NULL,
                 AT "5: [traffic] pattern: transpose needs a square number of nodes, not 8");
    expect_error(RING "[traffic]\npattern = multicast\nmembers = 9\n", NULL,
                 AT "6: [traffic] members: a group has 2 to 8 of the nodes, not 9");
    expect_error(RING "[traffic]\npattern = hot-spot\nhot_node = 8\n", NULL,
                 AT "6: [traffic] hot_node: there is no node 8 among 8");
    expect_error(RING "[errors]\noutage = 0 1 9\n", NULL,
                 AT "5: [errors] outage: \"0 1 9\" is not: from to cycle later-cycle");
    expect_error(RING "[errors]\noutage = 0 1 9 8\n", NULL,
                 AT "5: [errors] outage: \"0 1 9 8\" is not: from to cycle later-cycle");
    expect_error(RING "[errors]\noutage = 0 2 9 10\n", NULL,
                 "folder/test.ini: [errors] outage: there is no link from 0 to 2");
    expect_error(RING "[measure]\nbatches = 9\nbatches_most = 8\n", NULL,
                 AT "6: [measure] batches_most: 8 are less than batches, 9");
    expect_error(RING "[traffic]\nreply_flits = 4\nnetworks = 2\n", NULL,
                 AT "6: [traffic] networks: is 2, but with replies all requests are in the first");
    expect_error(RING "virtual_networks = 1\n[traffic]\nreply_flits = 4\n", NULL,
                 AT "6: [traffic] reply_flits: replies need a second virtual network");
    expect_error(RING "[port]\nframe_bits = 30\n", NULL,
                 AT "5: [port] frame_bits: is 30, a line is 80 bits in whole frames");
    expect_error("[network]\nwidth = 16384\nheight = 2\n", NULL,
                 AT "2: [network] width: 32768 nodes; it has 2 to 16384");
}

static void count_key(void *context, const struct net_key_value *value)
{
    assert_true(*value->help != '\0');
    *(unsigned *)context += strcmp(value->key, "trace") == 0 || *value->value != '\0';
}

/* A mode brings its frames, wherever it stands; they can be changed. */
static void the_port_has_the_frames_of_its_mode(void **state)
{
    (void)state;
    struct net_file file;
    expect_loaded(&file, RING, NULL);
    assert_int_equal(file.experiment.network.swif, NET_SW2B);
    assert_int_equal(file.experiment.network.port_frame_bits, 80);
    assert_int_equal(file.experiment.network.port_frame_khz, 31250);
    expect_loaded(&file, RING "[traffic]\nrate = 0.1\n[port]\nmode = oip\n", NULL);
    assert_int_equal(file.experiment.network.swif, NET_OIP);
    assert_int_equal(file.experiment.network.port_frame_bits, 40);
    assert_int_equal(file.experiment.network.port_frame_khz, 62500);
    expect_loaded(&file, RING "[port]\nframe_mhz = 50\nmode = sw2a\n", NULL);
    assert_int_equal(file.experiment.network.port_frame_bits, 80);
    assert_int_equal(file.experiment.network.port_frame_khz, 50000);
}

static void every_key_is_shown(void **state)
{
    (void)state;
    struct net_file file;
    unsigned count = 0;
    expect_loaded(&file, RING, NULL);
    net_file_each(&file.experiment, count_key, &count);
    assert_true(count > 40);
}

static void a_missing_file_is_said(void **state)
{
    (void)state;
    struct net_file file;
    char error[NET_ERROR_BYTES];
    assert_false(net_file_load(&file, "/nowhere/at/all.ini", NULL, 0, error));
    assert_string_equal(error, "cannot read /nowhere/at/all.ini: No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_said_is_the_boards),
        cmocka_unit_test(values_are_taken),
        cmocka_unit_test(a_mesh_has_its_own_routing),
        cmocka_unit_test(settings_change_what_the_file_says),
        cmocka_unit_test(mistakes_name_file_line_and_key),
        cmocka_unit_test(the_port_has_the_frames_of_its_mode),
        cmocka_unit_test(every_key_is_shown),
        cmocka_unit_test(a_missing_file_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
