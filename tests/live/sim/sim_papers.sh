#!/usr/bin/env bash
# `dimmnet sim papers`: its bars, computed anew from its JSON. usage: sim_papers.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"
cd "$live_work" || exit

# papers WORD...: runs it to its end; leaves out, err and $status.
papers() { live_alone "$live_dimmnet" sim papers "$@"; }

ended_with() { [ "$status" -eq "$1" ] || { echo "status $status, not $1"; cat err; return 1; }; }

refused()
{
    ended_with 2 && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] && grep -qF -- "$1" err ||
        { echo "not \"$1\" but: $(cat err)"; return 1; }
}

words_are_checked()
{
    papers --bogus
    refused 'there is no option "--bogus"' || return 1
    papers bogus
    refused '"bogus" is one word too many' || return 1
    papers --table
    refused '--table needs a value' || return 1
    papers --table 000/10
    refused 'there is no table "000/10"' || return 1
    papers --map dimmnet9
    refused 'there is no machine "dimmnet9"' || return 1
    papers --map --json
    refused '--map goes with neither' || return 1
    papers --machines nowhere
    refused 'there is no folder "nowhere"' || return 1
    papers --help
    ended_with 0 && grep -q '^usage: dimmnet sim papers' out && [ ! -s err ]
}

# The papers' figures are repeated here, so that nothing depends on the program's own.
the_bars_hold()
{
    papers --json
    ended_with 0 && [ ! -s err ] && python3 - <<'END'
import json
cells = {}
for line in open("out"):
    cell = json.loads(line)
    for key in ("source", "table", "row", "column", "unit", "kind", "paper", "sim", "error_pct",
                "bar"):
        assert key in cell, (key, cell)
    assert cell["kind"] in ("taken", "fitted", "check", "predicted"), cell
    place = (cell["source"], cell["table"], cell["row"], cell["column"])
    assert place not in cells, place
    cells[place] = cell
    right = cell.get("right", cell["paper"])
    if cell["sim"] is None:
        assert cell["error_pct"] is None and cell["kind"] == "taken", cell
    else:
        wanted = 100 * (cell["sim"] - right) / right
        assert abs(wanted - cell["error_pct"]) < 1e-6, cell
    assert "right" not in cell or cell["note"], cell

def table(source, name, rows, columns, figures):
    """Errors in percent of the cells, row by row, against figures given here."""
    errors = []
    for row, line in zip(rows, figures):
        for column, figure in zip(columns, line):
            sim = cells[source, name, row, column]["sim"]
            errors.append(100 * abs(sim - figure) / figure)
    assert len(errors) == len(rows) * len(columns)
    return errors

def bar(what, errors, worst, mean=None):
    assert max(errors) <= worst, (what, errors)
    assert mean is None or sum(errors) / len(errors) <= mean, (what, errors)

bar("Table 6", table("000", "6",
    ["write from host", "transaction queue", "header TLB", "transfer size decision",
     "send buffer handshake", "SWIF, send", "SWIF, receive", "write into LLCM", "total"],
    ["A", "B, F", "C", "D, E", "design"],
    [[45, 30, 45, 30, 22.5], [30, 20, 30, 20, 15], [45, 30, 45, 30, 22.5],
     [15, 10, 15, 10, 7.5], [15, 10, 15, 10, 7.5], [64, 64, 40, 40, 40],
     [144, 144, 70, 70, 70], [15, 10, 15, 10, 7.5], [373, 318, 275, 220, 192.5]]), 1e-9)
rounds = ["RTT, two boards", "external loop", "internal loop"]
bar("Table 5", table("000", "5", rounds, ["B", "C", "F"],
    [[1940, 2251, 2122], [851, 1091, 922], [705, 946, 796]]), 10, 5)
for (source, name, row, column), cell in cells.items():
    if source == "000" and name in "578":
        assert cell["kind"] == ("fitted" if column in "ADE" else "predicted"), cell
for (source, name, row, column), cell in cells.items():
    if (source, name) in (("000", "6"), ("002", "ratios"), ("002", "bandwidth"),
                          ("002", "throughput")) or source == "000" and name == "9" and "BOTF" in row:
        assert cell["kind"] in ("taken", "check"), cell
    if source == "003" or source == "000" and (name in "23" or name == "9" and column != "DIMMnet-1"):
        assert cell["kind"] == "taken", cell
bar("outside the SWIF", table("000", "5", ["outside the SWIF"], ["B", "C", "F"],
    [[146, 145, 126]]), 15)
bar("Table 7", table("000", "7", ["barrier, with MMX", "barrier, without MMX"], "ABCDEF",
    [[2375, 2026, 2255, 2075, 2616, 2765], [2569, 2135, 2435, 2275, 2283, 2425]]), 10, 5)
bar("Table 8", table("000", "8", ["unsigned", "unsigned long long", "float", "double"], "ABCDEF",
    [[2379, 1958, 2288, 1897, 2101, 2281], [2798, 2246, 2677, 2196, 2651, 2824],
     [2397, 1975, 2286, 1903, 2165, 2303], [2377, 2015, 2286, 1912, 2163, 2237]]), 10, 5)
nine = ["DIMMnet-1"]
bar("270 ns", table("000", "9", ["remote write"], nine, [[270]]), 2)
bar("BOTF", table("000", "9", ["sustained, one way (BOTF)", "sustained, both ways (BOTF)"], nine,
    [[1017], [2034]]), 3)
bar("ms per send", table("001", "1", ["with detect_thread", "without"], ["per send"],
    [[23.59], [20.0]]), 10)
bar("barriers", table("001", "2", ["_expBarrier", "dimmnet_comm_sync"], ["time"],
    [[4.0881], [29.8033]]), 10)
bar("share", table("001", "3", ["bank switching"], ["share"], [[99.46]]), 10)
nics = ["DIMMnet-1/bDais", "DIMMnet-2"]
bar("latency", table("002", "latency", ["8 bytes"], nics, [[1.22, 1.02]]), 1)
for row, figures in (("CD over UD", (15.1, 10.8)), ("miss over hit", (5.2, 3.9))):
    for nic, figure in zip(nics, figures):
        assert abs(cells["002", "ratios", row, nic]["sim"] - figure) <= 1, (row, nic)
bar("bandwidth", table("002", "bandwidth", ["sustained"],
    ["bDais UD", "bDais CD", "DIMMnet-2 UD", "DIMMnet-2 CD"], [[240, 234, 769, 749]]), 3)
predicted = [abs(cell["error_pct"]) for cell in cells.values() if cell["kind"] == "predicted"]
assert len(cells) == 385 and len(predicted) == 32, (len(cells), len(predicted))
open("predictions", "w").write("all predictions: %d, mean error %.2f %%, worst %.2f %% " %
    (len(predicted), sum(predicted) / len(predicted), max(predicted)))
# "Held" says nothing of these.
without = {place: cell for place, cell in cells.items()
           if cell["kind"] == "predicted" and cell["bar"] is None}
assert list(without) == [("001", "3", "synchronisation and AOTF", "share")], without
open("without_bar", "w").write("predictions without a bar: %d of %d\n" %
    (len(without), len(predicted)) + "".join(
        "%-14s %s, %s: %.5g %s in the paper, %.5g simulated, error %+.2f %%\n" %
        (source + "/" + name, row, column, cell["paper"], cell["unit"], cell["sim"], cell["error_pct"])
        for (source, name, row, column), cell in without.items()))
END
}

