/* One self-contained HTML page: tables, charts, and a network with its links coloured by load.
 * It has no script and loads nothing, and is light or dark as the reader's device asks. It is made
 * for phones first: charts are drawn 360 units wide, so that letters keep their size there.
 *
 *     FILE *page = cli_page_open("sweep.html", "Ring of 64", "uniform traffic");
 *     cli_page_chart(page, &chart);
 *     bool written = cli_page_close(page); */
#ifndef CLI_SIM_PAGE_H
#define CLI_SIM_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* NULL: the file cannot be written; errno says why. */
FILE *cli_page_open(const char *path, const char *title, const char *subtitle);
/* False: something could not be written; errno says why. */
bool cli_page_close(FILE *page);

void cli_page_text(FILE *page, const char *text);

/* A text whose special characters are escaped, between two pieces of HTML. */
void cli_page_put(FILE *page, const char *before, const char *text, const char *after);

/* A table, row by row. Cells with a number (not NaN) are aligned to the right. */
void cli_page_table_begin(FILE *page, const char *caption, const char *const *columns,
                          size_t count);
void cli_page_row_begin(FILE *page);
void cli_page_cell_text(FILE *page, const char *text);
void cli_page_cell_number(FILE *page, double number, int decimals);
void cli_page_row_end(FILE *page);
void cli_page_table_end(FILE *page);

enum { CLI_SERIES_MAX = 16 };

enum cli_series_style { CLI_LINE_AND_POINTS, CLI_POINTS, CLI_LINE };

struct cli_series {
    const char *name;
    const double *x, *y; /* NaN in y: no point there */
    size_t count;
    enum cli_series_style style;
};

struct cli_chart {
    const char *title, *x_label, *y_label;
    bool x_is_logarithmic, y_is_logarithmic;
    struct cli_series series[CLI_SERIES_MAX];
    size_t series_count;
};

enum { CLI_TICKS_MAX = 12 };

/* About six marks of a linear axis: multiples of 1, 2 or 5 times a power of ten. Gives how many. */
unsigned cli_page_ticks(double low, double high, double ticks[CLI_TICKS_MAX]);
/* The number at a mark. */
void cli_page_tick_text(FILE *page, double tick);

/* A chart; the page also has its figures as a folded table, for readers who cannot see it. */
void cli_page_chart(FILE *page, const struct cli_chart *chart);

struct cli_link {
    uint32_t from, to;
    double use; /* 0 .. 1 */
};

/* A ring (height 1) or a grid of nodes, and the load of each link. If there are more links than a
 * picture can show, neighbours are drawn as one piece, with the load of its busiest link. */
void cli_page_network(FILE *page, const char *title, uint32_t width, uint32_t height,
                      const struct cli_link *links, size_t count);

/* A link's colour: blue for no load, through amber, to red for full load; and the key to it. */
void cli_page_load_colour(FILE *page, double use);
void cli_page_load_key(FILE *page);

#endif
