/* Machines from files: values, inheritance, and every way to be wrong, with its line. */
#include "unit/unit.h"

#include <stdlib.h>
#include <unistd.h>

#include "sim/model/machine.h"
#include "sim/model/machine_file.h"
#include "sim/ring/net.h"

/* ---- Helpers ------------------------------------------------------------------------------ */

static bool load_text(struct sim_machine *machine, const char *text, char error[SIM_ERROR_BYTES])
{
    return sim_machine_load_bytes(machine, "test.ini", text, strlen(text), error);
}

/* Asserts that the text is refused with exactly that error. */
static void expect_error(const char *text, const char *expected)
{
    struct sim_machine machine;
    char error[SIM_ERROR_BYTES] = "";
    assert_false(load_text(&machine, text, error));
    assert_string_equal(error, expected);
    assert_null(machine.sources);
}

#define ON_D "[machine]\ninherit = dimmnet1-D\n"

/* Loads dimmnet1-D with these changes, which begin at line 3. */
static void expect_loaded(struct sim_machine *machine, const char *text)
{
    char error[SIM_ERROR_BYTES] = "";
    bool loaded = load_text(machine, text, error);
    assert_string_equal(error, "");
    assert_true(loaded);
}

struct folder {
    char name[32];
    char path[128];
};

static void make_folder(struct folder *folder)
{
    (void)snprintf(folder->name, sizeof folder->name, "/tmp/machine_test.XXXXXX");
    assert_non_null(mkdtemp(folder->name));
}

static const char *in_folder(struct folder *folder, const char *name)
{
    (void)snprintf(folder->path, sizeof folder->path, "%s/%s", folder->name, name);
    return folder->path;
}

static void write_file(struct folder *folder, const char *name, const char *text)
{
    FILE *file = fopen(in_folder(folder, name), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void remove_folder(struct folder *folder, const char *const names[])
{
    for (unsigned i = 0; names[i]; i++) {
        assert_int_equal(unlink(in_folder(folder, names[i])), 0);
    }
    assert_int_equal(rmdir(folder->name), 0);
}

/* The value that the machine shows for a key. */
struct wanted {
    const char *section, *key;
    struct sim_machine_value found;
    unsigned count;
};

static void look(void *context, const struct sim_machine_value *value)
{
    struct wanted *wanted = context;
    if (strcmp(value->section, wanted->section) == 0 && strcmp(value->key, wanted->key) == 0) {
        wanted->found = *value;
        wanted->count++;
    }
}

static struct sim_machine_value shown(const struct sim_machine *machine, const char *section,
                                      const char *key)
{
    struct wanted wanted = {.section = section, .key = key};
    sim_machine_each(machine, look, &wanted);
    assert_int_equal(wanted.count, 1);
    return wanted.found;
}

static bool is_fitted(const struct sim_machine *machine, const char *section, const char *key)
{
    const char *source = shown(machine, section, key).source;
    return source && strncmp(source, "fitted", 6) == 0;
}

/* ---- What is right ------------------------------------------------------------------------ */

/* Paper 000, Table 2: ports, table routing, source routing, retransmission. */
static void switches_are_as_the_paper_has_them(void **state)
{
    static const struct {
        const char *part;
        uint64_t ports, tables, source_routes, resend;
    } switches[] = {{"switch-rhinet2", 8, 1, 0, 0},
                    {"switch-rhinet3", 8, 1, 1, 1},
                    {"switch-oip", 15 + 1, 0, 1, 0}};
    (void)state;
    for (unsigned i = 0; i < sizeof switches / sizeof switches[0]; i++) {
        char error[SIM_ERROR_BYTES];
        struct sim_machine part;
        assert_true(sim_part_load(&part, switches[i].part, error));
        assert_int_equal(part.switch_ports, switches[i].ports);
        assert_int_equal(part.switch_tables, switches[i].tables);
        assert_int_equal(part.switch_source_routes, switches[i].source_routes);
        assert_int_equal(part.switch_resend, switches[i].resend);
        sim_machine_free(&part);
    }
}

static void every_machine_that_comes_along_loads(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "dimmnet1-A", "dimmnet1-B",     "dimmnet1-C",      "dimmnet1-D",  "dimmnet1-E",
        "dimmnet1-F", "dimmnet1-sw2b",  "dimmnet1-design", "dimmnet1-o2", "dimmnet1-o3",
        "rhinet2-ni", "dimmnet1-bdais", "dimmnet2",        "fagus-p3",    NULL};
    char error[SIM_ERROR_BYTES] = "";
    unsigned i = 0;
    for (; sim_machine_name(i); i++) {
        struct sim_machine machine;
        bool loaded = sim_machine_load(&machine, sim_machine_name(i), error);
        assert_string_equal(error, "");
        assert_true(loaded);
        assert_string_equal(machine.name, expected[i]);
        assert_null(strstr(machine.text, "changed"));
        sim_machine_free(&machine);
    }
    assert_null(expected[i]);
    for (i = 0; sim_part_name(i); i++) {
        struct sim_machine part;
        bool loaded = sim_part_load(&part, sim_part_name(i), error);
        assert_string_equal(error, "");
        assert_true(loaded);
        sim_machine_free(&part);
        assert_false(sim_machine_load(&part, sim_part_name(i), error));
        assert_non_null(strstr(error, "is a part of machines"));
        error[0] = '\0';
    }
    assert_true(i > 0);
}

/* The sum of the stages that Table 6 has, in ps. */
static uint64_t table_6_ps(const struct sim_machine *machine)
{
    uint64_t sum = 0;
    bool slow = machine->clock_swif > machine->clock_dimm;
    for (unsigned i = 0; i < SIM_STAGES; i++) {
        const struct sim_stage *stage = &machine->stages[i];
        if (i != SIM_STAGE_ADDRESS_TLB) {
            sum += sim_machine_period(machine, (enum sim_clock)stage->clock) *
                   (stage->cycles + (slow ? stage->slow_cycles : 0));
        }
    }
    return sum;
}

static void the_papers_sums_come_out(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t sum_ps;
    } table_6[] = {
        /* The paper prints 343 and 245 where its rows add up to 373 and 275. */
        {"dimmnet1-A", 373000},      {"dimmnet1-B", 318000}, {"dimmnet1-C", 275000},
        {"dimmnet1-D", 220000},      {"dimmnet1-E", 220000}, {"dimmnet1-F", 318000},
        {"dimmnet1-design", 192500},
    };
    struct sim_machine machine;
    char error[SIM_ERROR_BYTES];
    for (unsigned i = 0; i < sizeof table_6 / sizeof table_6[0]; i++) {
        assert_true(sim_machine_load(&machine, table_6[i].name, error));
        assert_int_equal(table_6_ps(&machine), table_6[i].sum_ps);
        sim_machine_free(&machine);
    }
    assert_true(sim_machine_load(&machine, "dimmnet2", error));
    /* Equation 1's C, with the switch. */
    uint64_t mac = machine.stages[SIM_STAGE_MAC_SEND].cycles +
                   machine.stages[SIM_STAGE_MAC_RECEIVE].cycles;
    assert_int_equal(mac * machine.clock_mac + machine.switch_transit, 85 * 8000);
    assert_int_equal(machine.carrier_kind, SIM_CARRIER_CD);
    sim_machine_free(&machine);
}