# The text sums up what the JSON says; it is run after that.
predictions_are_summed_up()
{
    papers
    ended_with 0 && grep -qF "$(cat predictions)" out &&
        grep -q '^Tables 5, 7 and 8 together, with the bars of a mean: 27 cells, mean ' out || return 1
    grep -A1 '^predictions without a bar' out | cmp - without_bar || return 1
    papers --table 000/5
    ended_with 0 && ! grep 'without a bar' out
}

two_runs_are_the_same_bytes()
{
    local words
    for words in '' --json '--map dimmnet1-E'; do
        # shellcheck disable=SC2086 # none, one or two
        papers $words
        ended_with 0 && mv out first || return 1
        # shellcheck disable=SC2086
        papers $words
        ended_with 0 && [ -s out ] && cmp out first || return 1
    done
}

one_table_can_be_chosen()
{
    papers --json --table 000/7
    ended_with 0 && [ "$(wc -l <out)" -eq 12 ] || return 1
    papers --json --table 1
    ended_with 0 && [ "$(grep -c '"table":"1"' out)" -eq 29 ] && [ "$(wc -l <out)" -eq 29 ] ||
        return 1
    papers --table 000/6
    ended_with 0 && grep -q '^  total, A: its own rows add to 373$' out && grep -q 'held$' out
}

