/* Nodes' files as tests write them, and the events that are read from them. */
#ifndef UNIT_CLI_LAUNCH_TRACE_FILES_H
#define UNIT_CLI_LAUNCH_TRACE_FILES_H

#include <stdlib.h>
#include <string.h>

#include "cli/launch/trace_events.h"
#include "unit/unit.h"

enum { FILES_ROOM = 16, FILES_BYTES = HOST_TRACE_HEAD_BYTES + FILES_ROOM * CACHE_LINE_BYTES };

struct trace_test_file {
    struct host_trace_file *head;
    struct host_trace_record *records;
};

static inline struct trace_test_file files_make(void)
{
    unsigned char *bytes = aligned_alloc(CACHE_LINE_BYTES, FILES_BYTES);
    assert_non_null(bytes);
    memset(bytes, 0, FILES_BYTES);
    struct trace_test_file file = {(void *)bytes, (void *)(bytes + HOST_TRACE_HEAD_BYTES)};
    file.head->magic = HOST_TRACE_MAGIC;
    file.head->name_count = 1;
    return file;
}

/* Adds a record of a call that is done, from begin to end; the caller changes the rest. */
static inline struct host_trace_record *files_add(struct trace_test_file *file, const char *name,
                                                  enum host_trace_kind kind, uint64_t begin_ns,
                                                  uint64_t end_ns)
{
    assert_in_range(file->head->claimed, 0, FILES_ROOM - 1);
    struct host_trace_record *record = &file->records[file->head->claimed++];
    record->name = (uint16_t)file->head->name_count;
    (void)strncpy(file->head->names[file->head->name_count++], name, HOST_TRACE_NAME_BYTES - 1);
    record->kind = (uint8_t)kind;
    record->begin_ns = begin_ns;
    record->end_ns = end_ns;
    record->peer = HOST_TRACE_NOBODY;
    record->place = HOST_TRACE_NOWHERE;
    record->flag_place = HOST_TRACE_NOWHERE;
    record->state = HOST_TRACE_DONE;
    return record;
}

/* A write of some bytes to a place of a peer, and a wait for 8 bytes at a place. */
static inline struct host_trace_record *files_write(struct trace_test_file *file, int peer,
                                                    uint64_t place, uint64_t bytes, uint64_t at_ns)
{
    struct host_trace_record *record = files_add(file, "write", HOST_TRACE_PUT, at_ns, at_ns + 1);
    record->peer = peer;
    record->place = place;
    record->bytes = bytes;
    return record;
}

static inline struct host_trace_record *files_wait(struct trace_test_file *file, uint64_t place,
                                                   uint64_t begin_ns, uint64_t end_ns)
{
    struct host_trace_record *record = files_add(file, "wait", HOST_TRACE_WAIT, begin_ns, end_ns);
    record->place = place;
    record->bytes = sizeof(uint64_t);
    return record;
}

/* All nodes' events; releases the files. */
static inline struct trace_events files_read(struct trace_test_file *files, uint32_t count)
{
    struct trace_events events;
    assert_true(trace_events_begin(&events, count));
    for (uint32_t i = 0; i < count; i++) {
        assert_true(trace_events_add(&events, files[i].head, FILES_BYTES, 0, 0));
        free(files[i].head);
    }
    assert_true(trace_events_end(&events));
    return events;
}

#endif
