// A C++ program on shmem.h: explicit names, templates over the types, objects of static storage.
#include <shmem.h>

#include <cstdio>
#include <cstdlib>
#include <limits>

namespace
{

void require(bool holds, const char *what)
{
    if (!holds) {
        std::printf("FAIL language: PE %d: %s\n", shmem_my_pe(), what);
        std::fflush(stdout);
        shmem_global_exit(1);
    }
}

struct Record {
    Record() : first(5), second(1.5) {}
    int first;
    double second;
};

Record record; // initialised by code before main
int values[4] = {1, 2, 3, 4};
template <typename T> T box;

// One overload for each type of the header's table.
#define OVERLOAD(NAME, TYPE, A, B)                                        \
    void put_one(TYPE *dest, TYPE value, int pe)                          \
    {                                                                     \
        shmem_##NAME##_put(dest, &value, 1, pe);                          \
    }                                                                     \
    TYPE get_one(const TYPE *source, int pe)                              \
    {                                                                     \
        return shmem_##NAME##_g(source, pe);                              \
    }
SHMEM_RMA_DISTINCT_TYPES(OVERLOAD, , )

template <typename T> void try_type()
{
    int right = (shmem_my_pe() + 1) % shmem_n_pes();
    put_one(&box<T>, std::numeric_limits<T>::max(), right);
    shmem_barrier_all();
    require(box<T> == std::numeric_limits<T>::max(), "a put of some type");
    require(get_one(&box<T>, right) == std::numeric_limits<T>::max(), "a get of some type");
    shmem_barrier_all();
}

} // namespace

int main()
{
    shmem_init();
    int right = (shmem_my_pe() + 1) % shmem_n_pes();
    try_type<float>();
    try_type<double>();
    try_type<long double>();
    try_type<char>();
    try_type<signed char>();
    try_type<short>();
    try_type<int>();
    try_type<long>();
    try_type<long long>();
    try_type<unsigned char>();
    try_type<unsigned short>();
    try_type<unsigned int>();
    try_type<unsigned long>();
    try_type<unsigned long long>();
    require(record.first == 5 && record.second == 1.5, "an object with a constructor");
    shmem_barrier_all();
    shmem_int_p(&record.first, 50, right);
    shmem_int_atomic_add(&values[3], 10, right);
    shmem_barrier_all();
    require(record.first == 50 && values[3] == 14, "static objects");
    int *array = static_cast<int *>(shmem_calloc(10, sizeof(int)));
    require(shmem_int_sum_reduce(SHMEM_TEAM_WORLD, array, values, 3) == 0, "the call");
    require(array[2] == 3 * shmem_n_pes(), "a reduction");
    shmem_free(array);
    if (shmem_my_pe() == 0) {
        std::printf("ok language\n");
    }
    shmem_finalize();
    return 0;
}
