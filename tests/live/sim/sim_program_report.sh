#!/usr/bin/env bash
# The report of `dimmnet run --fabric sim:MACHINE`: stages, network interfaces, links, and what becomes
# of a run that is cut or of a report that cannot be written.
# usage: sim_program_report.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=program.bash
. "$(dirname "$0")/program.bash"

rounds=$live_programs/sim_program_rounds
ways=$live_programs/sim_program_ways
mix=$live_programs/sim_program_mix

says() { grep -qE -- "$1" "$2" || { echo "not \"$1\" but: $(cat "$2")"; return 1; }; }

# What must add up in any report of a run that came to its end.
adds_up()
{
    python3 - <<'END'
import json
r = json.load(open("report"))
nics, stages, links = r["nics"], r["stages"], r["links"]
assert len(nics) == r["nodes"] and [n["rank"] for n in nics] == list(range(r["nodes"]))
for t in r["node_times"]:
    parts = t["compute_ns"] + t["waiting_ns"] + t["working_ns"]
    assert abs(parts - t["end_ns"]) < 0.01, t
assert sum(n["sent_packets"] for n in nics) == r["packets"] > 0
assert sum(n["lost_packets"] for n in nics) == r["lost"]
assert sum(n["received_packets"] for n in nics) == r["packets"] - r["lost"]
for key in "header_misses", "address_misses", "core_requests":
    assert sum(n[key] for n in nics) == r[key], key
for name, stage in stages.items():
    for key, value in stage.items():
        assert abs(sum(n["stages"].get(name, {key: 0})[key] for n in nics) - value) < 0.01, (name, key)
    for n in nics:
        one = n["stages"].get(name)
        assert one is None or one["busy_ns"] <= one["inside_ns"] + 0.01 or name == "link", (name, one)
        assert one is None or one["busy_ns"] <= r["simulated_ns"] + 0.01, (name, one)
assert stages["link"]["count"] == r["packets"]
assert all(0 < link["busy_share"] <= 1 and link["packets"] > 0 for link in links), links
assert links == sorted(links, key=lambda link: -link["busy_ns"])
sent = {link["where"]: link for link in links}
for n in nics:
    own = sent.get("node %d, its link" % n["rank"])
    # A packet to oneself turns before the cable of a subnet.
    assert n["sent_packets"] == 0 or 0 < own["packets"] <= n["sent_packets"], (n["rank"], own)
END
}

# ---- Figures -------------------------------------------------------------------------------------

reports_add_up()
{
    on "$1" -n "$2" "$mix"
    ended_with 0 && adds_up
}

# dimmnet1-D's clocks have 10 ns: a store's way is known to the ns, but for edges and misses.
stages_are_the_machines()
{
    on dimmnet1-D -n 2 "$rounds" ping
    ended_with 0 && adds_up && python3 - <<'END'
import json
r = json.load(open("report"))
for name, ns in {"host_write": 30, "transaction_queue": 20, "size_decision": 10,
                 "send_buffer": 10, "swif_receive": 70, "llcm_write": 10}.items():
    stage = r["stages"][name]
    assert abs(stage["inside_ns"] / stage["count"] - ns) < 1e-6, (name, stage)
# A hundred stores each: the first one misses, the others find their header.
for nic in r["nics"]:
    assert nic["header_misses"] == 1 and nic["header_hits"] == 99, nic
    assert nic["context_hits"] == nic["context_misses"] == nic["retransmissions"] == 0
END
}

contexts_are_counted()
{
    on dimmnet2 -n 3 "$rounds" barrier
    ended_with 0 && adds_up && reports \
        'all(n["context_misses"] > 0 and n["context_hits"] > n["context_misses"] for n in r["nics"])' True
}

equal_runs_have_equal_reports()
{
    on dimmnet2 -n 3 --html page.1 "$mix"
    ended_with 0 || return 1
    mv report report.1
    on dimmnet2 -n 3 --html page.2 "$mix"
    ended_with 0 && cmp report report.1 && cmp page.1 page.2
}

words_name_stages_and_links()
{
    DN_SIM_REPORT=1 live_group --fabric sim:dimmnet1-D -n 8 "$mix"
    ended_with 0 && says '^  stages of all nodes +packets' err &&
        says '^    write into LLCM +[0-9]+ +[0-9.]+ +10\.0 ' err &&
        says '^  header TLBs +[0-9]+ +misses in [0-9]+ look-ups' err || return 1
    [ "$(grep -c ' % busy  ' err)" -eq 5 ]
}

# ---- The page ------------------------------------------------------------------------------------

