/* The papers' tables as data, how errors are counted, and the simulation against sums and
 * equations that can be followed by hand. */
#include "unit/unit.h"

#include <math.h>
#include <string.h>

#include "sim/papers/measure.h"
#include "sim/papers/papers.h"
#include "sim/papers/tables.h"

/* cmocka compares floats. */
static void assert_near(double value, double wanted, double room)
{
    assert_true(fabs(value - wanted) <= room);
}

static const struct papers_table *find(const char *source, const char *name)
{
    const struct papers_table *table;
    for (unsigned i = 0; (table = papers_table(i)) != NULL; i++) {
        if (strcmp(table->source, source) == 0 && strcmp(table->name, name) == 0) {
            return table;
        }
    }
    return NULL;
}

enum { TABLES_MAX = 32 };

/* How many cells are of that kind; PAPERS_KINDS: of any. */
static unsigned count_cells(const struct papers_table *table, enum papers_kind kind)
{
    unsigned count = 0;
    struct papers_cell cell = {0};
    while (papers_next(table, NULL, &cell)) {
        count += kind == PAPERS_KINDS || cell.kind == kind;
    }
    return count;
}

/* ---- Data ---------------------------------------------------------------------------------- */

static void every_cell_is_there(void **state)
{
    (void)state;
    static const struct {
        const char *source, *name;
        unsigned cells;
        unsigned predicted, checks, fitted; /* the others are taken */
    } tables[] = {
        {"000", "1", 17, 0, 3, 0},        {"000", "2", 27, 0, 0, 0},
        {"000", "3", 72, 0, 0, 0},        {"000", "4", 8, 0, 0, 0},
        {"000", "5", 24, 12, 0, 12},      {"000", "6", 45, 0, 5, 0},
        {"000", "7", 12, 6, 0, 6},        {"000", "8", 24, 12, 0, 12},
        {"000", "9", 48, 0, 3, 2},        {"001", "1", 4, 0, 2, 2},
        {"001", "2", 10, 0, 4, 2},        {"001", "3", 4, 2, 0, 2},
        {"002", "1", 8, 0, 0, 0},         {"002", "2", 12, 0, 0, 0},
        {"002", "latency", 3, 0, 0, 2},   {"002", "ratios", 4, 0, 4, 0},
        {"002", "bandwidth", 6, 0, 6, 0}, {"002", "throughput", 40, 0, 40, 0},
        {"003", "2", 12, 0, 0, 0},        {"003", "3", 5, 0, 0, 0},
    };
    for (unsigned i = 0; i < PAPERS_COUNT(tables); i++) {
        const struct papers_table *table = find(tables[i].source, tables[i].name);
        assert_non_null(table);
        assert_ptr_equal(papers_table(papers_number(table)), table);
        assert_int_equal(count_cells(table, PAPERS_KINDS), tables[i].cells);
        assert_int_equal(count_cells(table, PAPERS_PREDICTED), tables[i].predicted);
        assert_int_equal(count_cells(table, PAPERS_CHECK), tables[i].checks);
        assert_int_equal(count_cells(table, PAPERS_FITTED), tables[i].fitted);
    }
    assert_null(papers_table(PAPERS_COUNT(tables)));
}

static void names_are_there_and_differ(void **state)
{
    (void)state;
    const struct papers_table *table;
    for (unsigned i = 0; (table = papers_table(i)) != NULL; i++) {
        assert_in_range(table->row_count, 1, PAPERS_ROWS_MAX);
        assert_in_range(table->column_count, 1, PAPERS_COLUMNS_MAX);
        for (unsigned j = 0; j < i; j++) {
            assert_true(strcmp(papers_table(j)->source, table->source) != 0 ||
                        strcmp(papers_table(j)->name, table->name) != 0);
        }
        for (unsigned row = 0; row < table->row_count; row++) {
            assert_int_equal(strlen(table->rows[row].kinds), table->column_count);
            for (unsigned other = 0; other < row; other++) {
                assert_string_not_equal(table->rows[row].text, table->rows[other].text);
            }
            for (unsigned column = 0; column < table->column_count; column++) {
                struct papers_cell cell = papers_cell(table, row, column, NULL);
                assert_non_null(cell.unit);
                assert_true(isnan(cell.sim));
                assert_false(cell.words && (cell.paper != 0 || cell.kind != PAPERS_TAKEN));
            }
        }
        for (unsigned column = 1; column < table->column_count; column++) {
            assert_string_not_equal(table->columns[column].text, table->columns[column - 1].text);
        }
    }
}

