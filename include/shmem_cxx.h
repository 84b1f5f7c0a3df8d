/* shmem_cxx.h: OpenSHMEM's names without a type, in C++. Each is a template that chooses its
 * function by the type of the elements and is inlined to the call of that function. shmem.h
 * includes this file in C++.
 *
 * A list below names the functions of a family: what each returns, and the kind of its parameters.
 * From a list and a table of types come a row of functions for each type, which says what there is
 * for it, and the templates.
 *
 * No C++ header is included: <complex> alone would cost each file that includes shmem.h more time
 * than all of shmem.h, and most files have no use for it. A class that has std::complex's form is
 * taken for complex numbers, wherever it comes from. */
#ifndef SHMEM_CXX_H
#define SHMEM_CXX_H

#include "shmem.h"

#ifdef __cplusplus

/* Also without optimisation a call is the typed function's. */
#ifdef __GNUC__
#define SHMEM_CXX_INLINE __attribute__((always_inline)) inline
#else
#define SHMEM_CXX_INLINE inline
#endif

/* ---- The lists of functions ------------------------------------------------- */

/* Each calls X(what it returns, its name, kind of parameters, A, B) for each function; A and B are
 * the caller's own. */

/* What the typed functions call TYPE, in a template of T. */
#define SHMEM_CXX_VALUE shmem_cxx::plain<T>

#define SHMEM_CXX_RMA(X, A, B)           \
    X(void, put, BLOCK, A, B)            \
    X(void, get, BLOCK, A, B)            \
    X(void, put_nbi, BLOCK, A, B)        \
    X(void, get_nbi, BLOCK, A, B)        \
    X(void, p, OPERAND, A, B)            \
    X(SHMEM_CXX_VALUE, g, SOURCE, A, B)  \
    X(void, iput, STRIDED, A, B)         \
    X(void, iget, STRIDED, A, B)         \
    X(void, ibput, STRIDED_BLOCKS, A, B) \
    X(void, ibget, STRIDED_BLOCKS, A, B) \
    X(void, put_signal, SIGNALLED, A, B) \
    X(void, put_signal_nbi, SIGNALLED, A, B)

#define SHMEM_CXX_AMO_EXTENDED(X, A, B)            \
    X(SHMEM_CXX_VALUE, atomic_fetch, SOURCE, A, B) \
    X(void, atomic_fetch_nbi, FETCHED, A, B)       \
    X(void, atomic_set, OPERAND, A, B)             \
    X(SHMEM_CXX_VALUE, atomic_swap, OPERAND, A, B) \
    X(void, atomic_swap_nbi, FETCHED_OPERAND, A, B)

#define SHMEM_CXX_AMO_STANDARD(X, A, B)                      \
    X(SHMEM_CXX_VALUE, atomic_compare_swap, COMPARED, A, B)  \
    X(void, atomic_compare_swap_nbi, FETCHED_COMPARED, A, B) \
    X(SHMEM_CXX_VALUE, atomic_fetch_inc, DEST, A, B)         \
    X(void, atomic_fetch_inc_nbi, FETCHED_DEST, A, B)        \
    X(void, atomic_inc, DEST, A, B)                          \
    X(SHMEM_CXX_VALUE, atomic_fetch_add, OPERAND, A, B)      \
    X(void, atomic_fetch_add_nbi, FETCHED_OPERAND, A, B)     \
    X(void, atomic_add, OPERAND, A, B)

#define SHMEM_CXX_AMO_BITWISE(X, A, B)                   \
    X(SHMEM_CXX_VALUE, atomic_fetch_and, OPERAND, A, B)  \
    X(void, atomic_fetch_and_nbi, FETCHED_OPERAND, A, B) \
    X(void, atomic_and, OPERAND, A, B)                   \
    X(SHMEM_CXX_VALUE, atomic_fetch_or, OPERAND, A, B)   \
    X(void, atomic_fetch_or_nbi, FETCHED_OPERAND, A, B)  \
    X(void, atomic_or, OPERAND, A, B)                    \
    X(SHMEM_CXX_VALUE, atomic_fetch_xor, OPERAND, A, B)  \
    X(void, atomic_fetch_xor_nbi, FETCHED_OPERAND, A, B) \
    X(void, atomic_xor, OPERAND, A, B)

