/* Loads machines: first what a file inherits, then its own statements; then checks that the whole
 * makes sense. */
#define _GNU_SOURCE
#include "sim/model/machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/model/machine_file.h"
#include "sim/model/machine_keys.h"
#include "sim/model/network_flit.h"
#include "sim/model/network_subnet.h"
#include "wire/line.h"

/* Files of one machine, with all that they inherit; one that comes twice counts twice. */
enum { FILES_MAX = 64, SOURCE_BYTES = SIM_VALUE_BYTES };

struct sim_sources {
    struct {
        const char *file; /* one of `files`; NULL: no file gave the value */
        unsigned line;
        char text[SOURCE_BYTES];
    } slots[SIM_SLOTS];
    char *files[FILES_MAX];
    unsigned file_count;
};

/* A file that is being read; `outer` inherits from it. */
struct loading {
    struct loading *outer;
    struct sim_machine *machine;
    char *error;
    const char *file;                    /* as errors name it; in the machine's sources */
    bool on_disk;                        /* then it may inherit from files, too */
    struct sim_file_identity identity;   /* of a file on disk */
    const struct sim_embedded *embedded; /* else this; a machine from memory has neither */
    unsigned said[SIM_SLOTS];            /* in which of its lines; 0: not (yet) */
    unsigned said_text, said_inherit;    /* the same */
    bool said_any;
};

static bool load_from(struct loading *outer, unsigned line, const char *name);

static bool no_memory(char *error)
{
    (void)snprintf(error, SIM_ERROR_BYTES, "there is no memory left");
    return false;
}

/* ---- Statements --------------------------------------------------------------------------- */

static bool take_inherit(struct loading *loading, unsigned line, const char *value)
{
    char names[SOURCE_BYTES];
    char *rest = names;
    if (loading->said_any) {
        return sim_file_fault(loading->error, loading->file, line,
                              "[machine] inherit: it comes before everything else");
    }
    loading->said_inherit = line;
    (void)snprintf(names, sizeof names, "%s", value);
    if (!loading->outer) {
        (void)snprintf(loading->machine->text, SIM_MACHINE_TEXT_BYTES, "%s, changed", value);
    }
    unsigned count = 0;
    for (char *name; (name = strsep(&rest, " \t,")) != NULL;) {
        if (*name && !load_from(loading, line, name)) {
            return false;
        }
        count += *name != '\0';
    }
    return count > 0 || sim_file_fault(loading->error, loading->file, line,
                                       "[machine] inherit: it names nothing");
}

/* Statements about the file itself have no source. */
static bool take_about(struct loading *loading, unsigned line, const char *key, const char *value)
{
    bool inherit = strcmp(key, "inherit") == 0;
    unsigned *said = inherit ? &loading->said_inherit : &loading->said_text;
    if (!inherit && strcmp(key, "text") != 0) {
        return sim_file_fault(loading->error, loading->file, line,
                              "[machine] has no key \"%s\"; it has inherit and text", key);
    }
    if (*said) {
        return sim_file_said_twice(loading->error, loading->file, line, "machine", key, *said);
    }
    if (inherit) {
        return take_inherit(loading, line, value);
    }
    *said = line;
    if (strlen(value) >= SIM_MACHINE_TEXT_BYTES) {
        return sim_file_fault(loading->error, loading->file, line,
                              "[machine] text: more than %d bytes", SIM_MACHINE_TEXT_BYTES - 1);
    }
    if (!loading->outer) {
        (void)snprintf(loading->machine->text, SIM_MACHINE_TEXT_BYTES, "%s", value);
    }
    return true;
}