/* Paper 002 ends with go-back-N. */
static void infiniswif_goes_back_n(void **state)
{
    (void)state;
    static const char *const names[] = {"dimmnet1-bdais", "dimmnet2"};
    struct sim_machine machine;
    char error[SIM_ERROR_BYTES];
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_true(sim_machine_load(&machine, names[i], error));
        assert_int_equal(machine.carrier_arq, SIM_ARQ_GO_BACK_N);
        assert_int_equal(machine.link_loss_ppm, 0);
        sim_machine_free(&machine);
    }
    expect_loaded(&machine, "[machine]\ninherit = dimmnet2\n[carrier]\n"
                            "arq = selective-repeat | to compare\n");
    assert_int_equal(machine.carrier_arq, SIM_ARQ_SELECTIVE_REPEAT);
    sim_machine_free(&machine);
}

static void values_are_kept_in_their_units(void **state)
{
    (void)state;
    struct sim_machine machine;
    expect_loaded(&machine, ON_D "text = a text, with | a bar\n"
                                 "[clock]\n"
                                 "dimm_mhz = 66.6667 | here\n"
                                 "  swif_mhz = 133.3333 | indented\n"
                                 "core_mhz = 62.5 | here\n"
                                 "nic_mhz: 31.25 | with a colon\n"
                                 "mac_mhz = 66.666666667 | here\n"
                                 "; a comment\n"
                                 "# another\n"
                                 "\n"
                                 "[host]\n"
                                 "write_ns = 53.0005 | rounded\n"
                                 "read_ns = .5 | here\n"
                                 "[link]\r\n"
                                 "mb_per_s = 312.5 | fitted: of 2.5 Gbps\r\n"
                                 "[tlb]\n"
                                 "refill = host | here\n"
                                 "[stage header_tlb]\n"
                                 "clock = core | here\n"
                                 "cycles = 7 | last, without an end");
    assert_string_equal(machine.name, "test");
    assert_string_equal(machine.text, "a text, with | a bar");
    assert_int_equal(machine.clock_dimm, 15000);
    assert_int_equal(machine.clock_swif, 7500);
    assert_int_equal(machine.clock_core, 16000);
    assert_int_equal(machine.clock_nic, 32000);
    assert_int_equal(machine.clock_mac, 15000);
    assert_int_equal(machine.clock_tp, 0);
    assert_int_equal(machine.host_write, 53001);
    assert_int_equal(machine.host_read, 500);
    assert_int_equal(machine.link_mb_per_s, 312500000);
    assert_int_equal(machine.tlb_refill, SIM_REFILL_HOST);
    assert_int_equal(machine.stages[SIM_STAGE_HEADER_TLB].clock, SIM_CLOCK_CORE);
    assert_int_equal(machine.stages[SIM_STAGE_HEADER_TLB].cycles, 7);
    assert_int_equal(sim_machine_period(&machine, SIM_CLOCK_NIC), 32000);
    /* What it leaves out is as in dimmnet1-D. */
    assert_int_equal(machine.host_kick_cycles, 10);
    assert_true(is_fitted(&machine, "link", "mb_per_s"));
    assert_true(is_fitted(&machine, "software", "turn_ns"));
    assert_false(is_fitted(&machine, "host", "read_ns"));
    assert_false(is_fitted(&machine, "clock", "tp_mhz"));
    sim_machine_free(&machine);
}

