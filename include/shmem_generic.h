/* shmem_generic.h: OpenSHMEM's names without a type. Each chooses its function by the types and
 * the number of its arguments. shmem.h includes this file in C11 and later. */
#ifndef SHMEM_GENERIC_H
#define SHMEM_GENERIC_H

#include "shmem.h"

/* SHMEM_CHOOSE(expression, TABLE, before, after) is the function whose name is `before`, the
 * table's name for the expression's type, and `after`. */
#define SHMEM_CHOICE(NAME, TYPE, BEFORE, AFTER) , TYPE : BEFORE##NAME##AFTER
#define SHMEM_CHOOSE(EXPRESSION, TABLE, BEFORE, AFTER) \
    _Generic((EXPRESSION)TABLE(SHMEM_CHOICE, BEFORE, AFTER))

/* Chooses the macro by the number of arguments: the one without a context, or the one with it. */
#define SHMEM_COUNT_2(A1, A2, A3, M, ...) M
#define SHMEM_COUNT_3(A1, A2, A3, A4, M, ...) M
#define SHMEM_COUNT_4(A1, A2, A3, A4, A5, M, ...) M
#define SHMEM_COUNT_6(A1, A2, A3, A4, A5, A6, A7, M, ...) M
#define SHMEM_COUNT_7(A1, A2, A3, A4, A5, A6, A7, A8, M, ...) M