/* A slip keeps the printed value, compares the right one, and says why. */
static void slips_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *source, *name;
        unsigned row, column;
        double printed, right;
    } slips[] = {
        {"000", "6", 8, 0, 343, 373},         {"000", "6", 8, 2, 245, 275},
        {"000", "6", 0, 4, 21.5, 22.5},       {"000", "6", 2, 4, 21.5, 22.5},
        {"000", "1", 13, 0, 105, 115},        {"000", "1", 14, 0, 90, 77.5},
        {"000", "9", 2, 0, 2.06, 2.075},      {"001", "1", 1, 1, 0.4, 4.0},
        {"000", "9", 1, 0, 1.84, 1.84},       {"001", "2", 3, 2, 4.8, 4.585},
        {"001", "2", 2, 2, 6, 6.036},         {"001", "1", 0, 1, 0.339, 3.391},
        {"002", "bandwidth", 1, 1, 2.5, 2.5}, {"002", "bandwidth", 0, 3, 749, 749},
    };
    for (unsigned i = 0; i < PAPERS_COUNT(slips); i++) {
        const struct papers_table *table = find(slips[i].source, slips[i].name);
        struct papers_cell cell = papers_cell(table, slips[i].row, slips[i].column, NULL);
        assert_near(cell.paper, slips[i].printed, 1e-12);
        assert_near(cell.right, slips[i].right, 1e-12);
        assert_true(cell.slip);
        assert_non_null(cell.note);
    }
    const struct papers_table *table;
    for (unsigned i = 0; (table = papers_table(i)) != NULL; i++) {
        for (unsigned row = 0; row < table->row_count; row++) {
            for (unsigned column = 0; column < table->column_count; column++) {
                struct papers_cell cell = papers_cell(table, row, column, NULL);
                assert_true(cell.right == cell.paper || cell.slip);
                assert_true(!cell.slip || cell.note);
            }
        }
    }
}

/* In Table 6 each column's rows add up to its total; in Table 5 two rows differ by the last. */
static void the_papers_sums_hold(void **state)
{
    (void)state;
    const struct papers_table *table = find("000", "6");
    for (unsigned column = 0; column < table->column_count; column++) {
        double sum = 0;
        for (unsigned row = 0; row + 1 < table->row_count; row++) {
            sum += papers_cell(table, row, column, NULL).right;
        }
        assert_near(sum, papers_cell(table, table->row_count - 1, column, NULL).right, 1e-9);
    }
    table = find("000", "5");
    for (unsigned column = 0; column < table->column_count; column++) {
        assert_near(papers_cell(table, 1, column, NULL).paper -
                        papers_cell(table, 2, column, NULL).paper,
                    papers_cell(table, 3, column, NULL).paper, 1e-9);
    }
}

/* In Tables 5, 7 and 8. */
static void a_d_e_are_fitted_and_b_c_f_predicted(void **state)
{
    (void)state;
    static const char *const names[] = {"5", "7", "8"};
    for (unsigned i = 0; i < PAPERS_COUNT(names); i++) {
        const struct papers_table *table = find("000", names[i]);
        for (unsigned row = 0; row < table->row_count; row++) {
            for (unsigned column = 0; column < table->column_count; column++) {
                bool fitted = strchr("ADE", table->columns[column].text[0]) != NULL;
                assert_int_equal(papers_cell(table, row, column, NULL).kind,
                                 fitted ? PAPERS_FITTED : PAPERS_PREDICTED);
            }
        }
    }
}

