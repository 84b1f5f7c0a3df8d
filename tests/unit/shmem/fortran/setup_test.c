/* Fortran: queries, the name in a Fortran string, and what is there and does nothing. */
#include "unit/shmem/pe.h"

void shmem_init_(void);
void shmem_finalize_(void);
void start_pes_(const int *npes);
int my_pe_(void);
int num_pes_(void);
int shmem_my_pe_(void);
int shmem_n_pes_(void);
int shmem_pe_accessible_(const int *pe);
int shmem_addr_accessible_(const void *addr, const int *pe);
intptr_t shmem_ptr_(const void *dest, const int *pe);
void shmem_info_get_version_(int *major, int *minor);
void shmem_info_get_name_(char *name, size_t length);
void shmem_global_exit_(const int *status);
void shmem_clear_cache_inv_(void);
void shmem_set_cache_inv_(void);
void shmem_udcflush_(void);
void shmem_udcflush_line_(void *dest);
void shmem_set_lock_(uint32_t *lock);
int shmem_test_lock_(uint32_t *lock);
void shpalloc_(uintptr_t *addr, const int *length, int *errcode, const int *abort);
void shpdeallc_(const uintptr_t *addr, int *errcode, const int *abort);

static int word;

static void queries(void **unused)
{
    (void)unused;
    const int pe = 0;
    const int none = 1;
    assert_int_equal(my_pe_() + shmem_my_pe_(), 0);
    assert_int_equal(num_pes_(), 1);
    assert_int_equal(shmem_n_pes_(), 1);
    assert_int_equal(shmem_pe_accessible_(&pe), 1);
    assert_int_equal(shmem_pe_accessible_(&none), 0);
    assert_int_equal(shmem_addr_accessible_(&word, &pe), 1);
    assert_int_equal(shmem_addr_accessible_(&pe, &pe), 0);
    assert_int_equal(shmem_ptr_(&word, &pe), (intptr_t)&word);
}

static void version_and_name(void **unused)
{
    (void)unused;
    int major;
    int minor;
    shmem_info_get_version_(&major, &minor);
    assert_true(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION);

    char name[SHMEM_MAX_NAME_LEN + 1];
    memset(name, 'x', sizeof name);
    shmem_info_get_name_(name, SHMEM_MAX_NAME_LEN);
    assert_memory_equal(name, "DIMMnet  ", 9);
    assert_true(name[SHMEM_MAX_NAME_LEN - 1] == ' ' && name[SHMEM_MAX_NAME_LEN] == 'x');
}

static void a_name_in_less_room(void **unused)
{
    (void)unused;
    char name[SHMEM_MAX_NAME_LEN] = "xxxxx";
    shmem_info_get_name_(name, 4);
    assert_string_equal(name, "DIMMx");
    shmem_info_get_name_(name, 0);
    assert_string_equal(name, "DIMMx");
}

/* CHARACTER NAME(SHMEM_MAX_NAME_LEN) */
static void a_name_in_an_array(void **unused)
{
    (void)unused;
    char name[SHMEM_MAX_NAME_LEN] = "";
    shmem_info_get_name_(name, 1);
    assert_memory_equal(name, "DIMMnet ", 8);
    assert_int_equal(name[SHMEM_MAX_NAME_LEN - 1], ' ');
}

static void caches(void **unused)
{
    (void)unused;
    word = 5;
    shmem_set_cache_inv_();
    shmem_clear_cache_inv_();
    shmem_udcflush_();
    shmem_udcflush_line_(&word);
    assert_int_equal(word, 5);
}

static void end_with_7(void)
{
    const int status = 7;
    pe_start();
    shmem_global_exit_(&status);
}

static void global_exit_has_its_status(void **unused)
{
    (void)unused;
    char text[UNIT_CHILD_BYTES];
    int status = unit_child_run(end_with_7, text);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void begin_twice_and_end(void)
{
    const int npes = 0;
    (void)setenv("SHMEM_SYMMETRIC_SIZE", "16M", 1);
    start_pes_(&npes);
    shmem_init_();
    shmem_finalize_();
    shmem_finalize_();
    int initialized;
    shmem_query_initialized(&initialized);
    exit(initialized ? EXIT_FAILURE : EXIT_SUCCESS);
}

static void each_beginning_has_its_end(void **unused)
{
    (void)unused;
    unit_child_passes(begin_twice_and_end);
}

/* Locks and blocks of the library's first life are not known in the second one. */
static void end_in_c(void)
{
    static uint32_t lock;
    const int length = 4;
    const int abort_not = 0;
    uintptr_t block = 0;
    int code = 1;
    pe_start();
    shmem_set_lock_(&lock);
    shpalloc_(&block, &length, &code, &abort_not);
    bool is_had = code == 0;
    shmem_finalize();
    shmem_init();
    bool is_given = shmem_test_lock_(&lock) == 0;
    shpdeallc_(&block, &code, &abort_not);
    exit(is_had && is_given && code == -3 ? EXIT_SUCCESS : EXIT_FAILURE);
}

static void the_end_in_c_is_one_for_fortran(void **unused)
{
    (void)unused;
    unit_child_passes(end_in_c);
}

int main(void)
{
    const struct CMUnitTest ending[] = {
        cmocka_unit_test(the_end_in_c_is_one_for_fortran),
        cmocka_unit_test(global_exit_has_its_status),
        cmocka_unit_test(each_beginning_has_its_end),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries),
        cmocka_unit_test(version_and_name),
        cmocka_unit_test(a_name_in_less_room),
        cmocka_unit_test(a_name_in_an_array),
        cmocka_unit_test(caches),
    };
    return PE_RUN(ending, tests);
}
