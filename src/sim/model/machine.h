/* A machine as data: clocks, pipeline stages, memories, host and software costs, network.
 *
 * A machine file is an INI file. Behind a bar, every value says where it comes from:
 *
 *     [machine]
 *     inherit = dimmnet1-D switch-oip   (optional, first; a later one overrides an earlier
 *                                        one, and the rest of the file overrides both)
 *     text    = one line that says what it is
 *     [clock]
 *     dimm_mhz = 66.6667 | paper 000, Table 3
 *     [stage header_tlb]
 *     clock  = dimm | paper 000, Table 6
 *     cycles = 3    | paper 000, Table 6
 *     [software]
 *     turn_ns = 177 | fitted on A, D, E of Table 5
 *
 * A file inherits by the name of a machine or part that comes with the program, or by a path
 * relative to itself. A part is not a whole machine: it exists to be inherited.
 *
 * A source that begins with "fitted" or "assumed" is no measurement. The keys of a file are
 * SIM_MACHINE_KEYS and, for each stage, SIM_STAGE_KEYS. A key without a default must be given by
 * the file or by what it inherits; a stage with no keys at all is left out. Errors name file,
 * line and key. */
#ifndef SIM_MODEL_MACHINE_H
#define SIM_MODEL_MACHINE_H

#include "base/base.h"

/* What a key's value is, in the file and in the structure. */
enum sim_key_kind {
    SIM_KEY_MHZ,      /* decimal, > 0; kept as the period in ps */
    SIM_KEY_NS,       /* decimal, >= 0; kept in ps */
    SIM_KEY_COUNT,    /* whole number >= 0 */
    SIM_KEY_MB_PER_S, /* decimal, > 0; kept in bytes per second */
    SIM_KEY_CHOICE,   /* one of the words that belong to the key; kept as its number */
    SIM_KEY_CLOCK,    /* one of the clocks' names; kept as enum sim_clock */
};

enum sim_clock {
    SIM_CLOCK_DIMM, /* host's memory bus and Martini's core */
    SIM_CLOCK_SWIF, /* Martini's link side */
    SIM_CLOCK_CORE, /* CorePU */
    SIM_CLOCK_NIC,  /* paper 002's CoreLogic */
    SIM_CLOCK_TP,   /* its transport layer */
    SIM_CLOCK_DL,   /* its data link layer */
    SIM_CLOCK_MAC,
    SIM_CLOCKS,
};

/* Words of SIM_KEY_CHOICE keys, in this order. */
enum sim_carrier { SIM_CARRIER_PLAIN, SIM_CARRIER_UD, SIM_CARRIER_CD }; /* plain ud cd */
enum sim_refill { SIM_REFILL_HOST, SIM_REFILL_CORE };                   /* host core */
/* go-back-n selective-repeat stop-and-wait */
enum sim_arq { SIM_ARQ_GO_BACK_N, SIM_ARQ_SELECTIVE_REPEAT, SIM_ARQ_STOP_AND_WAIT };
enum sim_port_mode { SIM_PORT_SW2, SIM_PORT_OIP }; /* sw2 oip */

/* The stages a packet goes through, in order; a machine lacks a stage that has neither cycles nor
 * word_cycles. Paper 000's Table 6 has Martini's stages, paper 002's Table 2 InfiniSWIF's.
 * Padding and link have no sections of their own: they follow from [packet] and [link]. */