/* Deprecated, and without contexts. */
#define SHMEM_CXX_AMO_OLD_EXTENDED(X, A, B) \
    X(SHMEM_CXX_VALUE, fetch, SOURCE, A, B) \
    X(void, set, OPERAND, A, B)             \
    X(SHMEM_CXX_VALUE, swap, OPERAND, A, B)

#define SHMEM_CXX_AMO_OLD_STANDARD(X, A, B)   \
    X(SHMEM_CXX_VALUE, cswap, COMPARED, A, B) \
    X(SHMEM_CXX_VALUE, finc, DEST, A, B)      \
    X(void, inc, DEST, A, B)                  \
    X(SHMEM_CXX_VALUE, fadd, OPERAND, A, B)   \
    X(void, add, OPERAND, A, B)

#define SHMEM_CXX_WAIT(X, A, B)                          \
    X(void, wait_until, WORD, A, B)                      \
    X(void, wait_until_all, WORDS, A, B)                 \
    X(size_t, wait_until_any, WORDS, A, B)               \
    X(size_t, wait_until_some, SOME, A, B)               \
    X(void, wait_until_all_vector, WORDS_VECTOR, A, B)   \
    X(size_t, wait_until_any_vector, WORDS_VECTOR, A, B) \
    X(size_t, wait_until_some_vector, SOME_VECTOR, A, B) \
    X(int, test, WORD, A, B)                             \
    X(int, test_all, WORDS, A, B)                        \
    X(size_t, test_any, WORDS, A, B)                     \
    X(size_t, test_some, SOME, A, B)                     \
    X(int, test_all_vector, WORDS_VECTOR, A, B)          \
    X(size_t, test_any_vector, WORDS_VECTOR, A, B)       \
    X(size_t, test_some_vector, SOME_VECTOR, A, B)

#define SHMEM_CXX_COLLECTIVE(X, A, B)     \
    X(int, broadcast, OF_TEAM_ROOT, A, B) \
    X(int, collect, OF_TEAM, A, B)        \
    X(int, fcollect, OF_TEAM, A, B)       \
    X(int, alltoall, OF_TEAM, A, B)       \
    X(int, alltoalls, OF_TEAM_STRIDED, A, B)

#define SHMEM_CXX_REDUCE_BITWISE(X, A, B) \
    X(int, and_reduce, OF_TEAM, A, B)     \
    X(int, or_reduce, OF_TEAM, A, B)      \
    X(int, xor_reduce, OF_TEAM, A, B)

#define SHMEM_CXX_REDUCE_MINMAX(X, A, B) \
    X(int, min_reduce, OF_TEAM, A, B)    \
    X(int, max_reduce, OF_TEAM, A, B)

#define SHMEM_CXX_REDUCE_ARITHMETIC(X, A, B) \
    X(int, sum_reduce, OF_TEAM, A, B)        \
    X(int, prod_reduce, OF_TEAM, A, B)       \
    X(int, sum_inscan, OF_TEAM, A, B)        \
    X(int, sum_exscan, OF_TEAM, A, B)

/* Functions of complex numbers; those on active sets are deprecated. */
#define SHMEM_CXX_COMPLEX(X, A, B)           \
    SHMEM_CXX_REDUCE_ARITHMETIC(X, A, B)     \
    X(void, sum_to_all, OF_ACTIVE_SET, A, B) \
    X(void, prod_to_all, OF_ACTIVE_SET, A, B)

/* Y(family, its table of types, its list of functions). */
#define SHMEM_CXX_FAMILIES_WITH_CONTEXTS(Y)                                    \
    Y(rma, SHMEM_RMA_DISTINCT_TYPES, SHMEM_CXX_RMA)                            \
    Y(amo_extended, SHMEM_AMO_EXTENDED_DISTINCT_TYPES, SHMEM_CXX_AMO_EXTENDED) \
    Y(amo_standard, SHMEM_AMO_STANDARD_DISTINCT_TYPES, SHMEM_CXX_AMO_STANDARD) \
    Y(amo_bitwise, SHMEM_AMO_BITWISE_DISTINCT_TYPES, SHMEM_CXX_AMO_BITWISE)