static void every_value_is_shown_with_its_source(void **state)
{
    (void)state;
    struct sim_machine machine;
    expect_loaded(&machine, ON_D "[clock]\nswif_mhz = 133.3333 | mine\n");
    struct sim_machine_value value = shown(&machine, "clock", "swif_mhz");
    assert_string_equal(value.value, "133.3333");
    assert_string_equal(value.source, "mine");
    assert_string_equal(value.file, "test.ini");
    value = shown(&machine, "host", "kick_cycles");
    assert_string_equal(value.value, "10");
    assert_string_equal(value.file, "martini.ini");
    value = shown(&machine, "link", "mb_per_s");
    assert_string_equal(value.value, "500");
    value = shown(&machine, "carrier", "kind");
    assert_string_equal(value.value, "plain");
    value = shown(&machine, "stage swif_send", "clock");
    assert_string_equal(value.value, "swif");
    assert_string_equal(value.source, "paper 000, Table 6");
    value = shown(&machine, "host", "bank_switch_ns");
    assert_string_equal(value.value, "0");
    assert_null(value.source);
    assert_null(value.file);
    sim_machine_free(&machine);
    expect_loaded(&machine, "[machine]\ninherit = dimmnet1-E\n");
    assert_string_equal(shown(&machine, "host", "read_ns").value, "234.5");
    assert_string_equal(machine.text, "dimmnet1-E, changed");
    sim_machine_free(&machine);
}

/* Without [ring] the usual routers are shown, since they are what is used. */
static void what_is_used_of_a_router_is_shown(void **state)
{
    (void)state;
    static const char *const keys[] = {"buffer_flits", "route_cycles",  "switch_cycles",
                                       "link_cycles",  "credit_cycles", "nic_cycles"};
    struct net_config usual;
    net_config_default(&usual, 8);
    const uint32_t values[] = {usual.buffer_flits, usual.route_cycles,  usual.switch_cycles,
                               usual.link_cycles,  usual.credit_cycles, usual.nic_cycles};
    struct sim_machine machine;
    expect_loaded(&machine, "[machine]\ninherit = dimmnet1-D\n");
    for (unsigned i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        struct sim_machine_value value = shown(&machine, "ring", keys[i]);
        assert_int_equal(strtoul(value.value, NULL, 10), values[i]);
        assert_int_equal(strncmp(value.source, "assumed: ", 9), 0);
        assert_null(value.file);
    }
    sim_machine_free(&machine);
    expect_loaded(&machine, "[machine]\ninherit = dimmnet1-D\n[ring]\nbuffer_flits = 9 | mine\n"
                            "link_cycles = 5 | mine\n");
    assert_string_equal(shown(&machine, "ring", "link_cycles").value, "5");
    assert_string_equal(shown(&machine, "ring", "link_cycles").source, "mine");
    assert_string_equal(shown(&machine, "ring", "route_cycles").value, "0");
    assert_null(shown(&machine, "ring", "route_cycles").source);
    sim_machine_free(&machine);
}

/* Shown values, put into a file again, make the same machine. */
struct copy {
    char text[1 << 16];
    size_t length;
    const char *section;
};

