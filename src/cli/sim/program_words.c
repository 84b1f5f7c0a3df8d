/* Reading machines with their settings, and plans of deaths. */
#define _GNU_SOURCE
#include "cli/sim/program_words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "cli/sim/here.h"

#define MACHINE_USUAL "dimmnet1-D"
#define NOTICE_USUAL_PS UINT64_C(10000000)
#define PPM 1e6

enum { WORD_BYTES = 256, DEATHS_MAX = 65536 };

__attribute__((format(printf, 2, 3))) static bool refuse(char error[SIM_ERROR_BYTES],
                                                         const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error, SIM_ERROR_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- Times ----------------------------------------------------------------------------------- */

/* "120us", "2.5ms", "300ns", "1s"; a number alone is ns. */
static bool read_time(const char *text, uint64_t *ps)
{
    static const struct {
        const char *name;
        double ps;
    } units[] = {{"", 1e3}, {"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}, {"ps", 1}};
    char *rest;
    double number = strtod(text, &rest);
    if (rest == text || !(number >= 0) || number > 1e15) {
        return false;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(rest, units[i].name) == 0 && number * units[i].ps < 1e18) {
            *ps = (uint64_t)(number * units[i].ps + 0.5);
            return true;
        }
    }
    return false;
}

static bool read_number(const char *text, uint64_t most, uint64_t *number)
{
    char *rest;
    *number = strtoull(text, &rest, 10);
    return *text >= '0' && *text <= '9' && *rest == '\0' && *number <= most;
}

/* ---- Settings -------------------------------------------------------------------------------- */

static bool take_topology(struct program_words *words, const char *value)
{
    for (unsigned i = 0; i < SIM_TOPOLOGIES; i++) {
        if (strcmp(sim_topology_names[i], value) == 0) {
            words->topology = (enum sim_topology)i;
            return true;
        }
    }
    return false;
}

static bool take_compute(struct program_words *words, const char *value)
{
    static const char *const names[] = {[TURN_COMPUTE_DECLARED] = "declared",
                                        [TURN_COMPUTE_MEASURED] = "measured",
                                        [TURN_COMPUTE_INSTRUCTIONS] = "instructions"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], value) == 0) {
            words->compute = (enum turn_compute)i;
            words->compute_is_said = true;
            return true;
        }
    }
    return false;
}

static bool take_cores(struct program_words *words, const char *value)
{
    return read_number(value, UINT32_MAX, &words->cores) && words->cores > 0;
}

static bool take_factor(struct program_words *words, const char *value)
{
    char *rest;
    double factor = strtod(value, &rest);
    words->factor_ppm = (uint64_t)(factor * PPM + 0.5);
    return rest != value && *rest == '\0' && factor > 0 && factor <= PPM;
}

static bool take_seed(struct program_words *words, const char *value)
{
    return read_number(value, UINT64_MAX, &words->seed);
}

static bool take_limit(struct program_words *words, const char *value)
{
    return read_time(value, &words->limit_ps);
}

static bool take_notice(struct program_words *words, const char *value)
{
    return read_time(value, &words->notice_ps);
}

static bool take_report(struct program_words *words, const char *value)
{
    words->report = strcmp(value, "yes") == 0;
    return words->report || strcmp(value, "no") == 0;
}

static const struct setting {
    const char *name;
    bool (*take)(struct program_words *words, const char *value);
    const char *what;
} settings[] = {
    {"topology", take_topology,
     "loop-inside, loop-outside, back-to-back, switch, tree, fat-tree, ring or torus"},
    {"compute", take_compute, "declared, measured or instructions"},
    {"factor", take_factor, "a number above 0, by which measured time is multiplied"},
    {"cores", take_cores, "a number, of a machine that is measured by `dimmnet sim calibrate`"},
    {"seed", take_seed, "a number"},
    {"limit", take_limit, "a time: 10us, 2ms, 1.5s"},
    {"notice", take_notice, "a time: 10us, 2ms, 1.5s"},
    {"report", take_report, "yes or no"},
};

