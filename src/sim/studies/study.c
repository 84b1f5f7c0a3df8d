/* The studies' list, and their rows as text. */
#include "sim/studies/study.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/studies/parts.h"

static const struct sim_study *const studies[] = {
    &sim_study_barrier,
    &sim_study_sum,
    &sim_study_contexts,
    &sim_study_networks,
    &sim_study_ring,
    &sim_study_frames,
    &sim_study_multicast,
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

struct line {
    char *text;
    size_t used;
};

static void add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int bytes = vsnprintf(line->text + line->used, SIM_STUDY_LINE_BYTES - line->used, format,
                          arguments);
    va_end(arguments);
    INVARIANT(bytes >= 0 && (size_t)bytes < SIM_STUDY_LINE_BYTES - line->used);
    line->used += (size_t)bytes;
}

static void add_cell(struct line *line, enum sim_study_format format, unsigned column,
                     const struct sim_study_column *about, const char *text)
{
    if (format == SIM_STUDY_TABLE) {
        /* Texts to the left, numbers to the right. */
        add(line, about->decimals < 0 ? "%s%-*s" : "%s%*s", column > 0 ? "  " : "", about->width,
            text);
    } else {
        add(line, "%s%s", column > 0 ? "," : "", text);
    }
}

static void end_line(struct line *line)
{
    while (line->used > 0 && line->text[line->used - 1] == ' ') {
        line->used--;
    }
    add(line, "\n");
}

size_t sim_study_head(const struct sim_study *study, enum sim_study_format format,
                      char text[SIM_STUDY_LINE_BYTES])
{
    struct line line = {text, 0};
    text[0] = '\0';
    if (format == SIM_STUDY_JSON) {
        return 0;
    }
    for (unsigned i = 0; i < study->column_count; i++) {
        add_cell(&line, format, i, &study->columns[i], study->columns[i].name);
    }
    end_line(&line);
    return line.used;
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

size_t sim_study_line(const struct sim_study *study, const struct sim_study_row *row,
                      enum sim_study_format format, char text[SIM_STUDY_LINE_BYTES])
{
    struct line line = {text, 0};
    for (unsigned i = 0; i < study->column_count; i++) {
        const struct sim_study_column *about = &study->columns[i];
        char cell[64];
        show(about, &row->values[i], format, cell, sizeof cell);
        if (format == SIM_STUDY_JSON) {
            add(&line, "%s\"%s\":%s", i > 0 ? "," : "{", about->name, cell);
        } else {
            add_cell(&line, format, i, about, cell);
        }
    }
    if (format == SIM_STUDY_JSON) {
        add(&line, "}");
    }
    end_line(&line);
    return line.used;
}