/* A sum of values that were taken, a quotient of values that were fitted, what equations of the
 * paper's give in place of the paper, and what one clock and the words on it decide tell nothing
 * about the model. */
static void what_cannot_fail_is_no_prediction(void **state)
{
    (void)state;
    static const struct {
        const char *source, *name, *row;
    } rows[] = {
        {"000", "1", "shortest send, DIMM to link"},
        {"000", "1", "shortest receive, link to LLCM"},
        {"000", "6", "total"},
        {"000", "9", "remote write"},
        {"000", "9", "sustained, one way (BOTF)"},
        {"000", "9", "sustained, both ways (BOTF)"},
        {"001", "2", "Fagus, Gigabit Ethernet"},
        {"002", "ratios", "CD over UD"},
        {"002", "bandwidth", "sustained"},
        {"002", "bandwidth", "CD below UD"},
        {"002", "throughput", "1024 KB"},
    };
    for (unsigned i = 0; i < PAPERS_COUNT(rows); i++) {
        unsigned seen = 0;
        struct papers_cell cell = {0};
        while (papers_next(find(rows[i].source, rows[i].name), NULL, &cell)) {
            if (strcmp(cell.table->rows[cell.row].text, rows[i].row) == 0) {
                assert_true(cell.kind == PAPERS_CHECK || cell.kind == PAPERS_TAKEN);
                seen++;
            }
        }
        assert_true(seen > 0);
    }
}

static void words_stand_where_the_paper_has_no_number(void **state)
{
    (void)state;
    struct papers_cell cell = papers_cell(find("000", "2"), 1, 1, NULL);
    assert_string_equal(cell.words, "0");
    assert_true(papers_has_cell(cell.table, 1, 1));
    cell = papers_cell(find("000", "9"), 1, 2, NULL);
    assert_string_equal(cell.words, "8.2 (0 B), 12.0 (32 B)");
    assert_null(papers_cell(find("000", "9"), 1, 1, NULL).words);
    assert_false(papers_has_cell(find("000", "9"), 8, 0));
}

/* ---- Errors and bars ----------------------------------------------------------------------- */

static void fill_right(const struct papers_table *table, struct papers_sims *sims)
{
    papers_sims_init(sims);
    for (unsigned row = 0; row < table->row_count; row++) {
        for (unsigned column = 0; column < table->column_count; column++) {
            sims->value[row][column] = papers_cell(table, row, column, NULL).right;
        }
    }
}

static void errors_are_of_what_is_right(void **state)
{
    (void)state;
    const struct papers_table *table = find("000", "6");
    struct papers_sims sims;
    fill_right(table, &sims);
    sims.value[8][0] = 373 * 1.02;
    assert_near(papers_cell(table, 8, 0, &sims).error_pct, 2, 1e-9);
    sims.value[8][0] = 373 * 0.97;
    assert_near(papers_cell(table, 8, 0, &sims).error_pct, -3, 1e-9);
    struct papers_errors errors = {0};
    papers_errors_add(&errors, -4);
    papers_errors_add(&errors, 1);
    papers_errors_add(&errors, 1);
    assert_int_equal(errors.count, 3);
    assert_near(errors.mean_pct, 2, 1e-12);
    assert_near(errors.worst_pct, 4, 1e-12);
    struct papers_errors more = {0};
    papers_errors_join(&more, &errors);
    papers_errors_add(&errors, 10);
    papers_errors_join(&more, &errors);
    assert_int_equal(more.count, 7);
    assert_near(more.mean_pct, 22.0 / 7, 1e-12);
    assert_near(more.worst_pct, 10, 1e-12);
}

