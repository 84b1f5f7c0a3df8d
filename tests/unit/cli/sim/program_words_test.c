/* What stands behind --fabric sim: and in plans of deaths: what it means, and that everything else
 * is refused with a sentence that says what was meant to be there. */
#include "cli/sim/program_words.h"

#include <unistd.h>

#include "unit/unit.h"

enum { NODES = 8 };

#define US UINT64_C(1000000)

static char error[SIM_ERROR_BYTES];
static struct program_words words;

static bool is_read_for(const char *text, uint32_t nodes)
{
    struct sim_machine machine = {0};
    *error = '\0';
    bool is_sound = cli_program_words_read(text, nodes, &words, &machine, error);
    sim_machine_free(&machine);
    return is_sound;
}

static void assert_read(const char *text)
{
    if (!is_read_for(text, NODES)) {
        fail_msg("\"%s\": %s", text, error);
    }
}

/* One line, which has this text. */
static void assert_sentence(const char *text, const char *sentence)
{
    if (!strstr(error, sentence) || strchr(error, '\n')) {
        fail_msg("\"%s\": not \"%s\" but \"%s\"", text, sentence, error);
    }
}

static void assert_refused(const char *text, const char *sentence)
{
    assert_false(is_read_for(text, NODES));
    assert_sentence(text, sentence);
}

/* ---- Machines and settings ------------------------------------------------------------------- */

static void without_words_the_usual_is_taken(void **state)
{
    struct sim_machine machine = {0};
    (void)state;
    assert_true(cli_program_words_read(NULL, 2, &words, &machine, error));
    assert_string_equal(machine.name, "dimmnet1-D");
    assert_int_equal(words.topology, sim_topology_suiting(&machine, 2));
    assert_int_equal(words.compute, TURN_COMPUTE_DECLARED);
    assert_int_equal(words.factor_ppm, 1000000);
    assert_true(words.limit_ps == UINT64_MAX);
    assert_int_equal(words.notice_ps, 10 * US);
    assert_int_equal(words.seed, 0);
    assert_true(words.report);
    sim_machine_free(&machine);
    assert_true(cli_program_words_read("", 2, &words, &machine, error));
    assert_string_equal(machine.name, "dimmnet1-D");
    sim_machine_free(&machine);
}

static void a_machine_is_taken_by_its_name(void **state)
{
    struct sim_machine machine = {0};
    (void)state;
    assert_true(cli_program_words_read("dimmnet2", 2, &words, &machine, error));
    assert_string_equal(machine.name, "dimmnet2");
    sim_machine_free(&machine);
}

static void settings_are_taken_in_any_order(void **state)
{
    (void)state;
    assert_read("dimmnet2,seed=18446744073709551615,topology=tree,compute=measured,factor=2.5,"
                "limit=3ms,notice=0,report=no");
    assert_true(words.seed == UINT64_MAX);
    assert_int_equal(words.topology, SIM_SWITCH_TREE);
    assert_int_equal(words.compute, TURN_COMPUTE_MEASURED);
    assert_int_equal(words.factor_ppm, 2500000);
    assert_int_equal(words.limit_ps, 3000 * US);
    assert_int_equal(words.notice_ps, 0);
    assert_false(words.report);
    assert_read("dimmnet1-D,report=yes,compute=instructions,topology=switch");
    assert_true(words.report);
    assert_int_equal(words.compute, TURN_COMPUTE_INSTRUCTIONS);
    assert_int_equal(words.topology, SIM_ONE_SWITCH);
}

static void times_have_units(void **state)
{
    static const struct {
        const char *text;
        uint64_t ps;
    } times[] = {{"dimmnet2,limit=7", 7000},         {"dimmnet2,limit=7ns", 7000},
                 {"dimmnet2,limit=7ps", 7},          {"dimmnet2,limit=2.5us", 2500000},
                 {"dimmnet2,limit=0.5ms", 500 * US}, {"dimmnet2,limit=1s", 1000000 * US}};
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        assert_read(times[i].text);
        assert_true(words.limit_ps == times[i].ps);
    }
}

static void what_is_no_time_is_refused(void **state)
{
    static const char *const texts[] = {"",     "us",  "-1us", "1 us", "1h",
                                        "1us2", "nan", "inf",  "1e30s"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "dimmnet2,limit=%s", texts[i]);
        assert_refused(text, "sim: limit is a time");
        (void)snprintf(text, sizeof text, "dimmnet2,notice=%s", texts[i]);
        assert_refused(text, "sim: notice is a time");
    }
}

static void unknown_words_are_refused_by_name(void **state)
{
    (void)state;
    assert_refused("dimmnet9", "there is no machine \"dimmnet9\"");
    assert_refused("/no/such/file.ini", "/no/such/file.ini");
    assert_refused("dimmnet2,colour=red", "cannot understand \"colour=red\"");
    assert_refused("dimmnet2,seed", "cannot understand \"seed\"");
    assert_refused("dimmnet2,", "cannot understand \"\"");
    assert_refused("dimmnet2,seed=1,,limit=1us", "cannot understand \"\"");
    assert_refused("dimmnet2,=1", "cannot understand \"=1\"");
    assert_refused("dimmnet2,Seed=1", "cannot understand \"Seed=1\"");
}

