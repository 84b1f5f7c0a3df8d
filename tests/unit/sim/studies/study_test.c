/* Studies: the tree of groups of eight, points and rows, and rows that are the same each time
 * they are simulated. */
#include "unit/unit.h"

#include "sim/studies/study.h"
#include "sim/studies/tree.h"
#include "wire/packet.h"

static struct sim_machine machine;

static struct sim_study_choice choose(const struct sim_study *study, const char *name,
                                      uint32_t nodes_max)
{
    char error[SIM_ERROR_BYTES];
    bool loaded = sim_machine_load(&machine, name, error);
    if (!loaded) {
        print_error("%s\n", error);
    }
    assert_true(loaded);
    return (struct sim_study_choice){study, &machine, nodes_max, SIM_SWITCH_TREE};
}

/* ---- The tree ------------------------------------------------------------------------------ */

static void levels_are_the_logarithm_rounded_up(void **state)
{
    (void)state;
    assert_int_equal(sim_tree_levels(1), 0);
    assert_int_equal(sim_tree_levels(2), 1);
    assert_int_equal(sim_tree_levels(8), 1);
    assert_int_equal(sim_tree_levels(9), 2);
    assert_int_equal(sim_tree_levels(64), 2);
    assert_int_equal(sim_tree_levels(65), 3);
    assert_int_equal(sim_tree_levels(WIRE_NODES_MAX), 6);
}

/* Every node except node 0 is the child of exactly one parent, in the place that it knows. */
static void every_node_has_one_parent(void **state)
{
    static const uint32_t counts[] = {1, 2, 7, 8, 9, 63, 64, 65, 513, 5000, WIRE_NODES_MAX};
    static uint8_t found[WIRE_NODES_MAX];
    (void)state;
    for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        uint32_t count = counts[i];
        memset(found, 0, sizeof found);
        for (uint32_t parent = 0; parent < count; parent++) {
            uint32_t levels = sim_tree_parent_levels(count, parent);
            for (uint32_t level = 1; level <= levels; level++) {
                uint32_t children = sim_tree_children(count, parent, level);
                assert_true(children < SIM_TREE_ARITY);
                for (uint32_t place = 1; place <= children; place++) {
                    uint32_t child = sim_tree_child(parent, level, place);
                    assert_true(child < count);
                    assert_int_equal(sim_tree_parent(child), parent);
                    assert_int_equal(sim_tree_place(child), place);
                    assert_int_equal(sim_tree_parent_levels(count, child) + 1, level);
                    found[child]++;
                }
            }
        }
        assert_int_equal(found[0], 0);
        for (uint32_t node = 1; node < count; node++) {
            assert_int_equal(found[node], 1);
        }
    }
}

/* ---- Points and rows ----------------------------------------------------------------------- */

static void studies_are_found_by_name(void **state)
{
    (void)state;
    for (unsigned i = 0; sim_study_at(i); i++) {
        assert_ptr_equal(sim_study_find(sim_study_at(i)->name), sim_study_at(i));
        assert_true(sim_study_at(i)->column_count <= SIM_STUDY_COLUMNS_MAX);
    }
    assert_null(sim_study_find("no such study"));
}

static void no_point_has_more_nodes_than_wanted(void **state)
{
    static const uint32_t limits[] = {2, 3, 100, 17, 65533, WIRE_NODES_MAX};
    struct sim_study_point points[SIM_STUDY_POINTS_MAX];
    (void)state;
    for (unsigned i = 0; sim_study_at(i); i++) {
        const struct sim_study *study = sim_study_at(i);
        for (unsigned j = 0; j < sizeof limits / sizeof limits[0]; j++) {
            struct sim_study_choice choice = choose(study, study->machine, limits[j]);
            unsigned count = study->list(&choice, points);
            uint32_t most = 0;
            assert_true(count <= SIM_STUDY_POINTS_MAX);
            for (unsigned k = 0; k < count; k++) {
                assert_in_range(points[k].nodes, 2, limits[j]);
                most = points[k].nodes > most ? points[k].nodes : most;
            }
            if (strcmp(study->name, "barrier") == 0 && limits[j] == WIRE_NODES_MAX) {
                assert_int_equal(most, WIRE_NODES_MAX);
                assert_int_equal(points[0].nodes, 2);
            }
            sim_machine_free(&machine);
        }
    }
}

/* Expects the head and the row, written one after the other. */
static void expect_text(const struct sim_study *study, const struct sim_study_row *row,
                        enum sim_study_format format, const char *expected)
{
    char text[256] = "";
    FILE *file = fmemopen(text, sizeof text, "w");
    assert_non_null(file);
    sim_study_write_head(study, format, file);
    sim_study_write_row(study, row, format, file);
    assert_int_equal(fclose(file), 0);
    assert_string_equal(text, expected);
}