#define SIM_STAGES_LIST(STAGE)                                            \
    STAGE(HOST_WRITE, host_write, "write from host")                      \
    STAGE(TRANSACTION_QUEUE, transaction_queue, "transaction queue")      \
    STAGE(HEADER_TLB, header_tlb, "header TLB")                           \
    STAGE(SIZE_DECISION, size_decision, "transfer size decision")         \
    STAGE(SEND_BUFFER, send_buffer, "send buffer handshake")              \
    STAGE(CORE_SEND, core_send, "CoreLogic to InfiniSWIF")                \
    STAGE(TRANSPORT_SEND, transport_send, "transport, send (A)")          \
    STAGE(DATA_LINK_SEND, data_link_send, "data link, send (B)")          \
    STAGE(SWIF_SEND, swif_send, "SWIF, send")                             \
    STAGE(PADDING, padding, "padding in RHiNET-2 mode")                   \
    STAGE(MAC_SEND, mac_send, "MAC, send")                                \
    STAGE(LINK, link, "outside the SWIF")                                 \
    STAGE(MAC_RECEIVE, mac_receive, "MAC, receive")                       \
    STAGE(SWIF_RECEIVE, swif_receive, "SWIF, receive")                    \
    STAGE(DATA_LINK_RECEIVE, data_link_receive, "data link, receive (D)") \
    STAGE(TRANSPORT_RECEIVE, transport_receive, "transport, receive (E)") \
    STAGE(ADDRESS_TLB, address_tlb, "address TLB")                        \
    STAGE(LLCM_WRITE, llcm_write, "write into LLCM")

enum sim_stage_name {
#define SIM_STAGE_ENUM(upper, lower, text) SIM_STAGE_##upper,
    SIM_STAGES_LIST(SIM_STAGE_ENUM)
#undef SIM_STAGE_ENUM
        SIM_STAGES,
};

/* key, kind, has a default of 0, help. Fields of struct sim_stage. */
#define SIM_STAGE_KEYS(KEY)                                                                      \
    KEY(clock, SIM_KEY_CLOCK, false, "the clock it runs on")                                     \
    KEY(cycles, SIM_KEY_COUNT, false, "how long a packet's head takes")                          \
    KEY(word_cycles, SIM_KEY_COUNT, true, "and each word of 8 bytes, where a stage stores them") \
    KEY(gap_cycles, SIM_KEY_COUNT, true, "before the next packet may enter, beyond that")        \
    KEY(word_gap_cycles, SIM_KEY_COUNT, true, "the same for each word, behind the head")         \
    KEY(miss_cycles, SIM_KEY_COUNT, true, "more on a miss (TLBs, CD contexts)")                  \
    KEY(cd_cycles, SIM_KEY_COUNT, true, "more for a CD packet")                                  \
    KEY(cd_gap_cycles, SIM_KEY_COUNT, true, "more before the next packet, with CD")              \
    KEY(slow_cycles, SIM_KEY_COUNT, true, "more where the SWIF is slower than the DIMM")

struct sim_stage {
#define SIM_STAGE_FIELD(key, kind, optional, help) uint64_t key;
    SIM_STAGE_KEYS(SIM_STAGE_FIELD)
#undef SIM_STAGE_FIELD
};

/* section, key, kind, has a default of 0, help. Fields are named section_key without the
 * unit: [host] write_ns is host_write. */