# The pieces of a track are as wide as the node's time, and each kind as it says.
tracks_show_all_time()
{
    LIVE_COMPUTE_NS=77777 on dimmnet1-D -n 2 --html page.html "$ways" compute
    ended_with 0 && python3 - <<'END'
import json, re
r = json.load(open("report"))
page = open("page.html").read()
track = page[page.index('class="timeline"'):]
track = track[:track.index("</figure>")]
sums = {}
for rank, what, us in re.findall(r"<title>node (\d+) (\w+).*? for ([0-9.]+) us from", track):
    sums[int(rank), what] = sums.get((int(rank), what), 0) + 1000 * float(us)
for t in r["node_times"]:
    for what, key in (("computed", "compute_ns"), ("waited", "waiting_ns"), ("stored", "working_ns")):
        assert abs(sums.get((t["rank"], what), 0) - t[key]) < 5, (t, what, sums)
assert "Coarsened" not in track
END
}

a_long_run_is_coarsened_and_says_so()
{
    on dimmnet1-D -n 32 --html page.html "$mix"
    ended_with 0 && [ "$(wc -c <page.html)" -lt 2000000 ] &&
        grep -qE 'Coarsened: neighbours of less than [0-9.]+ us together are one piece' page.html
}

# ---- Runs that are cut, reports that cannot be written -------------------------------------------

a_time_out_is_reported()
{
    DN_SIM_REPORT=1 live_group --timeout 1 --fabric sim:dimmnet1-D --json report -n 2 "$ways" loop
    ended_with 124 && reports 'r["end"]' stopped && says 'virtual time, until it was cut' err
}

an_interrupt_is_reported()
{
    rm -f report err
    # A shell lets what it starts in the background ignore interrupts.
    env --default-signal "$live_dimmnet" run --fabric sim:dimmnet2 --json report -n 2 "$ways" loop \
        >out 2>err </dev/null &
    local launcher=$!
    live_eventually grep -q 'node 0 has looped' err && kill -INT "$launcher" || return 1
    wait "$launcher"
    status=$?
    ended_with 130 && reports 'r["end"]' stopped
}

# cannot_write OPTION NAME REASON
cannot_write()
{
    live_group --fabric sim:dimmnet1-D "$1" "$2" -n 2 "$rounds" ping
    ended_with 1 && says "^dimmnet run: cannot write $2: $3\$" err
}

a_file_that_cannot_be_written_is_a_fault()
{
    local option
    for option in --json --html; do
        cannot_write "$option" /no/such/folder/file 'No such file or directory' || return 1
        cannot_write "$option" /dev/full 'No space left on device' || return 1
    done
    cannot_write --stages /dev/full 'No space left on device' || return 1
    # A program's own failure says more.
    live_group --fabric sim:dimmnet1-D --json /dev/full -n 1 sh -c 'exit 7'
    ended_with 7 && says 'cannot write /dev/full' err
}

# ---- Deaths by chance ----------------------------------------------------------------------------

as_many_die_as_the_plan_says()
{
    local seed
    for seed in 1 2 3 4; do
        echo "random 3 20us $seed" >faults
        on dimmnet2 -n 4 --keep-going --faults faults "$ways" survive
        [ "$(grep -c 'was killed by SIGKILL' err)" -eq 3 ] || { cat err; return 1; }
    done
    echo 'random 5 20us 1' >faults
    live_group --fabric sim:dimmnet2 -n 4 --faults faults true
    ended_with 2 && says 'faults:1: of 4 nodes 4 are left to die, not more' err
}

while read -r words nodes; do
    live_verdict "what $nodes nodes of $words report adds up" reports_add_up "$words" "$nodes"
done <<'END'
dimmnet1-D 2
dimmnet1-D,topology=back-to-back 2
dimmnet1-D,topology=tree 9
dimmnet1-D,topology=fat-tree 9
dimmnet1-D,topology=ring 5
dimmnet1-D,topology=torus 6
dimmnet2 4
dimmnet2,topology=torus 4
END
live_verdict "stages are the machine's" stages_are_the_machines
live_verdict "contexts are counted" contexts_are_counted
live_verdict "equal runs have equal reports" equal_runs_have_equal_reports
live_verdict "words name stages and links" words_name_stages_and_links
live_verdict "tracks show all time" tracks_show_all_time
live_verdict "a long run is coarsened and says so" a_long_run_is_coarsened_and_says_so
live_verdict "a time-out is reported" a_time_out_is_reported
live_verdict "an interrupt is reported" an_interrupt_is_reported
live_verdict "a file that cannot be written is a fault" a_file_that_cannot_be_written_is_a_fault
live_verdict "as many die as the plan says" as_many_die_as_the_plan_says
live_verdict "nothing remains" live_nothing_remains
live_finish