/* The first bar of the table's cells of that kind. */
static const struct papers_bar *bar_of(const char *source, const char *table, enum papers_kind kind)
{
    const struct papers_bar *bar;
    for (unsigned i = 0; (bar = papers_bar(i)) != NULL; i++) {
        if (bar->table == find(source, table) && bar->kind == kind) {
            return bar;
        }
    }
    return NULL;
}

static void bars_are_held_and_missed(void **state)
{
    (void)state;
    const struct papers_bar *bar = bar_of("000", "5", PAPERS_PREDICTED);
    struct papers_sims sims;
    papers_sims_init(&sims);
    assert_false(papers_judge(bar, &sims).held);
    assert_false(papers_judge(bar, &sims).known);
    fill_right(bar->table, &sims);
    struct papers_verdict verdict = papers_judge(bar, &sims);
    assert_true(verdict.held);
    assert_int_equal(verdict.errors.count, 9); /* three rows of B, C and F */
    sims.value[0][0] *= 2;                     /* A is fitted, */
    sims.value[3][1] *= 2;                     /* the differences have a bar of their own */
    assert_true(papers_judge(bar, &sims).held);
    sims.value[0][1] *= 1.101;
    assert_false(papers_judge(bar, &sims).held);
    fill_right(bar->table, &sims);
    for (unsigned row = 0; row < 3; row++) {
        for (unsigned column = 0; column < 6; column++) {
            sims.value[row][column] *= 0.949;
        }
    }
    assert_false(papers_judge(bar, &sims).held);
}

static void what_is_outside_the_swif_has_a_bar(void **state)
{
    (void)state;
    const struct papers_bar *bar = bar_of("000", "5", PAPERS_PREDICTED) + 1;
    struct papers_sims sims;
    assert_ptr_equal(bar->table, find("000", "5"));
    fill_right(bar->table, &sims);
    assert_int_equal(papers_judge(bar, &sims).errors.count, 3);
    assert_true(papers_judge(bar, &sims).held);
    sims.value[3][2] *= 1.16;
    assert_false(papers_judge(bar, &sims).held);
}

static void a_bar_of_points_counts_points(void **state)
{
    (void)state;
    const struct papers_bar *bar = bar_of("002", "ratios", PAPERS_CHECK);
    struct papers_sims sims;
    fill_right(bar->table, &sims);
    sims.value[1][1] += 0.99; /* a quarter of it */
    assert_true(papers_judge(bar, &sims).held);
    sims.value[1][1] += 0.02;
    assert_false(papers_judge(bar, &sims).held);
}

static void every_bar_has_cells(void **state)
{
    (void)state;
    const struct papers_bar *bar;
    for (unsigned i = 0; (bar = papers_bar(i)) != NULL; i++) {
        struct papers_sims sims;
        fill_right(bar->table, &sims);
        struct papers_verdict verdict = papers_judge(bar, &sims);
        assert_true(verdict.held && verdict.errors.count > 0);
    }
}

/* Held bars say something of every prediction but one, which is named. */
static void predictions_without_a_bar_are_known(void **state)
{
    (void)state;
    const struct papers_table *tables[2] = {NULL};
    unsigned without = 0;
    for (unsigned i = 0; (tables[0] = papers_table(i)) != NULL; i++) {
        struct papers_sims all[TABLES_MAX];
        fill_right(tables[0], &all[i]);
        struct papers_predictions predictions = papers_predictions(tables, all);
        assert_int_equal(predictions.errors.count, count_cells(tables[0], PAPERS_PREDICTED));
        without += predictions.without_bar;
    }
    assert_int_equal(without, 1);
    struct papers_cell rest = papers_cell(find("001", "3"), 3, 0, NULL);
    assert_int_equal(rest.kind, PAPERS_PREDICTED);
    assert_string_equal(rest.table->rows[rest.row].text, "synchronisation and AOTF");
    assert_null(papers_bar_of(&rest));
}