#define SIM_MACHINE_KEYS(KEY)                                                                     \
    KEY(clock, dimm, SIM_KEY_MHZ, false, "the host's bus (memory or PCI) and Martini's core")     \
    KEY(clock, swif, SIM_KEY_MHZ, true, "Martini's link side")                                    \
    KEY(clock, core, SIM_KEY_MHZ, true, "the core processor")                                     \
    KEY(clock, nic, SIM_KEY_MHZ, true, "paper 002's CoreLogic")                                   \
    KEY(clock, tp, SIM_KEY_MHZ, true, "paper 002's transport layer")                              \
    KEY(clock, dl, SIM_KEY_MHZ, true, "paper 002's data link layer")                              \
    KEY(clock, mac, SIM_KEY_MHZ, true, "paper 002's MAC")                                         \
    KEY(host, write, SIM_KEY_NS, false, "CPU time of one uncached write of up to 4 bytes")        \
    KEY(host, write8, SIM_KEY_NS, false, "of 8 bytes, with MMX")                                  \
    KEY(host, read, SIM_KEY_NS, false, "one uncached read of up to 4 bytes")                      \
    KEY(host, read8, SIM_KEY_NS, false, "of 8 bytes, with MMX")                                   \
    KEY(host, counter, SIM_KEY_NS, true, "reading the cycle counter")                             \
    KEY(host, kick_cycles, SIM_KEY_COUNT, false, "bus clocks from a store to the NIC")            \
    KEY(host, burst_cycles, SIM_KEY_COUNT, true, "bus clocks of a word of a block write")         \
    KEY(host, bank_switch, SIM_KEY_NS, true, "switching the SO-DIMM banks")                       \
    KEY(host, refill, SIM_KEY_NS, true, "refilling a TLB line, where the host does it")           \
    KEY(host, cached, SIM_KEY_NS, true, "a poll of host memory that finds its line in the cache") \
    KEY(host, fill, SIM_KEY_NS, true, "a read of host memory after DMA has changed the line")     \
    KEY(host, tlb_entries, SIM_KEY_COUNT, true, "of the CPU's TLB, 4 ways; 0: enough")            \
    KEY(host, tlb_miss, SIM_KEY_NS, true, "the CPU's walk through its page tables")               \
    KEY(host, pemm, SIM_KEY_COUNT, true, "1: its bus has PEMM's wait and interrupt signals")      \
    KEY(host, interrupt, SIM_KEY_NS, true, "from PEMM's interrupt to the program that waits")     \
    KEY(software, pass, SIM_KEY_NS, true, "of a loop-back: kick to detection, beyond the reads")  \
    KEY(software, turn, SIM_KEY_NS, true, "of a responder: answering, beyond untwist")            \
    KEY(software, untwist, SIM_KEY_NS, true, "putting data lines in order before a write")        \
    KEY(software, barrier, SIM_KEY_NS, true, "of a barrier, with masks and phases")               \
    KEY(software, leave_mmx, SIM_KEY_NS, true, "leaving MMX state after a read of 8 bytes")       \
    KEY(software, sum, SIM_KEY_NS, true, "of a global sum: the addition and its loop")            \
    KEY(software, sum_long_reads, SIM_KEY_COUNT, true, "more reads for unsigned long long")       \
    KEY(software, library_barrier, SIM_KEY_NS, true, "the extended library's _expBarrier")        \
    KEY(software, comm_sync, SIM_KEY_NS, true, "Fagus' comm_sync beyond its stores and polls")    \
    KEY(software, message, SIM_KEY_NS, true, "Fagus' internal processing of a message")           \
    KEY(software, copy_mb_per_s, SIM_KEY_MB_PER_S, true, "copying into and out of SO-DIMM")       \
    KEY(software, detect_thread, SIM_KEY_NS, true, "handing an arrival to another thread")        \
    KEY(call, cores, SIM_KEY_COUNT, true,                                                         \
        "not 0: memory is reached in place by the CPUs, without a NIC; so many cores")            \
    KEY(call, store, SIM_KEY_NS, true, "in place: a store of up to 8 bytes")                      \
    KEY(call, block, SIM_KEY_NS, true, "a block, beyond copying")                                 \
    KEY(call, push, SIM_KEY_NS, true, "a PUSH, beyond copying")                                   \
    KEY(call, pull, SIM_KEY_NS, true, "a PULL, beyond copying")                                   \
    KEY(call, copy_mb_per_s, SIM_KEY_MB_PER_S, true, "copying what the cache holds")              \
    KEY(call, copy_near, SIM_KEY_COUNT, true, "bytes of one transfer that it holds")              \
    KEY(call, copy_far_mb_per_s, SIM_KEY_MB_PER_S, true, "copying the rest of it")                \
    KEY(call, atomic, SIM_KEY_NS, true, "an atomic operation")                                    \
    KEY(call, fence, SIM_KEY_NS, true, "ordering what was sent")                                  \
    KEY(call, quiet, SIM_KEY_NS, true, "completing what was sent")                                \
    KEY(call, service, SIM_KEY_NS, true, "asking a service: lock, barrier, message")              \
    KEY(call, record, SIM_KEY_NS, true, "from one node's barrier or messages to another's")       \
    KEY(call, look, SIM_KEY_NS, true, "a read that finds what another node has written before")   \
    KEY(call, see, SIM_KEY_NS, true, "from a store until a node that waits has seen it")          \
    KEY(call, meet, SIM_KEY_NS, true, "the same in a call of several nodes, as a barrier")        \
    KEY(call, gap, SIM_KEY_NS, true, "what measuring adds to a computation between two calls")    \
    KEY(call, resume, SIM_KEY_NS, true, "and to one behind a wait, since caches are cold then")   \
    KEY(call, switch, SIM_KEY_NS, true, "from one node of a core to the next")                    \
    KEY(call, slice, SIM_KEY_NS, true, "how long a node computes while another wants its core")   \
    KEY(llcm, bytes, SIM_KEY_COUNT, false, "low-latency common memory")                           \
    KEY(llcm, visible_cycles, SIM_KEY_COUNT, true, "bus clocks from its write to the host port")  \
    KEY(bank, bytes, SIM_KEY_COUNT, true, "one SO-DIMM, as far as it is modelled")                \
    KEY(bank, mb_per_s, SIM_KEY_MB_PER_S, true, "network side; not said: as fast as is needed")   \
    KEY(dma, word_cycles, SIM_KEY_COUNT, true, "bus clocks of 8 bytes by DMA; 0: no card")        \
    KEY(dma, setup_cycles, SIM_KEY_COUNT, true, "bus clocks until the first of them")             \
    KEY(dma, read, SIM_KEY_NS, true, "more until host memory's first word comes")                 \
    KEY(dma, structure_bytes, SIM_KEY_COUNT, true, "what CorePU keeps of a lock in host memory")  \
    KEY(fifo, entries, SIM_KEY_COUNT, false, "transaction FIFO")                                  \
    KEY(fifo, users, SIM_KEY_COUNT, false, "that share it")                                       \
    KEY(send, buffers, SIM_KEY_COUNT, false, "packets between header TLB and link")               \
    KEY(tlb, refill, SIM_KEY_CHOICE, false, "who refills a TLB: host or core")                    \
    KEY(tlb, refill_cycles, SIM_KEY_COUNT, true, "CorePU clocks of a refill from DRAM")           \
    KEY(core, dispatch_cycles, SIM_KEY_COUNT, true, "CorePU: from an arrival to its handler")     \
    KEY(core, look_up_cycles, SIM_KEY_COUNT, true, "finding the lock, team or channel")           \
    KEY(core, update_cycles, SIM_KEY_COUNT, true, "changing its state")                           \
    KEY(core, send_cycles, SIM_KEY_COUNT, true, "making one record")                              \
    KEY(core, notify_cycles, SIM_KEY_COUNT, true, "telling the host")                             \
    KEY(core, copy_word_cycles, SIM_KEY_COUNT, true, "moving a word of a message")                \
    KEY(core, load_cycles, SIM_KEY_COUNT, true, "its programs: 32 bits from LLCM")                \
    KEY(core, store_cycles, SIM_KEY_COUNT, true, "32 bits into LLCM or to a kick address")        \
    KEY(core, loop_cycles, SIM_KEY_COUNT, true, "compare and branch, in a poll")                  \
    KEY(core, add_cycles, SIM_KEY_COUNT, true, "adding two whole numbers")                        \
    KEY(core, float_add_cycles, SIM_KEY_COUNT, true, "adding two floats, without hardware")       \
    KEY(core, instruction_bytes, SIM_KEY_COUNT, true, "its instruction SRAM")                     \
    KEY(core, data_bytes, SIM_KEY_COUNT, true, "its data SRAM; 0: as much as is needed")          \
    KEY(core, reserved_bytes, SIM_KEY_COUNT, true, "of that, for stack and variables")            \
    KEY(packet, overhead_bytes, SIM_KEY_COUNT, false, "of a packet, as the papers count it")      \
    KEY(packet, ack_bytes, SIM_KEY_COUNT, true, "an acknowledgement alone")                       \
    KEY(packet, data_bytes, SIM_KEY_COUNT, false, "the most that one packet carries")             \
    KEY(packet, pad_bytes, SIM_KEY_COUNT, true, "shorter ones become so long (RHiNET-2 mode)")    \
    KEY(carrier, kind, SIM_KEY_CHOICE, false, "plain (the network loses nothing), ud or cd")      \
    KEY(carrier, arq, SIM_KEY_CHOICE, true, "CD: how far C-ARQ climbs from stop-and-wait")        \
    KEY(carrier, contexts, SIM_KEY_COUNT, true, "CD: LTEEs and RTEEs of a node")                  \
    KEY(carrier, ways, SIM_KEY_COUNT, true, "CD: of the context caches")                          \
    KEY(carrier, kept, SIM_KEY_COUNT, true,                                                       \
        "1: contexts of all peers are kept; those are on chip")                                   \
    KEY(carrier, fetch, SIM_KEY_NS, true, "where they are kept: bringing one onto the chip")      \
    KEY(link, mb_per_s, SIM_KEY_MB_PER_S, false, "of one direction")                              \
    KEY(link, wire, SIM_KEY_NS, true, "drivers, optics and cable, one way")                       \
    KEY(link, loss_ppm, SIM_KEY_COUNT, true, "packets that get lost on their way, of a million")  \
    KEY(switch, ports, SIM_KEY_COUNT, true, "0: there is no switch; two boards back to back")     \
    KEY(switch, transit, SIM_KEY_NS, true, "a packet's head, from port to port")                  \
    KEY(switch, next, SIM_KEY_NS, true, "between packets to one output, at least")                \
    KEY(switch, multicast, SIM_KEY_COUNT, true, "1: it can send one packet to several outputs")   \
    KEY(switch, tables, SIM_KEY_COUNT, true, "1: a table in it gives the way to each node")       \
    KEY(switch, source_routes, SIM_KEY_COUNT, true, "1: a packet can name its way")               \
    KEY(switch, resend, SIM_KEY_COUNT, true, "1: what is damaged on a link is sent again there")  \
    KEY(switch, infiniband, SIM_KEY_COUNT, true,                                                  \
        "1: InfiniBand's, in a subnet of at most linear_entries")                                 \
    KEY(switch, mtu, SIM_KEY_COUNT, true, "InfiniBand: the most data of a packet")                \
    KEY(switch, linear_entries, SIM_KEY_COUNT, true,                                              \
        "InfiniBand: of its table of nodes and switches")                                         \
    KEY(switch, multicast_entries, SIM_KEY_COUNT, true, "InfiniBand: of its table of groups")     \
    KEY(switch, data_vls, SIM_KEY_COUNT, true, "InfiniBand: virtual lanes for data")              \
    KEY(switch, buffer_flits, SIM_KEY_COUNT, true,                                                \
        "InfiniBand: of a lane of an input, 64 bytes each")                                       \
    KEY(port, mode, SIM_KEY_CHOICE, true, "to a router board: sw2 or oip headers")                \
    KEY(port, frame_bits, SIM_KEY_COUNT, true, "of its 80-bit lines; 0: as fast as [link]")       \
    KEY(port, frame, SIM_KEY_MHZ, true, "frames, one way")                                        \
    KEY(ring, buffer_flits, SIM_KEY_COUNT, true, "of a router's channel; 0: all of [ring] usual") \
    KEY(ring, route_cycles, SIM_KEY_COUNT, true, "a head, until its output is known")             \
    KEY(ring, switch_cycles, SIM_KEY_COUNT, true, "a flit, from input to output")                 \
    KEY(ring, link_cycles, SIM_KEY_COUNT, true, "between two routers")                            \
    KEY(ring, credit_cycles, SIM_KEY_COUNT, true, "a credit back")                                \
    KEY(ring, nic_cycles, SIM_KEY_COUNT, true, "between router and NIC")

