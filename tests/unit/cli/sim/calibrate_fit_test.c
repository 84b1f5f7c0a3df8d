/* Fitting: a model whose operations follow from its values comes to take as long as the machine,
 * and what it writes is a machine file. */
#include "cli/sim/calibrate_fit.h"

#include <stdlib.h>
#include <string.h>

#include "sim/model/machine.h"
#include "unit/unit.h"

enum { FITS = 12 };

/* As the command's nodes have them. */
const char *const calibrate_texts[CALIBRATE_METER_COUNT] = {
#define CALIBRATE_TEXT(upper, text) text,
    CALIBRATE_METERS(CALIBRATE_TEXT)
#undef CALIBRATE_TEXT
};

static double value_of(const struct calibrate_model *model, const char *key)
{
    for (unsigned i = 0; i < CALIBRATE_VALUES; i++) {
        if (strcmp(calibrate_values[i].key, key) == 0) {
            return model->value_ns[i];
        }
    }
    fail_msg("there is no %s", key);
    return 0;
}

/* Operations in such a model: sums of its values, as often as they count. */
static void simulate(const struct calibrate_model *model,
                     struct calibrate_figures figures[CALIBRATE_GROUPS])
{
    memset(figures, 0, CALIBRATE_GROUPS * sizeof *figures);
    double *pair = figures[CALIBRATE_PAIR].ns;
    pair[CALIBRATE_STORE] = value_of(model, "store_ns");
    pair[CALIBRATE_SEE] = pair[CALIBRATE_STORE] + value_of(model, "see_ns");
    pair[CALIBRATE_LOOK] = value_of(model, "look_ns");
    pair[CALIBRATE_BLOCK] = value_of(model, "block_ns") + 64 * model->copy_ns;
    pair[CALIBRATE_PUT] = value_of(model, "push_ns") + 64 * model->copy_ns;
    pair[CALIBRATE_GET] = value_of(model, "pull_ns") + 64 * model->copy_ns;
    pair[CALIBRATE_COPY] = value_of(model, "push_ns") + CALIBRATE_COPY_BYTES * model->copy_ns;
    pair[CALIBRATE_FAR] = value_of(model, "push_ns") + (256 << 10) * model->copy_ns +
                          (CALIBRATE_FAR_BYTES - (256 << 10)) * model->far_ns;
    pair[CALIBRATE_ATOMIC] = value_of(model, "atomic_ns");
    pair[CALIBRATE_FENCE] = pair[CALIBRATE_STORE] + value_of(model, "fence_ns");
    pair[CALIBRATE_QUIET] = pair[CALIBRATE_STORE] + value_of(model, "quiet_ns");
    pair[CALIBRATE_LOCK] = 2 * value_of(model, "service_ns");
    pair[CALIBRATE_BARRIER] = pair[CALIBRATE_STORE] + value_of(model, "meet_ns");
    figures[CALIBRATE_CROWD].ns[CALIBRATE_BARRIER] = pair[CALIBRATE_BARRIER] +
                                                     2 * value_of(model, "switch_ns");
}

static const struct calibrate_figures machine[CALIBRATE_GROUPS] = {
    [CALIBRATE_PAIR] = {{[CALIBRATE_STORE] = 0.4,
                         [CALIBRATE_SEE] = 90,
                         [CALIBRATE_LOOK] = 6,
                         [CALIBRATE_BLOCK] = 7,
                         [CALIBRATE_PUT] = 9,
                         [CALIBRATE_GET] = 8,
                         [CALIBRATE_COPY] = 1500,
                         [CALIBRATE_FAR] = 500000,
                         [CALIBRATE_ATOMIC] = 3,
                         [CALIBRATE_FENCE] = 4,
                         [CALIBRATE_QUIET] = 5,
                         [CALIBRATE_LOCK] = 11,
                         [CALIBRATE_BARRIER] = 130}},
    [CALIBRATE_CROWD] = {{[CALIBRATE_BARRIER] = 3000}},
};

