/* Fortran: the size of an element of every transfer. */
#include "unit/shmem/pe.h"

typedef void transfer(void *dest, const void *source, const int *nelems, const int *pe);
typedef void strided(void *dest, const void *source, const int *dst, const int *sst,
                     const int *nelems, const int *pe);

/* X(name, bytes) */
#define PUTS(X)             \
    X(character_put, 1)     \
    X(complex_put, 8)       \
    X(double_put, 8)        \
    X(integer_put, 4)       \
    X(logical_put, 4)       \
    X(real_put, 4)          \
    X(put4, 4)              \
    X(put8, 8)              \
    X(put32, 4)             \
    X(put64, 8)             \
    X(put128, 16)           \
    X(putmem, 1)            \
    X(put, 8)               \
    X(character_put_nbi, 1) \
    X(put8_nbi, 8)          \
    X(putmem_nbi, 1)        \
    X(character_get, 1)     \
    X(complex_get, 8)       \
    X(double_get, 8)        \
    X(integer_get, 4)       \
    X(logical_get, 4)       \
    X(real_get, 4)          \
    X(get4, 4)              \
    X(get8, 8)              \
    X(get32, 4)             \
    X(get64, 8)             \
    X(get128, 16)           \
    X(getmem, 1)            \
    X(get, 8)               \
    X(get128_nbi, 16)

#define STRIDED(X)     \
    X(complex_iput, 8) \
    X(double_iput, 8)  \
    X(integer_iput, 4) \
    X(logical_iput, 4) \
    X(real_iput, 4)    \
    X(iput4, 4)        \
    X(iput8, 8)        \
    X(iput32, 4)       \
    X(iput64, 8)       \
    X(iput128, 16)     \
    X(complex_iget, 8) \
    X(double_iget, 8)  \
    X(integer_iget, 4) \
    X(logical_iget, 4) \
    X(real_iget, 4)    \
    X(iget4, 4)        \
    X(iget8, 8)        \
    X(iget32, 4)       \
    X(iget64, 8)       \
    X(iget128, 16)

#define DECLARE_TRANSFER(NAME, BYTES) transfer shmem_##NAME##_;
#define DECLARE_STRIDED(NAME, BYTES) strided shmem_##NAME##_;
PUTS(DECLARE_TRANSFER)
STRIDED(DECLARE_STRIDED)

static unsigned char dest[128];
static unsigned char source[128];

static void clear(void)
{
    memset(dest, 0xff, sizeof dest);
    for (size_t i = 0; i < sizeof source; i++) {
        source[i] = (unsigned char)i;
    }
}

static void check_block(transfer *call, size_t bytes, const char *name)
{
    const int count = 3;
    const int pe = 0;
    clear();
    call(dest, source, &count, &pe);
    shmem_quiet();
    for (size_t i = 0; i < sizeof dest; i++) {
        if (dest[i] != (i < (size_t)count * bytes ? i : 0xff)) {
            fail_msg("%s: byte %zu is %u", name, i, dest[i]);
        }
    }
}

/* Elements 0, 2, 4 from elements 0, 1, 2. */
static void check_strided(strided *call, size_t bytes, const char *name)
{
    const int count = 3;
    const int pe = 0;
    const int two = 2;
    const int one = 1;
    clear();
    call(dest, source, &two, &one, &count, &pe);
    for (size_t i = 0; i < sizeof dest; i++) {
        size_t element = i / bytes;
        size_t wanted = element % 2 == 0 && element < 6 ? element / 2 * bytes + i % bytes : 0xff;
        if (dest[i] != wanted) {
            fail_msg("%s: byte %zu is %u", name, i, dest[i]);
        }
    }
}

static void elements_have_their_size(void **unused)
{
    (void)unused;
#define CHECK(NAME, BYTES) check_block(shmem_##NAME##_, BYTES, #NAME);
    PUTS(CHECK)
}

static void strided_elements_have_their_size(void **unused)
{
    (void)unused;
#define CHECK_STRIDED(NAME, BYTES) check_strided(shmem_##NAME##_, BYTES, #NAME);
    STRIDED(CHECK_STRIDED)
}

static void put_a_negative_number(void)
{
    const int count = -1;
    const int pe = 0;
    pe_start();
    shmem_put8_(dest, source, &count, &pe);
}

static void a_negative_number_ends_the_job(void **unused)
{
    (void)unused;
    unit_child_fails(put_a_negative_number, "PE 0: shmem_put64: ");
}

int main(void)
{
    const struct CMUnitTest ending[] = {
        cmocka_unit_test(a_negative_number_ends_the_job),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_have_their_size),
        cmocka_unit_test(strided_elements_have_their_size),
    };
    return PE_RUN(ending, tests);
}
