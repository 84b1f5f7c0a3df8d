// The names without a type in C++: every one of them, with and without a context, for every type
// that the specification lists for it; complex numbers of the compiler and of std::complex.
//
// Each PE writes to the next one of the ring and reads from it. Sources are const and volatile
// here and there, and operands are integer literals, whatever the type.
extern "C" { // as programs do whose shmem.h knows nothing of C++
#include <shmem.h>
}

#include <complex>
#include <cstdio>

namespace
{

int me;
int pes;
shmem_ctx_t context;
uint64_t signals[2];

// Handles of nothing are constant expressions.
constexpr shmem_ctx_t no_context = SHMEM_CTX_INVALID;
constexpr shmem_team_t no_team = SHMEM_TEAM_INVALID;
static_assert(no_context == nullptr && no_team == nullptr, "handles of nothing are null");

int right()
{
    return (me + 1) % pes;
}

int left()
{
    return (me + pes - 1) % pes;
}

void require_at(bool holds, const char *what, int line, const char *where)
{
    if (!holds) {
        std::printf("FAIL cxx: PE %d: line %d: %s, in %s\n", me, line, what, where);
        std::fflush(stdout);
        shmem_global_exit(1);
    }
}
#define REQUIRE(WHAT) require_at(WHAT, #WHAT, __LINE__, __PRETTY_FUNCTION__)

void quiet()
{
    shmem_quiet();
    shmem_ctx_quiet(context);
}

// ---- The specification's types -----------------------------------------------------

template <typename... T> struct Types {
};

typedef Types<int, long, long long, unsigned int, unsigned long, unsigned long long, int32_t,
              int64_t, uint32_t, uint64_t, size_t, ptrdiff_t>
    Words;
typedef Types<unsigned int, unsigned long, unsigned long long, int32_t, int64_t, uint32_t, uint64_t>
    Bits;
typedef Types<unsigned char, unsigned short, int8_t, int16_t, uint8_t, uint16_t, size_t> SmallBits;
typedef Types<float, double> Reals;
typedef Types<char, signed char, short, unsigned char, unsigned short, int8_t, int16_t, uint8_t,
              uint16_t, long double>
    Others;
typedef Types<short, unsigned short> Shorts;

// Where a PE's neighbours write: symmetric objects of each type.
template <typename T> struct Symmetric {
    static T box[24];
    static T source[24];
};
template <typename T> T Symmetric<T>::box[24];
template <typename T> T Symmetric<T>::source[24];

// CHECK<T>::run() for each type.
template <template <typename> class CHECK, typename... T> void each(Types<T...>)
{
    const int done[] = {(shmem_barrier_all(), CHECK<T>::run(), 0)...};
    static_cast<void>(done);
    shmem_barrier_all();
}

// ---- Transfers ----------------------------------------------------------------------

template <typename T> T number(int pe, int place)
{
    return static_cast<T>(pe * 24 % 100 + place);
}

template <typename T> struct Transfers {
    static void put(T *box, const T *from)
    {
        volatile T *changing = box;
        const volatile T *from_changing = from;
        shmem_put(&box[0], &from[0], 2, right());
        shmem_put(context, &changing[2], &from_changing[2], 2, right());
        shmem_put_nbi(&changing[4], &from_changing[4], 1, right());
        shmem_put_nbi(context, &box[5], &from[5], 1, right());
        shmem_p(&box[6], from[6], right());
        shmem_p(context, &changing[7], from[7], right());
        shmem_iput(&box[8], &from[8], 2, 2, 2, right());
        shmem_iput(context, &changing[9], &from_changing[9], 2, 2, 2, right());
        shmem_put_signal(&box[12], &from[12], 1, signals, 1, SHMEM_SIGNAL_ADD, right());
        shmem_put_signal(context, &box[13], &from[13], 1, signals, 1, SHMEM_SIGNAL_ADD, right());
        shmem_put_signal_nbi(&box[14], &from[14], 1, signals, 1, SHMEM_SIGNAL_ADD, right());
        shmem_put_signal_nbi(context, &box[15], &from[15], 1, signals, 1, SHMEM_SIGNAL_ADD,
                             right());
        shmem_ibput(&box[16], &from[16], 2, 2, 1, 2, right());
        shmem_ibput(context, &box[17], &from[17], 2, 2, 1, 2, right());
        shmem_put(box, nullptr, 0, right());
        shmem_p(&box[20], 7, right());
        shmem_p(context, &box[21], 8, right());
        REQUIRE(shmem_signal_wait_until(signals, SHMEM_CMP_EQ, 4) == 4);
        quiet();
    }

    static void get(T *back, const T *box)
    {
        const volatile T *changing = box;
        shmem_get(&back[0], &box[0], 2, right());
        shmem_get(context, &back[2], &changing[2], 2, right());
        shmem_get_nbi(&back[4], &changing[4], 1, right());
        shmem_get_nbi(context, &back[5], &box[5], 1, right());
        back[6] = shmem_g(&box[6], right());
        back[7] = shmem_g(context, &changing[7], right());
        shmem_iget(&back[8], &box[8], 2, 2, 4, right());
        shmem_iget(context, &back[9], &box[9], 2, 2, 4, right());
        shmem_ibget(&back[16], &box[16], 3, 3, 2, 1, right());
        shmem_ibget(context, &back[18], &box[18], 3, 3, 2, 1, right());
        quiet();
    }

    static void run()
    {
        T *box = Symmetric<T>::box;
        T from[24];
        T back[24];
        for (int i = 0; i < 24; i++) {
            from[i] = number<T>(me, i);
            back[i] = box[i] = 0;
        }
        signals[0] = 0;
        shmem_barrier_all();
        put(box, from);
        get(back, box);
        shmem_barrier_all();
        for (int i = 0; i < 20; i++) {
            REQUIRE(back[i] == from[i]);
            REQUIRE(box[i] == number<T>(left(), i));
        }
        REQUIRE(box[20] == static_cast<T>(7) && box[21] == static_cast<T>(8));
    }
};

// ---- Atomics ------------------------------------------------------------------------

template <typename T> struct Extended {
    static void run()
    {
        volatile T *word = Symmetric<T>::box;
        const volatile T *seen = word;
        T got = 0;
        shmem_atomic_set(word, 1, right());
        shmem_quiet();
        shmem_atomic_set(context, word, 2, right());
        shmem_ctx_quiet(context);
        REQUIRE(shmem_atomic_fetch(seen, right()) == 2);
        REQUIRE(shmem_atomic_fetch(context, word, right()) == 2);
        REQUIRE(shmem_atomic_swap(word, 3, right()) == 2);
        REQUIRE(shmem_atomic_swap(context, word, 4, right()) == 3);
        shmem_atomic_swap_nbi(&got, word, 5, right());
        quiet();
        REQUIRE(got == 4);
        shmem_atomic_swap_nbi(context, &got, word, 6, right());
        quiet();
        REQUIRE(got == 5);
        shmem_atomic_fetch_nbi(&got, seen, right());
        quiet();
        REQUIRE(got == 6);
        got = 0;
        shmem_atomic_fetch_nbi(context, &got, word, right());
        quiet();
        REQUIRE(got == 6);
        shmem_set(word, 3, right());
        quiet();
        REQUIRE(shmem_swap(word, 5, right()) == 3);
        REQUIRE(shmem_fetch(seen, right()) == 5);
    }
};

template <typename T> struct Standard {
    static void swapping(T *word)
    {
        T got = 0;
        shmem_atomic_set(word, 1, right());
        quiet();
        REQUIRE(shmem_atomic_compare_swap(word, 1, 2, right()) == 1);
        REQUIRE(shmem_atomic_compare_swap(context, word, 1, 9, right()) == 2);
        shmem_atomic_compare_swap_nbi(&got, word, 2, 3, right());
        quiet();
        REQUIRE(got == 2);
        shmem_atomic_compare_swap_nbi(context, &got, word, 3, 4, right());
        quiet();
        REQUIRE(got == 3);
    }

    static void adding(T *word)
    {
        T got = 0;
        REQUIRE(shmem_atomic_fetch_inc(word, right()) == 4);
        REQUIRE(shmem_atomic_fetch_inc(context, word, right()) == 5);
        shmem_atomic_fetch_inc_nbi(&got, word, right());
        quiet();
        REQUIRE(got == 6);
        shmem_atomic_fetch_inc_nbi(context, &got, word, right());
        quiet();
        REQUIRE(got == 7);
        shmem_atomic_inc(word, right());
        shmem_atomic_inc(context, word, right());
        shmem_atomic_add(word, 10, right());
        shmem_atomic_add(context, word, 10, right());
        quiet();
        REQUIRE(shmem_atomic_fetch_add(word, 1, right()) == 30);
        REQUIRE(shmem_atomic_fetch_add(context, word, 1, right()) == 31);
        shmem_atomic_fetch_add_nbi(&got, word, 1, right());
        quiet();
        REQUIRE(got == 32);
        shmem_atomic_fetch_add_nbi(context, &got, word, 1, right());
        quiet();
        REQUIRE(got == 33);
    }

    static void under_deprecated_names(T *word)
    {
        REQUIRE(shmem_cswap(word, 34, 6, right()) == 34);
        REQUIRE(shmem_finc(word, right()) == 6);
        shmem_inc(word, right());
        quiet();
        REQUIRE(shmem_fadd(word, 10, right()) == 8);
        shmem_add(word, 2, right());
        quiet();
        REQUIRE(shmem_fetch(word, right()) == 20);
    }

    static void run()
    {
        swapping(Symmetric<T>::box);
        adding(Symmetric<T>::box);
        under_deprecated_names(Symmetric<T>::box);
    }
};

template <typename T> struct Bitwise {
    static void fetching(T *word)
    {
        REQUIRE(shmem_atomic_fetch_and(word, 0x1f, right()) == 0x3f);
        REQUIRE(shmem_atomic_fetch_and(context, word, 0, right()) == 0x1f);
        shmem_atomic_or(word, 1, right());
        shmem_atomic_or(context, word, 2, right());
        quiet();
        REQUIRE(shmem_atomic_fetch_or(word, 4, right()) == 3);
        REQUIRE(shmem_atomic_fetch_or(context, word, 8, right()) == 7);
        shmem_atomic_xor(word, 1, right());
        shmem_atomic_xor(context, word, 2, right());
        quiet();
        REQUIRE(shmem_atomic_fetch_xor(word, 4, right()) == 12);
        REQUIRE(shmem_atomic_fetch_xor(context, word, 8, right()) == 8);
    }

    static void not_waiting(T *word)
    {
        T got = 1;
        shmem_atomic_fetch_or_nbi(&got, word, 3, right());
        quiet();
        REQUIRE(got == 0);
        shmem_atomic_fetch_or_nbi(context, &got, word, 4, right());
        quiet();
        REQUIRE(got == 3);
        shmem_atomic_fetch_and_nbi(&got, word, 6, right());
        quiet();
        REQUIRE(got == 7);
        shmem_atomic_fetch_and_nbi(context, &got, word, 2, right());
        quiet();
        REQUIRE(got == 6);
        shmem_atomic_fetch_xor_nbi(&got, word, 3, right());
        quiet();
        REQUIRE(got == 2);
        shmem_atomic_fetch_xor_nbi(context, &got, word, 3, right());
        quiet();
        REQUIRE(got == 1);
    }

    static void run()
    {
        T *word = Symmetric<T>::box;
        shmem_atomic_set(word, 0xff, right());
        quiet();
        shmem_atomic_and(word, 0x7f, right());
        shmem_atomic_and(context, word, 0x3f, right());
        quiet();
        fetching(word);
        not_waiting(word);
    }
};

// ---- Signals, waiting ------------------------------------------------------------------

void signals_of_contexts()
{
    signals[0] = signals[1] = 0;
    shmem_barrier_all();
    shmem_signal_set(&signals[0], 5, right());
    shmem_signal_set(context, &signals[1], 7, right());
    quiet();
    shmem_signal_add(&signals[0], 1, right());
    shmem_signal_add(context, &signals[1], 1, right());
    REQUIRE(shmem_signal_wait_until(&signals[0], SHMEM_CMP_EQ, 6) == 6);
    REQUIRE(shmem_signal_wait_until(&signals[1], SHMEM_CMP_EQ, 8) == 8);
    shmem_barrier_all();
}

// Words 1, 2 and 3 come from the left.
template <typename T> struct Waiting {
    static void wait(volatile T *words, const T *wanted, const int *skip_last)
    {
        size_t found[3];
        shmem_wait_until(words, SHMEM_CMP_NE, 0);
        shmem_wait_until_all(words, 3, nullptr, SHMEM_CMP_GT, 0);
        shmem_wait_until_all_vector(words, 3, skip_last, SHMEM_CMP_EQ, wanted);
        REQUIRE(shmem_wait_until_any(words, 3, nullptr, SHMEM_CMP_EQ, 3) == 2);
        REQUIRE(shmem_wait_until_any_vector(words, 3, skip_last, SHMEM_CMP_EQ, wanted) < 2);
        REQUIRE(shmem_wait_until_some(words, 3, found, nullptr, SHMEM_CMP_EQ, 2) == 1);
        REQUIRE(found[0] == 1);
        REQUIRE(shmem_wait_until_some_vector(words, 3, found, nullptr, SHMEM_CMP_EQ, wanted) > 0);
    }

    static void test(T *words, const T *wanted, const int *skip_last)
    {
        size_t found[3];
        REQUIRE(shmem_test(words, SHMEM_CMP_EQ, 1));
        REQUIRE(shmem_test_all(words, 3, nullptr, SHMEM_CMP_LE, 3) == 1);
        REQUIRE(shmem_test_all_vector(words, 3, nullptr, SHMEM_CMP_EQ, wanted) == 1);
        REQUIRE(shmem_test_any(words, 3, skip_last, SHMEM_CMP_EQ, 3) == SIZE_MAX);
        REQUIRE(shmem_test_any_vector(words, 3, nullptr, SHMEM_CMP_GT, wanted) == SIZE_MAX);
        REQUIRE(shmem_test_some(words, 3, found, nullptr, SHMEM_CMP_LT, 2) == 1);
        REQUIRE(shmem_test_some_vector(words, 3, found, skip_last, SHMEM_CMP_EQ, wanted) == 2);
    }

    static void run()
    {
        T *words = Symmetric<T>::box;
        const T wanted[3] = {1, 2, 3};
        const int skip_last[3] = {0, 0, 1};
        words[0] = words[1] = words[2] = 0;
        shmem_barrier_all();
        shmem_put(words, wanted, 3, right());
        wait(words, wanted, skip_last);
        test(words, wanted, skip_last);
    }
};

// ---- Collectives --------------------------------------------------------------------------

enum { PES_MAX = 8 };

template <typename T> struct Collectives {
    // Element i has what this PE's neighbour `of` gave as its element `given`.
    static void require_from(int i, int of, int given)
    {
        REQUIRE(Symmetric<T>::box[i] == static_cast<T>(of * 4 + given));
    }

    static void run()
    {
        T *dest = Symmetric<T>::box;
        const volatile T *source = Symmetric<T>::source;
        for (int i = 0; i < 2 * pes; i++) {
            Symmetric<T>::source[i] = static_cast<T>(me * 4 + i);
        }
        shmem_sync(SHMEM_TEAM_WORLD);
        REQUIRE(shmem_broadcast(SHMEM_TEAM_WORLD, dest, source, 2, pes - 1) == 0);
        require_from(0, pes - 1, 0);
        require_from(1, pes - 1, 1);
        shmem_sync(SHMEM_TEAM_WORLD);
        REQUIRE(shmem_collect(SHMEM_TEAM_WORLD, dest, source, 2) == 0);
        for (int i = 0; i < 2 * pes; i++) {
            require_from(i, i / 2, i % 2);
            dest[i] = 0;
        }
        shmem_sync(SHMEM_TEAM_WORLD);
        REQUIRE(shmem_fcollect(SHMEM_TEAM_WORLD, dest, source, 2) == 0);
        for (int i = 0; i < 2 * pes; i++) {
            require_from(i, i / 2, i % 2);
        }
        shmem_sync(SHMEM_TEAM_WORLD);
        REQUIRE(shmem_alltoall(SHMEM_TEAM_WORLD, dest, source, 2) == 0);
        for (int i = 0; i < 2 * pes; i++) {
            require_from(i, i / 2, me * 2 + i % 2);
        }
        shmem_sync(SHMEM_TEAM_WORLD);
        REQUIRE(shmem_alltoalls(SHMEM_TEAM_WORLD, dest, source, 1, 2, 1) == 0);
        for (int i = 0; i < pes; i++) {
            require_from(i, i, me * 2);
        }
        shmem_sync(SHMEM_TEAM_WORLD);
    }
};

// Every other PE gives 1, the others 2.
template <typename T> struct Reductions {
    static const T *given()
    {
        shmem_sync(SHMEM_TEAM_WORLD);
        Symmetric<T>::source[0] = static_cast<T>(me % 2 + 1);
        return Symmetric<T>::source;
    }
    // Among the first `of` PEs.
    static int sum(int of)
    {
        return of + of / 2;
    }
};

template <typename T> struct BitwiseReductions : Reductions<T> {
    static void run()
    {
        T *dest = Symmetric<T>::box;
        REQUIRE(shmem_and_reduce(SHMEM_TEAM_WORLD, dest, BitwiseReductions::given(), 1) == 0);
        REQUIRE(*dest == (pes > 1 ? 0 : 1));
        REQUIRE(shmem_or_reduce(SHMEM_TEAM_WORLD, dest, BitwiseReductions::given(), 1) == 0);
        REQUIRE(*dest == (pes > 1 ? 3 : 1));
        REQUIRE(shmem_xor_reduce(SHMEM_TEAM_WORLD, dest, BitwiseReductions::given(), 1) == 0);
        REQUIRE(*dest == static_cast<T>((pes + 1) / 2 % 2 + pes / 2 % 2 * 2));
    }
};

template <typename T> struct MinMaxReductions : Reductions<T> {
    static void run()
    {
        T *dest = Symmetric<T>::box;
        REQUIRE(shmem_min_reduce(SHMEM_TEAM_WORLD, dest, MinMaxReductions::given(), 1) == 0);
        REQUIRE(*dest == 1);
        REQUIRE(shmem_max_reduce(SHMEM_TEAM_WORLD, dest, MinMaxReductions::given(), 1) == 0);
        REQUIRE(*dest == (pes > 1 ? 2 : 1));
    }
};

template <typename T> struct ArithmeticReductions : Reductions<T> {
    typedef Reductions<T> Of;

    static void run()
    {
        volatile T *dest = Symmetric<T>::box;
        const T *result = Symmetric<T>::box;
        REQUIRE(shmem_sum_reduce(SHMEM_TEAM_WORLD, dest, Of::given(), 1) == 0);
        REQUIRE(*result == static_cast<T>(Of::sum(pes)));
        REQUIRE(shmem_prod_reduce(SHMEM_TEAM_WORLD, dest, Of::given(), 1) == 0);
        REQUIRE(*result == static_cast<T>(1 << pes / 2));
        REQUIRE(shmem_sum_inscan(SHMEM_TEAM_WORLD, dest, Of::given(), 1) == 0);
        REQUIRE(*result == static_cast<T>(Of::sum(me + 1)));
        REQUIRE(shmem_sum_exscan(SHMEM_TEAM_WORLD, dest, Of::given(), 1) == 0);
        REQUIRE(*result == static_cast<T>(Of::sum(me)));
    }
};

// ---- Complex numbers ------------------------------------------------------------------------

long sync_words[SHMEM_REDUCE_SYNC_SIZE];

// Each PE gives me + i; their product is known by multiplying here.
template <typename T> std::complex<T> product()
{
    std::complex<T> result(1);
    for (int pe = 0; pe < pes; pe++) {
        result *= std::complex<T>(static_cast<T>(pe), 1);
    }
    return result;
}

template <typename T> std::complex<T> sum(int of)
{
    return std::complex<T>(static_cast<T>(of * (of - 1) / 2), static_cast<T>(of));
}

// The typed names, which a template cannot choose.
#define TYPED(NAME, TYPE)                                                                 \
    void typed_reductions(std::complex<TYPE> *dest, const std::complex<TYPE> *source,     \
                          std::complex<TYPE> *work)                                       \
    {                                                                                     \
        REQUIRE(shmem_##NAME##_sum_reduce(SHMEM_TEAM_WORLD, dest, source, 1) == 0);       \
        REQUIRE(*dest == sum<TYPE>(pes));                                                 \
        REQUIRE(shmem_##NAME##_prod_reduce(SHMEM_TEAM_WORLD, dest, source, 1) == 0);      \
        REQUIRE(*dest == product<TYPE>());                                                \
        REQUIRE(shmem_##NAME##_sum_inscan(SHMEM_TEAM_WORLD, dest, source, 1) == 0);       \
        REQUIRE(*dest == sum<TYPE>(me + 1));                                              \
        REQUIRE(shmem_##NAME##_sum_exscan(SHMEM_TEAM_WORLD, dest, source, 1) == 0);       \
        REQUIRE(*dest == sum<TYPE>(me));                                                  \
        shmem_##NAME##_sum_to_all(dest, source, 1, 0, 0, pes, work, sync_words);          \
        REQUIRE(*dest == sum<TYPE>(pes));                                                 \
        shmem_##NAME##_prod_to_all(dest, source, 1, 0, 0, pes, work, sync_words);         \
        REQUIRE(*dest == product<TYPE>());                                                \
        shmem_##NAME##_t *own_dest = reinterpret_cast<shmem_##NAME##_t *>(dest);          \
        const shmem_##NAME##_t *own = reinterpret_cast<const shmem_##NAME##_t *>(source); \
        REQUIRE(shmem_##NAME##_sum_reduce(SHMEM_TEAM_WORLD, own_dest, own, 1) == 0);      \
        REQUIRE(*dest == sum<TYPE>(pes));                                                 \
        shmem_##NAME##_prod_to_all(own_dest, own, 1, 0, 0, pes, own_dest, sync_words);    \
        REQUIRE(*dest == product<TYPE>());                                                \
        REQUIRE(shmem_sum_reduce(SHMEM_TEAM_WORLD, own_dest, own, 1) == 0);               \
        REQUIRE(*dest == sum<TYPE>(pes));                                                 \
    }
TYPED(complexf, float)
TYPED(complexd, double)

template <typename T> struct Complex {
    static void run()
    {
        typedef std::complex<T> Number;
        Number *dest = Symmetric<Number>::box;
        Number *source = Symmetric<Number>::source;
        const volatile Number *seen = source;
        *source = Number(static_cast<T>(me), 1);
        shmem_barrier_all();
        REQUIRE(shmem_sum_reduce(SHMEM_TEAM_WORLD, dest, seen, 1) == 0);
        REQUIRE(*dest == sum<T>(pes));
        REQUIRE(shmem_prod_reduce(SHMEM_TEAM_WORLD, dest, source, 1) == 0);
        REQUIRE(*dest == product<T>());
        REQUIRE(shmem_sum_inscan(SHMEM_TEAM_WORLD, dest, source, 1) == 0);
        REQUIRE(*dest == sum<T>(me + 1));
        REQUIRE(shmem_sum_exscan(SHMEM_TEAM_WORLD, dest, source, 1) == 0);
        REQUIRE(*dest == sum<T>(me));
        typed_reductions(dest, source, Symmetric<Number>::box + 1);
    }
};

// ---- Names of C beside them --------------------------------------------------------------------

long word;
long three = 3;

void names_of_c()
{
    void (*wait)(long *, int, long) = shmem_wait_until;
    void (*sync_set)(int, int, int, long *) = shmem_sync;
    void (*set_signal)(uint64_t *, uint64_t, int) = shmem_signal_set;
    shmem_p(&word, shmem_g(&three, left()), right());
    wait(&word, SHMEM_CMP_EQ, 3);
    sync_set(0, 0, pes, sync_words);
    shmem_sync(0, 0, pes, sync_words);
    set_signal(signals, 1, me);
    REQUIRE(shmem_addr_accessible(&word, me) == 1);
    shmem_quiet();
}

} // namespace

int main()
{
    shmem_init();
    me = shmem_my_pe();
    pes = shmem_n_pes();
    REQUIRE(pes <= PES_MAX);
    REQUIRE(shmem_ctx_create(0, &context) == 0);
    each<Transfers>(Words());
    each<Transfers>(Reals());
    each<Transfers>(Others());
    each<Extended>(Words());
    each<Extended>(Reals());
    each<Standard>(Words());
    each<Bitwise>(Bits());
    signals_of_contexts();
    each<Waiting>(Words());
    each<Waiting>(Shorts());
    each<Collectives>(Words());
    each<Collectives>(Reals());
    each<Collectives>(Others());
    each<BitwiseReductions>(Bits());
    each<BitwiseReductions>(SmallBits());
    each<MinMaxReductions>(Words());
    each<MinMaxReductions>(Reals());
    each<MinMaxReductions>(Others());
    each<ArithmeticReductions>(Words());
    each<ArithmeticReductions>(Reals());
    each<ArithmeticReductions>(Others());
    each<Complex>(Reals());
    names_of_c();
    shmem_barrier_all();
    if (me == 0) {
        std::printf("ok cxx\n");
    }
    shmem_finalize();
    return 0;
}