# Without a browser: every error has its point, every bar its limit, and what the text sums up is
# there. It is run after the others, whose files it reads.
the_page_leaves_nothing_out()
{
    papers --html page.html
    ended_with 0 && mv out text && papers --json && ended_with 0 && python3 - <<'END'
import html, json, re
page = html.unescape(open("page.html").read())
cells = [json.loads(line) for line in open("out")]
charts = page.split('<figure class="chart">')[1:]
assert len(charts) == 3, len(charts)
for kind in ("predicted", "check", "fitted", "taken"):
    points = sorted(float(y) for y in re.findall("<title>%s: [^,]*, (.*?)</title>" % kind, charts[2]))
    errors = sorted(cell["error_pct"] for cell in cells
                    if cell["kind"] == kind and cell["error_pct"] is not None)
    assert len(points) == len(errors) > 0, (kind, len(points), len(errors))
    for point, error in zip(points, errors):
        assert abs(point - error) <= 1e-5 * max(1, abs(error)), (kind, point, error)
heights = [float(y) for y in re.findall('<circle cx="[^"]*" cy="([^"]*)"', charts[2])]
assert min(heights) >= 10 and max(heights) <= 250 - 34, (min(heights), max(heights))
predicted = sum(cell["kind"] == "predicted" for cell in cells)
assert sum(chart.count("<circle") for chart in charts[:2]) == predicted
assert open("predictions").read() in page
assert open("without_bar").readline().strip() in page
bars = page[page.index("<caption>bars</caption>"):]
rows = [re.findall("<td[^>]*>(.*?)</td>", row) for row in bars[:bars.index("</table>")].split("<tr>")]
rows = {(row[0], row[1]): row[2:] for row in rows if row}
assert rows["000/5", "predicted: round trips and loops"][0] == "mean 5, worst 10 %", rows
assert rows["002/ratios", "check: InfiniSWIF, CD/UD and miss/hit"][0] == "1 points", rows
assert rows["001/3", "predicted: synchronisation and AOTF, share"] == \
    ["none", "1", "41.50", "41.50", "%", "no bar"], rows
text = open("text").read()
assert len(rows) == len(re.findall("held$", text, re.M)) + 1, len(rows)
END
}

# A cable that is much too long: the bar says so.
a_wrong_machine_is_found_out()
{
    mkdir -p wrong
    printf '[machine]\ninherit = dimmnet1-F\ntext = too long a cable\n[link]\n%s\n' \
        'wire_ns = 900 | assumed' >wrong/dimmnet1-F.ini
    papers --table 000/5 --machines wrong
    ended_with 1 && grep -q 'MISSED$' out || return 1
    papers --json --table 000/5 --machines wrong
    ended_with 1 && grep -q 'missed: paper 000, 5: predicted, ' err || return 1
    echo '[link' >wrong/dimmnet1-F.ini
    papers --json --table 000/5 --machines wrong
    ended_with 1 && grep -q 'dimmnet1-F.ini:1: ' err || return 1
    # A table needs something that a machine does not have.
    printf '[machine]\ninherit = dimmnet1-D\n[bank]\nbytes = 0 | none\n' >wrong/fagus-p3.ini
    papers --json --table 001/1 --machines wrong
    ended_with 1 && grep -q 'fagus-p3: \[bank\] bytes is 0, but 10016 are sent' err || return 1
    printf '[machine]\ninherit = dimmnet1-D\n[bank]\nbytes = 4096 | few\n' >wrong/dimmnet1-design.ini
    papers --json --table 000/1 --machines wrong
    ended_with 1 && grep -q 'dimmnet1-design: \[bank\] bytes is 4096, but 32768 are sent' err
}

# Every nanosecond has its place: the parts add up to the whole.
the_map_adds_up()
{
    papers --map
    ended_with 0 && grep -q 'poll misalignment' out && python3 - <<'END'
import re
total, parts, maps = None, 0.0, 0
for line in open("out"):
    whole = re.match(r"loop .*: ([0-9.]+) ns$", line)
    part = re.match(r"  .{34} +([0-9.]+) +[0-9.]+ %", line)
    if whole:
        total, parts, maps = float(whole[1]), 0.0, maps + 1
    elif part:
        parts += float(part[1])
    elif total and not line.strip():
        assert abs(total - parts) < 0.3, (total, parts)
        total = None
assert maps == 2
END
}

live_verdict "words that make no sense" words_are_checked
live_verdict "the bars hold" the_bars_hold
live_verdict "predictions are summed up" predictions_are_summed_up
live_verdict "the page leaves nothing out" the_page_leaves_nothing_out
live_verdict "two runs are the same bytes" two_runs_are_the_same_bytes
live_verdict "one table can be chosen" one_table_can_be_chosen
live_verdict "a wrong machine is found out" a_wrong_machine_is_found_out
live_verdict "the map adds up" the_map_adds_up
live_finish