#define SHMEM_RMA_2(F, A, B) SHMEM_CHOOSE(*(A), SHMEM_RMA_DISTINCT_TYPES, shmem_, _##F)(A, B)
#define SHMEM_RMA_CTX_2(F, X, A, B) \
    SHMEM_CHOOSE(*(A), SHMEM_RMA_DISTINCT_TYPES, shmem_ctx_, _##F)(X, A, B)
#define SHMEM_RMA_3(F, A, B, C) SHMEM_CHOOSE(*(A), SHMEM_RMA_DISTINCT_TYPES, shmem_, _##F)(A, B, C)
#define SHMEM_RMA_CTX_3(F, X, A, B, C) \
    SHMEM_CHOOSE(*(A), SHMEM_RMA_DISTINCT_TYPES, shmem_ctx_, _##F)(X, A, B, C)
#define SHMEM_RMA_4(F, A, B, C, D) \
    SHMEM_CHOOSE(*(A), SHMEM_RMA_DISTINCT_TYPES, shmem_, _##F)(A, B, C, D)
#define SHMEM_RMA_CTX_4(F, X, A, B, C, D) \
    SHMEM_CHOOSE(*(A), SHMEM_RMA_DISTINCT_TYPES, shmem_ctx_, _##F)(X, A, B, C, D)
#define SHMEM_RMA_6(F, A, B, C, D, E, G) \
    SHMEM_CHOOSE(*(A), SHMEM_RMA_DISTINCT_TYPES, shmem_, _##F)(A, B, C, D, E, G)
#define SHMEM_RMA_CTX_6(F, X, A, B, C, D, E, G) \
    SHMEM_CHOOSE(*(A), SHMEM_RMA_DISTINCT_TYPES, shmem_ctx_, _##F)(X, A, B, C, D, E, G)
#define SHMEM_RMA_7(F, A, B, C, D, E, G, H) \
    SHMEM_CHOOSE(*(A), SHMEM_RMA_DISTINCT_TYPES, shmem_, _##F)(A, B, C, D, E, G, H)
#define SHMEM_RMA_CTX_7(F, X, A, B, C, D, E, G, H) \
    SHMEM_CHOOSE(*(A), SHMEM_RMA_DISTINCT_TYPES, shmem_ctx_, _##F)(X, A, B, C, D, E, G, H)

#define shmem_put(...) SHMEM_COUNT_4(__VA_ARGS__, SHMEM_RMA_CTX_4, SHMEM_RMA_4, 0)(put, __VA_ARGS__)
#define shmem_get(...) SHMEM_COUNT_4(__VA_ARGS__, SHMEM_RMA_CTX_4, SHMEM_RMA_4, 0)(get, __VA_ARGS__)
#define shmem_put_nbi(...) \
    SHMEM_COUNT_4(__VA_ARGS__, SHMEM_RMA_CTX_4, SHMEM_RMA_4, 0)(put_nbi, __VA_ARGS__)
#define shmem_get_nbi(...) \
    SHMEM_COUNT_4(__VA_ARGS__, SHMEM_RMA_CTX_4, SHMEM_RMA_4, 0)(get_nbi, __VA_ARGS__)
#define shmem_p(...) SHMEM_COUNT_3(__VA_ARGS__, SHMEM_RMA_CTX_3, SHMEM_RMA_3, 0)(p, __VA_ARGS__)
#define shmem_g(...) SHMEM_COUNT_2(__VA_ARGS__, SHMEM_RMA_CTX_2, SHMEM_RMA_2, 0)(g, __VA_ARGS__)
#define shmem_iput(...) \
    SHMEM_COUNT_6(__VA_ARGS__, SHMEM_RMA_CTX_6, SHMEM_RMA_6, 0)(iput, __VA_ARGS__)
#define shmem_iget(...) \
    SHMEM_COUNT_6(__VA_ARGS__, SHMEM_RMA_CTX_6, SHMEM_RMA_6, 0)(iget, __VA_ARGS__)
#define shmem_ibput(...) \
    SHMEM_COUNT_7(__VA_ARGS__, SHMEM_RMA_CTX_7, SHMEM_RMA_7, 0)(ibput, __VA_ARGS__)
#define shmem_ibget(...) \
    SHMEM_COUNT_7(__VA_ARGS__, SHMEM_RMA_CTX_7, SHMEM_RMA_7, 0)(ibget, __VA_ARGS__)
#define shmem_put_signal(...) \
    SHMEM_COUNT_7(__VA_ARGS__, SHMEM_RMA_CTX_7, SHMEM_RMA_7, 0)(put_signal, __VA_ARGS__)
#define shmem_put_signal_nbi(...) \
    SHMEM_COUNT_7(__VA_ARGS__, SHMEM_RMA_CTX_7, SHMEM_RMA_7, 0)(put_signal_nbi, __VA_ARGS__)

/* Atomics: the table comes first, the number is that of the arguments without a context. */
#define SHMEM_AMO_2(T, F, A, B) SHMEM_CHOOSE(*(A), T, shmem_, _##F)(A, B)
#define SHMEM_AMO_CTX_2(T, F, X, A, B) SHMEM_CHOOSE(*(A), T, shmem_ctx_, _##F)(X, A, B)
#define SHMEM_AMO_3(T, F, A, B, C) SHMEM_CHOOSE(*(A), T, shmem_, _##F)(A, B, C)
#define SHMEM_AMO_CTX_3(T, F, X, A, B, C) SHMEM_CHOOSE(*(A), T, shmem_ctx_, _##F)(X, A, B, C)
#define SHMEM_AMO_4(T, F, A, B, C, D) SHMEM_CHOOSE(*(A), T, shmem_, _##F)(A, B, C, D)
#define SHMEM_AMO_CTX_4(T, F, X, A, B, C, D) SHMEM_CHOOSE(*(A), T, shmem_ctx_, _##F)(X, A, B, C, D)
#define SHMEM_AMO_5(T, F, A, B, C, D, E) SHMEM_CHOOSE(*(A), T, shmem_, _##F)(A, B, C, D, E)
#define SHMEM_AMO_CTX_5(T, F, X, A, B, C, D, E) \
    SHMEM_CHOOSE(*(A), T, shmem_ctx_, _##F)(X, A, B, C, D, E)
#define SHMEM_COUNT_5(A1, A2, A3, A4, A5, A6, M, ...) M

#define SHMEM_AMO_OF_2(T, F, ...) \
    SHMEM_COUNT_2(__VA_ARGS__, SHMEM_AMO_CTX_2, SHMEM_AMO_2, 0)(T, F, __VA_ARGS__)
#define SHMEM_AMO_OF_3(T, F, ...) \
    SHMEM_COUNT_3(__VA_ARGS__, SHMEM_AMO_CTX_3, SHMEM_AMO_3, 0)(T, F, __VA_ARGS__)
#define SHMEM_AMO_OF_4(T, F, ...) \
    SHMEM_COUNT_4(__VA_ARGS__, SHMEM_AMO_CTX_4, SHMEM_AMO_4, 0)(T, F, __VA_ARGS__)
#define SHMEM_AMO_OF_5(T, F, ...) \
    SHMEM_COUNT_5(__VA_ARGS__, SHMEM_AMO_CTX_5, SHMEM_AMO_5, 0)(T, F, __VA_ARGS__)

#define shmem_atomic_fetch(...) \
    SHMEM_AMO_OF_2(SHMEM_AMO_EXTENDED_DISTINCT_TYPES, atomic_fetch, __VA_ARGS__)
#define shmem_atomic_set(...) \
    SHMEM_AMO_OF_3(SHMEM_AMO_EXTENDED_DISTINCT_TYPES, atomic_set, __VA_ARGS__)
#define shmem_atomic_swap(...) \
    SHMEM_AMO_OF_3(SHMEM_AMO_EXTENDED_DISTINCT_TYPES, atomic_swap, __VA_ARGS__)
#define shmem_atomic_compare_swap(...) \
    SHMEM_AMO_OF_4(SHMEM_AMO_STANDARD_DISTINCT_TYPES, atomic_compare_swap, __VA_ARGS__)
#define shmem_atomic_fetch_inc(...) \
    SHMEM_AMO_OF_2(SHMEM_AMO_STANDARD_DISTINCT_TYPES, atomic_fetch_inc, __VA_ARGS__)
#define shmem_atomic_inc(...) \
    SHMEM_AMO_OF_2(SHMEM_AMO_STANDARD_DISTINCT_TYPES, atomic_inc, __VA_ARGS__)
#define shmem_atomic_fetch_add(...) \
    SHMEM_AMO_OF_3(SHMEM_AMO_STANDARD_DISTINCT_TYPES, atomic_fetch_add, __VA_ARGS__)
#define shmem_atomic_add(...) \
    SHMEM_AMO_OF_3(SHMEM_AMO_STANDARD_DISTINCT_TYPES, atomic_add, __VA_ARGS__)
#define shmem_atomic_fetch_and(...) \
    SHMEM_AMO_OF_3(SHMEM_AMO_BITWISE_DISTINCT_TYPES, atomic_fetch_and, __VA_ARGS__)
#define shmem_atomic_and(...) \
    SHMEM_AMO_OF_3(SHMEM_AMO_BITWISE_DISTINCT_TYPES, atomic_and, __VA_ARGS__)
#define shmem_atomic_fetch_or(...) \
    SHMEM_AMO_OF_3(SHMEM_AMO_BITWISE_DISTINCT_TYPES, atomic_fetch_or, __VA_ARGS__)
#define shmem_atomic_or(...) \
    SHMEM_AMO_OF_3(SHMEM_AMO_BITWISE_DISTINCT_TYPES, atomic_or, __VA_ARGS__)
#define shmem_atomic_fetch_xor(...) \
    SHMEM_AMO_OF_3(SHMEM_AMO_BITWISE_DISTINCT_TYPES, atomic_fetch_xor, __VA_ARGS__)
#define shmem_atomic_xor(...) \
    SHMEM_AMO_OF_3(SHMEM_AMO_BITWISE_DISTINCT_TYPES, atomic_xor, __VA_ARGS__)

#define shmem_atomic_fetch_nbi(...) \
    SHMEM_AMO_OF_3(SHMEM_AMO_EXTENDED_DISTINCT_TYPES, atomic_fetch_nbi, __VA_ARGS__)
#define shmem_atomic_swap_nbi(...) \
    SHMEM_AMO_OF_4(SHMEM_AMO_EXTENDED_DISTINCT_TYPES, atomic_swap_nbi, __VA_ARGS__)
#define shmem_atomic_compare_swap_nbi(...) \
    SHMEM_AMO_OF_5(SHMEM_AMO_STANDARD_DISTINCT_TYPES, atomic_compare_swap_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_inc_nbi(...) \
    SHMEM_AMO_OF_3(SHMEM_AMO_STANDARD_DISTINCT_TYPES, atomic_fetch_inc_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_add_nbi(...) \
    SHMEM_AMO_OF_4(SHMEM_AMO_STANDARD_DISTINCT_TYPES, atomic_fetch_add_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_and_nbi(...) \
    SHMEM_AMO_OF_4(SHMEM_AMO_BITWISE_DISTINCT_TYPES, atomic_fetch_and_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_or_nbi(...) \
    SHMEM_AMO_OF_4(SHMEM_AMO_BITWISE_DISTINCT_TYPES, atomic_fetch_or_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_xor_nbi(...) \
    SHMEM_AMO_OF_4(SHMEM_AMO_BITWISE_DISTINCT_TYPES, atomic_fetch_xor_nbi, __VA_ARGS__)

/* Deprecated. */
#define shmem_fetch(SOURCE, PE) \
    SHMEM_CHOOSE(*(SOURCE), SHMEM_AMO_EXTENDED_DISTINCT_TYPES, shmem_, _fetch)(SOURCE, PE)
#define shmem_set(DEST, VALUE, PE) \
    SHMEM_CHOOSE(*(DEST), SHMEM_AMO_EXTENDED_DISTINCT_TYPES, shmem_, _set)(DEST, VALUE, PE)
#define shmem_swap(DEST, VALUE, PE) \
    SHMEM_CHOOSE(*(DEST), SHMEM_AMO_EXTENDED_DISTINCT_TYPES, shmem_, _swap)(DEST, VALUE, PE)
#define shmem_cswap(DEST, COND, VALUE, PE) \
    SHMEM_CHOOSE(*(DEST), SHMEM_AMO_STANDARD_DISTINCT_TYPES, shmem_, _cswap)(DEST, COND, VALUE, PE)
#define shmem_finc(DEST, PE) \
    SHMEM_CHOOSE(*(DEST), SHMEM_AMO_STANDARD_DISTINCT_TYPES, shmem_, _finc)(DEST, PE)
#define shmem_inc(DEST, PE) \
    SHMEM_CHOOSE(*(DEST), SHMEM_AMO_STANDARD_DISTINCT_TYPES, shmem_, _inc)(DEST, PE)
#define shmem_fadd(DEST, VALUE, PE) \
    SHMEM_CHOOSE(*(DEST), SHMEM_AMO_STANDARD_DISTINCT_TYPES, shmem_, _fadd)(DEST, VALUE, PE)
#define shmem_add(DEST, VALUE, PE) \
    SHMEM_CHOOSE(*(DEST), SHMEM_AMO_STANDARD_DISTINCT_TYPES, shmem_, _add)(DEST, VALUE, PE)

/* Waiting. */
#define SHMEM_WAIT_OF(IVARS, F) SHMEM_CHOOSE(*(IVARS), SHMEM_SYNC_DISTINCT_TYPES, shmem_, _##F)

#define shmem_wait_until(IVAR, CMP, VALUE) SHMEM_WAIT_OF(IVAR, wait_until)(IVAR, CMP, VALUE)
#define shmem_test(IVAR, CMP, VALUE) SHMEM_WAIT_OF(IVAR, test)(IVAR, CMP, VALUE)
#define shmem_wait_until_all(IVARS, NELEMS, STATUS, CMP, VALUE) \
    SHMEM_WAIT_OF(IVARS, wait_until_all)(IVARS, NELEMS, STATUS, CMP, VALUE)
#define shmem_wait_until_any(IVARS, NELEMS, STATUS, CMP, VALUE) \
    SHMEM_WAIT_OF(IVARS, wait_until_any)(IVARS, NELEMS, STATUS, CMP, VALUE)
#define shmem_wait_until_some(IVARS, NELEMS, INDICES, STATUS, CMP, VALUE) \
    SHMEM_WAIT_OF(IVARS, wait_until_some)(IVARS, NELEMS, INDICES, STATUS, CMP, VALUE)
#define shmem_wait_until_all_vector(IVARS, NELEMS, STATUS, CMP, VALUES) \
    SHMEM_WAIT_OF(IVARS, wait_until_all_vector)(IVARS, NELEMS, STATUS, CMP, VALUES)
#define shmem_wait_until_any_vector(IVARS, NELEMS, STATUS, CMP, VALUES) \
    SHMEM_WAIT_OF(IVARS, wait_until_any_vector)(IVARS, NELEMS, STATUS, CMP, VALUES)
#define shmem_wait_until_some_vector(IVARS, NELEMS, INDICES, STATUS, CMP, VALUES) \
    SHMEM_WAIT_OF(IVARS, wait_until_some_vector)(IVARS, NELEMS, INDICES, STATUS, CMP, VALUES)
#define shmem_test_all(IVARS, NELEMS, STATUS, CMP, VALUE) \
    SHMEM_WAIT_OF(IVARS, test_all)(IVARS, NELEMS, STATUS, CMP, VALUE)
#define shmem_test_any(IVARS, NELEMS, STATUS, CMP, VALUE) \
    SHMEM_WAIT_OF(IVARS, test_any)(IVARS, NELEMS, STATUS, CMP, VALUE)
#define shmem_test_some(IVARS, NELEMS, INDICES, STATUS, CMP, VALUE) \
    SHMEM_WAIT_OF(IVARS, test_some)(IVARS, NELEMS, INDICES, STATUS, CMP, VALUE)
#define shmem_test_all_vector(IVARS, NELEMS, STATUS, CMP, VALUES) \
    SHMEM_WAIT_OF(IVARS, test_all_vector)(IVARS, NELEMS, STATUS, CMP, VALUES)
#define shmem_test_any_vector(IVARS, NELEMS, STATUS, CMP, VALUES) \
    SHMEM_WAIT_OF(IVARS, test_any_vector)(IVARS, NELEMS, STATUS, CMP, VALUES)
#define shmem_test_some_vector(IVARS, NELEMS, INDICES, STATUS, CMP, VALUES) \
    SHMEM_WAIT_OF(IVARS, test_some_vector)(IVARS, NELEMS, INDICES, STATUS, CMP, VALUES)

/* Signals: with a context the function has another name, and otherwise its own. */
#define SHMEM_SIGNAL_3(F, A, B, C) (shmem_signal_##F)(A, B, C)
#define SHMEM_SIGNAL_CTX_3(F, X, A, B, C) shmem_ctx_signal_##F(X, A, B, C)
#define shmem_signal_set(...) \
    SHMEM_COUNT_3(__VA_ARGS__, SHMEM_SIGNAL_CTX_3, SHMEM_SIGNAL_3, 0)(set, __VA_ARGS__)
#define shmem_signal_add(...) \
    SHMEM_COUNT_3(__VA_ARGS__, SHMEM_SIGNAL_CTX_3, SHMEM_SIGNAL_3, 0)(add, __VA_ARGS__)

/* Collectives on teams. shmem_sync with four arguments is the deprecated function. */
#define SHMEM_SYNC_TEAM(TEAM) shmem_team_sync(TEAM)
#define SHMEM_SYNC_ACTIVE_SET(START, STRIDE, SIZE, PSYNC) (shmem_sync)(START, STRIDE, SIZE, PSYNC)
#define SHMEM_SYNC_COUNT(A1, A2, A3, A4, M, ...) M
#define shmem_sync(...)                                                         \
    SHMEM_SYNC_COUNT(__VA_ARGS__, SHMEM_SYNC_ACTIVE_SET, SHMEM_SYNC_ACTIVE_SET, \
                     SHMEM_SYNC_ACTIVE_SET, SHMEM_SYNC_TEAM, 0)                 \
    (__VA_ARGS__)

#define shmem_broadcast(TEAM, DEST, SOURCE, NELEMS, ROOT)               \
    SHMEM_CHOOSE(*(DEST), SHMEM_RMA_DISTINCT_TYPES, shmem_, _broadcast) \
    (TEAM, DEST, SOURCE, NELEMS, ROOT)
#define shmem_collect(TEAM, DEST, SOURCE, NELEMS)                     \
    SHMEM_CHOOSE(*(DEST), SHMEM_RMA_DISTINCT_TYPES, shmem_, _collect) \
    (TEAM, DEST, SOURCE, NELEMS)
#define shmem_fcollect(TEAM, DEST, SOURCE, NELEMS)                     \
    SHMEM_CHOOSE(*(DEST), SHMEM_RMA_DISTINCT_TYPES, shmem_, _fcollect) \
    (TEAM, DEST, SOURCE, NELEMS)
#define shmem_alltoall(TEAM, DEST, SOURCE, NELEMS)                     \
    SHMEM_CHOOSE(*(DEST), SHMEM_RMA_DISTINCT_TYPES, shmem_, _alltoall) \
    (TEAM, DEST, SOURCE, NELEMS)
#define shmem_alltoalls(TEAM, DEST, SOURCE, DST, SST, NELEMS)           \
    SHMEM_CHOOSE(*(DEST), SHMEM_RMA_DISTINCT_TYPES, shmem_, _alltoalls) \
    (TEAM, DEST, SOURCE, DST, SST, NELEMS)

#define SHMEM_REDUCE_OF(TABLE, F, TEAM, DEST, SOURCE, NREDUCE) \
    SHMEM_CHOOSE(*(DEST), TABLE, shmem_, _##F)(TEAM, DEST, SOURCE, NREDUCE)
#define shmem_and_reduce(TEAM, DEST, SOURCE, NREDUCE) \
    SHMEM_REDUCE_OF(SHMEM_REDUCE_BITWISE_DISTINCT_TYPES, and_reduce, TEAM, DEST, SOURCE, NREDUCE)
#define shmem_or_reduce(TEAM, DEST, SOURCE, NREDUCE) \
    SHMEM_REDUCE_OF(SHMEM_REDUCE_BITWISE_DISTINCT_TYPES, or_reduce, TEAM, DEST, SOURCE, NREDUCE)
#define shmem_xor_reduce(TEAM, DEST, SOURCE, NREDUCE) \
    SHMEM_REDUCE_OF(SHMEM_REDUCE_BITWISE_DISTINCT_TYPES, xor_reduce, TEAM, DEST, SOURCE, NREDUCE)
#define shmem_min_reduce(TEAM, DEST, SOURCE, NREDUCE) \
    SHMEM_REDUCE_OF(SHMEM_REDUCE_MINMAX_DISTINCT_TYPES, min_reduce, TEAM, DEST, SOURCE, NREDUCE)
#define shmem_max_reduce(TEAM, DEST, SOURCE, NREDUCE) \
    SHMEM_REDUCE_OF(SHMEM_REDUCE_MINMAX_DISTINCT_TYPES, max_reduce, TEAM, DEST, SOURCE, NREDUCE)
#define shmem_sum_reduce(TEAM, DEST, SOURCE, NREDUCE) \
    SHMEM_REDUCE_OF(SHMEM_REDUCE_ARITHMETIC_DISTINCT_TYPES, sum_reduce, TEAM, DEST, SOURCE, NREDUCE)
#define shmem_prod_reduce(TEAM, DEST, SOURCE, NREDUCE)                                       \
    SHMEM_REDUCE_OF(SHMEM_REDUCE_ARITHMETIC_DISTINCT_TYPES, prod_reduce, TEAM, DEST, SOURCE, \
                    NREDUCE)

#define SHMEM_SCAN_OF(F, TEAM, DEST, SOURCE, NELEMS)                            \
    SHMEM_CHOOSE(*(DEST), SHMEM_REDUCE_ARITHMETIC_DISTINCT_TYPES, shmem_, _##F) \
    (TEAM, DEST, SOURCE, NELEMS)
#define shmem_sum_inscan(TEAM, DEST, SOURCE, NELEMS) \
    SHMEM_SCAN_OF(sum_inscan, TEAM, DEST, SOURCE, NELEMS)
#define shmem_sum_exscan(TEAM, DEST, SOURCE, NELEMS) \
    SHMEM_SCAN_OF(sum_exscan, TEAM, DEST, SOURCE, NELEMS)

#endif