static void bad_values_are_refused_by_name(void **state)
{
    (void)state;
    assert_refused("dimmnet2,seed=", "sim: seed is a number");
    assert_refused("dimmnet2,seed=-1", "sim: seed is a number, not \"-1\"");
    assert_refused("dimmnet2,seed=1x", "sim: seed is a number");
    assert_refused("dimmnet2,seed= 1", "sim: seed is a number");
    assert_refused("dimmnet2,topology=moebius", "sim: topology is loop-inside, ");
    assert_refused("dimmnet2,compute=guessed",
                   "sim: compute is declared, measured or instructions");
    assert_refused("dimmnet2,factor=0", "sim: factor is a number above 0");
    assert_refused("dimmnet2,factor=-2", "sim: factor is a number above 0");
    assert_refused("dimmnet2,factor=two", "sim: factor is a number above 0");
    assert_refused("dimmnet2,factor=1e9", "sim: factor is a number above 0");
    assert_refused("dimmnet2,report=maybe", "sim: report is yes or no");
}

static void a_text_too_long_is_refused(void **state)
{
    char text[1024];
    (void)state;
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_refused(text, "sim: more than ");
}

static void the_environment_can_still_the_report(void **state)
{
    (void)state;
    assert_int_equal(setenv("DN_SIM_REPORT", "0", 1), 0);
    assert_read("dimmnet2");
    assert_false(words.report);
    assert_read("dimmnet2,report=yes");
    assert_true(words.report);
    assert_int_equal(setenv("DN_SIM_REPORT", "1", 1), 0);
    assert_read("dimmnet2");
    assert_true(words.report);
    assert_int_equal(unsetenv("DN_SIM_REPORT"), 0);
}

/* ---- Deaths ---------------------------------------------------------------------------------- */

static struct sim_death *deaths;
static uint32_t death_count;
static char plan_path[] = "/tmp/program_words_XXXXXX";

static bool is_planned(const char *list, const char *plan)
{
    *error = '\0';
    free(deaths);
    deaths = NULL;
    if (plan) {
        FILE *file = fopen(plan_path, "w");
        assert_non_null(file);
        assert_true(fputs(plan, file) >= 0);
        assert_int_equal(fclose(file), 0);
    }
    return cli_program_deaths(list, plan ? plan_path : NULL, NODES, &deaths, &death_count, error);
}

static void assert_death(uint32_t number, uint32_t rank, uint64_t at_ps)
{
    assert_true(number < death_count);
    assert_int_equal(deaths[number].rank, rank);
    assert_int_equal(deaths[number].at_ps, at_ps);
}

static void without_a_plan_nobody_dies(void **state)
{
    (void)state;
    assert_true(is_planned(NULL, NULL));
    assert_int_equal(death_count, 0);
    assert_true(is_planned(NULL, ""));
    assert_int_equal(death_count, 0);
}

static void a_list_names_ranks_and_moments(void **state)
{
    (void)state;
    assert_true(is_planned("3@120us,0@0,7@1.5ms", NULL));
    assert_int_equal(death_count, 3);
    assert_death(0, 3, 120 * US);
    assert_death(1, 0, 0);
    assert_death(2, 7, 1500 * US);
}

static void bad_lists_are_refused(void **state)
{
    static const char *const lists[] = {
        "",       "3",      "@1us",         "3@",        "8@1us",  "-1@1us",     "x@1us",
        "3@1us,", ",3@1us", "3@1us,4@soon", "3@1us@2us", "3@-1us", "3@1us 4@1us"};
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        assert_false(is_planned(lists[i], NULL));
        assert_sentence(lists[i], "--kill takes RANK@TIME,... with ranks below 8");
        assert_non_null(strstr(error, lists[i]));
    }
}

static void a_file_has_a_line_for_each(void **state)
{
    (void)state;
    assert_true(is_planned(NULL, "# who dies, and when\n\nkill 3 120us\n"
                                 "  kill\t5  2ms # late\n\t\nkill 0 7"));
    assert_int_equal(death_count, 3);
    assert_death(0, 3, 120 * US);
    assert_death(1, 5, 2000 * US);
    assert_death(2, 0, 7000);
}

static void a_list_and_a_file_add_up(void **state)
{
    (void)state;
    assert_true(is_planned("1@1us", "kill 2 2us\n"));
    assert_int_equal(death_count, 2);
    assert_death(0, 1, US);
    assert_death(1, 2, 2 * US);
}

static void bad_lines_are_refused_with_their_number(void **state)
{
    static const char *const lines[] = {"kill",           "kill 3",           "kill 8 1us",
                                        "kill 3 soon",    "kill 3 1us now",   "spare 3 1us",
                                        "random 2 1ms",   "random x 1ms 1",   "random 2 soon 1",
                                        "random 2 1ms x", "random 2 1ms 1 1", "random -1 1ms 1"};
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char plan[128];
        (void)snprintf(plan, sizeof plan, "# a plan\nkill 1 1us\n%s\n", lines[i]);
        assert_false(is_planned(NULL, plan));
        assert_sentence(lines[i], ":3: say \"kill RANK TIME\" or \"random COUNT UNTIL SEED\"");
    }
}