static void copy_value(void *context, const struct sim_machine_value *value)
{
    struct copy *copy = context;
    if (!value->file) {
        return;
    }
    if (!copy->section || strcmp(copy->section, value->section) != 0) {
        copy->length += (size_t)sprintf(copy->text + copy->length, "[%s]\n", value->section);
        copy->section = value->section;
    }
    copy->length += (size_t)sprintf(copy->text + copy->length, "%s = %s | %s\n", value->key,
                                    value->value, value->source);
}

static void what_is_shown_is_the_machine(void **state)
{
    (void)state;
    char error[SIM_ERROR_BYTES];
    for (unsigned i = 0; sim_machine_name(i); i++) {
        struct sim_machine machine;
        struct sim_machine again;
        struct copy *copy = calloc(1, sizeof *copy);
        assert_true(sim_machine_load(&machine, sim_machine_name(i), error));
        sim_machine_each(&machine, copy_value, copy);
        assert_true(sim_machine_load_bytes(&again, machine.name, copy->text, copy->length, error));
        memcpy(again.text, machine.text, sizeof again.text);
        struct sim_sources *sources = again.sources;
        again.sources = machine.sources;
        assert_memory_equal(&again, &machine, sizeof machine);
        again.sources = sources;
        sim_machine_free(&again);
        sim_machine_free(&machine);
        free(copy);
    }
}

/* ---- Inheritance -------------------------------------------------------------------------- */

static void three_lines_change_a_machine(void **state)
{
    (void)state;
    struct folder folder;
    struct sim_machine machine;
    char error[SIM_ERROR_BYTES] = "";
    make_folder(&folder);
    write_file(&folder, "mine.ini",
               ON_D "[switch]\n"
                    "ports = 32 | what if\n"
                    "transit_ns = 100 | what if\n");
    assert_true(sim_machine_load(&machine, in_folder(&folder, "mine.ini"), error));
    assert_string_equal(machine.name, "mine");
    assert_int_equal(machine.switch_ports, 32);
    assert_int_equal(machine.switch_transit, 100000);
    assert_int_equal(machine.switch_next, 240000);
    assert_int_equal(machine.host_read, 173000);
    assert_string_equal(shown(&machine, "switch", "ports").file, in_folder(&folder, "mine.ini"));
    sim_machine_free(&machine);
    remove_folder(&folder, (const char *const[]){"mine.ini", NULL});
}

static void later_ones_change_what_earlier_ones_say(void **state)
{
    (void)state;
    struct sim_machine machine;
    expect_loaded(&machine, "[machine]\ninherit = dimmnet1-D switch-oip, host-p4-dimm100\n"
                            "[switch]\nnext_ns = 7 | here\n");
    assert_int_equal(machine.switch_ports, 16);
    assert_int_equal(machine.switch_multicast, 0);
    assert_int_equal(machine.switch_next, 7000);
    assert_int_equal(machine.host_read, 234500);
    assert_int_equal(machine.clock_swif, 10000);
    sim_machine_free(&machine);
}

static void files_inherit_from_files_at_any_depth(void **state)
{
    (void)state;
    enum { DEPTH = 40 };
    struct folder folder;
    struct sim_machine machine;
    char error[SIM_ERROR_BYTES] = "";
    char name[32];
    char text[128];
    make_folder(&folder);
    for (unsigned i = 0; i < DEPTH; i++) {
        (void)snprintf(name, sizeof name, "m%u.ini", i);
        if (i == 0) {
            (void)snprintf(text, sizeof text, "[machine]\ninherit = dimmnet2\n");
        } else {
            (void)snprintf(text, sizeof text,
                           "[machine]\ninherit = m%u.ini\n[send]\nbuffers = %u | %u\n", i - 1,
                           i + 1, i);
        }
        write_file(&folder, name, text);
    }
    bool loaded = sim_machine_load(&machine, in_folder(&folder, name), error);
    assert_string_equal(error, "");
    assert_true(loaded);
    assert_int_equal(machine.send_buffers, DEPTH);
    assert_int_equal(machine.clock_mac, 8000);
    sim_machine_free(&machine);
    for (unsigned i = 0; i < DEPTH; i++) {
        (void)snprintf(name, sizeof name, "m%u.ini", i);
        assert_int_equal(unlink(in_folder(&folder, name)), 0);
    }
    assert_int_equal(rmdir(folder.name), 0);
}