static void rows_are_text(void **state)
{
    static const struct sim_study_column columns[] = {
        {"nodes", 6, 0, ""}, {"kind", 6, -1, ""}, {"ns", 8, 2, ""}, {"ratio", 5, 3, ""}};
    struct sim_study study = {.columns = columns, .column_count = 4};
    const struct sim_study_row row = {.values = {{.is_there = true, .number = 64},
                                                 {.is_there = true, .text = "nic"},
                                                 {.is_there = true, .number = 12.345},
                                                 {.is_there = false}}};
    (void)state;
    expect_text(&study, &row, SIM_STUDY_TABLE,
                " nodes  kind          ns  ratio\n"
                "    64  nic        12.35      -\n");
    expect_text(&study, &row, SIM_STUDY_CSV, "nodes,kind,ns,ratio\n64,nic,12.35,\n");
    expect_text(&study, &row, SIM_STUDY_JSON,
                "{\"nodes\":64,\"kind\":\"nic\",\"ns\":12.35,\"ratio\":null}\n");
    study.column_count = 2;
    expect_text(&study, &row, SIM_STUDY_TABLE, " nodes  kind\n    64  nic\n");
}

/* ---- Simulated ------------------------------------------------------------------------------ */

enum { NS_COLUMN = 3 };

static void run_point(const struct sim_study *study, const struct sim_study_choice *choice,
                      const struct sim_study_point *point, struct sim_study_row *row)
{
    memset(row, 0, sizeof *row);
    study->run(choice, point, row);
    if (row->error[0]) {
        print_error("%s, %u nodes, variant %u: %s\n", study->name, point->nodes, point->variant,
                    row->error);
    }
    assert_string_equal(row->error, "");
}

/* Emulated, these would take minutes. */
static void skip_if_emulated(void)
{
    if (getenv("DN_TEST_EMULATED")) {
        skip();
    }
}

/* Some points of each study, from its first to its last ones. */
static void a_point_gives_the_same_row_each_time(void **state)
{
    enum { POINTS_TRIED = 6 };
    struct sim_study_point points[SIM_STUDY_POINTS_MAX];
    struct sim_study_row first;
    struct sim_study_row second;
    (void)state;
    skip_if_emulated();
    for (unsigned i = 0; sim_study_at(i); i++) {
        const struct sim_study *study = sim_study_at(i);
        /* These take longer. */
        bool is_slow = strcmp(study->name, "ring") == 0 || strcmp(study->name, "message") == 0 ||
                       strcmp(study->name, "subnet") == 0;
        bool is_next = strcmp(study->name, "multicast") == 0;
        struct sim_study_choice choice = choose(study, study->machine,
                                                is_slow   ? 8
                                                : is_next ? 16
                                                          : 70);
        unsigned count = study->list(&choice, points);
        assert_true(count > 0);
        unsigned stride = (count + POINTS_TRIED - 1) / POINTS_TRIED;
        for (unsigned k = 0; k < count; k += stride) {
            run_point(study, &choice, &points[k], &first);
            run_point(study, &choice, &points[k], &second);
            assert_memory_equal(&first, &second, sizeof first);
        }
        sim_machine_free(&machine);
    }
}

/* Sizes at which groups are full, have one member, or lack all but one; each variant. The row has
 * an error if a team leaves early or adds wrongly. */
static void teams_of_any_size_meet(void **state)
{
    static const uint32_t sizes[] = {2, 3, 7, 8, 9, 10, 57, 63, 64, 65, 66, 73, 128, 513, 600};
    static const struct {
        const char *name;
        unsigned variants;
    } studies[] = {{"barrier", 4}, {"sum", 2}};
    struct sim_study_row row;
    (void)state;
    for (unsigned i = 0; i < sizeof studies / sizeof studies[0]; i++) {
        const struct sim_study *study = sim_study_find(studies[i].name);
        struct sim_study_choice choice = choose(study, study->machine, WIRE_NODES_MAX);
        for (unsigned j = 0; j < sizeof sizes / sizeof sizes[0]; j++) {
            for (unsigned variant = 0; variant < studies[i].variants; variant++) {
                struct sim_study_point point = {.nodes = sizes[j], .variant = variant};
                run_point(study, &choice, &point, &row);
                assert_true(row.values[NS_COLUMN].is_there);
                assert_true(row.values[NS_COLUMN].number > 1000);
            }
        }
        sim_machine_free(&machine);
    }
}