static void a_file_that_is_not_there_is_refused(void **state)
{
    (void)state;
    *error = '\0';
    free(deaths);
    assert_false(cli_program_deaths(NULL, "/no/such/plan", NODES, &deaths, &death_count, error));
    assert_sentence("/no/such/plan", "cannot read /no/such/plan: ");
}

/* Plans with that line and this seed, after a rank that is named already. */
static void plan_random(const char *before, uint32_t count, uint32_t seed)
{
    char plan[128];
    (void)snprintf(plan, sizeof plan, "%srandom %u 1ms %u\n", before, count, seed);
    if (!is_planned(NULL, plan)) {
        fail_msg("%s", error);
    }
}

static void random_deaths_follow_from_their_seed(void **state)
{
    enum { SEEDS = 100 };
    bool seen[NODES] = {false};
    uint64_t latest_ps = 0;
    uint32_t same = 0;
    (void)state;
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        struct sim_death first[2];
        plan_random("", 2, seed);
        assert_int_equal(death_count, 2);
        memcpy(first, deaths, sizeof first);
        plan_random("", 2, seed);
        for (uint32_t i = 0; i < 2; i++) {
            assert_death(i, first[i].rank, first[i].at_ps);
            assert_true(first[i].rank < NODES && first[i].at_ps <= 1000 * US);
            seen[first[i].rank] = true;
            latest_ps = first[i].at_ps > latest_ps ? first[i].at_ps : latest_ps;
        }
        plan_random("", 2, seed + SEEDS);
        same += deaths[0].at_ps == first[0].at_ps;
    }
    for (uint32_t rank = 0; rank < NODES; rank++) {
        assert_true(seen[rank]);
    }
    assert_true(latest_ps > 500 * US);
    assert_true(same < 5);
}

static void nobody_dies_twice_by_chance(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 100; seed++) {
        for (uint32_t named = 0; named < 2; named++) {
            bool dies[NODES] = {false};
            plan_random(named > 0 ? "kill 5 1us\nrandom 3 1ms 7\n" : "",
                        named > 0 ? NODES - 4 : NODES, seed);
            assert_int_equal(death_count, NODES);
            for (uint32_t i = 0; i < death_count; i++) {
                assert_false(dies[deaths[i].rank]);
                dies[deaths[i].rank] = true;
            }
        }
    }
}

static void more_deaths_than_nodes_are_refused(void **state)
{
    (void)state;
    assert_false(is_planned(NULL, "random 9 1ms 1\n"));
    assert_sentence("random 9", ":1: of 8 nodes 8 are left to die, not more");
    assert_false(is_planned(NULL, "random 18446744073709551615 1ms 1\n"));
    assert_sentence("random 2^64", ":1: of 8 nodes 8 are left to die, not more");
    assert_false(is_planned("2@1us", "kill 3 1us\nrandom 7 1ms 1\n"));
    assert_sentence("random 7", ":2: of 8 nodes 6 are left to die, not more");
    assert_true(is_planned("2@1us", "kill 3 1us\nrandom 6 1ms 1\n"));
    assert_int_equal(death_count, NODES);
    assert_true(is_planned(NULL, "random 0 1ms 1\n"));
    assert_int_equal(death_count, 0);
}

static int make_plan(void **state)
{
    (void)state;
    int fd = mkstemp(plan_path);
    (void)unsetenv("DN_SIM_REPORT");
    return fd >= 0 ? close(fd) : -1;
}

static int remove_plan(void **state)
{
    (void)state;
    free(deaths);
    return unlink(plan_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_words_the_usual_is_taken),
        cmocka_unit_test(a_machine_is_taken_by_its_name),
        cmocka_unit_test(settings_are_taken_in_any_order),
        cmocka_unit_test(times_have_units),
        cmocka_unit_test(what_is_no_time_is_refused),
        cmocka_unit_test(unknown_words_are_refused_by_name),
        cmocka_unit_test(bad_values_are_refused_by_name),
        cmocka_unit_test(a_text_too_long_is_refused),
        cmocka_unit_test(the_environment_can_still_the_report),
        cmocka_unit_test(without_a_plan_nobody_dies),
        cmocka_unit_test(a_list_names_ranks_and_moments),
        cmocka_unit_test(bad_lists_are_refused),
        cmocka_unit_test(a_file_has_a_line_for_each),
        cmocka_unit_test(a_list_and_a_file_add_up),
        cmocka_unit_test(bad_lines_are_refused_with_their_number),
        cmocka_unit_test(a_file_that_is_not_there_is_refused),
        cmocka_unit_test(random_deaths_follow_from_their_seed),
        cmocka_unit_test(nobody_dies_twice_by_chance),
        cmocka_unit_test(more_deaths_than_nodes_are_refused),
    };
    return cmocka_run_group_tests(tests, make_plan, remove_plan);
}
