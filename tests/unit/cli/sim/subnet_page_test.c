/* A subnet's page: whole as HTML, whatever the shape; each direction of each cable is there with
 * its load, dead ones are dashed, and a circle is shown. */
#include "unit/unit.h"

#include <math.h>
#include <unistd.h>

#include "cli/sim/subnet_layout.h"
#include "cli/sim/subnet_page.h"
#include "sim/subnet/topology_make.h"

static char path[] = "/tmp/subnet_page_XXXXXX";
static char *text; /* of the page that was written last */

static struct subnet *open_subnet(const char *shape)
{
    struct topology topology = {0};
    struct subnet_config config;
    char error[TOPOLOGY_ERROR_BYTES];
    subnet_config_default(&config);
    assert_true(topology_make(shape, &topology, error));
    struct subnet *subnet = subnet_open(&topology, &config);
    topology_free(&topology);
    return subnet;
}

static void read_page(void)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size_t size = (size_t)ftell(file);
    rewind(file);
    free(text);
    text = calloc(size + 1, 1);
    assert_int_equal(fread(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static uint32_t count_of(const char *what)
{
    uint32_t count = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what)) {
        count++;
    }
    return count;
}

/* Every element that begins ends, in order, and numbers are numbers. */
static void expect_well_formed(void)
{
    enum { DEEP = 32 };
    char open[DEEP][16];
    unsigned depth = 0;
    for (const char *at = strchr(text, '<'); at; at = strchr(at, '<')) {
        const char *end = strchr(at, '>');
        char name[16] = "";
        assert_non_null(end);
        for (const char *inside = at + 1; inside < end; inside++) {
            assert_true(*inside != '<');
        }
        bool closes = at[1] == '/';
        (void)sscanf(at + 1 + closes, "%15[a-z0-9]", name);
        if (closes) {
            assert_true(depth > 0);
            assert_string_equal(open[--depth], name);
        } else if (at[1] != '!' && end[-1] != '/' && strcmp(name, "meta") != 0) {
            assert_true(depth < DEEP && *name);
            memcpy(open[depth++], name, sizeof name);
        }
        at = end;
    }
    assert_int_equal(depth, 0);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    assert_null(strstr(text, "://"));
    assert_null(strstr(text, "<script"));
}

static void write_page(const struct subnet *subnet, const struct load_result *result,
                       const double *busy)
{
    const struct subnet_page page = {"<Test> & \"more\"", "dimmnet sim subnet", result, busy};
    assert_true(subnet_page_write(path, subnet, &page));
    read_page();
    expect_well_formed();
}

static void expect_shape(const char *shape, enum subnet_shape expected)
{
    struct subnet *subnet = open_subnet(shape);
    struct subnet_layout layout;
    subnet_layout_make(&layout, &subnet->topology);
    if (layout.shape != expected) {
        print_error("%s: shape %d\n", shape, layout.shape);
    }
    assert_int_equal(layout.shape, expected);
    for (uint32_t i = 0; i < subnet->node_count; i++) {
        assert_true(layout.nodes[i].x >= 0 && layout.nodes[i].x <= layout.width);
        assert_true(layout.nodes[i].y >= 0 && layout.nodes[i].y <= layout.height);
        for (uint32_t j = 0; j < i && subnet->node_count < 300; j++) {
            double apart = hypot(layout.nodes[i].x - layout.nodes[j].x,
                                 layout.nodes[i].y - layout.nodes[j].y);
            if (apart < 10) {
                print_error("%s: nodes %u and %u\n", shape, i, j);
            }
            assert_true(apart >= 10);
        }
    }
    subnet_layout_free(&layout);
    write_page(subnet, NULL, NULL);
    subnet_close(subnet);
}

/* ---- Tests -------------------------------------------------------------------------------- */

static void shapes_are_seen(void **state)
{
    (void)state;
    expect_shape("switch:1", SUBNET_STAR);
    expect_shape("switch:8", SUBNET_STAR);
    expect_shape("switch:40", SUBNET_STAR);
    expect_shape("ring:3", SUBNET_RING);
    expect_shape("ring:8", SUBNET_RING);
    expect_shape("ring:64x2", SUBNET_RING);
    expect_shape("ring:2", SUBNET_GRID);
    expect_shape("torus:4x4", SUBNET_GRID);
    expect_shape("torus:2x2", SUBNET_RING);
    expect_shape("mesh:7", SUBNET_GRID);
    expect_shape("mesh:3x5,boards=4", SUBNET_GRID);
    expect_shape("torus:3x3x3", SUBNET_GRID);
    expect_shape("torus:3x3x3x3", SUBNET_NET);
    expect_shape("fat-tree:16", SUBNET_LEVELS);
    expect_shape("fat-tree:64", SUBNET_LEVELS);
    expect_shape("fat-tree:1000", SUBNET_LEVELS);
    expect_shape("random:40", SUBNET_NET);
    expect_shape("random:4000", SUBNET_NET);
}