static double column(const struct sim_study *study, const struct sim_study_row *row,
                     const char *name)
{
    unsigned i = 0;
    while (strcmp(study->columns[i].name, name) != 0) {
        i++;
        assert_true(i < study->column_count);
    }
    assert_true(row->values[i].is_there);
    return row->values[i].number;
}

/* Up to 22 boards each node has what its port carries, 250 MB/s. A larger ring with twice as many
 * nodes carries no more; each node gets half of it, and waits longer. */
static void a_larger_ring_carries_no_more(void **state)
{
    const struct sim_study *study = sim_study_find("ring");
    struct sim_study_choice choice = choose(study, study->machine, 64);
    struct sim_study_row rows[4];
    (void)state;
    skip_if_emulated();
    for (unsigned i = 0; i < 4; i++) {
        run_point(study, &choice, &(struct sim_study_point){.nodes = 8u << i}, &rows[i]);
        assert_true(column(study, &rows[i], "of_bound") > 0.95);
        assert_true(column(study, &rows[i], "half_ns") > column(study, &rows[i], "empty_ns"));
        assert_true(i == 0 ||
                    column(study, &rows[i], "empty_ns") > column(study, &rows[i - 1], "empty_ns"));
    }
    assert_in_range(column(study, &rows[0], "node_mb_per_s"), 238, 250);
    assert_in_range(column(study, &rows[1], "node_mb_per_s"), 238, 250);
    assert_true(column(study, &rows[3], "saturation") <
                0.6 * column(study, &rows[2], "saturation"));
    sim_machine_free(&machine);
}

/* One packet round the ring takes all of its links, whichever nodes get it. */
static void multicast_takes_the_ring_once(void **state)
{
    const struct sim_study *study = sim_study_find("multicast");
    struct sim_study_choice choice = choose(study, study->machine, 16);
    struct sim_study_point points[SIM_STUDY_POINTS_MAX];
    struct sim_study_row tables, unicast;
    (void)state;
    unsigned count = study->list(&choice, points);
    assert_int_equal(count, 8);
    run_point(study, &choice, &points[6], &tables);
    run_point(study, &choice, &points[7], &unicast);
    assert_true(column(study, &tables, "links") > 15 && column(study, &tables, "links") < 17);
    assert_true(column(study, &unicast, "links") > 55 && column(study, &unicast, "links") < 70);
    /* All 16 nodes' messages pass each port: 24 cycles each are 162.8 in a millisecond. */
    assert_in_range(column(study, &tables, "per_ms"), 150, 175);
    assert_true(column(study, &tables, "per_ms") > 1.15 * column(study, &unicast, "per_ms"));
    sim_machine_free(&machine);
}

/* ---- Bridges ------------------------------------------------------------------------------- */

/* The row of a point that has these lines and no errors, with packets of 256 bytes. */
static void run_bridge(uint32_t lines, struct sim_study_row *row)
{
    const struct sim_study *study = sim_study_find("bridge");
    struct sim_study_choice choice = choose(study, study->machine, 8);
    struct sim_study_point points[SIM_STUDY_POINTS_MAX];
    enum { LENGTHS = 9, SIZE = 1 };
    static const uint32_t lengths[LENGTHS] = {1, 2, 4, 8, 16, 32, 64, 128, 254};
    unsigned count = study->list(&choice, points);
    for (unsigned i = 0; i < count; i++) {
        if (points[i].variant / LENGTHS == SIZE && lengths[points[i].variant % LENGTHS] == lines) {
            run_point(study, &choice, &points[i], row);
            assert_int_equal((uint32_t)column(study, row, "frame_lines"), lines);
            assert_int_equal((uint32_t)column(study, row, "bytes"), 256);
            sim_machine_free(&machine);
            return;
        }
    }
    fail();
}

/* Long frames wait at both ends, and those of one line are more than a cable carries. */
static void frames_of_a_few_lines_are_best(void **state)
{
    const struct sim_study *study = sim_study_find("bridge");
    struct sim_study_row one, eight, all;
    (void)state;
    run_bridge(1, &one);
    run_bridge(8, &eight);
    run_bridge(64, &all);
    assert_true(column(study, &eight, "mean_ns") < 0.8 * column(study, &all, "mean_ns"));
    assert_true(column(study, &eight, "mean_ns") < 0.5 * column(study, &one, "mean_ns"));
    assert_true(column(study, &one, "most_mb_per_s") < 180);
    assert_in_range(column(study, &eight, "most_mb_per_s"), 230, 243);
    assert_in_range(column(study, &all, "most_mb_per_s"), 230, 243);
    assert_int_equal(column(study, &eight, "resent"), 0);
    /* 33 lines of 32 ns, in at one end and out at the other at the same time but for a frame. */
    assert_in_range(column(study, &eight, "empty_ns"), 1056 + 8 * 32, 1056 + 16 * 32 + 400);
}