static void test_the_model_comes_to_take_as_long_as_the_machine(void **state)
{
    struct calibrate_model model = {.cores = 2};
    struct calibrate_figures simulated[CALIBRATE_GROUPS];
    (void)state;
    for (unsigned i = 0; i < FITS; i++) {
        simulate(&model, simulated);
        calibrate_fit(&model, machine, simulated);
    }
    simulate(&model, simulated);
    for (unsigned group = 0; group < CALIBRATE_GROUPS; group++) {
        for (unsigned meter = 0; meter < CALIBRATE_METER_COUNT; meter++) {
            double real_ns = machine[group].ns[meter];
            if (calibrate_is_fitted((enum calibrate_group)group, (enum calibrate_meter)meter)) {
                assert_true(real_ns > 0);
                assert_true(simulated[group].ns[meter] > 0.99 * real_ns);
                assert_true(simulated[group].ns[meter] < 1.01 * real_ns);
            }
        }
    }
    assert_false(calibrate_is_fitted(CALIBRATE_PAIR, CALIBRATE_SUM));
    assert_false(calibrate_is_fitted(CALIBRATE_CROWD, CALIBRATE_COPY));
}

static void test_no_value_goes_below_zero(void **state)
{
    struct calibrate_model model = {.cores = 2};
    struct calibrate_figures simulated[CALIBRATE_GROUPS];
    (void)state;
    for (unsigned meter = 0; meter < CALIBRATE_METER_COUNT; meter++) {
        simulated[CALIBRATE_PAIR].ns[meter] = 1e9;
        simulated[CALIBRATE_CROWD].ns[meter] = 1e9;
    }
    calibrate_fit(&model, machine, simulated);
    for (unsigned i = 0; i < CALIBRATE_VALUES; i++) {
        assert_true(model.value_ns[i] == 0);
    }
    assert_true(model.copy_ns == 0 && model.far_ns == 0);
}

static void test_gaps_are_what_measuring_adds(void **state)
{
    struct calibrate_model model = {.cores = 2};
    struct calibrate_figures measured = machine[CALIBRATE_PAIR];
    (void)state;
    measured.ns[CALIBRATE_STORE] += 20;
    measured.ns[CALIBRATE_SEE] += 2 * 20 + 70;
    calibrate_fit_gaps(&model, &machine[CALIBRATE_PAIR], &measured);
    assert_true(model.gap_ns > 19.9 && model.gap_ns < 20.1);
    assert_true(model.resume_ns > 69.9 && model.resume_ns < 70.1);
    calibrate_fit_gaps(&model, &measured, &machine[CALIBRATE_PAIR]);
    assert_true(model.gap_ns == 0 && model.resume_ns == 0);
}

static void test_what_is_written_is_a_machine(void **state)
{
    struct calibrate_model model = {.cores = 6, .copy_ns = 0.02, .far_ns = 0, .gap_ns = 17};
    struct sim_machine loaded;
    char error[SIM_ERROR_BYTES] = "";
    char *text = NULL;
    size_t bytes = 0;
    (void)state;
    for (unsigned i = 0; i < CALIBRATE_VALUES; i++) {
        model.value_ns[i] = 1 + i;
    }
    FILE *file = open_memstream(&text, &bytes);
    assert_non_null(file);
    calibrate_write(file, &model, machine, "a test, 6 cores");
    assert_int_equal(fclose(file), 0);
    bool is_loaded = sim_machine_load_bytes(&loaded, "here.ini", text, bytes, error);
    assert_string_equal(error, "");
    assert_true(is_loaded);
    assert_true(sim_machine_is_in_place(&loaded));
    assert_int_equal(loaded.call_cores, 6);
    assert_int_equal(loaded.call_store, 1000);
    assert_int_equal(loaded.call_see, 2000);
    assert_int_equal(loaded.call_switch, 1000 * CALIBRATE_VALUES);
    assert_int_equal(loaded.call_gap, 17000);
    assert_int_equal(loaded.call_copy_mb_per_s, UINT64_C(50000000000));
    assert_string_equal(loaded.text, "a test, 6 cores");
    sim_machine_free(&loaded);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_model_comes_to_take_as_long_as_the_machine),
        cmocka_unit_test(test_no_value_goes_below_zero),
        cmocka_unit_test(test_gaps_are_what_measuring_adds),
        cmocka_unit_test(test_what_is_written_is_a_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