static void circles_are_named(void **state)
{
    (void)state;
    struct folder folder;
    struct sim_machine machine;
    char error[SIM_ERROR_BYTES];
    char expected[SIM_ERROR_BYTES];
    make_folder(&folder);
    write_file(&folder, "a.ini", "[machine]\n\ninherit = ./b.ini\n");
    write_file(&folder, "b.ini", "[machine]\ninherit = c.ini\n");
    write_file(&folder, "c.ini", "[machine]\ninherit = b.ini\n");
    assert_false(sim_machine_load(&machine, in_folder(&folder, "a.ini"), error));
    const char *at = folder.name;
    (void)snprintf(expected, sizeof expected,
                   "%s/./c.ini:2: [machine] inherit: a circle: %s/./b.ini inherits from "
                   "%s/./c.ini inherits from %s/./b.ini",
                   at, at, at, at);
    assert_string_equal(error, expected);
    write_file(&folder, "c.ini", "[machine]\ninherit = c.ini\n");
    assert_false(sim_machine_load(&machine, in_folder(&folder, "c.ini"), error));
    (void)snprintf(expected, sizeof expected,
                   "%s/c.ini:2: [machine] inherit: a circle: %s/c.ini inherits from %s/c.ini", at,
                   at, at);
    assert_string_equal(error, expected);
    remove_folder(&folder, (const char *const[]){"a.ini", "b.ini", "c.ini", NULL});
}

static void errors_are_those_of_the_file_that_has_them(void **state)
{
    (void)state;
    struct folder folder;
    struct sim_machine machine;
    char error[SIM_ERROR_BYTES];
    char expected[SIM_ERROR_BYTES];
    make_folder(&folder);
    write_file(&folder, "a.ini", "[machine]\ninherit = b.ini\n");
    write_file(&folder, "b.ini", ON_D "[host]\nwrite_ns = soon | b\n");
    assert_false(sim_machine_load(&machine, in_folder(&folder, "a.ini"), error));
    (void)snprintf(expected, sizeof expected, "%s/b.ini:4: [host] write_ns: \"soon\" is no number",
                   folder.name);
    assert_string_equal(error, expected);
    write_file(&folder, "a.ini", "[machine]\ninherit = gone.ini\n");
    assert_false(sim_machine_load(&machine, in_folder(&folder, "a.ini"), error));
    (void)snprintf(expected, sizeof expected,
                   "%s/a.ini:2: [machine] inherit: cannot read %s/gone.ini: No such file or "
                   "directory",
                   folder.name, folder.name);
    assert_string_equal(error, expected);
    remove_folder(&folder, (const char *const[]){"a.ini", "b.ini", NULL});
}

static void there_are_limits_to_files(void **state)
{
    (void)state;
    struct folder folder;
    struct sim_machine machine;
    char error[SIM_ERROR_BYTES];
    make_folder(&folder);
    /* Two includes each, ten deep: a thousand files without the limit. */
    write_file(&folder, "m0.ini", "");
    for (char i = '1'; i <= '9'; i++) {
        char text[64];
        const char name[] = {'m', i, '.', 'i', 'n', 'i', '\0'};
        (void)snprintf(text, sizeof text, "[machine]\ninherit = m%c.ini m%c.ini\n", i - 1, i - 1);
        write_file(&folder, name, text);
    }
    assert_false(sim_machine_load(&machine, in_folder(&folder, "m9.ini"), error));
    assert_non_null(strstr(error, "is one file too many"));
    FILE *large = fopen(in_folder(&folder, "m0.ini"), "w");
    assert_non_null(large);
    for (unsigned i = 0; i < SIM_FILE_BYTES_MAX; i++) {
        (void)fputc('\n', large);
    }
    assert_int_equal(fclose(large), 0);
    assert_false(sim_machine_load(&machine, in_folder(&folder, "m0.ini"), error));
    assert_non_null(strstr(error, "it is too large"));
    remove_folder(&folder,
                  (const char *const[]){"m0.ini", "m1.ini", "m2.ini", "m3.ini", "m4.ini", "m5.ini",
                                        "m6.ini", "m7.ini", "m8.ini", "m9.ini", NULL});
}

/* ---- What is wrong ------------------------------------------------------------------------ */

static void names_that_there_are_not(void **state)
{
    (void)state;
    struct sim_machine machine;
    char error[SIM_ERROR_BYTES];
    assert_false(sim_machine_load(&machine, "dimmnet3", error));
    assert_string_equal(error, "there is no machine \"dimmnet3\"; see dimmnet sim machines");
    assert_false(sim_machine_load(&machine, "", error));
    assert_string_equal(error, "\"\" is no name for a machine");
    assert_false(sim_machine_load(&machine, "nowhere/x.ini", error));
    assert_string_equal(error, "cannot read nowhere/x.ini: No such file or directory");
    assert_false(sim_machine_load(&machine, "/", error));
    expect_error("[machine]\ninherit = dimmnet3\n",
                 "test.ini:2: [machine] inherit: there is no machine \"dimmnet3\"");
    expect_error("[machine]\ninherit = dimmnet2 dimmnet3\n",
                 "test.ini:2: [machine] inherit: there is no machine \"dimmnet3\"");
    expect_error("[machine]\ninherit = ./other.ini\n",
                 "test.ini:2: [machine] inherit: ./other.ini is a path, and this is no file");
    expect_error("[machine]\ninherit =\n", "test.ini:2: [machine] inherit: it names nothing");
}

