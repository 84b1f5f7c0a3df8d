/* A machine file of any bytes: it is refused with one line that names it, or it gives a machine
 * whose shown values make the same machine again. */
#include "fuzz.h"
#include "sim/model/machine.h"

struct copy {
    char text[1 << 17];
    size_t length;
    const char *section;
};

static void copy_value(void *context, const struct sim_machine_value *value)
{
    struct copy *copy = context;
    FUZZ_ASSERT(value->value[0] != '\0' && value->help[0] != '\0');
    FUZZ_ASSERT(value->source != NULL || value->file == NULL);
    if (!value->file) {
        return;
    }
    FUZZ_ASSERT(value->source[0] != '\0');
    if (!copy->section || strcmp(copy->section, value->section) != 0) {
        copy->length += (size_t)sprintf(copy->text + copy->length, "[%s]\n", value->section);
        copy->section = value->section;
    }
    copy->length += (size_t)sprintf(copy->text + copy->length, "%s=%s|it\n", value->key,
                                    value->value);
}

/* Clocks above 1 GHz are shown with fewer digits than they have. */
static bool is_quick(const struct sim_machine *machine)
{
    for (unsigned i = 0; i < SIM_CLOCKS; i++) {
        uint64_t period_ps = sim_machine_period(machine, (enum sim_clock)i);
        if (period_ps > 0 && period_ps < 1000) {
            return true;
        }
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct copy copy;
    struct sim_machine machine;
    struct sim_machine again;
    char error[SIM_ERROR_BYTES] = "";
    unsigned char *input = fuzz_copy(data, bytes);
    if (!sim_machine_load_bytes(&machine, "fuzz.ini", input, bytes, error)) {
        FUZZ_ASSERT(machine.sources == NULL);
        FUZZ_ASSERT(strstr(error, ".ini:") != NULL && strchr(error, '\n') == NULL);
        free(input);
        return 0;
    }
    free(input);
    copy.length = 0;
    copy.section = NULL;
    sim_machine_each(&machine, copy_value, &copy);
    FUZZ_ASSERT(sim_machine_load_bytes(&again, "fuzz.ini", copy.text, copy.length, error));
    struct sim_sources *sources = again.sources;
    memcpy(again.text, machine.text, sizeof again.text);
    again.sources = machine.sources;
    FUZZ_ASSERT(is_quick(&machine) || memcmp(&again, &machine, sizeof machine) == 0);
    again.sources = sources;
    sim_machine_free(&again);
    sim_machine_free(&machine);
    return 0;
}
