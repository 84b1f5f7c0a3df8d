/* The page's frame, texts, tables and network; page_chart.c draws charts. */
#define _GNU_SOURCE
#include "cli/sim/page.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/base.h"

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1b1b1f;--paper:#fdfdfb;--line:#c8c8c4;--soft:#f0f0ec}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6e6ea;--paper:#16161a;--line:#4a4a52;"
    "--soft:#222228}}"
    "*{box-sizing:border-box}"
    "body{margin:0 auto;padding:1rem;max-width:76rem;color:var(--ink);background:var(--paper);"
    "font:16px/1.45 system-ui,sans-serif}"
    "h1{font-size:1.4rem;margin:.2rem 0}h2{font-size:1.1rem;margin:1.4rem 0 .4rem}"
    "p{margin:.3rem 0}.subtitle{opacity:.75}"
    "figure{margin:1rem 0;max-width:40rem}figcaption{font-weight:600;margin-bottom:.2rem}"
    "svg{display:block;width:100%;height:auto;background:var(--soft);border-radius:6px}"
    "svg text{font:10px system-ui,sans-serif;fill:var(--ink)}"
    "svg .axis{stroke:var(--ink);stroke-width:.7}svg .grid{stroke:var(--line);stroke-width:.4}"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;"
    "font-size:.9rem}caption{text-align:left;font-weight:600;padding:.3rem 0}"
    "th,td{padding:.15rem .6rem;border-bottom:1px solid var(--line);text-align:left}"
    "th{white-space:nowrap}td.number{text-align:right}details{margin:.3rem "
    "0}summary{cursor:pointer}"
    ".key{display:flex;flex-wrap:wrap;gap:.2rem .9rem;font-size:.85rem;margin:.3rem 0}"
    ".ramp{height:.7rem;max-width:16rem;border-radius:3px}";

FILE *cli_page_open(const char *path, const char *title, const char *subtitle)
{
    FILE *page = fopen(path, "w");
    if (!page) {
        return NULL;
    }
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
          page);
    cli_page_put(page, "<title>", title, "</title>\n<style>");
    fputs(style, page);
    cli_page_put(page, "</style>\n</head>\n<body>\n<h1>", title, "</h1>\n");
    cli_page_put(page, "<p class=\"subtitle\">", subtitle, "</p>\n");
    return page;
}

bool cli_page_close(FILE *page)
{
    fputs("</body>\n</html>\n", page);
    bool failed = ferror(page) != 0;
    int error = errno;
    failed = fclose(page) != 0 || failed;
    errno = failed && errno ? errno : error;
    return !failed;
}

void cli_page_put(FILE *page, const char *before, const char *text, const char *after)
{
    fputs(before, page);
    for (; *text; text++) {
        switch (*text) {
        case '<': fputs("&lt;", page); break;
        case '>': fputs("&gt;", page); break;
        case '&': fputs("&amp;", page); break;
        case '"': fputs("&quot;", page); break;
        default: fputc(*text, page);
        }
    }
    fputs(after, page);
}

void cli_page_text(FILE *page, const char *text)
{
    cli_page_put(page, "<p>", text, "</p>\n");
}

/* ---- Tables ------------------------------------------------------------------------------ */

void cli_page_table_begin(FILE *page, const char *caption, const char *const *columns, size_t count)
{
    cli_page_put(page, "<div class=\"scroll\"><table><caption>", caption, "</caption>\n<tr>");
    for (size_t i = 0; i < count; i++) {
        cli_page_put(page, "<th>", columns[i], "</th>");
    }
    fputs("</tr>\n", page);
}

void cli_page_row_begin(FILE *page)
{
    fputs("<tr>", page);
}

void cli_page_cell_text(FILE *page, const char *text)
{
    cli_page_put(page, "<td>", text, "</td>");
}

void cli_page_cell_number(FILE *page, double number, int decimals)
{
    if (isnan(number)) {
        fputs("<td></td>", page);
    } else {
        fprintf(page, "<td class=\"number\">%.*f</td>", decimals, number);
    }
}

void cli_page_row_end(FILE *page)
{
    fputs("</tr>\n", page);
}

void cli_page_table_end(FILE *page)
{
    fputs("</table></div>\n", page);
}

/* ---- A network ------------------------------------------------------------------------------ */

enum {
    SIZE = 360,
    RING_PIECES_MAX = 256, /* of one direction */
    GRID_NODES_MAX = 1024, /* drawn link by link; larger grids as cells */
};

void cli_page_load_colour(FILE *page, double use)
{
    double share = use < 0 ? 0 : use > 1 ? 1 : use;
    fprintf(page, "hsl(%.0f,75%%,%.0f%%)", 215 - 215 * share, 58 - 10 * share);
}

static void put_line(FILE *page, double x1, double y1, double x2, double y2, double stroke,
                     const struct cli_link *link)
{
    fprintf(page,
            "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" stroke-width=\"%.2f\" stroke=\"",
            x1, y1, x2, y2, stroke);
    cli_page_load_colour(page, link->use);
    fprintf(page, "\"><title>%" PRIu32 " to %" PRIu32 ": %.3f</title></line>\n", link->from,
            link->to, link->use);
}