/* With 4 boards the ring is the quicker one, with 16 the switches are. */
static void switches_overtake_the_ring(void **state)
{
    const struct sim_study *study = sim_study_find("subnet");
    struct sim_study_choice choice = choose(study, study->machine, 16);
    struct sim_study_point points[SIM_STUDY_POINTS_MAX];
    struct sim_study_row rows[7];
    (void)state;
    skip_if_emulated();
    assert_int_equal(study->list(&choice, points), 7);
    for (unsigned i = 0; i < 7; i++) {
        run_point(study, &choice, &points[i], &rows[i]);
        assert_true(column(study, &rows[i], "most_mb_per_s") > 200);
        assert_true(column(study, &rows[i], "most_mb_per_s") < 250);
        assert_true(column(study, &rows[i], "quarter_ns") > column(study, &rows[i], "empty_ns"));
    }
    assert_true(column(study, &rows[0], "empty_ns") < column(study, &rows[1], "empty_ns"));
    assert_true(column(study, &rows[2], "empty_ns") > column(study, &rows[3], "empty_ns"));
    assert_string_equal(rows[5].values[1].text, "thin tree");
    assert_int_equal(column(study, &rows[5], "switches"), 4);
    assert_int_equal(column(study, &rows[6], "switches"), 8);
    assert_true(column(study, &rows[6], "empty_ns") < 0.9 * column(study, &rows[4], "empty_ns"));
    sim_machine_free(&machine);
}

/* Paper 000, Table 7: two nodes of environment D meet in 2,075 ns. Through a switch it takes longer
 * by at least the switch's transit and another cable. */
static void two_nodes_take_what_the_paper_measured(void **state)
{
    const struct sim_study *study = sim_study_find("barrier");
    struct sim_study_choice choice = choose(study, "dimmnet1-D", 2);
    struct sim_study_point point = {.nodes = 2};
    struct sim_study_row row;
    (void)state;
    run_point(study, &choice, &point, &row);
    double switched_ns = row.values[NS_COLUMN].number;
    double ways_ns = 2.0 * (double)(machine.switch_transit + machine.link_wire) / 1000;
    assert_in_range((uint64_t)(switched_ns - ways_ns), 2075 * 9 / 10, 2075 * 11 / 10);
    sim_machine_free(&machine);
}

/* ---- Core processors ----------------------------------------------------------------------- */

static double corepu(const struct sim_study *study, const struct sim_study_choice *choice,
                     const char *service, const char *by, const char *name)
{
    struct sim_study_point points[SIM_STUDY_POINTS_MAX];
    struct sim_study_row row;
    unsigned count = study->list(choice, points);
    for (unsigned i = 0; i < count; i++) {
        if (points[i].nodes != choice->nodes_max) {
            continue;
        }
        run_point(study, choice, &points[i], &row);
        if (strcmp(row.values[1].text, service) == 0 && strcmp(row.values[2].text, by) == 0) {
            return column(study, &row, name);
        }
    }
    fail();
    return 0;
}

/* With hosts that wait, a program on the core processor is about as quick as on the host, and
 * handlers of interrupts are not; floating point is what it cannot do. With hosts that compute, a
 * lock whose manager is one of them takes far longer. */
static void the_core_processor_helps_hosts_that_compute(void **state)
{
    const struct sim_study *study = sim_study_find("corepu");
    struct sim_study_choice choice = choose(study, study->machine, 8);
    (void)state;
    double host_ns = corepu(study, &choice, "barrier", "host", "ns");
    double core_ns = corepu(study, &choice, "barrier", "core", "ns");
    double nic_ns = corepu(study, &choice, "barrier", "nic", "ns");
    assert_true(core_ns > 0.9 * host_ns && core_ns < 1.2 * host_ns);
    assert_true(nic_ns > 2 * host_ns);
    assert_true(corepu(study, &choice, "sum float", "core", "ns") >
                2 * corepu(study, &choice, "sum float", "host", "ns"));
    assert_true(corepu(study, &choice, "lock", "host", "busy_ns") >
                3 * corepu(study, &choice, "lock", "core", "busy_ns"));
    assert_true(corepu(study, &choice, "barrier", "core", "host_ns") <
                corepu(study, &choice, "barrier", "host", "host_ns"));
    sim_machine_free(&machine);
}

