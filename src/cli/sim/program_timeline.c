/* The tracks of a page: what each node did when.
 *
 * A page has room for so many pieces. Neighbours that are too short to be seen by themselves are
 * drawn as one piece, divided by height as their times are. */
#include <inttypes.h>

#include "cli/sim/page.h"
#include "cli/sim/program_page.h"

enum {
    WIDTH = 360,
    LEFT = 26,
    RIGHT = 10,
    BOTTOM = 30,
    TRACK = WIDTH - LEFT - RIGHT,
    PIECES_MAX = 12000, /* of a page; mixtures can make it a few times as many */
    PIECES_OF_NODE_MAX = 2 * TRACK,
    NAMED_MAX = 4000, /* with more pieces none says what it is: a page stays small enough */
    LABELS_MAX = 16,
    TEXT_BYTES = 256,
};

/* From the bottom of a track to its top. */
static const enum sim_program_doing order[] = {SIM_PROGRAM_COMPUTES, SIM_PROGRAM_WORKS,
                                               SIM_PROGRAM_WAITS};
static const char *const colours[] = {[SIM_PROGRAM_COMPUTES] = "#4c78a8",
                                      [SIM_PROGRAM_WORKS] = "#f2b134",
                                      [SIM_PROGRAM_WAITS] = "#b5b5b5"};
static const char *const names[] = {[SIM_PROGRAM_COMPUTES] = "computed",
                                    [SIM_PROGRAM_WORKS] = "stored, polled and asked",
                                    [SIM_PROGRAM_WAITS] = "waited"};

struct picture {
    FILE *page;
    uint32_t shown;    /* nodes */
    double row, bar;   /* heights */
    uint64_t whole_ps; /* as wide as a track */
    uint64_t grain_ps; /* shorter neighbours are one piece */
    bool is_named;
    bool is_mixed; /* at least one piece is a mixture */
};

static double x_of(const struct picture *picture, uint64_t ps)
{
    return LEFT + (double)ps / (double)picture->whole_ps * TRACK;
}

static void draw_piece(struct picture *picture, uint32_t rank, uint64_t from_ps,
                       const struct sim_program_span *span)
{
    FILE *page = picture->page;
    uint64_t length_ps = sim_program_span_ps(span);
    double x = x_of(picture, from_ps);
    double bottom = rank * picture->row + picture->bar;
    for (unsigned i = 0; i < SIM_PROGRAM_DOINGS; i++) {
        enum sim_program_doing doing = order[i];
        double height = picture->bar * (double)span->ps[doing] / (double)length_ps;
        if (span->ps[doing] == 0) {
            continue;
        }
        bottom -= height;
        (void)fprintf(page,
                      "<rect fill=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"",
                      colours[doing], x, bottom, x_of(picture, from_ps + length_ps) - x, height);
        if (picture->is_named) {
            (void)fprintf(
                page, "><title>node %" PRIu32 " %s for %.3f us from %.3f us on%s</title></rect>\n",
                rank, names[doing], (double)span->ps[doing] / 1e6, (double)from_ps / 1e6,
                span->ps[doing] < length_ps ? ", in pieces" : "");
        } else {
            (void)fputs("/>\n", page);
        }
        picture->is_mixed |= span->ps[doing] < length_ps;
    }
}

/* Joins short neighbours; draws the pieces if there is a picture's page. Gives how many. */
static uint32_t walk(struct picture *picture, const struct sim_program_spans *spans, uint32_t rank,
                     bool draws)
{
    struct sim_program_span piece = {{0}};
    uint64_t from_ps = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < spans->count; i++) {
        const struct sim_program_span *next = &spans->spans[i];
        uint64_t length_ps = sim_program_span_ps(&piece);
        if (length_ps > 0 && length_ps + sim_program_span_ps(next) > picture->grain_ps) {
            if (draws) {
                draw_piece(picture, rank, from_ps, &piece);
            }
            count++;
            from_ps += length_ps;
            piece = (struct sim_program_span){{0}};
        }
        sim_program_span_join(&piece, next);
    }
    if (sim_program_span_ps(&piece) > 0) {
        if (draws) {
            draw_piece(picture, rank, from_ps, &piece);
        }
        count++;
    }
    return count;
}

