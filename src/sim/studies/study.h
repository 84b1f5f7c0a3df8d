/* Studies simulate what the papers only predicted. A study is a list of points, each a world of
 * its own that depends on no other and gives a row of figures. */
#ifndef SIM_STUDIES_STUDY_H
#define SIM_STUDIES_STUDY_H

#include <stdio.h>

#include "sim/model/network.h"

enum {
    SIM_STUDY_COLUMNS_MAX = 16,
    SIM_STUDY_POINTS_MAX = 256,
    SIM_STUDY_TEXT_BYTES = 32,
    SIM_STUDY_SERIES_BY_MAX = 3,
    SIM_STUDY_CHARTS_MAX = 4,
};

struct sim_study_column {
    const char *name; /* in CSV and JSON; with its unit */
    int width;        /* of the table's column */
    int decimals;     /* -1: a text */
    const char *help;
};

/* A cell: a number or, in a column of texts, a text. */
struct sim_study_value {
    bool is_there;
    double number;
    char text[SIM_STUDY_TEXT_BYTES];
};

struct sim_study_row {
    struct sim_study_value values[SIM_STUDY_COLUMNS_MAX]; /* by column */
    char error[SIM_ERROR_BYTES];                          /* "": all went well */
};

/* What a world is made from; each study uses what it needs. */
struct sim_study_point {
    uint32_t nodes;
    unsigned variant; /* the study's own */
    uint32_t contexts;
    uint32_t loss_ppm;
};

enum sim_study_split {
    SIM_STUDY_WHOLE,
    SIM_STUDY_SPLIT,   /* the text says of what these rows are */
    SIM_STUDY_SPLIT_X, /* the text says what x is */
};

struct sim_study;
struct sim_team_variant;

struct sim_study_choice {
    const struct sim_study *study;
    const struct sim_machine *machine;
    uint32_t nodes_max;
    enum sim_topology topology; /* where one switch has too few ports for all nodes */
};

struct sim_study {
    const char *name;
    const char *text;
    const char *machine; /* the default */
    const struct sim_study_column *columns;
    unsigned column_count;
    /* Charts, by column numbers: the x axis, what tells series apart, and a chart for each y. */
    unsigned x;
    unsigned series[SIM_STUDY_SERIES_BY_MAX], series_count;
    unsigned y[SIM_STUDY_CHARTS_MAX], y_count;
    /* Whether rows with different texts in the column `split` have charts of their own. */
    enum sim_study_split splits;
    unsigned split;
    const struct sim_team_variant *variants; /* of a study of teams */
    unsigned variant_count;
    /* Fills in at most SIM_STUDY_POINTS_MAX; returns how many. */
    unsigned (*list)(const struct sim_study_choice *choice, struct sim_study_point *points);
    /* Two runs of a point give the same row. */
    void (*run)(const struct sim_study_choice *choice, const struct sim_study_point *point,
                struct sim_study_row *row);
};

/* The n-th study, or NULL. */
const struct sim_study *sim_study_at(unsigned number);
const struct sim_study *sim_study_find(const char *name);

/* About how much memory a point takes. */
uint64_t sim_study_bytes(const struct sim_study_point *point);

/* Writes a row as a line of the table or of a CSV file, or as a JSON object. The head is the line
 * with the columns' names; JSON has none. */
enum sim_study_format { SIM_STUDY_TABLE, SIM_STUDY_CSV, SIM_STUDY_JSON };
void sim_study_write_head(const struct sim_study *study, enum sim_study_format format, FILE *file);
void sim_study_write_row(const struct sim_study *study, const struct sim_study_row *row,
                         enum sim_study_format format, FILE *file);

#endif