/* ---- Loss ---------------------------------------------------------------------------------- */

/* The figures of the machine's stop-and-wait, go-back-N and selective repeat. */
static void run_loss(uint32_t loss_ppm, struct sim_study_row rows[3])
{
    const struct sim_study *study = sim_study_find("loss");
    struct sim_study_choice choice = choose(study, study->machine, 2);
    struct sim_study_point points[SIM_STUDY_POINTS_MAX];
    unsigned count = study->list(&choice, points);
    unsigned found = 0;
    for (unsigned i = 0; i < count; i++) {
        if (points[i].loss_ppm == loss_ppm) {
            assert_true(found < 3);
            run_point(study, &choice, &points[i], &rows[found++]);
        }
    }
    assert_int_equal(found, 3);
    sim_machine_free(&machine);
}

/* Where nothing gets lost, go-back-N is as good as selective repeat, and both are twice as good as
 * stop-and-wait. Where one packet of a hundred does, go-back-N sends several again for it. */
static void losses_cost_go_back_n_more_than_selective_repeat(void **state)
{
    enum { STOP_AND_WAIT, GO_BACK_N, SELECTIVE };
    const struct sim_study *study = sim_study_find("loss");
    struct sim_study_row rows[3];
    (void)state;
    run_loss(0, rows);
    assert_true(column(study, &rows[GO_BACK_N], "mb_per_s") ==
                column(study, &rows[SELECTIVE], "mb_per_s"));
    assert_true(column(study, &rows[STOP_AND_WAIT], "share") < 0.5);
    run_loss(10000, rows);
    assert_true(column(study, &rows[GO_BACK_N], "resent_per_loss") >
                2 * column(study, &rows[SELECTIVE], "resent_per_loss"));
    assert_true(column(study, &rows[STOP_AND_WAIT], "mb_per_s") <
                column(study, &rows[GO_BACK_N], "mb_per_s"));
    assert_true(column(study, &rows[GO_BACK_N], "mb_per_s") <
                column(study, &rows[SELECTIVE], "mb_per_s"));
    assert_true(column(study, &rows[SELECTIVE], "share") < 1);
}

/* Runs points on the machine as it is now, and gives how many fail. All that do say this. */
static unsigned failures(const struct sim_study_choice *choice, unsigned first, unsigned count,
                         const char *text)
{
    struct sim_study_point points[SIM_STUDY_POINTS_MAX];
    unsigned found = 0;
    assert_true(first + count <= choice->study->list(choice, points));
    for (unsigned i = first; i < first + count; i++) {
        struct sim_study_row row = {0};
        choice->study->run(choice, &points[i], &row);
        if (row.error[0]) {
            assert_non_null(strstr(row.error, text));
            found++;
        }
    }
    return found;
}

/* ---- Transports ---------------------------------------------------------------------------- */

/* With more peers than contexts: RC keeps all of them and pays for fetching; CD keeps few, and a
 * stub of 32 bytes for each peer, and pays with stop-and-wait; RD sends one message at a time; UD
 * keeps nothing. The contexts that CD is said to keep are those that it finds again. */
static void services_differ_in_state_and_rate(void **state)
{
    const struct sim_study *study = sim_study_find("transports");
    struct sim_study_choice choice = choose(study, study->machine, 1025);
    struct sim_study_point points[SIM_STUDY_POINTS_MAX];
    struct sim_study_row ud, cd, rc, rd;
    (void)state;
    unsigned count = study->list(&choice, points);
    assert_int_equal(count, 12);
    run_point(study, &choice, &points[8], &ud);
    run_point(study, &choice, &points[9], &cd);
    run_point(study, &choice, &points[10], &rc);
    run_point(study, &choice, &points[11], &rd);
    assert_int_equal((int)column(study, &ud, "state"), 0);
    assert_int_equal((int)column(study, &cd, "state"), 256);
    assert_int_equal((int)column(study, &rc, "state"), 1024);
    assert_int_equal((int)column(study, &rd, "state"), 1024);
    assert_true(column(study, &cd, "hit_share") > 0.9 * 256 / 1024);
    assert_true(column(study, &cd, "hit_share") < 1.1 * 256 / 1024);
    assert_int_equal((int)column(study, &cd, "stubs"), 1024);
    assert_int_equal((int)column(study, &rc, "stubs"), 0);
    assert_true(column(study, &ud, "state_kb") == 0);
    assert_true(column(study, &cd, "state_kb") == 64 + 32);
    assert_true(column(study, &rc, "state_kb") == 256);
    assert_true(column(study, &rd, "state_kb") == 256);
    assert_true(column(study, &ud, "latency_ns") < column(study, &cd, "latency_ns"));
    assert_true(column(study, &cd, "latency_ns") < column(study, &rc, "latency_ns"));
    assert_true(column(study, &rc, "latency_ns") == column(study, &rd, "latency_ns"));
    assert_true(column(study, &cd, "stop_and_wait_share") > 0.5);
    assert_true(column(study, &rc, "stop_and_wait_share") < 0.05);
    assert_true(column(study, &rd, "mops") < 0.2 * column(study, &rc, "mops"));
    sim_machine_free(&machine);
}

