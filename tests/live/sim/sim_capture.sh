#!/usr/bin/env bash
# Captures of simulated InfiniBand packets, as tshark shows them: every packet is taken apart, none
# is malformed, and what is wrong is said. usage: sim_capture.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

# The stage says so, too; this is for those who run the test by itself.
if ! command -v tshark >/dev/null; then
    echo "SKIPPED: tshark is missing"
    exit 77
fi

capture=$live_work/capture.pcapng
sample=$live_build/tests/tools/capture_sample

# shown FILTER FIELD...: the fields of the packets that pass, a line each, with | between.
shown()
{
    local filter=$1 field fields=()
    shift
    for field in "$@"; do
        fields+=(-e "$field")
    done
    # Names, comments and flags are shown as they are in the file, with no settings of the user's.
    HOME=$live_work tshark -r "$capture" -Y "$filter" -T fields -E separator='|' "${fields[@]}" \
        2>>"$live_work/err" || echo "tshark failed: $(tail -n 1 "$live_work/err")"
}

# How many packets of a sort the sample has, by its own count.
of() { sed -n "s/^$1 //p" "$live_work/out"; }

# counts NUMBER FILTER: so many packets pass.
counts()
{
    local count
    count=$(shown "$2" frame.number | wc -l)
    [ "$count" -eq "$1" ] || { echo "$count packets, not $1: $2"; return 1; }
}

a_capture_is_written()
{
    live_alone "$sample" "$capture"
    [ "$status" -eq 0 ] && [ "$(of frames)" -gt 20 ] && [ "$(of damaged)" -gt 0 ]
}

a_full_disk_is_reported()
{
    local message
    ! message=$("$sample" /dev/full 2>&1 >/dev/null) || return 1
    [[ $message == *"No space left on device"* ]] || { echo "$message"; return 1; }
}

every_packet_is_taken_apart()
{
    local all=$(($(of frames) + $(of management) + $(of link) + $(of damaged)))
    counts "$all" frame &&
        counts "$all" 'infiniband || infiniband_link' &&
        counts "$(($(of frames) + $(of damaged)))" 'infiniband.rwh.etype == 0x88b5' &&
        counts "$(of management)" 'infiniband.bth.opcode == 100 && infiniband.mad' &&
        counts "$(of link)" 'infiniband_link.op in {0, 1}'
}

nothing_is_malformed() { counts 0 '_ws.malformed || _ws.expert.severity >= 0x600000'; }

fields_come_back()
{
    [ "$(shown 'infiniband_link.op == 1 && infiniband_link.vl == 3' infiniband_link.fctbs \
        infiniband_link.fccl)" = "813|4092" ] || return 1
    counts 1 'infiniband.lrh.vl == 5 && infiniband.lrh.sl == 5 && infiniband.lrh.slid == 1 &&
        infiniband.lrh.dlid == 2 && infiniband.lrh.pktlen == 12'
}

ports_and_times_come_back()
{
    shown frame frame.interface_name | sort -u >"$live_work/ports"
    diff - "$live_work/ports" <<'END' || return 1
board-1, port 1
switch-1, port 3
END
    # tshark shows ns; 4 of them are between one packet and the next.
    [ "$(shown 'frame.number <= 3' frame.time_epoch | paste -sd' ')" = \
        "1.000000000 1.000000004 1.000000008" ]
}

wrong_crcs_are_said()
{
    local right=$(($(of frames) + $(of management) + $(of link)))
    counts "$(of damaged)" 'frame.packet_flags_crc_error == 1' &&
        counts "$(of frames)" 'frame.comment contains "VCRC good, CRC-32 good; "' &&
        counts "$(of management)" 'frame.comment == "VCRC good, ICRC good"' &&
        counts "$(of link)" 'frame.comment == "LPCRC good"' &&
        counts "$right" 'frame.packet_flags_crc_error == 0' &&
        counts 1 'frame.comment ==
            "VCRC wrong, CRC-32 wrong: 3 bits were changed on the cable"'
}

for test in a_capture_is_written a_full_disk_is_reported every_packet_is_taken_apart \
    nothing_is_malformed fields_come_back ports_and_times_come_back wrong_crcs_are_said; do
    live_verdict "$test" "$test"
done
live_finish