/* Draws both directions as circles; the one to the right is outside. */
static void draw_ring(FILE *page, uint32_t nodes, const struct cli_link *links, size_t count)
{
    const double centre = SIZE / 2.0;
    uint32_t pieces = nodes < RING_PIECES_MAX ? nodes : RING_PIECES_MAX;
    struct cli_link busiest[2][RING_PIECES_MAX] = {{{0}}};
    for (size_t i = 0; i < count; i++) {
        bool to_the_right = links[i].to == (links[i].from + 1) % nodes;
        uint32_t from = to_the_right ? links[i].from : links[i].to;
        struct cli_link *piece = &busiest[to_the_right ? 0 : 1][(uint64_t)from * pieces / nodes];
        if (links[i].use >= piece->use) {
            *piece = links[i];
        }
    }
    for (uint32_t side = 0; side < 2; side++) {
        double radius = side == 0 ? 150 : 136;
        for (uint32_t i = 0; i < pieces; i++) {
            double from = 2 * M_PI * i / pieces - M_PI / 2;
            double to = 2 * M_PI * (i + 0.94) / pieces - M_PI / 2;
            put_line(page, centre + radius * cos(from), centre + radius * sin(from),
                     centre + radius * cos(to), centre + radius * sin(to), 7, &busiest[side][i]);
        }
    }
    for (uint32_t i = 0; i < nodes && nodes <= 64; i++) {
        double angle = 2 * M_PI * i / nodes - M_PI / 2;
        fprintf(page, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%" PRIu32 "</text>\n",
                centre + 168 * cos(angle), centre + 168 * sin(angle) + 3, i);
    }
    fprintf(page,
            "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">outside: to the right</text>"
            "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">inside: to the left</text>\n",
            centre, centre - 6, centre, centre + 10);
}

/* A cell shows the load of its busiest link. */
static void draw_cells(FILE *page, uint32_t width, uint32_t height, const struct cli_link *links,
                       size_t count)
{
    uint32_t across = width < 64 ? width : 64;
    uint32_t down = height < 64 ? height : 64;
    double *use = calloc((size_t)across * down, sizeof *use);
    INVARIANT(use);
    for (size_t i = 0; i < count; i++) {
        uint64_t x = (uint64_t)(links[i].from % width) * across / width;
        uint64_t y = (uint64_t)(links[i].from / width) * down / height;
        double *cell = &use[y * across + x];
        *cell = links[i].use > *cell ? links[i].use : *cell;
    }
    double side = (SIZE - 20.0) / (across > down ? across : down);
    for (uint32_t i = 0; i < across * down; i++) {
        fprintf(page, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"",
                10 + side * (i % across), 10 + side * (i / across), side * 0.92, side * 0.92);
        cli_page_load_colour(page, use[i]);
        fprintf(page, "\"><title>%.3f</title></rect>\n", use[i]);
    }
    free(use);
}

/* The two directions of a link lie beside each other; a link that closes a ring ends at the
 * picture's edge. */
static void draw_grid(FILE *page, uint32_t width, uint32_t height, const struct cli_link *links,
                      size_t count)
{
    double step = (SIZE - 20.0) / (width > height ? width : height);
    for (size_t i = 0; i < count; i++) {
        double x1 = 10 + step * (links[i].from % width + 0.5);
        double y1 = 10 + step * (links[i].from / width + 0.5);
        double x2 = 10 + step * (links[i].to % width + 0.5);
        double y2 = 10 + step * (links[i].to / width + 0.5);
        double dx = x2 - x1;
        double dy = y2 - y1;
        if (fabs(dx) > 1.5 * step) {
            dx = dx > 0 ? -step / 2 : step / 2;
        }
        if (fabs(dy) > 1.5 * step) {
            dy = dy > 0 ? -step / 2 : step / 2;
        }
        double length = sqrt(dx * dx + dy * dy);
        double aside = step * 0.09 / (length > 0 ? length : 1);
        put_line(page, x1 - dy * aside, y1 + dx * aside, x1 + dx - dy * aside, y1 + dy + dx * aside,
                 step * 0.13, &links[i]);
    }
    for (uint32_t i = 0; i < width * height; i++) {
        fprintf(page, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\" fill=\"var(--ink)\"/>\n",
                10 + step * (i % width + 0.5), 10 + step * (i / width + 0.5), step * 0.12);
    }
}

void cli_page_load_key(FILE *page)
{
    fputs("<div class=\"key\"><span>idle</span><div class=\"ramp\" style=\"flex:1;"
          "background:linear-gradient(90deg,hsl(215,75%,58%),hsl(108,75%,53%),hsl(0,75%,48%))\">"
          "</div><span>full</span></div>\n",
          page);
}

void cli_page_network(FILE *page, const char *title, uint32_t width, uint32_t height,
                      const struct cli_link *links, size_t count)
{
    cli_page_put(page, "<figure class=\"network\"><figcaption>", title, "</figcaption>\n");
    fprintf(page, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"network\">\n", SIZE, SIZE);
    if (height == 1) {
        draw_ring(page, width, links, count);
    } else if ((uint64_t)width * height > GRID_NODES_MAX) {
        draw_cells(page, width, height, links, count);
    } else {
        draw_grid(page, width, height, links, count);
    }
    fputs("</svg>\n", page);
    cli_page_load_key(page);
    fputs("</figure>\n", page);
}