enum sim_machine_key {
#define SIM_KEY_ENUM(section, key, kind, optional, help) SIM_##section##_##key,
    SIM_MACHINE_KEYS(SIM_KEY_ENUM)
#undef SIM_KEY_ENUM
        SIM_MACHINE_KEY_COUNT,
};

enum { SIM_MACHINE_NAME_BYTES = 64, SIM_MACHINE_TEXT_BYTES = 160 };

struct sim_machine {
    char name[SIM_MACHINE_NAME_BYTES];
    char text[SIM_MACHINE_TEXT_BYTES];
#define SIM_KEY_FIELD(section, key, kind, optional, help) uint64_t section##_##key;
    SIM_MACHINE_KEYS(SIM_KEY_FIELD)
#undef SIM_KEY_FIELD
    struct sim_stage stages[SIM_STAGES];
    /* For each value its source and the file that gave it; NULL: the default. */
    struct sim_sources *sources; /* private to machine.c */
};

/* Loads a machine that comes with the program by its name, or a file by its path (a name with a
 * slash or ending in .ini). On failure the error gives file, line, key and fault in one line. */
enum { SIM_ERROR_BYTES = 320 };
bool sim_machine_load(struct sim_machine *machine, const char *name, char error[SIM_ERROR_BYTES]);
void sim_machine_free(struct sim_machine *machine);

