/* Two runs, and the verdict on them. */
#define _GNU_SOURCE
#include "cli/launch/repeat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/launch/run.h"

#define HASH_FIRST UINT64_C(0xcbf29ce484222325)
#define HASH_PRIME UINT64_C(0x100000001b3)

/* Of each stream so many bytes are kept; beyond them a hash tells that, not where, they differ. */
#define KEPT_BYTES_MAX (UINT64_C(1) << 26)

enum { COMPARE_BYTES = 4096 };

/* ---- What nodes write ---------------------------------------------------------------------- */

static uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ (unsigned char)bytes[i]) * HASH_PRIME;
    }
    return hash;
}

static off_t place_of(uint32_t stream, uint64_t byte)
{
    return (off_t)(stream * KEPT_BYTES_MAX + byte);
}

/* How many of so many bytes, of which the first is the stream's `from`, are kept. */
static size_t kept(uint64_t from, size_t count)
{
    if (from >= KEPT_BYTES_MAX) {
        return 0;
    }
    return count < KEPT_BYTES_MAX - from ? count : (size_t)(KEPT_BYTES_MAX - from);
}

static void keep(struct launch_repeat *repeat, uint32_t number, const char *bytes, size_t count)
{
    struct repeat_stream *stream = &repeat->streams[number];
    size_t room = kept(stream->bytes, count);
    /* Where memory is short the bytes read back are others, and that is said as a difference. */
    ssize_t written = room ? pwrite(repeat->output_fd, bytes, room, place_of(number, stream->bytes))
                           : 0;
    (void)written;
    stream->hash = hash_bytes(stream->hash, bytes, count);
    stream->bytes += count;
}

/* Whether the first run wrote the same here; else stream->same says how far it did. */
static bool compare(const struct launch_repeat *repeat, uint32_t number, const char *bytes,
                    size_t count)
{
    struct repeat_stream *stream = &repeat->streams[number];
    char first[COMPARE_BYTES];
    for (size_t at = 0; at < count;) {
        size_t part = count - at < sizeof first ? count - at : sizeof first;
        uint64_t left = stream->bytes > stream->same ? stream->bytes - stream->same : 0;
        size_t there = left < part ? (size_t)left : part;
        ssize_t got = there ? pread(repeat->output_fd, first, there, place_of(number, stream->same))
                            : 0;
        size_t common = got > 0 ? (size_t)got : 0;
        size_t same = 0;
        while (same < common && first[same] == bytes[at + same]) {
            same++;
        }
        stream->same += same;
        if (same < part) {
            return false;
        }
        at += part;
    }
    return true;
}

bool launch_repeat_take(struct launch_repeat *repeat, uint32_t number, const char *bytes,
                        size_t count)
{
    struct repeat_stream *stream = &repeat->streams[number];
    if (!repeat->fabric.is_second) {
        keep(repeat, number, bytes, count);
        return true;
    }
    stream->differs = stream->differs ||
                      !compare(repeat, number, bytes, kept(stream->again, count));
    stream->again_hash = hash_bytes(stream->again_hash, bytes, count);
    stream->again += count;
    return false;
}

void launch_repeat_ended(struct launch_repeat *repeat, uint32_t rank, int status)
{
    repeat->statuses[repeat->fabric.is_second ? repeat->node_count + rank : rank] = status;
}

bool launch_repeat_stream_differs(const struct repeat_stream *stream, uint64_t *byte,
                                  bool *is_exact)
{
    *byte = stream->same;
    *is_exact = stream->differs || stream->same < KEPT_BYTES_MAX;
    return stream->differs || stream->again != stream->bytes || stream->again_hash != stream->hash;
}

bool launch_repeat_open(struct launch_repeat *repeat, uint32_t node_count)
{
    *repeat = (struct launch_repeat){.fabric = {.journal_fd = -1}, .output_fd = -1};
    repeat->node_count = node_count;
    repeat->streams = calloc(2 * (size_t)node_count, sizeof *repeat->streams);
    repeat->statuses = calloc(2 * (size_t)node_count, sizeof *repeat->statuses);
    repeat->fabric.journal_fd = memfd_create("dimmnet-journal", MFD_CLOEXEC);
    repeat->output_fd = memfd_create("dimmnet-output", MFD_CLOEXEC);
    for (uint32_t i = 0; repeat->streams && i < 2 * node_count; i++) {
        repeat->streams[i].hash = repeat->streams[i].again_hash = HASH_FIRST;
    }
    return repeat->streams && repeat->statuses && repeat->fabric.journal_fd >= 0 &&
           repeat->output_fd >= 0;
}

