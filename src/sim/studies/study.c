/* The studies' list, and their rows as text. */
#include "sim/studies/study.h"

#include <string.h>

#include "sim/studies/parts.h"

static const struct sim_study *const studies[] = {
    &sim_study_barrier,
    &sim_study_sum,
    &sim_study_contexts,
    &sim_study_transports,
    &sim_study_loss,
    &sim_study_networks,
    &sim_study_message,
    &sim_study_lock,
    &sim_study_banks,
    &sim_study_corepu,
    &sim_study_users,
    &sim_study_ring,
    &sim_study_frames,
    &sim_study_multicast,
    &sim_study_bridge,
    &sim_study_subnet,
};

enum { STUDIES = sizeof studies / sizeof studies[0] };

const struct sim_study *sim_study_at(unsigned number)
{
    return number < STUDIES ? studies[number] : NULL;
}

const struct sim_study *sim_study_find(const char *name)
{
    for (unsigned i = 0; i < STUDIES; i++) {
        if (strcmp(studies[i]->name, name) == 0) {
            return studies[i];
        }
    }
    return NULL;
}

uint64_t sim_study_bytes(const struct sim_study_point *point)
{
    enum { BYTES_OF_NODE = 48 << 10, BYTES_OF_WORLD = 16 << 20 };
    return (uint64_t)point->nodes * BYTES_OF_NODE + BYTES_OF_WORLD;
}

void sim_study_set_number(struct sim_study_row *row, unsigned column, double number)
{
    row->values[column] = (struct sim_study_value){.is_there = true, .number = number};
}

void sim_study_set_text(struct sim_study_row *row, unsigned column, const char *text)
{
    struct sim_study_value *value = &row->values[column];
    value->is_there = true;
    (void)snprintf(value->text, sizeof value->text, "%s", text);
}

/* ---- Text -------------------------------------------------------------------------------- */

/* Texts of a table stand to the left, numbers to the right; no blanks end a line. */
static void write_cell(const struct sim_study *study, unsigned column, const char *text,
                       enum sim_study_format format, FILE *file)
{
    const struct sim_study_column *about = &study->columns[column];
    bool is_text = about->decimals < 0;
    if (format == SIM_STUDY_JSON) {
        (void)fprintf(file, "%s\"%s\":%s", column > 0 ? "," : "{", about->name, text);
    } else if (format == SIM_STUDY_CSV) {
        (void)fprintf(file, "%s%s", column > 0 ? "," : "", text);
    } else {
        bool is_last = column + 1 == study->column_count;
        (void)fprintf(file, is_text ? "%s%-*s" : "%s%*s", column > 0 ? "  " : "",
                      is_text && is_last ? 0 : about->width, text);
    }
}

void sim_study_write_head(const struct sim_study *study, enum sim_study_format format, FILE *file)
{
    if (format == SIM_STUDY_JSON) {
        return;
    }
    for (unsigned i = 0; i < study->column_count; i++) {
        write_cell(study, i, study->columns[i].name, format, file);
    }
    (void)fputs("\n", file);
}

/* Writes a value in that format. Texts are our own and need no escapes. */
static void show(const struct sim_study_column *about, const struct sim_study_value *value,
                 enum sim_study_format format, char *text, size_t room)
{
    if (!value->is_there) {
        (void)snprintf(text, room, "%s",
                       format == SIM_STUDY_JSON    ? "null"
                       : format == SIM_STUDY_TABLE ? "-"
                                                   : "");
    } else if (about->decimals < 0) {
        const char *quote = format == SIM_STUDY_JSON ? "\"" : "";
        (void)snprintf(text, room, "%s%s%s", quote, value->text, quote);
    } else {
        (void)snprintf(text, room, "%.*f", about->decimals, value->number);
    }
}

void sim_study_write_row(const struct sim_study *study, const struct sim_study_row *row,
                         enum sim_study_format format, FILE *file)
{
    for (unsigned i = 0; i < study->column_count; i++) {
        char cell[64];
        show(&study->columns[i], &row->values[i], format, cell, sizeof cell);
        write_cell(study, i, cell, format, file);
    }
    (void)fputs(format == SIM_STUDY_JSON ? "}\n" : "\n", file);
}
