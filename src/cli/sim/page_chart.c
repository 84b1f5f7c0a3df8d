/* Charts: lines and points on linear or logarithmic axes. */
#include <math.h>

#include "cli/sim/page.h"

enum { WIDTH = 360, HEIGHT = 250, LEFT = 46, RIGHT = 14, TOP = 10, BOTTOM = 34 };

/* Distinct for every kind of colour vision. When all colours are used, the next dashes begin. */
static const char *const colours[] = {"#3b76d6", "#d2691e", "#2e9e6b", "#a04bb8",
                                      "#c93a4b", "#7a7a2e", "#4aa3b5", "#8a6d5a"};
static const char *const dashes[] = {"none", "6 3", "2 2", "8 3 2 3"};
enum { COLOURS = sizeof colours / sizeof colours[0], DASHES = sizeof dashes / sizeof dashes[0] };

struct axis {
    double low, high;
    bool is_logarithmic;
    double start, length; /* in the picture; negative length: upwards */
};

static const char *colour_of(size_t number)
{
    return colours[number % COLOURS];
}

static const char *dash_of(size_t number)
{
    return dashes[number / COLOURS % DASHES];
}

static double place(const struct axis *axis, double value)
{
    double share = axis->is_logarithmic ? log(value / axis->low) / log(axis->high / axis->low)
                                        : (value - axis->low) / (axis->high - axis->low);
    return axis->start + share * axis->length;
}

static bool is_shown(const struct cli_chart *chart, const struct cli_series *series, size_t i)
{
    double x = series->x[i];
    double y = series->y[i];
    return isfinite(x) && isfinite(y) && (!chart->x_is_logarithmic || x > 0) &&
           (!chart->y_is_logarithmic || y > 0);
}

static void widen(struct axis *axis, double value)
{
    axis->low = value < axis->low ? value : axis->low;
    axis->high = value > axis->high ? value : axis->high;
}

/* A linear axis includes 0; no axis is a single point. */
static void finish(struct axis *axis)
{
    if (axis->low > axis->high) {
        axis->low = axis->is_logarithmic ? 1 : 0;
        axis->high = axis->is_logarithmic ? 10 : 1;
    }
    if (!axis->is_logarithmic) {
        axis->low = axis->low > 0 ? 0 : axis->low;
        axis->high = axis->high < 0 ? 0 : axis->high;
    }
    if (axis->low == axis->high) {
        axis->high = axis->is_logarithmic ? axis->low * 10 : axis->low + 1;
    }
}

unsigned cli_page_ticks(double low, double high, double ticks[CLI_TICKS_MAX])
{
    double raw = (high - low) / 6;
    double step = pow(10, floor(log10(raw)));
    step *= raw > 5 * step ? 10 : raw > 2 * step ? 5 : raw > step ? 2 : 1;
    unsigned count = 0;
    for (double tick = ceil(low / step) * step; tick <= high + step / 1e6 && count < CLI_TICKS_MAX;
         tick += step) {
        ticks[count++] = fabs(tick) < step / 1e6 ? 0 : tick;
    }
    return count;
}

/* Powers of ten, or of a hundred, and where these are few also twice and five times as much. */
static unsigned logarithmic_ticks(const struct axis *axis, double ticks[CLI_TICKS_MAX])
{
    static const double parts[] = {1, 2, 5};
    double decades = log10(axis->high / axis->low);
    double factor = decades > 5 ? 100 : 10;
    unsigned part_count = decades < 2 ? 3 : 1;
    unsigned count = 0;
    for (double power = pow(10, floor(log10(axis->low) + 1e-9)); power <= axis->high * (1 + 1e-9);
         power *= factor) {
        for (unsigned i = 0; i < part_count; i++) {
            double tick = power * parts[i];
            if (tick >= axis->low * (1 - 1e-9) && tick <= axis->high * (1 + 1e-9) &&
                count < CLI_TICKS_MAX) {
                ticks[count++] = tick;
            }
        }
    }
    if (count < 2) { /* hardly an axis: mark the ends */
        ticks[0] = axis->low;
        ticks[1] = axis->high;
        count = 2;
    }
    return count;
}

void cli_page_tick_text(FILE *page, double tick)
{
    double size = fabs(tick);
    if (size >= 1e6) {
        fprintf(page, "%.3gM", tick / 1e6);
    } else if (size >= 1e4) {
        fprintf(page, "%.3gk", tick / 1e3);
    } else {
        fprintf(page, "%.4g", tick);
    }
}

static void draw_axes(FILE *page, const struct cli_chart *chart, const struct axis *x,
                      const struct axis *y)
{
    double ticks[CLI_TICKS_MAX];
    unsigned count = x->is_logarithmic ? logarithmic_ticks(x, ticks)
                                       : cli_page_ticks(x->low, x->high, ticks);
    for (unsigned i = 0; i < count; i++) {
        double at = place(x, ticks[i]);
        fprintf(page,
                "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">",
                at, at, TOP, HEIGHT - BOTTOM, at, HEIGHT - BOTTOM + 12);
        cli_page_tick_text(page, ticks[i]);
        fputs("</text>\n", page);
    }
    count = y->is_logarithmic ? logarithmic_ticks(y, ticks)
                              : cli_page_ticks(y->low, y->high, ticks);
    for (unsigned i = 0; i < count; i++) {
        double at = place(y, ticks[i]);
        fprintf(page,
                "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
                LEFT, WIDTH - RIGHT, at, at, LEFT - 4, at + 3);
        cli_page_tick_text(page, ticks[i]);
        fputs("</text>\n", page);
    }
    fprintf(page,
            "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>"
            "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n",
            LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM, HEIGHT - BOTTOM, LEFT, LEFT, TOP,
            HEIGHT - BOTTOM);
    fprintf(page, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">", (LEFT + WIDTH - RIGHT) / 2,
            HEIGHT - 6);
    cli_page_put(page, "", chart->x_label, "</text>");
    fprintf(page, "<text transform=\"translate(10 %d) rotate(-90)\" text-anchor=\"middle\">",
            (TOP + HEIGHT - BOTTOM) / 2);
    cli_page_put(page, "", chart->y_label, "</text>\n");
}