/* ---- Users --------------------------------------------------------------------------------- */

/* All points, each simulated once. */
static const struct sim_study_row *users_rows(const struct sim_study *study, unsigned *count)
{
    static struct sim_study_row rows[SIM_STUDY_POINTS_MAX];
    static unsigned row_count;
    if (row_count == 0) {
        struct sim_study_choice choice = choose(study, study->machine, 2);
        struct sim_study_point points[SIM_STUDY_POINTS_MAX];
        row_count = study->list(&choice, points);
        for (unsigned i = 0; i < row_count; i++) {
            run_point(study, &choice, &points[i], &rows[i]);
        }
        sim_machine_free(&machine);
    }
    *count = row_count;
    return rows;
}

static double users(const struct sim_study *study, const char *kind, double count, double pages,
                    const char *name)
{
    unsigned number;
    const struct sim_study_row *rows = users_rows(study, &number);
    for (unsigned i = 0; i < number; i++) {
        if (strcmp(rows[i].values[1].text, kind) == 0 &&
            column(study, &rows[i], "users") == count &&
            column(study, &rows[i], "pages") == pages) {
            return column(study, &rows[i], name);
        }
    }
    fail_msg("no row %s, %.0f users, %.0f pages", kind, count, pages);
    return -1;
}

/* 64 users share the link evenly. 1,024 headers are enough for 16 users with 64 pages each, and for
 * no more; a CPU's TLB is too small for 128. Whoever sends to another group gets nothing there (the
 * row would have an error), but takes its share of the link. */
static void sixty_four_users_share_a_board(void **state)
{
    const struct sim_study *study = sim_study_find("users");
    (void)state;
    skip_if_emulated();
    assert_true(users(study, "aotf", 64, 1, "slowest") > 0.95);
    assert_true(users(study, "aotf", 64, 1, "mops") > 0.95 * users(study, "aotf", 1, 1, "mops"));
    /* A packet of 64 bytes at 500 MB/s; what fills the header TLB at first is not counted. */
    double link_mops = 500.0 / 64;
    assert_true(users(study, "aotf", 1, 1, "mops") > 0.98 * link_mops);
    assert_true(users(study, "aotf", 1, 1, "mops") < 1.02 * link_mops);
    assert_true(users(study, "pages", 64, 16, "mops") > 0.99 * link_mops);
    assert_true(users(study, "pages", 64, 16, "mops") < 1.01 * link_mops);
    assert_true(users(study, "pages", 64, 64, "mops") < 0.15 * link_mops);
    assert_true(users(study, "pages", 16, 64, "header_pct") == 0);
    assert_true(users(study, "pages", 64, 64, "header_pct") > 99);
    assert_true(users(study, "pages", 1, 64, "cpu_pct") == 0);
    assert_true(users(study, "pages", 1, 128, "cpu_pct") > 99);
    assert_true(users(study, "intruders", 16, 1, "refused") > 900);
    double ping_ns = users(study, "ping", 1, 1, "trip_ns");
    assert_true(users(study, "intruders", 16, 1, "trip_ns") > ping_ns);
    assert_true(users(study, "sleep", 1, 1, "trip_ns") > 2 * ping_ns);
}

enum { USERS_POINTS = 36, PING_AOTF = 21, PING_AOTF_POINTS = 3 };

/* The others store as fast as the machine takes it: a card's DMA takes twice as long as the link of
 * environment D. A receiver of which nobody knew that it is slower does not keep the study for
 * ever. */
static void users_store_no_faster_than_a_machine_takes_it(void **state)
{
    const struct sim_study *study = sim_study_find("users");
    struct sim_study_choice choice = choose(study, "rhinet2-ni", 2);
    (void)state;
    assert_int_equal(failures(&choice, PING_AOTF, PING_AOTF_POINTS, ""), 0);
    sim_machine_free(&machine);
    choice = choose(study, study->machine, 2);
    machine.stages[SIM_STAGE_LLCM_WRITE].gap_cycles = 100;
    assert_int_equal(failures(&choice, PING_AOTF, PING_AOTF_POINTS, "faster than they are taken"),
                     PING_AOTF_POINTS);
    sim_machine_free(&machine);
}