static void each_direction_has_its_load(void **state)
{
    struct subnet *subnet = open_subnet("torus:4x4");
    double *busy = calloc(subnet->port_count, sizeof *busy);
    struct load_result result = {
        .outcome = LOAD_DONE, .offered = 0.5, .accepted = 0.25, .sent = 1234567, .mean_ns = NAN};
    uint32_t port = subnet_port_index(subnet, topology_find(&subnet->topology, "switch-3"), 3);
    (void)state;
    result.bridge.frames = 7;
    busy[port] = 0.371;
    subnet->ports[port].counters.xmit_packets = 1234;
    write_page(subnet, &result, busy);
    assert_int_equal(count_of("class=\"cable\""), 2 * (16 + 32));
    assert_int_equal(count_of("class=\"switch\""), 16);
    assert_int_equal(count_of("class=\"board\""), 16);
    assert_int_equal(count_of("% busy"), 2 * (16 + 32));
    assert_non_null(strstr(text, "switch-3, port 3 \u2192 switch-7, port 4: 37 % busy, "
                                 "1,234 packets</title>"));
    assert_non_null(strstr(text, "&lt;Test&gt; &amp; &quot;more&quot;"));
    assert_non_null(strstr(text, ">1,234,567</td>"));
    assert_int_equal(count_of("dasharray"), 0);
    /* The table names the busiest first. */
    const char *table = strstr(text, "the busiest cables");
    assert_non_null(table);
    assert_memory_equal(strstr(table, "<td>"), "<td>switch-3, port 3</td>", 25);
    free(busy);
    subnet_close(subnet);
}

static void what_is_dead_is_dashed(void **state)
{
    struct subnet *subnet = open_subnet("ring:8");
    double *busy = calloc(subnet->port_count, sizeof *busy);
    uint32_t node = topology_find(&subnet->topology, "switch-5");
    (void)state;
    subnet_cable_set(subnet, subnet_port_index(subnet, node, 1), false);
    write_page(subnet, NULL, busy);
    assert_int_equal(count_of("stroke-dasharray=\"4 4\""), 2);
    assert_non_null(strstr(text, "switch-5, port 1 \u2192 switch-6, port 2: dead</title>"));
    subnet_node_set(subnet, node, false);
    write_page(subnet, NULL, busy);
    assert_int_equal(count_of("stroke-dasharray=\"4 4\""), 6);
    assert_non_null(strstr(text, "<title>switch-5: dead</title>"));
    free(busy);
    subnet_close(subnet);
}

/* Ports are found by their names, and an end that was cut off does no harm. */
static void a_circle_is_shown(void **state)
{
    struct subnet *subnet = open_subnet("ring:4");
    double *busy = calloc(subnet->port_count, sizeof *busy);
    static struct load_result result = {.outcome = LOAD_DEADLOCKED};
    (void)state;
    (void)snprintf(result.circle, sizeof result.circle,
                   "switch-0, port 1 VL 0 (to LID 3) waits for switch-1, port 1 VL 0 (to LID 4) "
                   "waits for switch-2, port 1 VL 0 (to LID 1) waits for no-such, port 1 VL 0 "
                   "waits for switch-3, port 99 VL 0 waits for switch-3, po");
    write_page(subnet, &result, busy);
    assert_int_equal(count_of("class=\"circle\""), 3);
    assert_int_equal(count_of(", in the circle</title>"), 3);
    assert_non_null(strstr(text, "<h2>Deadlock</h2>"));
    assert_non_null(strstr(text,
                           "switch-2, port 1 \u2192 switch-3, port 2: 0 % busy, 0 packets, in "
                           "the circle"));
    free(busy);
    subnet_close(subnet);
}

static void a_path_that_is_none_is_told(void **state)
{
    struct subnet *subnet = open_subnet("switch:2");
    const struct subnet_page page = {"a", "b", NULL, NULL};
    (void)state;
    assert_false(subnet_page_write("/no/such/folder/page.html", subnet, &page));
    subnet_close(subnet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_seen),
        cmocka_unit_test(each_direction_has_its_load),
        cmocka_unit_test(what_is_dead_is_dashed),
        cmocka_unit_test(a_circle_is_shown),
        cmocka_unit_test(a_path_that_is_none_is_told),
    };
    int file = mkstemp(path);
    if (file < 0) {
        return 1;
    }
    (void)close(file);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(path);
    free(text);
    return failed;
}