static bool take_value(struct loading *loading, unsigned line, unsigned slot, const char *section,
                       const char *key, const char *value)
{
    char text[SOURCE_BYTES];
    char fault[SIM_FAULT_BYTES];
    struct sim_sources *sources = loading->machine->sources;
    if (loading->said[slot]) {
        return sim_file_said_twice(loading->error, loading->file, line, section, key,
                                   loading->said[slot]);
    }
    loading->said[slot] = line;
    const char *source = sim_file_split(value, text);
    if (!*source) {
        return sim_file_fault(loading->error, loading->file, line,
                              "[%s] %s: it says no source; write value | source", section, key);
    }
    if (!sim_value_read(slot, text, sim_slot_field(loading->machine, slot), fault)) {
        return sim_file_fault(loading->error, loading->file, line, "[%s] %s: \"%s\" %s", section,
                              key, text, fault);
    }
    sources->slots[slot].file = loading->file;
    sources->slots[slot].line = line;
    memcpy(sources->slots[slot].text, source, strlen(source) + 1);
    return true;
}

static bool take_section(void *context, unsigned line, const char *section)
{
    struct loading *loading = context;
    if (strcmp(section, "machine") == 0 || sim_slot_find(section, NULL) != SIM_SLOTS) {
        return true;
    }
    const char *kind = strncmp(section, "stage ", 6) == 0 ? "stage" : "section";
    return sim_file_fault(loading->error, loading->file, line, "there is no %s [%s]", kind,
                          section);
}

static bool take_statement(void *context, unsigned line, const char *section, const char *key,
                           const char *value)
{
    struct loading *loading = context;
    bool taken;
    if (strcmp(section, "machine") == 0) {
        taken = take_about(loading, line, key, value);
    } else {
        unsigned slot = sim_slot_find(section, key);
        if (slot == SIM_SLOTS) {
            return sim_file_fault(loading->error, loading->file, line,
                                  *section ? "[%s] has no key \"%s\""
                                           : "%s\"%s\" stands before any section",
                                  section, key);
        }
        taken = take_value(loading, line, slot, section, key, value);
    }
    loading->said_any = true;
    return taken;
}

/* ---- Files ----------------------------------------------------------------------------- */

static bool is_path(const char *name)
{
    size_t length = strlen(name);
    return strchr(name, '/') || (length > 4 && strcmp(name + length - 4, ".ini") == 0);
}

static const struct sim_embedded *find_embedded(const char *name)
{
    for (unsigned i = 0; i < sim_embedded_count; i++) {
        if (strcmp(sim_embedded[i].name, name) == 0) {
            return &sim_embedded[i];
        }
    }
    return NULL;
}

/* An error before any of a file's own lines: it names the line that inherits, if there is one. */
static bool cannot_load(const struct loading *outer, unsigned line, char *error, const char *format,
                        ...) __attribute__((format(printf, 4, 5)));