/* A page of LLCM is enough for two users. */
static void users_without_room_are_refused(void **state)
{
    const struct sim_study *study = sim_study_find("users");
    struct sim_study_choice choice = choose(study, study->machine, 2);
    (void)state;
    machine.llcm_bytes = 4096;
    assert_int_equal(failures(&choice, 0, USERS_POINTS, "[llcm] bytes = 4096 has no room for"), 25);
    sim_machine_free(&machine);
}

/* ---- Banks --------------------------------------------------------------------------------- */

static const struct sim_study_row *banks_row(const struct sim_study *study, const char *kind,
                                             double per_switch, double bytes)
{
    static struct sim_study_row row;
    struct sim_study_choice choice = choose(study, study->machine, 2);
    struct sim_study_point points[SIM_STUDY_POINTS_MAX];
    unsigned count = study->list(&choice, points);
    bool is_found = false;
    for (unsigned i = 0; i < count && !is_found; i++) {
        run_point(study, &choice, &points[i], &row);
        is_found = strcmp(row.values[1].text, kind) == 0 &&
                   column(study, &row, "per_switch") == per_switch &&
                   column(study, &row, "bytes") == bytes;
    }
    assert_true(is_found);
    sim_machine_free(&machine);
    return &row;
}

/* Paper 001, Tables 1 and 3: a send of 10,000 bytes takes 20.000 ms, 99.46 % of it in the bank
 * switch. Sixteen messages to a switch carry nearly sixteen times as much, a little later each; a
 * ring in LLCM carries far more than either, at once. */
static void bank_switches_take_nearly_all_of_a_send(void **state)
{
    const struct sim_study *study = sim_study_find("banks");
    (void)state;
    const struct sim_study_row *row = banks_row(study, "banks", 1, 10000);
    double one_mb_per_s = column(study, row, "mb_per_s");
    double one_us = column(study, row, "delay_us");
    assert_true(column(study, row, "switch_pct") > 99.4);
    assert_true(column(study, row, "switch_pct") < 99.55);
    assert_true(one_mb_per_s > 0.498 && one_mb_per_s < 0.502);
    row = banks_row(study, "banks", 16, 10000);
    assert_true(column(study, row, "mb_per_s") > 14 * one_mb_per_s);
    assert_true(column(study, row, "delay_us") > one_us + 500);
    row = banks_row(study, "llcm+aotf", 1, 10000);
    assert_true(column(study, row, "mb_per_s") > 50 * one_mb_per_s);
    assert_true(column(study, row, "delay_us") < one_us / 20);
    assert_true(column(study, row, "switch_pct") == 0);
}

enum { BANKS_POINTS = 32 };

/* A ring has no more pages than its sender has kicks for. A machine without banks is refused, and
 * an LLCM without room for a ring. */
static void banks_ask_what_a_machine_has(void **state)
{
    const struct sim_study *study = sim_study_find("banks");
    struct sim_study_choice choice = choose(study, study->machine, 2);
    (void)state;
    machine.llcm_bytes = UINT64_C(1) << 30;
    assert_int_equal(failures(&choice, 0, BANKS_POINTS, ""), 0);
    machine.llcm_bytes = 4096;
    assert_int_equal(failures(&choice, 0, BANKS_POINTS, "do not fit into LLCM"), 10);
    sim_machine_free(&machine);
    choice = choose(study, "dimmnet1-D", 2);
    assert_int_equal(failures(&choice, 0, BANKS_POINTS, "bank_switch_ns is 0"), BANKS_POINTS);
    sim_machine_free(&machine);
}

/* Four senders and a receiver that is slower than they are: however refused messages are sent
 * again, as many are read; who is asked in turn, late, sends by far the fewest packets. */
static void senders_that_are_asked_late_repeat_little(void **state)
{
    const struct sim_study *study = sim_study_find("message");
    struct sim_study_choice choice = choose(study, study->machine, 5);
    struct sim_study_point points[SIM_STUDY_POINTS_MAX];
    struct sim_study_row row;
    double nack_mb_per_s = 0;
    double nack_packets = 0;
    unsigned found = 0;
    (void)state;
    unsigned count = study->list(&choice, points);
    for (unsigned i = 0; i < count; i++) {
        if (points[i].nodes != 5) {
            continue;
        }
        run_point(study, &choice, &points[i], &row);
        const char *resend = row.values[2].text;
        double mb_per_s = column(study, &row, "mb_per_s");
        double packets = column(study, &row, "data_packets");
        if (strcmp(resend, "nack") == 0) {
            nack_mb_per_s = mb_per_s;
            nack_packets = packets;
        }
        assert_true(mb_per_s > 0.95 * nack_mb_per_s);
        if (strcmp(resend, "request-half") == 0) {
            assert_true(packets < nack_packets / 2);
            assert_true(column(study, &row, "core_share") < 0.6);
        }
        found++;
    }
    assert_int_equal(found, 5);
    sim_machine_free(&machine);
}