static void sections_and_keys_that_there_are_not(void **state)
{
    (void)state;
    expect_error(ON_D "[clocks]\n", "test.ini:3: there is no section [clocks]");
    expect_error(ON_D "\n[stage tlb]\ncycles = 3 | x\n",
                 "test.ini:4: there is no stage [stage tlb]");
    expect_error(ON_D "[stage]\n", "test.ini:3: there is no section [stage]");
    expect_error(ON_D "[stage padding]\n", "test.ini:3: there is no stage [stage padding]");
    expect_error(ON_D "[stage link]\n", "test.ini:3: there is no stage [stage link]");
    expect_error(ON_D "[clock]\ndimm = 66 | x\n", "test.ini:4: [clock] has no key \"dimm\"");
    expect_error(ON_D "[stage swif_send]\nwrite_ns = 66 | x\n",
                 "test.ini:4: [stage swif_send] has no key \"write_ns\"");
    expect_error("write_ns = 66 | x\n", "test.ini:1: \"write_ns\" stands before any section");
    expect_error("[machine]\nname = x\n",
                 "test.ini:2: [machine] has no key \"name\"; it has inherit and text");
    expect_error(ON_D "[clock] and more\n", "test.ini:3: there is more behind the section's ]");
    expect_error(ON_D "[clock\n", "test.ini:3: a section ends with ]");
}

static void what_is_said_twice(void **state)
{
    (void)state;
    expect_error(ON_D "[host]\nwrite_ns = 1 | x\nread_ns = 2 | x\n[host]\nwrite_ns = 1 | x\n",
                 "test.ini:7: [host] write_ns: it is already said in line 4");
    expect_error(ON_D "text = x\ntext = y\n",
                 "test.ini:4: [machine] text: it is already said in line 3");
    expect_error(ON_D "inherit = dimmnet2\n",
                 "test.ini:3: [machine] inherit: it is already said in line 2");
    expect_error("[host]\nwrite_ns = 1 | x\n" ON_D,
                 "test.ini:4: [machine] inherit: it comes before everything else");
}

static void values_without_a_source(void **state)
{
    (void)state;
    const char *expected = "test.ini:4: [host] write_ns: it says no source; write value | source";
    expect_error(ON_D "[host]\nwrite_ns = 53\n", expected);
    expect_error(ON_D "[host]\nwrite_ns = 53 |\n", expected);
    expect_error(ON_D "[host]\nwrite_ns = 53 | \t \n", expected);
    expect_error(ON_D "[host]\nwrite_ns = 53 | ; paper 000\n", expected);
    expect_error(ON_D "[host]\nwrite_ns =\n", expected);
}

