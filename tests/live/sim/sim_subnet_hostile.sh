#!/usr/bin/env bash
# Nothing that a client says or does ends the server. usage: sim_subnet_hostile.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"
# shellcheck source=subnet.bash
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/subnet.bash"
subnet_needs 'hostile clients of a simulated subnet' opensm smpquery saquery

serves() { attached board-1 smpquery -D nodedesc 0,1 2>&1 | grep -q switch-1; }

nonsense_is_reported()
{
    python3 - "$subnet_name" <<'END' || return 1
import os, random, socket, struct, sys
base = sys.argv[1].encode()
control = b"\0" + base + b":ctl\0"
chance = random.Random(1)

def own(kind, number):
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    bound.bind(b"\0" + base + b":" + kind + str(number).encode() + b"\0")
    bound.settimeout(10)
    return bound

def request(type, client=0, magic=0xdeadbeef, length=64, data=b""):
    return struct.pack("=IIII64s", magic, client, type, length, data)

def connect(number, host):
    return request(1, data=struct.pack("=III32s", number, 0, 0, host))

me = os.getpid()
asking, telling = own(b"ctl", me), own(b"in", me)
def ask(words):
    asking.sendto(words, control)
    return struct.unpack("=IIII64s", asking.recv(200))

for length in (0, 1, 79, 81, 4096):
    asking.sendto(chance.randbytes(length), control)
asking.sendto(request(1, magic=0x12345678), control)
asking.sendto(request(1, length=65), control)
# Without a socket to be answered at.
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(request(7), control)
for refused in (request(7), request(7, client=2**32 - 1), connect(me, b"nobody"), connect(me, b"\xff" * 32),
                connect(0, b"board-0"), connect(2**32 - 1, b"board-0"), connect(me + 12345678, b"board-0")):
    assert ask(refused)[2] == 0, refused
answer = ask(connect(me, b"board-3"))
assert answer[2] == 1, answer
slot = struct.unpack_from("=I", answer[4])[0]
assert ask(request(0, slot))[2] == 0 and ask(request(77, slot))[2] == 0
for type in (3, 4, 5, 6, 7, 8, 10):
    assert ask(request(type, slot))[2] == type
# Datagrams of any bytes; nothing but lost ones and answers comes back.
out = b"\0" + base + b":out" + str(slot).encode() + b"\0"
telling.connect(out)
for length in (0, 1, 287, 289, 3000):
    telling.send(chance.randbytes(length))
for i in range(3000):
    mad = bytearray(chance.randbytes(256))
    if i % 2:
        mad[0:4] = bytes((1, chance.choice((1, 3, 4, 0x32, 0x81)), 1, chance.choice((1, 2, 5, 7, 0x81))))
        mad[6:8] = bytes((0, chance.randrange(4)))
        mad[16:18] = bytes((0, chance.randrange(0x22)))
        for hop in range(8):
            mad[128 + hop] = chance.randrange(5)
    head = struct.pack(">H2xH2xIII4xQ", chance.choice((0, 1, 2, 3, 0xffff)), 0, 1, 1, 0,
                       chance.choice((256, 256, 256, 0, 2**63)))
    telling.send(head + bytes(mad))
    telling.setblocking(False)
    try:
        while True:
            assert len(telling.recv(500)) == 288
    except BlockingIOError:
        pass
    telling.settimeout(10)
# A second of the same process takes the first's place; then it goes without a word. (A socket that
# is connected hears from nobody else.)
telling.close()
telling = own(b"in", me)
assert ask(connect(me, b"board-3"))[2] == 1
END
    serves || return 1
    grep -q 'a control request of 79 bytes' said && grep -q 'with magic 0x12345678' said ||
        { cat said; return 1; }
    # A few lines each second, not thousands.
    [ "$(wc -l <said)" -lt 300 ]
}

unknown_hosts_are_refused()
{
    sleep 1.1 # until there is room for reports again
    ! attached nobody smpquery -D nodedesc 0 >told 2>&1 && serves &&
        live_eventually grep -q 'wants to be "nobody"' said
}

# A client that asks the manager and is killed while that cannot answer.
clients_may_die_while_they_ask()
{
    local asker
    opensm_start board-0 log
    live_eventually log_has log 1 'SUBNET UP' || return 1
    kill -STOP "$opensm_pid"
    subnet_environment board-2
    env "${subnet_variables[@]}" saquery NR >/dev/null 2>&1 &
    asker=$!
    sleep 0.3
    kill -KILL "$asker"
    wait "$asker" 2>/dev/null
    # Another one hears in time that nobody answers.
    ! attached board-2 saquery NR >told 2>&1 && serves || return 1
    kill -CONT "$opensm_pid"
    live_eventually attached board-2 saquery NR >/dev/null 2>&1 || return 1
    # The manager itself dies.
    kill -KILL "$opensm_pid"
    wait "$opensm_pid" 2>/dev/null
    ! attached board-2 saquery NR >told 2>&1 && serves
}

# Managers that are killed at any moment of their sweep leave a server that serves the next.
managers_may_die_at_any_time()
{
    local i
    for ((i = 1; i <= 10; i++)); do
        opensm_start board-0 log
        sleep "0.0$i"
        kill -KILL "$opensm_pid"
        wait "$opensm_pid" 2>/dev/null
    done
    opensm_start board-0 log
    live_eventually log_has log 1 'SUBNET UP' && serves
    local status=$?
    opensm_stop "$opensm_pid"
    return "$status"
}

two_at_one_board_are_refused()
{
    local first
    opensm_start board-0 log
    first=$opensm_pid
    live_eventually log_has log 1 'SUBNET UP' || return 1
    opensm_start board-0 log2 -o
    live_eventually grep -q 'another is at work there' said && serves
    local status=$?
    opensm_stop "$opensm_pid"
    opensm_stop "$first"
    return "$status"
}

live_verdict 'a subnet is served' subnet_start ring:4
live_verdict 'nonsense is reported and the server serves on' nonsense_is_reported
live_verdict 'unknown hosts are refused' unknown_hosts_are_refused
live_verdict 'clients may die while they ask' clients_may_die_while_they_ask
live_verdict 'managers may die at any time' managers_may_die_at_any_time
live_verdict 'two managers at one board are refused' two_at_one_board_are_refused
live_verdict 'the server ends well' subnet_stop
live_verdict 'nothing remains' live_nothing_remains
live_finish