void launch_repeat_close(struct launch_repeat *repeat)
{
    free(repeat->streams);
    free(repeat->statuses);
    if (repeat->fabric.journal_fd >= 0) {
        (void)close(repeat->fabric.journal_fd);
    }
    if (repeat->output_fd >= 0) {
        (void)close(repeat->output_fd);
    }
}

/* ---- Standard input ------------------------------------------------------------------------ */

static bool is_null(const struct stat *status)
{
    return S_ISCHR(status->st_mode) && major(status->st_rdev) == 1 && minor(status->st_rdev) == 3;
}

/* Both runs read the same: a file from here on, or nothing. Gives where to go back to, or -1. */
static off_t look_at_stdin(struct launch_repeat *repeat, const char *command)
{
    struct stat status;
    bool is_known = fstat(STDIN_FILENO, &status) == 0;
    off_t place = is_known && S_ISREG(status.st_mode) ? lseek(STDIN_FILENO, 0, SEEK_CUR) : -1;
    repeat->stdin_is_file = place >= 0;
    if (is_known && place < 0 && !is_null(&status)) {
        cli_say(command, "standard input is no file and cannot be read twice: both runs find it "
                         "empty");
    }
    return place;
}

/* ---- The verdict --------------------------------------------------------------------------- */

/* How the nodes' output differs; false: it does not. */
static bool say_output(const struct launch_repeat *repeat, const char *command)
{
    for (uint32_t i = 0; i < 2 * repeat->node_count; i++) {
        uint64_t byte;
        bool is_exact;
        if (launch_repeat_stream_differs(&repeat->streams[i], &byte, &is_exact)) {
            cli_say(command,
                    "the second run differs: standard %s of node %" PRIu32 " is not the same %s "
                    "byte %" PRIu64 " (the nodes' calls were the same: the time of day, a process "
                    "id, an address or a random number may have been written)",
                    i % 2 ? "error" : "output", i / 2, is_exact ? "from" : "somewhere behind",
                    is_exact ? byte + 1 : byte);
            return true;
        }
    }
    return false;
}

/* How a node's end differs; false: none does. The group's own status is that of the first failure
 * that the launcher saw: of several it may see any one first. */
static bool say_status(const struct launch_repeat *repeat, const char *command, const char *hint)
{
    for (uint32_t rank = 0; rank < repeat->node_count; rank++) {
        int first = repeat->statuses[rank];
        int second = repeat->statuses[repeat->node_count + rank];
        if (first != second) {
            cli_say(command,
                    "the second run differs: node %" PRIu32 " ended with status %d instead of %d%s",
                    rank, second, first, hint);
            return true;
        }
    }
    return false;
}

static bool say_difference(const struct launch_repeat *repeat, const struct launch_request *request,
                           int first_status)
{
    const char *command = request->command;
    const char *hint = first_status != 0 && !request->keep_going
                           ? "; nodes that the launcher ends after a failure end at some real "
                             "time, unless --keep-going is given"
                           : "";
    if (*repeat->fabric.difference) {
        cli_say(command, "%s%s", repeat->fabric.difference, hint);
        return true;
    }
    if (repeat->is_cut) {
        cli_say(command, "the second run differs: it did not end in time, as the first one did");
        return true;
    }
    return say_status(repeat, command, hint) || say_output(repeat, command);
}

static int judge(const struct launch_repeat *repeat, const struct launch_request *request,
                 int first_status)
{
    if (say_difference(repeat, request, first_status)) {
        return CLI_FAULT;
    }
    cli_say(request->command,
            "both runs are the same: %" PRIu64 ".%03u ns of virtual time, hash %016" PRIx64,
            repeat->fabric.virtual_ps / 1000, (unsigned)(repeat->fabric.virtual_ps % 1000),
            repeat->fabric.hash);
    return first_status;
}

int launch_twice(const struct launch_request *request)
{
    struct launch_repeat repeat;
    struct launch_request run = *request;
    if (!launch_repeat_open(&repeat, request->node_count)) {
        int status = cli_fail(request->command, "cannot keep what the first run does: %s",
                              strerror(errno));
        launch_repeat_close(&repeat);
        return status;
    }
    off_t place = look_at_stdin(&repeat, request->command);
    run.repeat = &repeat;
    int status = launch_group(&run);
    if (repeat.fabric.has_run && !repeat.is_cut) {
        repeat.fabric.is_second = true;
        repeat.fabric.has_run = false;
        if (place >= 0) {
            (void)lseek(STDIN_FILENO, place, SEEK_SET);
        }
        int second_status = launch_group(&run);
        bool is_told = !repeat.fabric.has_run || (repeat.is_cut && second_status > 128);
        status = is_told ? second_status : judge(&repeat, request, status);
    }
    launch_repeat_close(&repeat);
    return status;
}