static void numbers_that_are_none(void **state)
{
    (void)state;
    static const struct {
        const char *section, *key, *value, *fault;
    } wrong[] = {
        {"clock", "dimm_mhz", "0", "is not above 0"},
        {"clock", "dimm_mhz", "0.0", "is not above 0"},
        {"clock", "dimm_mhz", "-66", "is negative"},
        {"clock", "dimm_mhz", "66MHz", "is no number"},
        {"clock", "dimm_mhz", "", "is no number"},
        {"clock", "dimm_mhz", ".", "is no number"},
        {"clock", "dimm_mhz", "-", "is no number"},
        {"clock", "dimm_mhz", "1.2.3", "is no number"},
        {"clock", "dimm_mhz", "1e3", "is no number"},
        {"clock", "dimm_mhz", "nan", "is no number"},
        {"clock", "dimm_mhz", "1,5", "is no number"},
        {"clock", "dimm_mhz", "0.0000000001", "has more than 9 decimals"},
        {"clock", "dimm_mhz", "0.0001", "is not between 0.001 and 100000 MHz"},
        {"clock", "dimm_mhz", "200000", "is not between 0.001 and 100000 MHz"},
        {"clock", "dimm_mhz", "99999999999999999999999999", "is too large"},
        {"host", "write_ns", "-1", "is negative"},
        {"host", "write_ns", "18446744073709551617", "is too large"},
        {"host", "write_ns", "1000000001", "is too large"},
        {"host", "read_ns", "0", "is not above 0"},
        {"host", "read8_ns", "0.0004", "is not above 0"},
        {"link", "mb_per_s", "0", "is not above 0"},
        {"link", "mb_per_s", "0.000999", "is below 0.001"},
        {"link", "mb_per_s", "-250", "is negative"},
        {"host", "kick_cycles", "1.5", "is no whole number from 0 to 1000000"},
        {"host", "kick_cycles", "-1", "is no whole number from 0 to 1000000"},
        {"stage swif_send", "cycles", "1000001", "is no whole number from 0 to 1000000"},
        {"fifo", "users", "65", "is no whole number from 1 to 64"},
        {"fifo", "entries", "0", "is no whole number from 1 to 2048"},
        {"fifo", "entries", "2049", "is no whole number from 1 to 2048"},
        {"fifo", "entries", "18446744073709551617", "is no whole number from 1 to 2048"},
        {"llcm", "bytes", "4095", "is no whole number from 4096 to 1073741824"},
        {"send", "buffers", "65537", "is no whole number from 1 to 65536"},
        {"packet", "pad_bytes", "9217", "is no whole number from 0 to 9216"},
        {"packet", "overhead_bytes", "9217", "is no whole number from 0 to 9216"},
        {"switch", "multicast", "2", "is no whole number from 0 to 1"},
        {"packet", "data_bytes", "9000", "is no whole number from 464 to 4608"},
        {"tlb", "refill", "nobody", "is none of host core"},
        {"carrier", "kind", "rc", "is none of plain ud cd"},
        {"stage swif_send", "clock", "link", "is none of dimm swif core nic tp dl mac"},
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[256];
        char expected[SIM_ERROR_BYTES];
        (void)snprintf(text, sizeof text, ON_D "[%s]\n\n%s = %s | x\n", wrong[i].section,
                       wrong[i].key, wrong[i].value);
        (void)snprintf(expected, sizeof expected, "test.ini:5: [%s] %s: \"%s\" %s",
                       wrong[i].section, wrong[i].key, wrong[i].value, wrong[i].fault);
        expect_error(text, expected);
    }
}

static void keys_that_are_missing(void **state)
{
    (void)state;
    expect_error("", "test.ini:1: [clock] dimm_mhz: it is missing here and in what is inherited");
    expect_error("[machine]\ninherit = martini link-oip\n[clock]\ndimm_mhz = 100 | x\n",
                 "test.ini:4: [host] write_ns: it is missing here and in what is inherited");
    expect_error(ON_D "[stage mac_send]\nclock = dimm | x\n",
                 "test.ini:4: [stage mac_send] cycles: it is missing here and in what is "
                 "inherited");
    expect_error(ON_D "[stage mac_send]\ngap_cycles = 3 | x\n",
                 "test.ini:4: [stage mac_send] clock: it is missing here and in what is "
                 "inherited");
}

static void what_does_not_fit_together(void **state)
{
    (void)state;
    struct sim_machine machine;
    expect_error(ON_D "[stage mac_send]\ncycles = 3 | x\nclock = mac | x\n",
                 "test.ini:5: [stage mac_send] clock: this machine has no such clock");
    expect_error(ON_D "[stage mac_send]\ncycles = 0 | x\nword_cycles = 1 | x\nclock = mac | x\n",
                 "test.ini:6: [stage mac_send] clock: this machine has no such clock");
    /* A stage that takes no time needs no clock. */
    expect_loaded(&machine, ON_D "[stage mac_send]\ncycles = 0 | x\nclock = mac | x\n");
    sim_machine_free(&machine);
    expect_error(ON_D "[switch]\nports = 1 | x\n",
                 "test.ini:4: [switch] ports: a switch has 2 ports or more");
    expect_error(ON_D "[ring]\nlink_cycles = 5 | x\n",
                 "test.ini:4: [ring] link_cycles: without buffer_flits all of [ring] is as usual, "
                 "and this unused");
    expect_error(ON_D "[port]\nframe_bits = 7 | x\n",
                 "test.ini:4: [port] frame_bits: a line is 80 bits in whole frames");
    expect_loaded(&machine, ON_D "[port]\nframe_bits = 16 | x\n");
    sim_machine_free(&machine);
    expect_error(ON_D "[dma]\nword_cycles = 1 | x\n[host]\ncached_ns = 5 | x\n",
                 "test.ini:4: [dma] word_cycles: a card needs [host] cached_ns and fill_ns");
    const char *contexts = "test.ini:4: [carrier] kind: cd needs contexts and, not more than "
                           "those, ways: powers of two";
    expect_error(ON_D "[carrier]\nkind = cd | x\n", contexts);
    expect_error(ON_D "[carrier]\nkind = cd | x\ncontexts = 24 | x\nways = 4 | x\n", contexts);
    expect_error(ON_D "[carrier]\nkind = cd | x\ncontexts = 2 | x\nways = 4 | x\n", contexts);
    expect_loaded(&machine, ON_D "[carrier]\nkind = cd | x\ncontexts = 8 | x\nways = 8 | x\n");
    sim_machine_free(&machine);
    expect_error("[machine]\ninherit = host-p3-dimm100 link-oip\n"
                 "[host]\nkick_cycles = 10 | x\n[llcm]\nbytes = 4096 | x\n"
                 "[fifo]\nentries = 8 | x\nusers = 1 | x\n[send]\nbuffers = 1 | x\n"
                 "[packet]\noverhead_bytes = 24 | x\ndata_bytes = 464 | x\n"
                 "[carrier]\nkind = plain | x\n"
                 "[tlb]\nrefill = core | x\n",
                 "test.ini:18: [tlb] refill: this machine has no clock core_mhz");
}