static void draw_series(FILE *page, const struct cli_chart *chart, size_t number,
                        const struct axis *x, const struct axis *y)
{
    const struct cli_series *series = &chart->series[number];
    const char *colour = colour_of(number);
    if (series->style != CLI_POINTS) {
        bool down = false;
        fprintf(page,
                "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\" stroke-dasharray=\"%s\" "
                "d=\"",
                colour, dash_of(number));
        for (size_t i = 0; i < series->count; i++) {
            if (is_shown(chart, series, i)) {
                fprintf(page, "%c%.1f %.1f", down ? 'L' : 'M', place(x, series->x[i]),
                        place(y, series->y[i]));
                down = true;
            }
        }
        fputs("\"/>\n", page);
    }
    for (size_t i = 0; i < series->count && series->style != CLI_LINE; i++) {
        if (is_shown(chart, series, i)) {
            fprintf(page, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.2\" fill=\"%s\"><title>",
                    place(x, series->x[i]), place(y, series->y[i]), colour);
            cli_page_put(page, "", series->name, "");
            fprintf(page, ": %.6g, %.6g</title></circle>\n", series->x[i], series->y[i]);
        }
    }
}

static void put_numbers(FILE *page, const struct cli_chart *chart)
{
    const char *const columns[] = {"", chart->x_label, chart->y_label};
    fputs("<details><summary>the numbers</summary>\n", page);
    cli_page_table_begin(page, "", columns, 3);
    for (size_t number = 0; number < chart->series_count; number++) {
        const struct cli_series *series = &chart->series[number];
        for (size_t i = 0; i < series->count; i++) {
            cli_page_row_begin(page);
            cli_page_cell_text(page, series->name);
            fprintf(page, "<td class=\"number\">%.6g</td>", series->x[i]);
            if (isfinite(series->y[i])) {
                fprintf(page, "<td class=\"number\">%.6g</td>", series->y[i]);
            } else {
                fputs("<td></td>", page);
            }
            cli_page_row_end(page);
        }
    }
    cli_page_table_end(page);
    fputs("</details>\n", page);
}

/* A short piece of the series' line, or a point of it, and its name. */
static void put_key(FILE *page, const struct cli_chart *chart, size_t number)
{
    fputs("<span><svg viewBox=\"0 0 26 8\" "
          "style=\"display:inline-block;width:26px;height:8px;background:none;"
          "margin-right:.35em;vertical-align:middle\" aria-hidden=\"true\">",
          page);
    if (chart->series[number].style != CLI_POINTS) {
        fprintf(page,
                "<line x1=\"0\" x2=\"26\" y1=\"4\" y2=\"4\" stroke=\"%s\" stroke-width=\"2\" "
                "stroke-dasharray=\"%s\"/>",
                colour_of(number), dash_of(number));
    }
    if (chart->series[number].style != CLI_LINE) {
        fprintf(page, "<ellipse cx=\"13\" cy=\"4\" rx=\"3\" ry=\"3\" fill=\"%s\"/>",
                colour_of(number));
    }
    cli_page_put(page, "</svg>", chart->series[number].name, "</span>");
}

void cli_page_chart(FILE *page, const struct cli_chart *chart)
{
    struct axis x = {INFINITY, -INFINITY, chart->x_is_logarithmic, LEFT, WIDTH - RIGHT - LEFT};
    struct axis y = {INFINITY, -INFINITY, chart->y_is_logarithmic, HEIGHT - BOTTOM,
                     TOP + BOTTOM - HEIGHT};
    for (size_t number = 0; number < chart->series_count; number++) {
        for (size_t i = 0; i < chart->series[number].count; i++) {
            if (is_shown(chart, &chart->series[number], i)) {
                widen(&x, chart->series[number].x[i]);
                widen(&y, chart->series[number].y[i]);
            }
        }
    }
    finish(&x);
    finish(&y);
    cli_page_put(page, "<figure class=\"chart\"><figcaption>", chart->title, "</figcaption>\n");
    fprintf(page, "<svg viewBox=\"0 0 %d %d\" role=\"img\"", WIDTH, HEIGHT);
    cli_page_put(page, " aria-label=\"", chart->title, "\">\n");
    draw_axes(page, chart, &x, &y);
    for (size_t number = 0; number < chart->series_count; number++) {
        draw_series(page, chart, number, &x, &y);
    }
    fputs("</svg>\n<div class=\"key\">", page);
    for (size_t number = 0; number < chart->series_count; number++) {
        put_key(page, chart, number);
    }
    fputs("</div>\n", page);
    put_numbers(page, chart);
    fputs("</figure>\n", page);
}