static void find_lock_row(const struct sim_study *study, const struct sim_study_choice *choice,
                          const char *kind, const char *use, uint32_t contenders,
                          struct sim_study_row *row)
{
    struct sim_study_point points[SIM_STUDY_POINTS_MAX];
    unsigned count = study->list(choice, points);
    for (unsigned i = 0; i < count; i++) {
        if (points[i].nodes == contenders + 1) {
            run_point(study, choice, &points[i], row);
            if (strcmp(row->values[1].text, kind) == 0 && strcmp(row->values[2].text, use) == 0) {
                return;
            }
        }
    }
    fail_msg("no row %s, %s, %u", kind, use, contenders);
}

/* Paper 004's lock halves what the manager does, hands the lock over as quickly, and takes longer
 * to get a free one. */
static void a_chain_of_requesters_spares_the_manager(void **state)
{
    const struct sim_study *study = sim_study_find("lock");
    struct sim_study_choice choice = choose(study, study->machine, WIRE_NODES_MAX);
    struct sim_study_row queue, chain;
    (void)state;
    find_lock_row(study, &choice, "queue", "contended", 16, &queue);
    find_lock_row(study, &choice, "chain", "contended", 16, &chain);
    assert_true(column(study, &chain, "manager_ns") < 0.55 * column(study, &queue, "manager_ns"));
    assert_true(column(study, &chain, "handover_ns") <= column(study, &queue, "handover_ns"));
    assert_true(column(study, &chain, "packets") < 3.1);
    find_lock_row(study, &choice, "queue", "own", 32, &queue);
    find_lock_row(study, &choice, "chain", "own", 32, &chain);
    assert_true(column(study, &chain, "takes_per_ms") >
                1.8 * column(study, &queue, "takes_per_ms"));
    find_lock_row(study, &choice, "queue", "free", 8, &queue);
    find_lock_row(study, &choice, "chain", "free", 8, &chain);
    assert_true(column(study, &chain, "take_ns") > column(study, &queue, "take_ns"));
    sim_machine_free(&machine);
}

static void a_machine_without_contexts_is_refused(void **state)
{
    const struct sim_study *study = sim_study_find("contexts");
    struct sim_study_choice choice = choose(study, "dimmnet1-D", WIRE_NODES_MAX);
    struct sim_study_point point = {.nodes = 17, .contexts = 16};
    struct sim_study_row row = {0};
    (void)state;
    study->run(&choice, &point, &row);
    assert_non_null(strstr(row.error, "dimmnet1-D"));
    sim_machine_free(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_the_logarithm_rounded_up),
        cmocka_unit_test(every_node_has_one_parent),
        cmocka_unit_test(studies_are_found_by_name),
        cmocka_unit_test(no_point_has_more_nodes_than_wanted),
        cmocka_unit_test(rows_are_text),
        cmocka_unit_test(a_point_gives_the_same_row_each_time),
        cmocka_unit_test(a_larger_ring_carries_no_more),
        cmocka_unit_test(multicast_takes_the_ring_once),
        cmocka_unit_test(frames_of_a_few_lines_are_best),
        cmocka_unit_test(switches_overtake_the_ring),
        cmocka_unit_test(teams_of_any_size_meet),
        cmocka_unit_test(two_nodes_take_what_the_paper_measured),
        cmocka_unit_test(the_core_processor_helps_hosts_that_compute),
        cmocka_unit_test(services_differ_in_state_and_rate),
        cmocka_unit_test(sixty_four_users_share_a_board),
        cmocka_unit_test(users_store_no_faster_than_a_machine_takes_it),
        cmocka_unit_test(users_without_room_are_refused),
        cmocka_unit_test(losses_cost_go_back_n_more_than_selective_repeat),
        cmocka_unit_test(bank_switches_take_nearly_all_of_a_send),
        cmocka_unit_test(banks_ask_what_a_machine_has),
        cmocka_unit_test(senders_that_are_asked_late_repeat_little),
        cmocka_unit_test(a_chain_of_requesters_spares_the_manager),
        cmocka_unit_test(a_machine_without_contexts_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
