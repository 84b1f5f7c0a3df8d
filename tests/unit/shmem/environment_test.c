/* Variables of the environment: new names before old ones, sizes, flags. */
#include "shmem/environment.h"

#include "unit/shmem/pe.h"

static struct shmem_environment read_now(void)
{
    struct shmem_environment environment;
    shmem_environment_read("call", &environment);
    return environment;
}

static int clear(void **unused)
{
    (void)unused;
    static const char *const names[] = {"VERSION", "INFO", "SYMMETRIC_SIZE", "DEBUG"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "SHMEM_%s", names[i]);
        (void)unsetenv(name);
        (void)snprintf(name, sizeof name, "SMA_%s", names[i]);
        (void)unsetenv(name);
    }
    return 0;
}

static void nothing_set(void **unused)
{
    (void)unused;
    struct shmem_environment environment = read_now();
    assert_false(environment.version || environment.info || environment.debug);
    assert_int_equal(environment.symmetric_bytes, 0);
}

static void flags(void **unused)
{
    (void)unused;
    (void)setenv("SHMEM_DEBUG", "yes", 1);
    (void)setenv("SHMEM_INFO", "0", 1);
    (void)setenv("SHMEM_VERSION", "", 1);
    struct shmem_environment environment = read_now();
    assert_true(environment.debug);
    assert_false(environment.info || environment.version);
}

static void the_new_name_counts_more(void **unused)
{
    (void)unused;
    (void)setenv("SMA_SYMMETRIC_SIZE", "3M", 1);
    assert_int_equal(read_now().symmetric_bytes, 3 << 20);
    (void)setenv("SHMEM_SYMMETRIC_SIZE", "2K", 1);
    assert_int_equal(read_now().symmetric_bytes, 2048);
    (void)setenv("SHMEM_SYMMETRIC_SIZE", "", 1);
    assert_int_equal(read_now().symmetric_bytes, 3 << 20);
}

static void read_nonsense(void)
{
    (void)setenv("SHMEM_SYMMETRIC_SIZE", "12 apples", 1);
    (void)read_now();
}

static void read_nothing_at_all(void)
{
    (void)setenv("SHMEM_SYMMETRIC_SIZE", "0", 1);
    (void)read_now();
}

static void sizes_that_are_none(void **unused)
{
    (void)unused;
    unit_child_fails(read_nonsense, "SHMEM_SYMMETRIC_SIZE=12 apples is not a size");
    unit_child_fails(read_nothing_at_all, "SHMEM_SYMMETRIC_SIZE=0 is not a size");
}

static void show_to_standard_error(void)
{
    (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    (void)setenv("SHMEM_INFO", "1", 1);
    pe_start();
    exit(EXIT_FAILURE); /* so that the caller checks the words */
}

static void the_table_names_every_variable(void **unused)
{
    (void)unused;
    unit_child_fails(show_to_standard_error, "OpenSHMEM 1.6");
    unit_child_fails(show_to_standard_error, "1 PE, symmetric heap of 16777216 bytes each");
    unit_child_fails(show_to_standard_error, "SHMEM_SYMMETRIC_SIZE size, now 16M, default 1G");
    unit_child_fails(show_to_standard_error, "SHMEM_DEBUG          flag, now not set");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_set, clear),
        cmocka_unit_test_setup(flags, clear),
        cmocka_unit_test_setup(the_new_name_counts_more, clear),
        cmocka_unit_test_setup(sizes_that_are_none, clear),
        cmocka_unit_test_setup(the_table_names_every_variable, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
