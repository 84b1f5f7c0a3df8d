/* Turns rows into series: rows belong to one series when they have the same texts or numbers in
 * the columns that tell series apart. */
#include "cli/sim/study_page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/sim/page.h"

enum { NAME_BYTES = 80, TITLE_BYTES = 160 };

struct gathered {
    char names[CLI_SERIES_MAX][NAME_BYTES];
    double x[CLI_SERIES_MAX][SIM_STUDY_POINTS_MAX];
    double y[CLI_SERIES_MAX][SIM_STUDY_POINTS_MAX];
    size_t counts[CLI_SERIES_MAX];
    size_t series_count;
};

/* Values that a row does not have are not in its name. */
static void name_series(const struct sim_study *study, const struct sim_study_row *row,
                        char name[NAME_BYTES])
{
    size_t used = 0;
    name[0] = '\0';
    for (unsigned i = 0; i < study->series_count; i++) {
        unsigned column = study->series[i];
        const struct sim_study_value *value = &row->values[column];
        char text[NAME_BYTES];
        if (!value->is_there) {
            continue;
        }
        if (study->columns[column].decimals < 0) {
            (void)snprintf(text, sizeof text, "%s", value->text);
        } else {
            (void)snprintf(text, sizeof text, "%.0f %s", value->number,
                           study->columns[column].name);
        }
        int length = snprintf(name + used, NAME_BYTES - used, "%s%s", used > 0 ? ", " : "", text);
        used += length > 0 ? (size_t)length : 0;
        used = used < NAME_BYTES ? used : NAME_BYTES - 1;
    }
}

/* NaN where there is no figure. */
static double number_of(const struct sim_study_value *value)
{
    return value->is_there ? value->number : NAN;
}

/* The text that decides which charts a row is in; "": all. */
static const char *part_of(const struct sim_study *study, const struct sim_study_row *row)
{
    return study->splits != SIM_STUDY_WHOLE ? row->values[study->split].text : "";
}

static void gather(struct gathered *gathered, const struct sim_study *study, unsigned y_column,
                   const char *part, const struct sim_study_row *rows, unsigned count)
{
    memset(gathered, 0, sizeof *gathered);
    for (unsigned i = 0; i < count; i++) {
        char name[NAME_BYTES];
        size_t series = 0;
        if (rows[i].error[0] || !rows[i].values[study->x].is_there ||
            strcmp(part_of(study, &rows[i]), part) != 0) {
            continue;
        }
        name_series(study, &rows[i], name);
        while (series < gathered->series_count && strcmp(gathered->names[series], name) != 0) {
            series++;
        }
        if (series == CLI_SERIES_MAX) {
            continue; /* only the table shows it */
        }
        if (series == gathered->series_count) {
            gathered->series_count++;
            memcpy(gathered->names[series], name, sizeof name);
        }
        size_t at = gathered->counts[series]++;
        gathered->x[series][at] = rows[i].values[study->x].number;
        gathered->y[series][at] = number_of(&rows[i].values[y_column]);
    }
}

static void put_chart(FILE *page, const struct sim_study *study, unsigned y_column,
                      const char *part, const struct sim_study_row *rows, unsigned count)
{
    static struct gathered gathered;
    char title[TITLE_BYTES];
    gather(&gathered, study, y_column, part, rows, count);
    bool part_is_x = study->splits == SIM_STUDY_SPLIT_X;
    const char *joint = part_is_x ? " by " : part[0] ? ", " : "";
    (void)snprintf(title, sizeof title, "%s%s%s: %s", study->columns[y_column].name, joint, part,
                   study->columns[y_column].help);
    struct cli_chart chart = {
        .title = title,
        .x_label = part_is_x ? part : study->columns[study->x].name,
        .y_label = study->columns[y_column].name,
        .x_is_logarithmic = true,
    };
    double least = INFINITY;
    double most = 0;
    for (size_t i = 0; i < gathered.series_count; i++) {
        bool is_seen = false;
        for (size_t at = 0; at < gathered.counts[i]; at++) {
            is_seen = is_seen || !isnan(gathered.y[i][at]);
            least = fmin(least, gathered.y[i][at]);
            most = fmax(most, gathered.y[i][at]);
        }
        if (is_seen) { /* the others would only fill the key and use up colours */
            chart.series[chart.series_count++] = (struct cli_series){.name = gathered.names[i],
                                                                     .x = gathered.x[i],
                                                                     .y = gathered.y[i],
                                                                     .count = gathered.counts[i]};
        }
    }
    if (chart.series_count == 0) {
        return; /* no row has this figure */
    }
    chart.y_is_logarithmic = least > 0 && most > 20 * least;
    cli_page_chart(page, &chart);
}

/* Parts stand in the order of their first rows. */
static bool is_first_of_part(const struct sim_study *study, const struct sim_study_row *rows,
                             unsigned row)
{
    for (unsigned i = 0; i < row; i++) {
        if (strcmp(part_of(study, &rows[i]), part_of(study, &rows[row])) == 0) {
            return false;
        }
    }
    return true;
}

static void put_table(FILE *page, const struct sim_study *study, const struct sim_study_row *rows,
                      unsigned count)
{
    const char *names[SIM_STUDY_COLUMNS_MAX];
    for (unsigned column = 0; column < study->column_count; column++) {
        names[column] = study->columns[column].name;
    }
    cli_page_table_begin(page, "every point", names, study->column_count);
    for (unsigned i = 0; i < count; i++) {
        if (rows[i].error[0]) {
            continue;
        }
        cli_page_row_begin(page);
        for (unsigned column = 0; column < study->column_count; column++) {
            const struct sim_study_value *value = &rows[i].values[column];
            if (study->columns[column].decimals < 0) {
                cli_page_cell_text(page, value->text);
            } else {
                cli_page_cell_number(page, number_of(value), study->columns[column].decimals);
            }
        }
        cli_page_row_end(page);
    }
    cli_page_table_end(page);
}

bool sim_study_page(const char *path, const struct sim_study *study, const char *machine,
                    const struct sim_study_row *rows, unsigned count)
{
    char title[TITLE_BYTES];
    (void)snprintf(title, sizeof title, "%s on %s", study->name, machine);
    FILE *page = cli_page_open(path, title, study->text);
    if (!page) {
        return false;
    }
    for (unsigned i = 0; i < count; i++) {
        if (is_first_of_part(study, rows, i)) {
            for (unsigned y = 0; y < study->y_count; y++) {
                put_chart(page, study, study->y[y], part_of(study, &rows[i]), rows, count);
            }
        }
    }
    put_table(page, study, rows, count);
    return cli_page_close(page);
}
