/* The table of launchers: who is known by which variables, what names a job, what is refused. */
#define _GNU_SOURCE
#include "host/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dimmnet.h"
#include "unit/unit.h"

static struct host_job job;
static char sentence[HOST_SENTENCE_BYTES];

/* Whoever starts this test may be such a launcher. */
static int forget(void **state)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "OMPI_COMM_WORLD_LOCAL_SIZE",
                                        "OMPI_MCA_orte_precondition_transports",
                                        "PMIX_NAMESPACE",
                                        "PMIX_SERVER_URI2",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "PMI_FD",
                                        "PMI_ID",
                                        "PMI_PORT",
                                        "MPI_LOCALNRANKS"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)unsetenv(names[i]);
    }
    sentence[0] = '\0';
    return 0;
}

static void set(const char *name, const char *value)
{
    assert_int_equal(setenv(name, value, 1), 0);
}

static void be_openmpi(const char *rank, const char *size, const char *local)
{
    set("OMPI_COMM_WORLD_RANK", rank);
    set("OMPI_COMM_WORLD_SIZE", size);
    set("OMPI_COMM_WORLD_LOCAL_SIZE", local);
    set("PMIX_NAMESPACE", "1427505153");
    set("OMPI_MCA_orte_precondition_transports", "fadde8a752d0e1bd-1f28b0f895f135a8");
}

static void be_mpich(const char *rank, const char *size, const char *local)
{
    set("PMI_RANK", rank);
    set("PMI_SIZE", size);
    set("MPI_LOCALNRANKS", local);
}

static void expect_none(void)
{
    assert_int_equal(host_job_find(&job, sentence), 0);
    assert_null(job.launcher);
}

static void expect(uint32_t rank, uint32_t size)
{
    assert_int_equal(host_job_find(&job, sentence), 0);
    assert_non_null(job.launcher);
    assert_int_equal(job.rank, rank);
    assert_int_equal(job.size, size);
    assert_true(job.name[0] != '\0');
}

static void expect_refusal(const char *because)
{
    assert_int_equal(host_job_find(&job, sentence), DN_EGROUP);
    assert_non_null(strstr(sentence, because));
}

static void without_variables_there_is_no_launcher(void **state)
{
    (void)state;
    expect_none();
}

static void openmpi_is_known(void **state)
{
    (void)state;
    be_openmpi("2", "4", "4");
    expect(2, 4);
}

static void mpich_is_known(void **state)
{
    int ends[2];
    char text[16];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    (void)snprintf(text, sizeof text, "%d", ends[1]);
    be_mpich("3", "4", "4");
    set("PMI_FD", text);
    expect(3, 4);
    (void)close(ends[0]);
    (void)close(ends[1]);
    expect_refusal("MPI_Finalize");
}

/* A program that calls MPI_Init alone gets such variables, too. */
static void a_job_of_one_is_none(void **state)
{
    (void)state;
    be_openmpi("0", "1", "1");
    expect_none();
    (void)forget(NULL);
    be_mpich("0", "1", "1");
    expect_none();
}

static void variables_that_make_no_sense_are_nobodys(void **state)
{
    (void)state;
    be_openmpi("4", "4", "4");
    expect_none();
    be_openmpi("-1", "4", "4");
    expect_none();
    be_openmpi("1", "four", "4");
    expect_none();
    be_openmpi("1", "4", "5");
    expect_none();
    be_openmpi("1", "4", "4");
    (void)unsetenv("OMPI_COMM_WORLD_RANK");
    expect_none();
}

/* Others than MPICH's launcher set PMI_RANK and PMI_SIZE; what they do is not known here. */
static void a_launcher_that_does_not_tell_the_host_is_none(void **state)
{
    (void)state;
    be_mpich("1", "2", "2");
    (void)unsetenv("MPI_LOCALNRANKS");
    expect_none();
}

static void several_hosts_are_refused(void **state)
{
    (void)state;
    be_openmpi("1", "4", "2");
    expect_refusal("dimmnet run --hosts");
    (void)forget(NULL);
    be_mpich("1", "4", "2");
    expect_refusal("dimmnet run --hosts");
}

static void more_than_a_group_has_are_refused(void **state)
{
    (void)state;
    be_openmpi("1", "100000", "100000");
    expect_refusal("more processes than a group has");
}

static void a_job_without_a_name_is_refused(void **state)
{
    (void)state;
    be_openmpi("1", "4", "4");
    (void)unsetenv("PMIX_NAMESPACE");
    expect_refusal("has not named the job");
}

static void a_port_is_refused(void **state)
{
    (void)state;
    set("PMI_ID", "0");
    set("PMI_PORT", "host:4711");
    set("MPI_LOCALNRANKS", "2");
    expect_refusal("-pmi-port");
}

/* All ranks of a job have one name, and no two jobs have the same. */
static void names_are_of_jobs(void **state)
{
    char first[HOST_JOB_NAME_BYTES];
    (void)state;
    be_openmpi("1", "4", "4");
    expect(1, 4);
    memcpy(first, job.name, sizeof first);
    be_openmpi("2", "4", "4");
    expect(2, 4);
    assert_string_equal(job.name, first);
    set("PMIX_NAMESPACE", "1427505154");
    expect(2, 4);
    assert_string_not_equal(job.name, first);
    be_openmpi("2", "4", "4");
    set("OMPI_MCA_orte_precondition_transports", "fadde8a752d0e1bd-1f28b0f895f135a9");
    expect(2, 4);
    assert_string_not_equal(job.name, first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(without_variables_there_is_no_launcher, forget),
        cmocka_unit_test_setup(openmpi_is_known, forget),
        cmocka_unit_test_setup(mpich_is_known, forget),
        cmocka_unit_test_setup(a_job_of_one_is_none, forget),
        cmocka_unit_test_setup(variables_that_make_no_sense_are_nobodys, forget),
        cmocka_unit_test_setup(a_launcher_that_does_not_tell_the_host_is_none, forget),
        cmocka_unit_test_setup(several_hosts_are_refused, forget),
        cmocka_unit_test_setup(more_than_a_group_has_are_refused, forget),
        cmocka_unit_test_setup(a_job_without_a_name_is_refused, forget),
        cmocka_unit_test_setup(a_port_is_refused, forget),
        cmocka_unit_test_setup(names_are_of_jobs, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