/* The same for a part, by its name: missing values are 0, and values need not fit together. */
bool sim_part_load(struct sim_machine *part, const char *name, char error[SIM_ERROR_BYTES]);

/* Loads a machine from memory as if it were a file of that name; it can inherit only what comes
 * with the program. */
bool sim_machine_load_bytes(struct sim_machine *machine, const char *name, const void *bytes,
                            size_t length, char error[SIM_ERROR_BYTES]);

/* The n-th machine, and the n-th part, that comes with the program, or NULL. */
const char *sim_machine_name(unsigned number);
const char *sim_part_name(unsigned number);

/* Calls `line` for every value, with its unit, source and help; for `sim show`. */
struct sim_machine_value {
    const char *section, *key; /* the key as the file has it, with its unit */
    char value[48];
    const char *source; /* NULL: the default, 0 */
    const char *file;   /* that gave it; NULL: none, it is the default or a router's usual value */
    const char *help;
};
void sim_machine_each(const struct sim_machine *machine,
                      void (*line)(void *context, const struct sim_machine_value *value),
                      void *context);

static inline uint64_t sim_machine_period(const struct sim_machine *machine, enum sim_clock clock)
{
    const uint64_t periods[SIM_CLOCKS] = {
        [SIM_CLOCK_DIMM] = machine->clock_dimm, [SIM_CLOCK_SWIF] = machine->clock_swif,
        [SIM_CLOCK_CORE] = machine->clock_core, [SIM_CLOCK_NIC] = machine->clock_nic,
        [SIM_CLOCK_TP] = machine->clock_tp,     [SIM_CLOCK_DL] = machine->clock_dl,
        [SIM_CLOCK_MAC] = machine->clock_mac,
    };
    return periods[clock];
}

/* Whether its CPUs reach the memory of all nodes in place: there is no NIC, and [call] says what
 * the library's calls take (model/in_place.c). */
static inline bool sim_machine_is_in_place(const struct sim_machine *machine)
{
    return machine->call_cores > 0;
}

/* Whether it was made for router boards. Else its port to one is as fast as its link. */
static inline bool sim_machine_has_port(const struct sim_machine *machine)
{
    return machine->port_frame_bits > 0 && machine->port_frame > 0;
}

/* What a responder's software takes between its read and its write. */
static inline uint64_t sim_machine_turn(const struct sim_machine *machine)
{
    return machine->software_turn + machine->software_untwist;
}

extern const char *const sim_stage_names[SIM_STAGES]; /* as in machine files */
extern const char *const sim_stage_texts[SIM_STAGES]; /* as people read them */

#endif