#define SHMEM_CXX_FAMILIES(Y)                                                          \
    Y(amo_old_extended, SHMEM_AMO_EXTENDED_DISTINCT_TYPES, SHMEM_CXX_AMO_OLD_EXTENDED) \
    Y(amo_old_standard, SHMEM_AMO_STANDARD_DISTINCT_TYPES, SHMEM_CXX_AMO_OLD_STANDARD) \
    Y(wait, SHMEM_SYNC_DISTINCT_TYPES, SHMEM_CXX_WAIT)                                 \
    Y(collective, SHMEM_RMA_DISTINCT_TYPES, SHMEM_CXX_COLLECTIVE)                      \
    Y(reduce_bitwise, SHMEM_REDUCE_BITWISE_DISTINCT_TYPES, SHMEM_CXX_REDUCE_BITWISE)   \
    Y(reduce_minmax, SHMEM_REDUCE_MINMAX_DISTINCT_TYPES, SHMEM_CXX_REDUCE_MINMAX)      \
    Y(reduce_arithmetic, SHMEM_REDUCE_ARITHMETIC_DISTINCT_TYPES, SHMEM_CXX_REDUCE_ARITHMETIC)

/* Old programs include shmem.h inside extern "C", where no template may be. */
extern "C++" {

/* ---- Types ------------------------------------------------------------------ */

namespace shmem_cxx
{

template <typename T> struct without_volatile {
    typedef T type;
};
template <typename T> struct without_volatile<volatile T> {
    typedef T type;
};

/* The type of an element, which is the same for volatile ones. No argument decides what T is
 * through this name, so that an argument of this type is converted to it. */
template <typename T> using plain = typename without_volatile<T>::type;

/* The compiler's complex numbers whose parts are V. */
template <typename V> struct complex_of {
};
#define SHMEM_CXX_COMPLEX_OF(NAME, TYPE, A, B)                 \
    template <> struct complex_of<decltype(__real__ TYPE())> { \
        typedef TYPE type;                                     \
    };
SHMEM_COMPLEX_TYPES(SHMEM_CXX_COMPLEX_OF, , )

template <bool> struct only_if {
};
template <> struct only_if<true> {
    template <typename... T> struct valid {
        typedef void type;
    };
};

/* The type by which the tables know an element: its own, or the compiler's for a class that has
 * the form of std::complex. */
template <typename T, typename = void> struct known_as {
    typedef T type;
};
template <typename T>
struct known_as<T, typename only_if<sizeof(T) == 2 * sizeof(typename T::value_type)>::
                       template valid<typename complex_of<typename T::value_type>::type,
                                      decltype(T().real()), decltype(T().imag())>::type> {
    typedef typename complex_of<typename T::value_type>::type type;
};

template <typename T> struct element_of {
    typedef typename known_as<T>::type type;
};
template <typename T> struct element_of<const T> {
    typedef const typename known_as<T>::type type;
};
template <typename T> using element = typename element_of<T>::type;

/* The pointer as typed functions take it. */
template <typename T> SHMEM_CXX_INLINE element<T> *bare(volatile T *pointer)
{
    return reinterpret_cast<element<T> *>(const_cast<T *>(pointer));
}

/* ---- Rows of functions ------------------------------------------------------- */

/* The row of a type that has none: takes whatever comes, so that the template's own sentence is
 * the only error. */
#define SHMEM_CXX_NO_FUNCTION(RETURN, F, KIND, A, B)   \
    template <typename... U> static RETURN F(U &&...); \
    template <typename... U> static RETURN ctx_##F(U &&...);
#define SHMEM_CXX_NO_ROW(FAMILY, TABLE, LIST) \
    template <typename T> struct FAMILY {     \
        static constexpr bool exists = false; \
        LIST(SHMEM_CXX_NO_FUNCTION, , )       \
    };

#define SHMEM_CXX_FUNCTION(RETURN, F, KIND, NAME, B) \
    static constexpr decltype(&shmem_##NAME##_##F) F = &shmem_##NAME##_##F;
#define SHMEM_CXX_FUNCTION_OF_CONTEXT(RETURN, F, KIND, NAME, B) \
    SHMEM_CXX_FUNCTION(RETURN, F, KIND, NAME, B)                \
    static constexpr decltype(&shmem_ctx_##NAME##_##F) ctx_##F = &shmem_ctx_##NAME##_##F;

#define SHMEM_CXX_ROW(NAME, TYPE, FAMILY, LIST) \
    template <> struct FAMILY<TYPE> {           \
        static constexpr bool exists = true;    \
        LIST(SHMEM_CXX_FUNCTION, NAME, )        \
    };
#define SHMEM_CXX_ROW_WITH_CONTEXTS(NAME, TYPE, FAMILY, LIST) \
    template <> struct FAMILY<TYPE> {                         \
        static constexpr bool exists = true;                  \
        LIST(SHMEM_CXX_FUNCTION_OF_CONTEXT, NAME, )           \
    };

#define SHMEM_CXX_ROWS(FAMILY, TABLE, LIST) \
    SHMEM_CXX_NO_ROW(FAMILY, TABLE, LIST)   \
    TABLE(SHMEM_CXX_ROW, FAMILY, LIST)
#define SHMEM_CXX_ROWS_WITH_CONTEXTS(FAMILY, TABLE, LIST) \
    SHMEM_CXX_NO_ROW(FAMILY, TABLE, LIST)                 \
    TABLE(SHMEM_CXX_ROW_WITH_CONTEXTS, FAMILY, LIST)

SHMEM_CXX_FAMILIES_WITH_CONTEXTS(SHMEM_CXX_ROWS_WITH_CONTEXTS)
SHMEM_CXX_FAMILIES(SHMEM_CXX_ROWS)

/* The functions of one type, for classes that are known as that. */
#define SHMEM_CXX_TYPED_ROWS(NAME, TYPE, A, B)       \
    SHMEM_CXX_NO_ROW(of_##NAME, , SHMEM_CXX_COMPLEX) \
    SHMEM_CXX_ROW(NAME, TYPE, of_##NAME, SHMEM_CXX_COMPLEX)
SHMEM_COMPLEX_TYPES(SHMEM_CXX_TYPED_ROWS, , )

} // namespace shmem_cxx

/* ---- Templates ---------------------------------------------------------------- */

/* A template shmem_F that calls CHOSEN of the family's row. */
#define SHMEM_CXX_TEMPLATE(RETURN, F, CHOSEN, FAMILY, PARAMETERS, ARGUMENTS)                    \
    template <typename T> SHMEM_CXX_INLINE RETURN shmem_##F PARAMETERS                          \
    {                                                                                           \
        typedef shmem_cxx::FAMILY<shmem_cxx::element<shmem_cxx::plain<T>>> row;                 \
        static_assert(row::exists, "shmem_" #F ": no such function for elements of this type"); \
        return row::CHOSEN ARGUMENTS;                                                           \
    }

/* WAYS of what follows: without a context alone, or with one as well. */
#define SHMEM_CXX_INSIDE(...) __VA_ARGS__
#define SHMEM_CXX_PLAIN(RETURN, F, FAMILY, PARAMETERS, ARGUMENTS) \
    SHMEM_CXX_TEMPLATE(RETURN, F, F, FAMILY, PARAMETERS, ARGUMENTS)
#define SHMEM_CXX_BOTH(RETURN, F, FAMILY, PARAMETERS, ARGUMENTS)                                   \
    SHMEM_CXX_TEMPLATE(RETURN, F, F, FAMILY, PARAMETERS, ARGUMENTS)                                \
    SHMEM_CXX_TEMPLATE(RETURN, F, ctx_##F, FAMILY, (shmem_ctx_t ctx, SHMEM_CXX_INSIDE PARAMETERS), \
                       (ctx, SHMEM_CXX_INSIDE ARGUMENTS))

/* The kinds of parameters. The first pointer to elements says what T is. */

#define SHMEM_CXX_FROM const volatile SHMEM_CXX_VALUE *source
#define SHMEM_CXX_TO volatile SHMEM_CXX_VALUE *dest

#define SHMEM_CXX_BLOCK(WAYS, RETURN, F, FAMILY)                               \
    WAYS(RETURN, F, FAMILY, (T * dest, SHMEM_CXX_FROM, size_t nelems, int pe), \
         (shmem_cxx::bare(dest), shmem_cxx::bare(source), nelems, pe))
#define SHMEM_CXX_STRIDED(WAYS, RETURN, F, FAMILY)                                        \
    WAYS(RETURN, F, FAMILY,                                                               \
         (T * dest, SHMEM_CXX_FROM, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), \
         (shmem_cxx::bare(dest), shmem_cxx::bare(source), dst, sst, nelems, pe))
#define SHMEM_CXX_STRIDED_BLOCKS(WAYS, RETURN, F, FAMILY)                                       \
    WAYS(RETURN, F, FAMILY,                                                                     \
         (T * dest, SHMEM_CXX_FROM, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, \
          int pe),                                                                              \
         (shmem_cxx::bare(dest), shmem_cxx::bare(source), dst, sst, bsize, nblocks, pe))
#define SHMEM_CXX_SIGNALLED(WAYS, RETURN, F, FAMILY)                                     \
    WAYS(RETURN, F, FAMILY,                                                              \
         (T * dest, SHMEM_CXX_FROM, size_t nelems, uint64_t * sig_addr, uint64_t signal, \
          int sig_op, int pe),                                                           \
         (shmem_cxx::bare(dest), shmem_cxx::bare(source), nelems, sig_addr, signal, sig_op, pe))

#define SHMEM_CXX_SOURCE(WAYS, RETURN, F, FAMILY) \
    WAYS(RETURN, F, FAMILY, (const volatile T *source, int pe), (shmem_cxx::bare(source), pe))
#define SHMEM_CXX_DEST(WAYS, RETURN, F, FAMILY) \
    WAYS(RETURN, F, FAMILY, (T * dest, int pe), (shmem_cxx::bare(dest), pe))
#define SHMEM_CXX_OPERAND(WAYS, RETURN, F, FAMILY)                     \
    WAYS(RETURN, F, FAMILY, (T * dest, SHMEM_CXX_VALUE value, int pe), \
         (shmem_cxx::bare(dest), value, pe))
#define SHMEM_CXX_COMPARED(WAYS, RETURN, F, FAMILY)                                          \
    WAYS(RETURN, F, FAMILY, (T * dest, SHMEM_CXX_VALUE cond, SHMEM_CXX_VALUE value, int pe), \
         (shmem_cxx::bare(dest), cond, value, pe))
#define SHMEM_CXX_FETCHED(WAYS, RETURN, F, FAMILY)               \
    WAYS(RETURN, F, FAMILY, (T * fetch, SHMEM_CXX_FROM, int pe), \
         (shmem_cxx::bare(fetch), shmem_cxx::bare(source), pe))
#define SHMEM_CXX_FETCHED_DEST(WAYS, RETURN, F, FAMILY)        \
    WAYS(RETURN, F, FAMILY, (T * fetch, SHMEM_CXX_TO, int pe), \
         (shmem_cxx::bare(fetch), shmem_cxx::bare(dest), pe))
#define SHMEM_CXX_FETCHED_OPERAND(WAYS, RETURN, F, FAMILY)                            \
    WAYS(RETURN, F, FAMILY, (T * fetch, SHMEM_CXX_TO, SHMEM_CXX_VALUE value, int pe), \
         (shmem_cxx::bare(fetch), shmem_cxx::bare(dest), value, pe))
#define SHMEM_CXX_FETCHED_COMPARED(WAYS, RETURN, F, FAMILY)                              \
    WAYS(RETURN, F, FAMILY,                                                              \
         (T * fetch, SHMEM_CXX_TO, SHMEM_CXX_VALUE cond, SHMEM_CXX_VALUE value, int pe), \
         (shmem_cxx::bare(fetch), shmem_cxx::bare(dest), cond, value, pe))

#define SHMEM_CXX_WORD(WAYS, RETURN, F, FAMILY)                             \
    WAYS(RETURN, F, FAMILY, (T * ivar, int cmp, SHMEM_CXX_VALUE cmp_value), \
         (shmem_cxx::bare(ivar), cmp, cmp_value))
#define SHMEM_CXX_WORDS(WAYS, RETURN, F, FAMILY)                                            \
    WAYS(RETURN, F, FAMILY,                                                                 \
         (T * ivars, size_t nelems, const int *status, int cmp, SHMEM_CXX_VALUE cmp_value), \
         (shmem_cxx::bare(ivars), nelems, status, cmp, cmp_value))
#define SHMEM_CXX_SOME(WAYS, RETURN, F, FAMILY)                                   \
    WAYS(RETURN, F, FAMILY,                                                       \
         (T * ivars, size_t nelems, size_t * indices, const int *status, int cmp, \
          SHMEM_CXX_VALUE cmp_value),                                             \
         (shmem_cxx::bare(ivars), nelems, indices, status, cmp, cmp_value))
#define SHMEM_CXX_WORDS_VECTOR(WAYS, RETURN, F, FAMILY)                                            \
    WAYS(                                                                                          \
        RETURN, F, FAMILY,                                                                         \
        (T * ivars, size_t nelems, const int *status, int cmp, const SHMEM_CXX_VALUE *cmp_values), \
        (shmem_cxx::bare(ivars), nelems, status, cmp, cmp_values))
#define SHMEM_CXX_SOME_VECTOR(WAYS, RETURN, F, FAMILY)                            \
    WAYS(RETURN, F, FAMILY,                                                       \
         (T * ivars, size_t nelems, size_t * indices, const int *status, int cmp, \
          const SHMEM_CXX_VALUE *cmp_values),                                     \
         (shmem_cxx::bare(ivars), nelems, indices, status, cmp, cmp_values))

#define SHMEM_CXX_OF_TEAM(WAYS, RETURN, F, FAMILY)                                        \
    WAYS(RETURN, F, FAMILY, (shmem_team_t team, T * dest, SHMEM_CXX_FROM, size_t nelems), \
         (team, shmem_cxx::bare(dest), shmem_cxx::bare(source), nelems))
#define SHMEM_CXX_OF_TEAM_ROOT(WAYS, RETURN, F, FAMILY)                             \
    WAYS(RETURN, F, FAMILY,                                                         \
         (shmem_team_t team, T * dest, SHMEM_CXX_FROM, size_t nelems, int PE_root), \
         (team, shmem_cxx::bare(dest), shmem_cxx::bare(source), nelems, PE_root))
#define SHMEM_CXX_OF_TEAM_STRIDED(WAYS, RETURN, F, FAMILY)                           \
    WAYS(RETURN, F, FAMILY,                                                          \
         (shmem_team_t team, T * dest, SHMEM_CXX_FROM, ptrdiff_t dst, ptrdiff_t sst, \
          size_t nelems),                                                            \
         (team, shmem_cxx::bare(dest), shmem_cxx::bare(source), dst, sst, nelems))

#define SHMEM_CXX_ONE(RETURN, F, KIND, FAMILY, WAYS) SHMEM_CXX_##KIND(WAYS, RETURN, F, FAMILY)
#define SHMEM_CXX_ALL(FAMILY, TABLE, LIST) LIST(SHMEM_CXX_ONE, FAMILY, SHMEM_CXX_PLAIN)
#define SHMEM_CXX_ALL_WITH_CONTEXTS(FAMILY, TABLE, LIST) LIST(SHMEM_CXX_ONE, FAMILY, SHMEM_CXX_BOTH)

SHMEM_CXX_FAMILIES_WITH_CONTEXTS(SHMEM_CXX_ALL_WITH_CONTEXTS)
SHMEM_CXX_FAMILIES(SHMEM_CXX_ALL)

/* ---- What has one type alone --------------------------------------------------- */

SHMEM_CXX_INLINE void shmem_signal_set(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe)
{
    shmem_ctx_signal_set(ctx, sig_addr, signal, pe);
}

SHMEM_CXX_INLINE void shmem_signal_add(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe)
{
    shmem_ctx_signal_add(ctx, sig_addr, signal, pe);
}

SHMEM_CXX_INLINE int shmem_sync(shmem_team_t team)
{
    return shmem_team_sync(team);
}

/* ---- Complex numbers of a class under the typed names --------------------------- */

#define SHMEM_CXX_OF_ACTIVE_SET(WAYS, RETURN, F, FAMILY)                                      \
    WAYS(RETURN, F, FAMILY,                                                                   \
         (T * dest, SHMEM_CXX_FROM, int nreduce, int PE_start, int logPE_stride, int PE_size, \
          volatile SHMEM_CXX_VALUE *pWrk, long *pSync),                                       \
         (shmem_cxx::bare(dest), shmem_cxx::bare(source), nreduce, PE_start, logPE_stride,    \
          PE_size, shmem_cxx::bare(pWrk), pSync))

#define SHMEM_CXX_TYPED(RETURN, F, NAME, PARAMETERS, ARGUMENTS) \
    SHMEM_CXX_TEMPLATE(RETURN, NAME##_##F, F, of_##NAME, PARAMETERS, ARGUMENTS)
#define SHMEM_CXX_ALL_TYPED(NAME, TYPE, A, B) \
    SHMEM_CXX_COMPLEX(SHMEM_CXX_ONE, NAME, SHMEM_CXX_TYPED)

SHMEM_COMPLEX_TYPES(SHMEM_CXX_ALL_TYPED, , )

} // extern "C++"

#endif
#endif