static void lines_that_are_none(void **state)
{
    (void)state;
    const char *expected = "test.ini:3: this is neither a [section] nor key = value | source";
    expect_error(ON_D "hello\n", expected);
    /* The first of two errors is told. */
    expect_error(ON_D "hello\n[nowhere]\n", expected);
    expect_error(ON_D "hello\n[host]\nwrite_ns = x | x\n", expected);
    expect_error(ON_D "[nowhere]\nhello\n", "test.ini:3: there is no section [nowhere]");
    expect_error(ON_D "\x01\n", "test.ini:3: this is no text");
    char error[SIM_ERROR_BYTES];
    struct sim_machine machine;
    assert_false(sim_machine_load_bytes(&machine, "test.ini", "[machine]\n\0x\n", 13, error));
    assert_string_equal(error, "test.ini:2: this is no text");
}

static void lines_that_are_too_long(void **state)
{
    (void)state;
    char text[512] = ON_D "# ";
    size_t start = strlen(ON_D);
    struct sim_machine machine;
    memset(text + start + 2, 'x', SIM_LINE_BYTES_MAX - 2);
    expect_loaded(&machine, text);
    sim_machine_free(&machine);
    memset(text + start + 2, 'x', SIM_LINE_BYTES_MAX - 1);
    expect_error(text, "test.ini:3: a line of 191 bytes; 190 are the most");
    /* A text has its own limit. */
    (void)snprintf(text, sizeof text, "[machine]\ntext = %0*d\n", SIM_MACHINE_TEXT_BYTES, 0);
    expect_error(text, "test.ini:2: [machine] text: more than 159 bytes");
    /* The longest source of all is kept whole. */
    (void)snprintf(text, sizeof text, ON_D "[host]\nwrite_ns=1|%0*d\n", SIM_LINE_BYTES_MAX - 11, 0);
    expect_loaded(&machine, text);
    assert_int_equal(strlen(shown(&machine, "host", "write_ns").source), SIM_LINE_BYTES_MAX - 11);
    sim_machine_free(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_machine_that_comes_along_loads),
        cmocka_unit_test(switches_are_as_the_paper_has_them),
        cmocka_unit_test(the_papers_sums_come_out),
        cmocka_unit_test(infiniswif_goes_back_n),
        cmocka_unit_test(values_are_kept_in_their_units),
        cmocka_unit_test(every_value_is_shown_with_its_source),
        cmocka_unit_test(what_is_used_of_a_router_is_shown),
        cmocka_unit_test(what_is_shown_is_the_machine),
        cmocka_unit_test(three_lines_change_a_machine),
        cmocka_unit_test(later_ones_change_what_earlier_ones_say),
        cmocka_unit_test(files_inherit_from_files_at_any_depth),
        cmocka_unit_test(circles_are_named),
        cmocka_unit_test(errors_are_those_of_the_file_that_has_them),
        cmocka_unit_test(there_are_limits_to_files),
        cmocka_unit_test(names_that_there_are_not),
        cmocka_unit_test(sections_and_keys_that_there_are_not),
        cmocka_unit_test(what_is_said_twice),
        cmocka_unit_test(values_without_a_source),
        cmocka_unit_test(numbers_that_are_none),
        cmocka_unit_test(keys_that_are_missing),
        cmocka_unit_test(what_does_not_fit_together),
        cmocka_unit_test(lines_that_are_none),
        cmocka_unit_test(lines_that_are_too_long),
    };
    return cmocka_run_group_tests_name("sim/machine", tests, NULL, NULL);
}
