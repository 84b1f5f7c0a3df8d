// Which frequency does a wave have? Each PE has a part of the wave's samples and adds up what these
// contribute to each coefficient of the Fourier series; one reduction of std::complex numbers makes
// the coefficients. Then each PE looks at its share of them and tells PE 0 the strongest.
//
// In C++ a name without a type, such as shmem_p, calls the function for the type of its
// arguments, so one template does for float and double.
//
//     oshc++ -O2 fourier.cpp -o fourier && oshrun -n 4 ./fourier
#include <shmem.h>

#include <cmath>
#include <complex>
#include <cstdio>

enum { SAMPLES_PER_PE = 600, FREQUENCIES = 240, WANTED = 42 };

// Static members are symmetric like all static variables: each PE has its own.
template <typename Real> struct Series {
    static std::complex<Real> parts[FREQUENCIES];
    static std::complex<Real> coefficients[FREQUENCIES];
};
template <typename Real> std::complex<Real> Series<Real>::parts[FREQUENCIES];
template <typename Real> std::complex<Real> Series<Real>::coefficients[FREQUENCIES];

// Adds this PE's samples of the wave to its parts of the coefficients.
template <typename Real> void analyse(int me, int count)
{
    const Real turn = static_cast<Real>(2 * std::acos(-1.0) / (count * SAMPLES_PER_PE));
    for (int i = 0; i < SAMPLES_PER_PE; i++) {
        const int at = me * SAMPLES_PER_PE + i;
        const Real sample = std::sin(static_cast<Real>(at * WANTED) * turn);
        for (int f = 0; f < FREQUENCIES; f++) {
            Series<Real>::parts[f] += std::polar(sample, -turn * static_cast<Real>(at * f));
        }
    }
}

// The strongest frequency of all; only PE 0 knows it.
template <typename Real> int strongest(int me, int count)
{
    Real *amplitudes = static_cast<Real *>(shmem_calloc(count, sizeof(Real)));
    int *frequencies = static_cast<int *>(shmem_calloc(count, sizeof(int)));
    analyse<Real>(me, count);
    shmem_sum_reduce(SHMEM_TEAM_WORLD, Series<Real>::coefficients, Series<Real>::parts,
                     FREQUENCIES);

    Real amplitude = 0;
    int frequency = 0;
    for (int f = me; f < FREQUENCIES; f += count) {
        if (std::abs(Series<Real>::coefficients[f]) > amplitude) {
            amplitude = std::abs(Series<Real>::coefficients[f]);
            frequency = f;
        }
    }
    shmem_p(&amplitudes[me], amplitude, 0);
    shmem_p(&frequencies[me], frequency, 0);
    shmem_barrier_all();

    for (int pe = 0; me == 0 && pe < count; pe++) {
        if (amplitudes[pe] > amplitude) {
            amplitude = amplitudes[pe];
            frequency = frequencies[pe];
        }
    }
    shmem_free(frequencies);
    shmem_free(amplitudes);
    return frequency;
}

int main()
{
    shmem_init();
    const int me = shmem_my_pe();
    const int count = shmem_n_pes();
    const int in_float = strongest<float>(me, count);
    const int in_double = strongest<double>(me, count);
    bool wrong = false;
    if (me == 0) {
        std::printf("%d PEs: frequency %d by float, %d by double, expected %d\n", count, in_float,
                    in_double, WANTED);
        wrong = in_float != WANTED || in_double != WANTED;
    }
    shmem_finalize();
    return wrong ? 1 : 0;
}