static bool cannot_load(const struct loading *outer, unsigned line, char *error, const char *format,
                        ...)
{
    char text[SIM_ERROR_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (outer) {
        return sim_file_fault(error, outer->file, line, "[machine] inherit: %s", text);
    }
    memcpy(error, text, sizeof text);
    return false;
}

static bool is_same_file(const struct loading *one, const struct loading *other)
{
    if (one->on_disk && other->on_disk) {
        return one->identity.device == other->identity.device &&
               one->identity.number == other->identity.number;
    }
    return one->embedded && one->embedded == other->embedded;
}

/* "a.ini inherits from b.ini inherits from a.ini", from the outermost file inwards. */
static void describe_circle(const struct loading *from, const struct loading *until, char *text,
                            size_t room)
{
    if (from != until) {
        describe_circle(from->outer, until, text, room);
    }
    size_t length = strlen(text);
    (void)snprintf(text + length, room - length, "%s inherits from ", from->file);
}

/* Reads a file whose place in `loading` is known, and all that it inherits. */
static bool read_file(struct loading *loading, unsigned line, const char *bytes, size_t length,
                      unsigned *line_count)
{
    for (const struct loading *outer = loading->outer; outer; outer = outer->outer) {
        if (is_same_file(loading, outer)) {
            char circle[SIM_ERROR_BYTES] = "";
            describe_circle(loading->outer, outer, circle, sizeof circle);
            return cannot_load(loading->outer, line, loading->error, "a circle: %s%s", circle,
                               loading->file);
        }
    }
    struct sim_file file = {
        .name = loading->file,
        .bytes = bytes,
        .length = length,
        .context = loading,
        .section = take_section,
        .statement = take_statement,
        .error = loading->error,
    };
    bool read = sim_file_read(&file);
    *line_count = file.line > 0 ? file.line : 1;
    return read;
}

/* The machine's sources keep the name. */
static bool keep_name(struct loading *loading, unsigned line, const char *name, const char *ending)
{
    struct sim_sources *sources = loading->machine->sources;
    char *file;
    if (sources->file_count == FILES_MAX) {
        return cannot_load(loading->outer, line, loading->error,
                           "%s is one file too many for a machine", name);
    }
    if (asprintf(&file, "%s%s", name, ending) < 0) {
        return no_memory(loading->error);
    }
    sources->files[sources->file_count++] = file;
    loading->file = file;
    return true;
}

static bool read_embedded(struct loading *loading, unsigned line, const char *name,
                          unsigned *line_count)
{
    loading->embedded = find_embedded(name);
    if (!loading->embedded) {
        return cannot_load(loading->outer, line, loading->error, "there is no machine \"%s\"%s",
                           name, loading->outer ? "" : "; see dimmnet sim machines");
    }
    return keep_name(loading, line, name, ".ini") &&
           read_file(loading, line, loading->embedded->bytes, strlen(loading->embedded->bytes),
                     line_count);
}

static bool read_on_disk(struct loading *loading, unsigned line, const char *path,
                         unsigned *line_count)
{
    const char *fault;
    size_t length;
    loading->on_disk = true;
    if (!keep_name(loading, line, path, "")) {
        return false;
    }
    char *bytes = sim_file_fetch(path, &length, &loading->identity, &fault);
    if (!bytes) {
        return cannot_load(loading->outer, line, loading->error, "cannot read %s: %s", path, fault);
    }
    bool read = read_file(loading, line, bytes, length, line_count);
    free(bytes);
    return read;
}

/* Loads what `outer` inherits; a path is relative to outer's file. */
static bool load_from(struct loading *outer, unsigned line, const char *name)
{
    struct loading loading = {
        .outer = outer, .machine = outer->machine, .error = outer->error, .file = name};
    unsigned line_count;
    if (!is_path(name)) {
        return read_embedded(&loading, line, name, &line_count);
    }
    if (!outer->on_disk) {
        return cannot_load(outer, line, outer->error, "%s is a path, and this is no file", name);
    }
    const char *slash = *name == '/' ? NULL : strrchr(outer->file, '/');
    char *path;
    if (asprintf(&path, "%.*s%s", slash ? (int)(slash - outer->file + 1) : 0, outer->file, name) <
        0) {
        return no_memory(outer->error);
    }
    bool read = read_on_disk(&loading, line, path, &line_count);
    free(path);
    return read;
}

/* ---- Whether the whole makes sense ----------------------------------------------------- */

/* The fault of a value that a file gave. */
static bool value_fault(const struct sim_machine *machine, unsigned number, char *error,
                        const char *what)
{
    struct sim_slot slot = sim_slot_get(number);
    return sim_file_fault(error, machine->sources->slots[number].file,
                          machine->sources->slots[number].line, "[%s] %s: %s", slot.section,
                          slot.key, what);
}

/* A stage's keys are required only if a file gives at least one of them. */
static bool check_all_said(const struct sim_machine *machine, const char *file, unsigned line,
                           char *error)
{
    for (unsigned i = 0; i < SIM_SLOTS; i++) {
        struct sim_slot slot = sim_slot_get(i);
        bool needed = i < SIM_MACHINE_KEY_COUNT;
        if (!needed) {
            unsigned first = i - (i - SIM_MACHINE_KEY_COUNT) % SIM_STAGE_KEY_COUNT;
            for (unsigned k = first; k < first + SIM_STAGE_KEY_COUNT; k++) {
                needed = needed || machine->sources->slots[k].file;
            }
        }
        if (needed && !slot.optional && !machine->sources->slots[i].file) {
            return sim_file_fault(error, file, line,
                                  "[%s] %s: it is missing here and in what is inherited",
                                  slot.section, slot.key);
        }
    }
    return true;
}

static bool check_stages(const struct sim_machine *machine, char *error)
{
    for (unsigned i = 0; i < SIM_STAGES; i++) {
        const struct sim_stage *stage = &machine->stages[i];
        bool there = stage->cycles || stage->word_cycles;
        if (there && sim_machine_period(machine, (enum sim_clock)stage->clock) == 0) {
            return value_fault(machine, sim_stage_slot((enum sim_stage_name)i, SIM_STAGE_KEY_clock),
                               error, "this machine has no such clock");
        }
    }
    return true;
}

/* The core processor's work needs its clock. */
static bool check_core(const struct sim_machine *machine, char *error)
{
    if (machine->clock_core) {
        return true;
    }
    for (unsigned i = SIM_core_dispatch_cycles; i <= SIM_core_float_add_cycles; i++) {
        if (sim_slot_value(machine, i)) {
            return value_fault(machine, i, error, "this machine has no clock core_mhz");
        }
    }
    if (machine->tlb_refill == SIM_REFILL_CORE) {
        return value_fault(machine, SIM_tlb_refill, error, "this machine has no clock core_mhz");
    }
    return true;
}

/* Nothing that a file says goes unused. */
static bool check_ring(const struct sim_machine *machine, char *error)
{
    for (unsigned i = SIM_ring_route_cycles; i <= SIM_ring_nic_cycles; i++) {
        if (machine->ring_buffer_flits == 0 && sim_slot_value(machine, i)) {
            return value_fault(machine, i, error,
                               "without buffer_flits all of [ring] is as usual, and this unused");
        }
    }
    return true;
}

/* A line passes the port in whole frames. */
static bool check_port(const struct sim_machine *machine, char *error)
{
    char what[64];
    if (machine->port_frame_bits == 0 || WIRE_LINE_BITS % machine->port_frame_bits == 0) {
        return true;
    }
    (void)snprintf(what, sizeof what, "a line is %d bits in whole frames", WIRE_LINE_BITS);
    return value_fault(machine, SIM_port_frame_bits, error, what);
}

static bool check_subnet(const struct sim_machine *machine, char *error)
{
    char what[SIM_ERROR_BYTES];
    return machine->switch_infiniband == 0 || !sim_subnet_objection(machine, what) ||
           value_fault(machine, SIM_switch_infiniband, error, what);
}

static bool check_together(const struct sim_machine *machine, char *error)
{
    if (machine->switch_ports == 1) {
        return value_fault(machine, SIM_switch_ports, error, "a switch has 2 ports or more");
    }
    /* swif's caches demand it. */
    if (machine->carrier_kind == SIM_CARRIER_CD &&
        !(is_power_of_two(machine->carrier_contexts) && is_power_of_two(machine->carrier_ways) &&
          machine->carrier_ways <= machine->carrier_contexts)) {
        return value_fault(machine, SIM_carrier_kind, error,
                           "cd needs contexts and, not more than those, ways: powers of two");
    }
    if (machine->dma_word_cycles > 0 && (machine->host_cached == 0 || machine->host_fill == 0)) {
        return value_fault(machine, SIM_dma_word_cycles, error,
                           "a card needs [host] cached_ns and fill_ns");
    }
    return check_stages(machine, error) && check_core(machine, error) &&
           check_ring(machine, error) && check_port(machine, error) && check_subnet(machine, error);
}

/* ---- The whole ------------------------------------------------------------------------- */

/* The file's name without folder and ending. */
static bool set_name(struct sim_machine *machine, const char *name, char *error)
{
    size_t length;
    const char *from = sim_file_stem(name, &length);
    if (length == 0 || length >= sizeof machine->name) {
        return cannot_load(NULL, 0, error, "\"%s\" is no name for a machine", name);
    }
    memcpy(machine->name, from, length);
    machine->name[length] = '\0';
    return true;
}

static bool start(struct sim_machine *machine, const char *name, char *error)
{
    *machine = (struct sim_machine){.sources = calloc(1, sizeof(struct sim_sources))};
    if (!machine->sources) {
        return no_memory(error);
    }
    return set_name(machine, name, error);
}

static bool finish(struct sim_machine *machine, bool loaded)
{
    if (!loaded) {
        sim_machine_free(machine);
    }
    return loaded;
}

bool sim_machine_load(struct sim_machine *machine, const char *name, char error[SIM_ERROR_BYTES])
{
    struct loading loading = {.machine = machine, .error = error, .file = name};
    unsigned lines = 0;
    bool loaded = start(machine, name, error) &&
                  (is_path(name) ? read_on_disk(&loading, 0, name, &lines)
                                 : read_embedded(&loading, 0, name, &lines));
    if (loaded && loading.embedded && loading.embedded->part) {
        loaded = cannot_load(NULL, 0, error,
                             "\"%s\" is a part of machines, to inherit from; see dimmnet sim "
                             "machines",
                             name);
    }
    loaded = loaded && check_all_said(machine, loading.file, lines, error) &&
             check_together(machine, error);
    return finish(machine, loaded);
}

bool sim_part_load(struct sim_machine *part, const char *name, char error[SIM_ERROR_BYTES])
{
    struct loading loading = {.machine = part, .error = error, .file = name};
    unsigned lines;
    return finish(part, start(part, name, error) && read_embedded(&loading, 0, name, &lines));
}

bool sim_machine_load_bytes(struct sim_machine *machine, const char *name, const void *bytes,
                            size_t length, char error[SIM_ERROR_BYTES])
{
    struct loading loading = {.machine = machine, .error = error, .file = name};
    unsigned lines = 0;
    return finish(machine, start(machine, name, error) && keep_name(&loading, 0, name, "") &&
                               read_file(&loading, 0, bytes, length, &lines) &&
                               check_all_said(machine, loading.file, lines, error) &&
                               check_together(machine, error));
}

void sim_machine_free(struct sim_machine *machine)
{
    for (unsigned i = 0; machine->sources && i < machine->sources->file_count; i++) {
        free(machine->sources->files[i]);
    }
    free(machine->sources);
    machine->sources = NULL;
}

/* ---- What there is --------------------------------------------------------------------- */

static const char *embedded_name(unsigned number, bool part)
{
    for (unsigned i = 0; i < sim_embedded_count; i++) {
        if (sim_embedded[i].part == part && number-- == 0) {
            return sim_embedded[i].name;
        }
    }
    return NULL;
}

const char *sim_machine_name(unsigned number)
{
    return embedded_name(number, false);
}

const char *sim_part_name(unsigned number)
{
    return embedded_name(number, true);
}

void sim_machine_each(const struct sim_machine *machine,
                      void (*line)(void *context, const struct sim_machine_value *value),
                      void *context)
{
    struct sim_machine whole = *machine;
    sim_ring_complete(&whole);
    for (unsigned i = 0; i < SIM_SLOTS; i++) {
        if (!sim_slot_is_said(i)) {
            continue;
        }
        bool is_usual = sim_slot_value(machine, i) == 0 && sim_slot_value(&whole, i) != 0;
        struct sim_slot slot = sim_slot_get(i);
        struct sim_machine_value value = {
            .section = slot.section, .key = slot.key, .help = slot.help};
        sim_value_write(i, sim_slot_value(is_usual ? &whole : machine, i), value.value,
                        sizeof value.value);
        if (is_usual) {
            value.source = "assumed: the usual router's, see doc/ring.md";
        } else if (machine->sources->slots[i].file) {
            value.source = machine->sources->slots[i].text;
            value.file = machine->sources->slots[i].file;
        }
        line(context, &value);
    }
}
