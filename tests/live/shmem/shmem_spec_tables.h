/* The specification's tables of types. Those of the header would miss what the header misses, and a
 * generic name expands them itself: no macro is expanded inside itself. */
#ifndef LIVE_SHMEM_SPEC_TABLES_H
#define LIVE_SHMEM_SPEC_TABLES_H

#define SPEC_ATOMIC(X, A, B)               \
    X(int, int, A, B)                      \
    X(long, long, A, B)                    \
    X(longlong, long long, A, B)           \
    X(uint, unsigned int, A, B)            \
    X(ulong, unsigned long, A, B)          \
    X(ulonglong, unsigned long long, A, B) \
    X(int32, int32_t, A, B)                \
    X(int64, int64_t, A, B)                \
    X(uint32, uint32_t, A, B)              \
    X(uint64, uint64_t, A, B)              \
    X(size, size_t, A, B)                  \
    X(ptrdiff, ptrdiff_t, A, B)

#define SPEC_REAL(X, A, B) \
    X(float, float, A, B)  \
    X(double, double, A, B)

#define SPEC_BITWISE(X, A, B)              \
    X(uint, unsigned int, A, B)            \
    X(ulong, unsigned long, A, B)          \
    X(ulonglong, unsigned long long, A, B) \
    X(int32, int32_t, A, B)                \
    X(int64, int64_t, A, B)                \
    X(uint32, uint32_t, A, B)              \
    X(uint64, uint64_t, A, B)

#define SPEC_SMALL(X, A, B)         \
    X(char, char, A, B)             \
    X(schar, signed char, A, B)     \
    X(short, short, A, B)           \
    X(uchar, unsigned char, A, B)   \
    X(ushort, unsigned short, A, B) \
    X(int8, int8_t, A, B)           \
    X(int16, int16_t, A, B)         \
    X(uint8, uint8_t, A, B)         \
    X(uint16, uint16_t, A, B)

#define SPEC_ALL(X, A, B) \
    SPEC_ATOMIC(X, A, B)  \
    SPEC_REAL(X, A, B)    \
    SPEC_SMALL(X, A, B)   \
    X(longdouble, long double, A, B)

#define SPEC_REDUCE_BITWISE(X, A, B) \
    SPEC_BITWISE(X, A, B)            \
    X(uchar, unsigned char, A, B)    \
    X(ushort, unsigned short, A, B)  \
    X(int8, int8_t, A, B)            \
    X(int16, int16_t, A, B)          \
    X(uint8, uint8_t, A, B)          \
    X(uint16, uint16_t, A, B)        \
    X(size, size_t, A, B)

#define SPEC_REDUCE_ARITHMETIC(X, A, B) \
    SPEC_ALL(X, A, B)                   \
    X(complexd, double _Complex, A, B)  \
    X(complexf, float _Complex, A, B)

#endif