static bool take_setting(struct program_words *words, char *word, char error[SIM_ERROR_BYTES])
{
    char *equals = strchr(word, '=');
    for (size_t i = 0; i < sizeof settings / sizeof settings[0] && equals; i++) {
        *equals = '\0';
        if (strcmp(word, settings[i].name) == 0) {
            return settings[i].take(words, equals + 1) ||
                   refuse(error, "sim: %s is %s, not \"%s\"", word, settings[i].what, equals + 1);
        }
        *equals = '=';
    }
    return refuse(error,
                  "sim: cannot understand \"%s\"; settings are topology=, compute=, factor=, "
                  "cores=, seed=, limit=, notice= and report=",
                  word);
}

static bool load_machine(struct sim_machine *machine, const char *name, char error[SIM_ERROR_BYTES])
{
    char path[CLI_HERE_BYTES];
    if (strcmp(name, CLI_HERE_NAME) != 0) {
        return sim_machine_load(machine, name, error);
    }
    if (!cli_here_path(path) || access(path, R_OK) != 0) {
        return refuse(error, "sim:here: this machine has not been measured; say `dimmnet sim "
                             "calibrate`, which takes a minute");
    }
    return sim_machine_load(machine, path, error);
}

/* What is said of cores, and what programs compute, where memory is reached in place. */
static bool suit_in_place(struct program_words *words, struct sim_machine *machine,
                          char error[SIM_ERROR_BYTES])
{
    if (!sim_machine_is_in_place(machine)) {
        return words->cores == 0 ||
               refuse(error, "sim: cores= is for machines without a NIC; a node of %s has its own",
                      machine->name);
    }
    if (words->cores > 0) {
        machine->call_cores = words->cores;
    }
    if (!words->compute_is_said) {
        words->compute = TURN_COMPUTE_MEASURED;
    }
    return true;
}

bool cli_program_words_read(const char *text, uint32_t node_count, struct program_words *words,
                            struct sim_machine *machine, char error[SIM_ERROR_BYTES])
{
    char copy[WORD_BYTES];
    char *rest = copy;
    const char *report = getenv("DN_SIM_REPORT");
    *words = (struct program_words){
        .topology = SIM_TOPOLOGIES,
        .factor_ppm = (uint64_t)PPM,
        .limit_ps = UINT64_MAX,
        .notice_ps = NOTICE_USUAL_PS,
        .report = !report || strcmp(report, "0") != 0,
    };
    if (text && strlen(text) >= sizeof copy) {
        return refuse(error, "sim: more than %d characters", WORD_BYTES - 1);
    }
    (void)snprintf(copy, sizeof copy, "%s", text && *text ? text : MACHINE_USUAL);
    const char *name = strsep(&rest, ",");
    for (char *word; (word = strsep(&rest, ","));) {
        if (!take_setting(words, word, error)) {
            return false;
        }
    }
    if (!load_machine(machine, name, error)) {
        return false;
    }
    if (!suit_in_place(words, machine, error)) {
        sim_machine_free(machine);
        return false;
    }
    words->is_loop = words->topology == SIM_LOOP_INSIDE || words->topology == SIM_LOOP_OUTSIDE;
    if (words->topology == SIM_TOPOLOGIES) {
        words->topology = sim_topology_suiting(machine, node_count);
    }
    return true;
}

/* ---- Deaths ---------------------------------------------------------------------------------- */

struct plan {
    struct sim_death *deaths;
    uint32_t count;
    uint32_t node_count;
    uint32_t spared;  /* nodes that it did not name before the last random line */
    bool is_too_many; /* deaths in that line */
};

static bool add(struct plan *plan, const char *rank, const char *time)
{
    uint64_t number;
    struct sim_death *death = &plan->deaths[plan->count];
    if (plan->count == DEATHS_MAX || !read_number(rank, plan->node_count - 1, &number) ||
        !read_time(time, &death->at_ps)) {
        return false;
    }
    death->rank = (uint32_t)number;
    plan->count++;
    return true;
}

/* Finds the ranks that the plan does not name yet; gives how many there are. */
static uint32_t find_spared(const struct plan *plan, uint32_t *ranks)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->count; i++) {
        ranks[plan->deaths[i].rank] = UINT32_MAX;
    }
    for (uint32_t rank = 0; rank < plan->node_count; rank++) {
        if (ranks[rank] != UINT32_MAX) {
            ranks[count++] = rank; /* never behind the one that is looked at */
        }
    }
    return count;
}

