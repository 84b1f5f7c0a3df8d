/* Where each nanosecond of a loop-back goes: paper 000's figure 6, which is lost, redrawn from
 * its description in section 5.2.4. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/sim/sim.h"
#include "sim/papers/measure.h"

enum { BAR_CHARS = 40 };

struct map {
    const struct papers_way *way;
    double at_ns; /* printed so far */
};

static void print_part(struct map *map, const char *text, double ns)
{
    char bar[BAR_CHARS + 1];
    int from = (int)(map->at_ns * BAR_CHARS / map->way->total_ns + 0.5);
    int to = (int)((map->at_ns + ns) * BAR_CHARS / map->way->total_ns + 0.5);
    for (int i = 0; i < BAR_CHARS; i++) {
        bar[i] = i >= from && i < to ? '#' : '.';
    }
    if (to == from) {
        bar[from < BAR_CHARS ? from : BAR_CHARS - 1] = '|'; /* too short for a place of its own */
    }
    bar[BAR_CHARS] = '\0';
    printf("  %-34s %8.2f %6.2f %%  %s\n", text, ns, 100.0 * ns / map->way->total_ns, bar);
    map->at_ns += ns;
}

/* Prints the wait before the stage (for an edge of its clock, for its place) and the stage itself,
 * unless they take no time. */
static void print_stage(struct map *map, enum sim_stage_name stage)
{
    char text[64];
    if (map->way->between_ns[stage] > 0) {
        (void)snprintf(text, sizeof text, "waiting, before %.40s",
                       stage == SIM_STAGE_LINK ? "the link" : sim_stage_names[stage]);
        print_part(map, text, map->way->between_ns[stage]);
    }
    if (map->way->stage_ns[stage] > 0) {
        print_part(map, sim_stage_texts[stage], map->way->stage_ns[stage]);
    }
}

static void print_map(const char *title, const struct papers_way *way, bool is_card)
{
    struct map map = {.way = way};
    printf("%s: %.1f ns\n", title, way->total_ns);
    print_part(&map, "software", way->software_ns);
    print_part(&map, "CPU write and chipset", way->write_ns);
    for (unsigned stage = 0; stage < SIM_STAGES; stage++) {
        print_stage(&map, (enum sim_stage_name)stage);
    }
    print_part(&map, is_card ? "DMA into host memory" : "LLCM to the host's port", way->visible_ns);
    print_part(&map, "poll misalignment", way->missed_ns);
    print_part(&map, "CPU read", way->read_ns);
}

/* Prints the same by the kinds of section 5.2.4, and what only a card has. */
static void print_kinds(const struct papers_way *way, bool is_card)
{
    double martini_ns = is_card ? 0 : way->visible_ns;
    double waiting_ns = 0;
    for (unsigned stage = 0; stage < SIM_STAGES; stage++) {
        waiting_ns += way->between_ns[stage];
        martini_ns += stage == SIM_STAGE_LINK ? 0 : way->stage_ns[stage];
    }
    printf("  software %.1f, CPU write and chipset %.1f, Martini %.1f, clock crossings %.1f,\n"
           "  outside the SWIF %.1f, poll misalignment %.1f, CPU read %.1f ns\n",
           way->software_ns, way->write_ns, martini_ns, waiting_ns, way->stage_ns[SIM_STAGE_LINK],
           way->missed_ns, way->read_ns);
    if (is_card) {
        printf("  DMA %.1f ns\n", way->visible_ns);
    }
    (void)putchar('\n');
}

int sim_papers_map(const char *command, const char *machine)
{
    static const struct {
        enum sim_topology topology;
        const char *title;
    } loops[] = {
        {SIM_LOOP_INSIDE, "loop inside the SWIF"},
        {SIM_LOOP_OUTSIDE, "loop outside, through the cable"},
    };
    char error[SIM_ERROR_BYTES];
    struct sim_machine loaded;
    if (!papers_machine_load(&loaded, machine, error)) {
        return cli_refuse(command, "%s", error);
    }
    bool is_card = loaded.dma_word_cycles > 0;
    sim_machine_free(&loaded);
    printf("%s: 4 bytes round one board, mean of %d rounds in all phases\n\n", machine,
           PAPERS_ROUNDS);
    for (unsigned i = 0; i < sizeof loops / sizeof loops[0]; i++) {
        struct papers_way way;
        if (!papers_measure_way(machine, loops[i].topology, &way, error)) {
            return cli_fail(command, "%s", error);
        }
        print_map(loops[i].title, &way, is_card);
        print_kinds(&way, is_card);
    }
    return CLI_OK;
}
