/* FAGUS_CHECK=1: an access without the variable ends the process with a sentence. */
#include "fagus/check.h"

#include "unit/fagus/node.h"

static unsigned char *bytes;
static struct fagus_sync *variable;

static void start(void)
{
    (void)setenv("FAGUS_CHECK", "1", 1);
    if (node_start_as("1") != 0) {
        abort();
    }
    void *pointer;
    if (fagus_alloc(8192, 0, &pointer) != 0 || fagus_sync_create(&variable) != 0 ||
        fagus_sync_name(variable, "the sum") != 0 || fagus_bind(variable, pointer, 4096) != 0) {
        abort();
    }
    bytes = pointer;
}

static void write_without(void)
{
    start();
    *(volatile unsigned char *)bytes = 1;
}

static void read_without(void)
{
    start();
    (void)*(volatile unsigned char *)&bytes[4095];
}

static void write_as_a_reader(void)
{
    start();
    if (fagus_acquire(variable, FAGUS_READ) != 0) {
        abort();
    }
    (void)*(volatile unsigned char *)bytes;
    *(volatile unsigned char *)bytes = 1;
}

static void write_after_the_release(void)
{
    start();
    if (fagus_acquire(variable, FAGUS_WRITE) != 0) {
        abort();
    }
    *(volatile unsigned char *)bytes = 1;
    if (fagus_release(variable) != 0) {
        abort();
    }
    *(volatile unsigned char *)bytes = 2;
}

static void what_is_allowed(void)
{
    start();
    *(volatile unsigned char *)&bytes[4096] = 1; /* bound to nothing */
    if (fagus_acquire(variable, FAGUS_WRITE) != 0) {
        abort();
    }
    *(volatile unsigned char *)bytes = 1;
    if (fagus_release(variable) != 0 || fagus_barrier(variable) != 0) {
        abort();
    }
    *(volatile unsigned char *)bytes = 2; /* all nodes may write what barriers are called with */
    if (fagus_sync_free(variable) != 0 || fagus_finalize() != 0) {
        abort();
    }
}

static void accesses_are_told(void **unused)
{
    (void)unused;
    unit_child_fails(write_without, "fagus: node 0: ");
    unit_child_fails(write_without, "the sum");
    unit_child_fails(read_without, "the sum");
    unit_child_fails(write_as_a_reader, "the sum");
    unit_child_fails(write_after_the_release, "the sum");
    unit_child_passes(what_is_allowed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(accesses_are_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