static void the_worst_prediction_is_found(void **state)
{
    (void)state;
    const struct papers_table *const tables[] = {find("000", "5"), find("001", "3"), NULL};
    struct papers_sims all[TABLES_MAX];
    for (unsigned i = 0; tables[i]; i++) {
        fill_right(tables[i], &all[papers_number(tables[i])]);
    }
    all[papers_number(tables[0])].value[0][0] *= 3;   /* A is fitted */
    all[papers_number(tables[0])].value[0][2] *= 1.2; /* C is predicted */
    all[papers_number(tables[1])].value[3][0] *= 0.3;
    struct papers_predictions predictions = papers_predictions(tables, all);
    assert_int_equal(predictions.errors.count, 14);
    assert_near(predictions.errors.worst_pct, 70, 1e-9);
    assert_near(predictions.errors.mean_pct, 90.0 / 14, 1e-9);
    assert_ptr_equal(predictions.worst.table, tables[1]);
    assert_int_equal(predictions.worst.row, 3);
    assert_near(predictions.worst.error_pct, -70, 1e-9);
    assert_int_equal(predictions.without_bar, 1);
}

/* ---- The simulation ------------------------------------------------------------------------ */

static void moments_are_spread_evenly(void **state)
{
    (void)state;
    enum { PARTS = 16, POINTS = 1600 };
    for (unsigned direction = 0; direction < 3; direction++) {
        unsigned counts[PARTS] = {0};
        for (uint32_t n = 1; n <= POINTS; n++) {
            uint64_t at_ps = papers_spread(n, direction, 173000);
            assert_true(at_ps < 173000);
            counts[at_ps * PARTS / 173000]++;
        }
        for (unsigned i = 0; i < PARTS; i++) {
            assert_in_range(counts[i], POINTS / PARTS - 4, POINTS / PARTS + 4);
        }
    }
}

/* Environment D, whose clocks have the same edges: the only averages are half a bus clock and half
 * a read. */
static void a_loop_is_the_sum_of_its_parts(void **state)
{
    (void)state;
    char error[SIM_ERROR_BYTES];
    struct papers_way way;
    struct papers_round round;
    struct sim_machine machine;
    assert_true(papers_measure_way("dimmnet1-D", SIM_LOOP_OUTSIDE, &way, error));
    assert_true(papers_measure_round("dimmnet1-D", &round, error));
    assert_true(sim_machine_load(&machine, "dimmnet1-D", error));
    double pass_ns = papers_ns(machine.software_pass);
    double padding_ns = (double)(machine.packet_pad_bytes - 32) * 2; /* at 500 MB/s */
    double link_ns = padding_ns + papers_ns(machine.link_wire);
    double edges_ns = 10.0 * ceil(link_ns / 10.0) - link_ns;
    double sum_ns = pass_ns + 105 + 220 + link_ns + edges_ns +
                    10.0 * (double)machine.llcm_visible_cycles + 1.5 * 173;
    assert_near(way.total_ns, sum_ns, 1.5);
    assert_near(way.write_ns, 105, 0.5);
    assert_near(way.missed_ns, 173.0 / 2, 1.5);
    assert_near(round.outside_ns, way.total_ns, 1e-9);
    assert_near(round.boards_ns, 2 * sum_ns + papers_ns(sim_machine_turn(&machine)), 3);
    double parts_ns = way.software_ns + way.write_ns + way.visible_ns + way.missed_ns + way.read_ns;
    for (unsigned stage = 0; stage < SIM_STAGES; stage++) {
        parts_ns += way.stage_ns[stage] + way.between_ns[stage];
    }
    assert_near(parts_ns, way.total_ns, 1e-6);
    sim_machine_free(&machine);
}

/* The simulation differs from the equation only by the time that packets wait for edges: less than
 * one of DL's and one of TP's. */