/* Each rank dies once: those that the plan has named before are left out. */
static bool add_random(struct plan *plan, const char *count_text, const char *until_text,
                       const char *seed_text)
{
    uint64_t count;
    uint64_t until_ps;
    struct base_random chance;
    if (!read_number(count_text, UINT64_MAX, &count) || !read_time(until_text, &until_ps) ||
        !read_number(seed_text, UINT64_MAX, &chance.state)) {
        return false;
    }
    uint32_t *ranks = calloc((size_t)plan->node_count + 1, sizeof *ranks);
    uint32_t left = ranks ? find_spared(plan, ranks) : 0;
    plan->spared = left;
    plan->is_too_many = count > left || count > DEATHS_MAX - plan->count;
    for (uint64_t i = 0; i < count && !plan->is_too_many; i++) {
        uint32_t chosen = (uint32_t)base_random_below(&chance, left);
        plan->deaths[plan->count++] = (struct sim_death){
            .rank = ranks[chosen],
            .at_ps = base_random_below(&chance, until_ps + 1),
        };
        ranks[chosen] = ranks[--left];
    }
    free(ranks);
    return !plan->is_too_many;
}

static bool read_list(struct plan *plan, const char *list, char error[SIM_ERROR_BYTES])
{
    char *copy = strdup(list);
    char *rest = copy;
    bool is_sound = copy != NULL;
    for (char *word; is_sound && (word = strsep(&rest, ","));) {
        char *time = strchr(word, '@');
        if (time) {
            *time = '\0';
        }
        is_sound = time && add(plan, word, time + 1);
    }
    free(copy);
    return is_sound || refuse(error,
                              "--kill takes RANK@TIME,... with ranks below %" PRIu32
                              " and times like 120us, not \"%s\"",
                              plan->node_count, list);
}

static bool read_line(struct plan *plan, char *line)
{
    char *words[5] = {NULL};
    unsigned count = 0;
    line[strcspn(line, "#\n")] = '\0';
    for (char *at = line, *word; count < 5 && (word = strsep(&at, " \t"));) {
        if (*word) {
            words[count++] = word;
        }
    }
    return count == 0 ||
           (count == 3 && strcmp(words[0], "kill") == 0 && add(plan, words[1], words[2])) ||
           (count == 4 && strcmp(words[0], "random") == 0 &&
            add_random(plan, words[1], words[2], words[3]));
}

static bool read_file(struct plan *plan, const char *name, char error[SIM_ERROR_BYTES])
{
    char line[WORD_BYTES];
    unsigned number = 0;
    bool is_sound = true;
    FILE *file = fopen(name, "re");
    if (!file) {
        return refuse(error, "cannot read %s: %s", name, strerror(errno));
    }
    while (is_sound && fgets(line, sizeof line, file)) {
        number++;
        is_sound = read_line(plan, line);
    }
    (void)fclose(file);
    if (plan->is_too_many) {
        return refuse(error, "%s:%u: of %" PRIu32 " nodes %" PRIu32 " are left to die, not more",
                      name, number, plan->node_count, plan->spared);
    }
    return is_sound || refuse(error, "%s:%u: say \"kill RANK TIME\" or \"random COUNT UNTIL SEED\"",
                              name, number);
}

bool cli_program_deaths(const char *list, const char *file, uint32_t node_count,
                        struct sim_death **deaths, uint32_t *count, char error[SIM_ERROR_BYTES])
{
    struct plan plan = {.node_count = node_count};
    *deaths = NULL;
    *count = 0;
    if (!list && !file) {
        return true;
    }
    plan.deaths = calloc(DEATHS_MAX + 1, sizeof *plan.deaths);
    if (!plan.deaths) {
        return refuse(error, "no memory");
    }
    *deaths = plan.deaths;
    bool is_sound = (!list || read_list(&plan, list, error)) &&
                    (!file || read_file(&plan, file, error));
    *count = plan.count;
    return is_sound;
}