/* Ranks at the left, not more than have room. */
static void draw_ranks(const struct picture *picture)
{
    uint32_t step = (picture->shown + LABELS_MAX - 1) / LABELS_MAX;
    for (uint32_t rank = 0; rank < picture->shown; rank += step) {
        (void)fprintf(picture->page,
                      "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%" PRIu32 "</text>\n",
                      LEFT - 4, rank * picture->row + picture->bar / 2 + 3.5, rank);
    }
}

/* In ns, us, ms or s, so that numbers stay short. */
static void draw_axis(const struct picture *picture)
{
    static const struct {
        const char *name;
        double ps;
    } units[] = {{"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}};
    double ticks[CLI_TICKS_MAX];
    double height = picture->shown * picture->row;
    unsigned unit = 0;
    while (unit < 3 && (double)picture->whole_ps >= 10 * units[unit + 1].ps) {
        unit++;
    }
    double end = (double)picture->whole_ps / units[unit].ps;
    unsigned count = cli_page_ticks(0, end, ticks);
    for (unsigned i = 0; i < count; i++) {
        double x = LEFT + ticks[i] / end * TRACK;
        (void)fprintf(picture->page,
                      "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" y2=\"%.1f\"/>"
                      "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
                      x, x, height + 3, x, height + 13);
        cli_page_tick_text(picture->page, ticks[i]);
        (void)fputs("</text>\n", picture->page);
    }
    (void)fprintf(picture->page,
                  "<text x=\"%d\" y=\"%.1f\" text-anchor=\"middle\">virtual time, %s</text>\n",
                  LEFT + TRACK / 2, height + 26, units[unit].name);
}

static void put_key(FILE *page)
{
    (void)fputs("<div class=\"key\">", page);
    for (unsigned i = 0; i < SIM_PROGRAM_DOINGS; i++) {
        (void)fprintf(page,
                      "<span><span style=\"display:inline-block;width:.8em;height:.8em;"
                      "margin-right:.35em;background:%s\"></span>%s</span>",
                      colours[order[i]], names[order[i]]);
    }
    (void)fputs("</div>\n", page);
}

static void put_coarseness(const struct picture *picture, uint64_t kept_ps)
{
    char text[TEXT_BYTES];
    uint64_t grain_ps = kept_ps > picture->grain_ps ? kept_ps : picture->grain_ps;
    if (picture->is_mixed) {
        (void)snprintf(text, sizeof text,
                       "Coarsened: neighbours of less than %.3f us together are one piece, divided "
                       "by height.",
                       (double)grain_ps / 1e6);
        cli_page_text(picture->page, text);
    }
}

void cli_program_timeline(FILE *page, const struct program_report *report,
                          const struct program_sums *sums)
{
    uint32_t nodes = report->node_count;
    uint32_t shown = nodes < CLI_PROGRAM_NODES_SHOWN ? nodes : CLI_PROGRAM_NODES_SHOWN;
    uint32_t pieces = PIECES_MAX / shown;
    pieces = pieces < PIECES_OF_NODE_MAX ? pieces : PIECES_OF_NODE_MAX;
    double row = shown <= LABELS_MAX ? 15 : 6;
    struct picture picture = {
        .page = page,
        .shown = shown,
        .row = row,
        .bar = row - (shown <= LABELS_MAX ? 4 : 1),
        .whole_ps = sums->times.end_ps > 0 ? sums->times.end_ps : 1,
        .grain_ps = sums->times.end_ps / pieces,
    };
    uint64_t kept_ps = 0;
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < shown; rank++) {
        const struct sim_program_spans *spans = sim_programs_spans(report->programs, rank);
        kept_ps = spans->grain_ps > kept_ps ? spans->grain_ps : kept_ps;
        count += walk(&picture, spans, rank, false);
    }
    picture.is_named = count <= NAMED_MAX;
    (void)fprintf(page,
                  "<figure class=\"timeline\"><figcaption>What each node did%s</figcaption>\n"
                  "<svg role=\"img\" aria-label=\"timeline\" viewBox=\"0 -4 %d %.1f\">\n",
                  shown < nodes ? " (the first 64)" : "", WIDTH, shown * row + BOTTOM + 4);
    draw_axis(&picture);
    for (uint32_t rank = 0; rank < shown; rank++) {
        (void)walk(&picture, sim_programs_spans(report->programs, rank), rank, true);
    }
    draw_ranks(&picture);
    (void)fputs("</svg>\n", page);
    put_key(page);
    put_coarseness(&picture, kept_ps);
    (void)fputs("</figure>\n", page);
}