static void transits_follow_equation_1(void **state)
{
    (void)state;
    static const char *const machines[] = {"dimmnet1-bdais", "dimmnet2"};
    static const double wait_ns[] = {8 + 16, 8 + 10};
    char error[SIM_ERROR_BYTES];
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned service = PAPERS_UD; service <= PAPERS_CD_MISS; service++) {
            struct papers_transit transit;
            assert_true(papers_measure_transit(
                machines[i], service == PAPERS_UD ? SIM_CARRIER_UD : SIM_CARRIER_CD,
                service == PAPERS_CD_MISS, &transit, error));
            double equation_ns = papers_002_transit_ns(i, (enum papers_service)service, 8);
            assert_true(transit.ns >= equation_ns && transit.ns < equation_ns + wait_ns[i]);
        }
    }
    assert_near(papers_002_transit_ns(0, PAPERS_CD_HIT, 8), 1216, 1e-9);
    assert_near(papers_002_transit_ns(1, PAPERS_CD_HIT, 8), 1020, 1e-9);
}

static void equation_2_counts_the_first_packet_twice(void **state)
{
    (void)state;
    /* One packet of 4 words, on DIMMnet-2: TL, and 7 + 4 clocks of 10 ns once more. */
    assert_near(papers_002_message_ns(1, PAPERS_UD, 8, true), 920, 1e-9);
    assert_near(papers_002_message_ns(1, PAPERS_UD, 8, false), 920 + 110, 1e-9);
    /* Two packets, the second of 4 words: TL of the first, and 7 + 4 clocks behind it. */
    double first_ns = papers_002_transit_ns(1, PAPERS_UD, 2048);
    assert_near(papers_002_message_ns(1, PAPERS_UD, 2056, true), first_ns + 110, 1e-9);
    assert_int_equal(papers_002_curve_bytes(0), 8);
    assert_int_equal(papers_002_curve_bytes(9), 1 << 20);
}

static void the_same_is_the_same(void **state)
{
    (void)state;
    char error[SIM_ERROR_BYTES];
    double ns[2];
    for (unsigned i = 0; i < 2; i++) {
        assert_true(papers_measure_sum("dimmnet1-F", PAPERS_FLOAT, &ns[i], error));
    }
    assert_memory_equal(&ns[0], &ns[1], sizeof ns[0]);
}

static void an_unknown_machine_is_named(void **state)
{
    (void)state;
    char error[SIM_ERROR_BYTES] = "";
    double ns;
    assert_false(papers_measure_barrier("dimmnet1-Z", true, &ns, error));
    assert_non_null(strstr(error, "dimmnet1-Z"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell_is_there),
        cmocka_unit_test(names_are_there_and_differ),
        cmocka_unit_test(slips_are_named),
        cmocka_unit_test(the_papers_sums_hold),
        cmocka_unit_test(a_d_e_are_fitted_and_b_c_f_predicted),
        cmocka_unit_test(errors_are_of_what_is_right),
        cmocka_unit_test(bars_are_held_and_missed),
        cmocka_unit_test(a_bar_of_points_counts_points),
        cmocka_unit_test(every_bar_has_cells),
        cmocka_unit_test(predictions_without_a_bar_are_known),
        cmocka_unit_test(the_worst_prediction_is_found),
        cmocka_unit_test(what_is_outside_the_swif_has_a_bar),
        cmocka_unit_test(what_cannot_fail_is_no_prediction),
        cmocka_unit_test(words_stand_where_the_paper_has_no_number),
        cmocka_unit_test(moments_are_spread_evenly),
        cmocka_unit_test(a_loop_is_the_sum_of_its_parts),
        cmocka_unit_test(transits_follow_equation_1),
        cmocka_unit_test(equation_2_counts_the_first_packet_twice),
        cmocka_unit_test(the_same_is_the_same),
        cmocka_unit_test(an_unknown_machine_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
