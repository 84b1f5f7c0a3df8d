! Every routine of OpenSHMEM's Fortran interface, by the module shmem.

! ---- Transfers -------------------------------------------------------------------------------------

#define CHECK character_transfers
#define TYPE character(len=3)
#define VALUE(x) achar(32 + mod((x), 90)) // achar(33 + mod((x), 83)) // 'z'
#define SAME(a, b) (a) == (b)
#define UNITS 3
#define PUT shmem_character_put
#define GET shmem_character_get
#define PUT_NBI shmem_character_put_nbi
#define GET_NBI shmem_character_get_nbi
#include "shmem_fortran_transfers.inc"

#define CHECK mem_transfers
#define TYPE integer(2)
#define VALUE(x) int(x, 2)
#define SAME(a, b) (a) == (b)
#define UNITS 2
#define PUT shmem_putmem
#define GET shmem_getmem
#define PUT_NBI shmem_putmem_nbi
#define GET_NBI shmem_getmem_nbi
#include "shmem_fortran_transfers.inc"

#define CHECK complex_transfers
#define TYPE complex
#define VALUE(x) cmplx(x, -(x))
#define SAME(a, b) (a) == (b)
#define UNITS 1
#define PUT shmem_complex_put
#define GET shmem_complex_get
#define PUT_NBI shmem_complex_put_nbi
#define GET_NBI shmem_complex_get_nbi
#define IPUT shmem_complex_iput
#define IGET shmem_complex_iget
#include "shmem_fortran_transfers.inc"

#define CHECK double_transfers
#define TYPE double precision
#define VALUE(x) dble(x)
#define SAME(a, b) (a) == (b)
#define UNITS 1
#define PUT shmem_double_put
#define GET shmem_double_get
#define PUT_NBI shmem_double_put_nbi
#define GET_NBI shmem_double_get_nbi
#define IPUT shmem_double_iput
#define IGET shmem_double_iget
#include "shmem_fortran_transfers.inc"

#define CHECK integer_transfers
#define TYPE integer
#define VALUE(x) (x)
#define SAME(a, b) (a) == (b)
#define UNITS 1
#define PUT shmem_integer_put
#define GET shmem_integer_get
#define PUT_NBI shmem_integer_put_nbi
#define GET_NBI shmem_integer_get_nbi
#define IPUT shmem_integer_iput
#define IGET shmem_integer_iget
#include "shmem_fortran_transfers.inc"

#define CHECK logical_transfers
#define TYPE logical
#define VALUE(x) mod((x), 3) == 0
#define SAME(a, b) (a) .eqv. (b)
#define UNITS 1
#define PUT shmem_logical_put
#define GET shmem_logical_get
#define PUT_NBI shmem_logical_put_nbi
#define GET_NBI shmem_logical_get_nbi
#define IPUT shmem_logical_iput
#define IGET shmem_logical_iget
#include "shmem_fortran_transfers.inc"

#define CHECK real_transfers
#define TYPE real
#define VALUE(x) real(x)
#define SAME(a, b) (a) == (b)
#define UNITS 1
#define PUT shmem_real_put
#define GET shmem_real_get
#define PUT_NBI shmem_real_put_nbi
#define GET_NBI shmem_real_get_nbi
#define IPUT shmem_real_iput
#define IGET shmem_real_iget
#include "shmem_fortran_transfers.inc"

#define CHECK transfers_of_4_bytes
#define TYPE real(4)
#define VALUE(x) real(x, 4)
#define SAME(a, b) (a) == (b)
#define UNITS 1
#define PUT shmem_put4
#define GET shmem_get4
#define PUT_NBI shmem_put4_nbi
#define GET_NBI shmem_get4_nbi
#define IPUT shmem_iput4
#define IGET shmem_iget4
#include "shmem_fortran_transfers.inc"

#define CHECK transfers_of_8_bytes
#define TYPE real(8)
#define VALUE(x) real(x, 8)
#define SAME(a, b) (a) == (b)
#define UNITS 1
#define PUT shmem_put8
#define GET shmem_get8
#define PUT_NBI shmem_put8_nbi
#define GET_NBI shmem_get8_nbi
#define IPUT shmem_iput8
#define IGET shmem_iget8
#include "shmem_fortran_transfers.inc"

#define CHECK transfers_of_32_bits
#define TYPE integer(4)
#define VALUE(x) int(x, 4)
#define SAME(a, b) (a) == (b)
#define UNITS 1
#define PUT shmem_put32
#define GET shmem_get32
#define PUT_NBI shmem_put32_nbi
#define GET_NBI shmem_get32_nbi
#define IPUT shmem_iput32
#define IGET shmem_iget32
#include "shmem_fortran_transfers.inc"

#define CHECK transfers_of_64_bits
#define TYPE integer(8)
#define VALUE(x) int(x, 8)
#define SAME(a, b) (a) == (b)
#define UNITS 1
#define PUT shmem_put64
#define GET shmem_get64
#define PUT_NBI shmem_put64_nbi
#define GET_NBI shmem_get64_nbi
#define IPUT shmem_iput64
#define IGET shmem_iget64
#include "shmem_fortran_transfers.inc"

#define CHECK transfers_of_128_bits
#define TYPE complex(8)
#define VALUE(x) cmplx(x, -(x), 8)
#define SAME(a, b) (a) == (b)
#define UNITS 1
#define PUT shmem_put128
#define GET shmem_get128
#define PUT_NBI shmem_put128_nbi
#define GET_NBI shmem_get128_nbi
#define IPUT shmem_iput128
#define IGET shmem_iget128
#include "shmem_fortran_transfers.inc"

! ---- Atomics, waits ----------------------------------------------------------------------------------

#define CHECK atomics_of_4_bytes
#define WAITS waits_for_4_bytes
#define WORD_KIND 4
#define NAME(x) shmem_int4_/**/x
#include "shmem_fortran_atomics.inc"

#define CHECK atomics_of_8_bytes
#define WAITS waits_for_8_bytes
#define WORD_KIND 8
#define NAME(x) shmem_int8_/**/x
#include "shmem_fortran_atomics.inc"

! ---- Reductions --------------------------------------------------------------------------------------

#define CHECK reductions_of_int2
#define TYPE integer(2)
#define VALUE(x) int(x, 2)
#define REDUCE(x) shmem_int2_/**/x/**/_to_all
#define BITS
#define ORDER
#include "shmem_fortran_reductions.inc"

#define CHECK reductions_of_int4
#define TYPE integer(4)
#define VALUE(x) int(x, 4)
#define REDUCE(x) shmem_int4_/**/x/**/_to_all
#define BITS
#define ORDER
#include "shmem_fortran_reductions.inc"

! Too large for 4 bytes.
#define CHECK reductions_of_int8
#define TYPE integer(8)
#define VALUE(x) ((x) * 2_8**33)
#define REDUCE(x) shmem_int8_/**/x/**/_to_all
#define BITS
#define ORDER
#include "shmem_fortran_reductions.inc"

#define CHECK reductions_of_real4
#define TYPE real(4)
#define VALUE(x) (real(x, 4) / 4)
#define REDUCE(x) shmem_real4_/**/x/**/_to_all
#define ORDER
#include "shmem_fortran_reductions.inc"

#define CHECK reductions_of_real8
#define TYPE real(8)
#define VALUE(x) (real(x, 8) / 4)
#define REDUCE(x) shmem_real8_/**/x/**/_to_all
#define ORDER
#include "shmem_fortran_reductions.inc"

! More digits than any other kind has.
#define CHECK reductions_of_real16
#define TYPE real(16)
#define VALUE(x) (real(x, 16) * (1 + 2._16**(-90)))
#define REDUCE(x) shmem_real16_/**/x/**/_to_all
#define ORDER
#include "shmem_fortran_reductions.inc"

#define CHECK reductions_of_comp4
#define TYPE complex(4)
#define VALUE(x) cmplx((x), 2 * (x), 4)
#define REDUCE(x) shmem_comp4_/**/x/**/_to_all
#include "shmem_fortran_reductions.inc"

#define CHECK reductions_of_comp8
#define TYPE complex(8)
#define VALUE(x) cmplx((x), 2 * (x), 8)
#define REDUCE(x) shmem_comp8_/**/x/**/_to_all
#include "shmem_fortran_reductions.inc"

! ---- Everything else ---------------------------------------------------------------------------------

module variables
  implicit none
  integer :: in_module(3) = -1
  real(8) :: zeroed_in_module(4)
end module variables

subroutine constants_and_names()
  use shmem
  use checks
  implicit none
  character(len=SHMEM_MAX_NAME_LEN) :: name
  character(len=3) :: short
  character(len=80) :: long
  integer :: major, minor

  call shmem_info_get_version(major, minor)
  call expect(major == SHMEM_MAJOR_VERSION .and. minor == SHMEM_MINOR_VERSION, 'version')
  name = repeat('x', len(name))
  call shmem_info_get_name(name)
  call expect(name == SHMEM_VENDOR_STRING .and. name(len(name):) == ' ', 'name')
  call shmem_info_get_name(short)
  call expect(short == SHMEM_VENDOR_STRING(1:3), 'a short name')
  long = repeat('x', len(long))
  call shmem_info_get_name(long)
  call expect(long == SHMEM_VENDOR_STRING, 'a long name')
  call expect(SHMEM_SYNC_VALUE == 0 .and. SHMEM_SYNC_SIZE > 0, 'work arrays')
end subroutine

subroutine queries()
  use shmem
  use checks
  use, intrinsic :: iso_c_binding, only: c_ptr, c_loc
  implicit none
  integer, save, target :: word
  integer :: remote, i
  integer, allocatable :: own(:)
  pointer (p, remote)

  call expect(shmem_my_pe() == me .and. my_pe() == me, 'number')
  call expect(shmem_n_pes() == pes .and. num_pes() == pes, 'count')
  do i = 0, pes - 1
    call expect(shmem_pe_accessible(i), 'a PE that there is')
    call expect(shmem_addr_accessible(word, i), 'a symmetric variable')
  end do
  call expect(.not. shmem_pe_accessible(pes) .and. .not. shmem_pe_accessible(-1), 'no PE')
  allocate (own(3))
  call expect(.not. shmem_addr_accessible(own, next), 'an allocatable array')
  call expect(.not. shmem_addr_accessible(word, pes), 'a variable of no PE')

  word = -1
  call shmem_barrier_all()
  p = shmem_ptr(word, next)
  if (p /= 0) then
    remote = me
  else
    call shmem_integer_put(word, me, 1, next)
  end if
  call shmem_barrier_all()
  call expect(word == previous, 'a store by a pointer')
end subroutine

! What is static is symmetric: of modules, in COMMON, with SAVE, with a first value.
subroutine symmetric_variables()
  use shmem
  use checks
  use variables
  implicit none
  integer, save :: saved(2)
  integer :: with_value(2) = [7, 8]
  character(len=5), save :: text = 'none'
  integer :: in_common, more_in_common(3)
  common /block/ in_common, more_in_common

  call expect(all(in_module == -1) .and. all(with_value == [7, 8]), 'first values')
  call expect(all(zeroed_in_module == 0), 'no first value')
  in_common = 0
  call shmem_barrier_all()
  call shmem_integer_put(in_module, [me, 2, 3], 3, next)
  call shmem_double_put(zeroed_in_module(4), dble(me), 1, next)
  call shmem_integer_put(saved(2), me, 1, next)
  call shmem_integer_put(with_value, [me, me], 2, next)
  call shmem_character_put(text, 'PE ' // achar(48 + me) // '!', 5, next)
  call shmem_integer_put(in_common, me + 1, 1, next)
  call shmem_integer_put(more_in_common(3), me, 1, next)
  call shmem_barrier_all()
  call expect(all(in_module == [previous, 2, 3]), 'a module''s variable')
  call expect(zeroed_in_module(4) == previous .and. zeroed_in_module(3) == 0, 'a zeroed variable')
  call expect(saved(2) == previous, 'SAVE')
  call expect(all(with_value == previous), 'a first value')
  call expect(text == 'PE ' // achar(48 + previous) // '!', 'CHARACTER')
  call expect(in_common == previous + 1 .and. more_in_common(3) == previous, 'COMMON')
end subroutine

! Actual arguments of every shape and kind; a section with gaps is a copy for get.
subroutine arguments_of_every_shape()
  use shmem
  use checks
  implicit none
  type pair
    integer :: number
    real :: weight
  end type
  type(pair), save :: pairs(2)
  integer, save :: matrix(3, 4), scalar
  integer :: gaps(6)

  matrix = 0
  call shmem_barrier_all()
  call shmem_put32(matrix, reshape([1, 2, 3, 4, 5, 6], [3, 2]), 6, next)
  call shmem_put32(matrix(2, 4), me, 1, next)
  call shmem_put32(scalar, [5], 1, next)
  call shmem_put64(pairs(2), pair(me, 0.5), 1, next)
  call shmem_barrier_all()
  call expect(matrix(3, 2) == 6 .and. matrix(1, 3) == 0, 'a matrix')
  call expect(matrix(2, 4) == previous, 'an element')
  call expect(scalar == 5, 'a scalar')
  call expect(pairs(2)%number == previous .and. pairs(2)%weight == 0.5, 'a derived type')
  gaps = -1
  call shmem_get32(gaps(1:6:2), matrix, 3, next)
  call expect(all(gaps == [1, -1, 2, -1, 3, -1]), 'a section with gaps')
end subroutine

subroutine old_transfers()
  use shmem
  use checks
  implicit none
  real(8), save :: dest(3), source(3)
  source = [me + 0.5d0, 2d0, 3d0]
  dest = 0
  call shmem_barrier_all()
  call shmem_put(dest, source, 2, next)
  call shmem_barrier_all()
  call expect(all(dest == [previous + 0.5d0, 2d0, 0d0]), 'put')
  call shmem_get(dest, source, 3, next)
  call expect(all(dest == [next + 0.5d0, 2d0, 3d0]), 'get')
end subroutine

subroutine atomics_of_reals()
  use shmem
  use checks
  implicit none
  real(4), save :: single
  real(8), save :: double
  real(4) :: seen4
  real(8) :: seen8

  single = me
  double = me
  call shmem_barrier_all()
  call expect(shmem_real4_fetch(single, next) == next, 'fetch of 4 bytes')
  call expect(shmem_real8_fetch(double, next) == next, 'fetch of 8 bytes')
  call shmem_barrier_all()
  seen4 = shmem_real4_swap(single, me + 0.25, next)
  seen8 = shmem_real8_swap(double, me + 0.25d0, next)
  call expect(seen4 == next .and. seen8 == next, 'what swap returns')
  call shmem_barrier_all()
  call expect(single == previous + 0.25 .and. double == previous + 0.25d0, 'swap')
  call shmem_barrier_all()
  call shmem_real4_set(single, -1.5, next)
  call shmem_real8_set(double, 1d300, next)
  call shmem_barrier_all()
  call expect(single == -1.5 .and. double == 1d300, 'set')
end subroutine

! Those without a kind in their names.
subroutine default_integers()
  use shmem
  use checks
  implicit none
  integer, save :: word

  word = me
  call shmem_barrier_all()
  call expect(shmem_swap(word, -me, next) == next, 'what swap returns')
  call shmem_barrier_all()
  call expect(word == -previous, 'swap')
  word = 5
  call shmem_barrier_all()
  call shmem_int4_set(word, 6, next)
  call shmem_wait(word, 5)
  call expect(word == 6, 'wait')
  call shmem_barrier_all()
  call shmem_int4_inc(word, next)
  call shmem_wait_until(word, SHMEM_CMP_GE, 7)
  call expect(word == 7, 'wait_until')
end subroutine

subroutine order()
  use shmem
  use checks
  implicit none
  integer, parameter :: rounds = 200
  integer, save :: data_word, flag
  integer :: i

  data_word = 0
  flag = 0
  call shmem_barrier_all()
  do i = 1, rounds
    call shmem_integer_put(data_word, i, 1, next)
    call shmem_fence()
    call shmem_integer_put(flag, i, 1, next)
    call shmem_wait_until(flag, SHMEM_CMP_GE, i)
    call expect(shmem_int4_fetch(data_word, me) >= i, 'fence')
  end do
  call shmem_barrier_all()
  call shmem_integer_put_nbi(data_word, -me, 1, next)
  call shmem_quiet()
  call expect(shmem_int4_fetch(data_word, next) == -me, 'quiet')
end subroutine

! Two locks that are side by side, the second off the place of 8 bytes.
subroutine locks()
  use shmem
  use checks
  implicit none
  integer, parameter :: rounds = 20
  integer :: before, one, other, behind
  integer(8) :: aligned
  common /locks_/ aligned, before, one, other, behind
  integer, save :: counter, count_of_other
  integer :: i, seen

  before = 11
  one = 0
  other = 0
  behind = 22
  counter = 0
  count_of_other = 0
  call shmem_barrier_all()
  ! The counters are at another PE than the locks, so that nothing but clearing orders the two.
  do i = 1, rounds
    call shmem_set_lock(one)
    call shmem_integer_get(seen, counter, 1, pes - 1)
    seen = seen + 1
    call shmem_integer_put_nbi(counter, seen, 1, pes - 1)
    call shmem_clear_lock(one)
    do while (shmem_test_lock(other) /= 0)
    end do
    call shmem_integer_get(seen, count_of_other, 1, pes - 1)
    call shmem_integer_put(count_of_other, seen + 1, 1, pes - 1)
    call shmem_clear_lock(other)
  end do
  call shmem_barrier_all()
  if (me == pes - 1) then
    call expect(counter == rounds * pes, 'a lock keeps others out')
    call expect(count_of_other == rounds * pes, 'a lock is tried')
  end if
  call expect(before == 11 .and. behind == 22, 'a lock has 4 bytes')

  ! Held by one, it cannot be had by the others; both locks at once.
  if (me == pes - 1) then
    call shmem_set_lock(one)
    call shmem_set_lock(other)
  end if
  call shmem_barrier_all()
  call expect(shmem_test_lock(one) == 1 .and. shmem_test_lock(other) == 1, 'a lock that is held')
  call shmem_barrier_all()
  if (me == pes - 1) then
    call shmem_clear_lock(one)
    call shmem_clear_lock(other)
  end if
end subroutine

! The numbers of tickets go round.
subroutine a_lock_of_many_turns()
  use shmem
  use checks
  implicit none
  integer, save :: lock
  integer :: i

  lock = 0
  call shmem_barrier_all()
  if (me == 0) then
    ! As after 65,530 turns.
    lock = ior(ishft(65530, 16), 65530)
    do i = 1, 20
      call shmem_set_lock(lock)
      call expect(shmem_test_lock(lock) == 1, 'it is held')
      call shmem_clear_lock(lock)
    end do
    call expect(shmem_test_lock(lock) == 0, 'it is free')
    call shmem_clear_lock(lock)
  end if
end subroutine

subroutine collectives()
  use shmem
  use checks
  implicit none
  integer, parameter :: n = 3
  integer(4), save :: dest4(n * 8 * 2), source4(n * 8 * 3)
  integer(8), save :: dest8(n * 8 * 2), source8(n * 8 * 3)
  integer, save :: pSync(SHMEM_SYNC_SIZE) = SHMEM_SYNC_VALUE
  integer :: i

  source4 = [(1000 * me + i, i = 1, size(source4))]
  source8 = source4 + 2_8**40

  call clear()
  call shmem_broadcast4(dest4, source4, n, pes - 1, 0, 0, pes, pSync)
  call shmem_broadcast8(dest8, source8, n, pes - 1, 0, 0, pes, pSync)
  call broadcast_is_right('4 and 8')
  call clear()
  call shmem_broadcast32(dest4, source4, n, pes - 1, 0, 0, pes, pSync)
  call shmem_broadcast64(dest8, source8, n, pes - 1, 0, 0, pes, pSync)
  call broadcast_is_right('32 and 64')

  call clear()
  call shmem_fcollect4(dest4, source4, n, 0, 0, pes, pSync)
  call shmem_fcollect8(dest8, source8, n, 0, 0, pes, pSync)
  call fcollect_is_right('4 and 8')
  call clear()
  call shmem_fcollect32(dest4, source4, n, 0, 0, pes, pSync)
  call shmem_fcollect64(dest8, source8, n, 0, 0, pes, pSync)
  call fcollect_is_right('32 and 64')

  call clear()
  call shmem_collect4(dest4, source4, mod(me, 3), 0, 0, pes, pSync)
  call shmem_collect8(dest8, source8, mod(me, 3), 0, 0, pes, pSync)
  call collect_is_right('4 and 8')
  call clear()
  call shmem_collect32(dest4, source4, mod(me, 3), 0, 0, pes, pSync)
  call shmem_collect64(dest8, source8, mod(me, 3), 0, 0, pes, pSync)
  call collect_is_right('32 and 64')

  call clear()
  call shmem_alltoall32(dest4, source4, n, 0, 0, pes, pSync)
  call shmem_alltoall64(dest8, source8, n, 0, 0, pes, pSync)
  do i = 0, pes - 1
    call expect(all(dest4(n * i + 1:n * i + n) == 1000 * i + n * me + [1, 2, 3]), 'alltoall32')
    call expect(all(dest8(n * i + 1:n * i + n) == 1000 * i + n * me + [1, 2, 3] + 2_8**40), &
                'alltoall64')
  end do

  call clear()
  call shmem_alltoalls32(dest4, source4, 2, 3, n, 0, 0, pes, pSync)
  call shmem_alltoalls64(dest8, source8, 2, 3, n, 0, 0, pes, pSync)
  do i = 0, pes - 1
    call expect(all(dest4(2 * n * i + 1:2 * n * (i + 1):2) == 1000 * i + 3 * n * me + [1, 4, 7]), &
                'alltoalls32')
    call expect(all(dest4(2 * n * i + 2:2 * n * (i + 1):2) == -1), 'between, alltoalls32')
    call expect(all(dest8(2 * n * i + 1:2 * n * (i + 1):2) == &
                    1000 * i + 3 * n * me + [1, 4, 7] + 2_8**40), 'alltoalls64')
  end do
  call expect(all(pSync == SHMEM_SYNC_VALUE), 'pSync stays')

  ! Of every second PE: the last of them sends.
  call clear()
  if (mod(me, 2) == 0) then
    call shmem_barrier(0, 1, (pes + 1) / 2, pSync)
    call shmem_broadcast4(dest4, source4, 1, (pes + 1) / 2 - 1, 0, 1, (pes + 1) / 2, pSync)
    if (me /= last_even()) call expect(dest4(1) == 1000 * last_even() + 1, 'a set')
  end if
  call shmem_barrier_all()
  if (mod(me, 2) == 1) call expect(dest4(1) == -1, 'outside of a set')

contains

  integer function last_even()
    last_even = (pes - 1) / 2 * 2
  end function

  subroutine clear()
    call shmem_barrier_all()
    dest4 = -1
    dest8 = -1
    call shmem_barrier_all()
  end subroutine

  ! The root's target stays as it is.
  subroutine broadcast_is_right(sizes)
    character(len=*), intent(in) :: sizes
    if (me == pes - 1) then
      call expect(all(dest4 == -1) .and. all(dest8 == -1), 'the root''s target, ' // sizes)
    else
      call expect(all(dest4(:n) == 1000 * (pes - 1) + [1, 2, 3]), 'broadcast of 4 bytes, ' // sizes)
      call expect(all(dest8(:n) == 1000 * (pes - 1) + [1, 2, 3] + 2_8**40), &
                  'broadcast of 8 bytes, ' // sizes)
      call expect(dest4(n + 1) == -1 .and. dest8(n + 1) == -1, 'behind, ' // sizes)
    end if
  end subroutine

  subroutine fcollect_is_right(sizes)
    character(len=*), intent(in) :: sizes
    do i = 0, pes - 1
      call expect(all(dest4(n * i + 1:n * i + n) == 1000 * i + [1, 2, 3]), &
                  'fcollect of 4 bytes, ' // sizes)
      call expect(all(dest8(n * i + 1:n * i + n) == 1000 * i + [1, 2, 3] + 2_8**40), &
                  'fcollect of 8 bytes, ' // sizes)
    end do
    call expect(dest4(n * pes + 1) == -1 .and. dest8(n * pes + 1) == -1, 'behind, ' // sizes)
  end subroutine

  subroutine collect_is_right(sizes)
    character(len=*), intent(in) :: sizes
    integer :: at, k
    at = 1
    do i = 0, pes - 1
      do k = 1, mod(i, 3)
        call expect(dest4(at) == 1000 * i + k, 'collect of 4 bytes, ' // sizes)
        call expect(dest8(at) == 1000 * i + k + 2_8**40, 'collect of 8 bytes, ' // sizes)
        at = at + 1
      end do
    end do
    call expect(dest4(at) == -1 .and. dest8(at) == -1, 'behind what is collected, ' // sizes)
  end subroutine
end subroutine

! A barrier of a set completes what its PEs have put.
subroutine a_barrier_of_a_set()
  use shmem
  use checks
  implicit none
  integer, save :: word
  integer, save :: pSync(SHMEM_BARRIER_SYNC_SIZE) = SHMEM_SYNC_VALUE
  integer :: evens, to, from

  word = -1
  call shmem_barrier_all()
  evens = (pes + 1) / 2
  if (mod(me, 2) == 0) then
    to = mod(me / 2 + 1, evens) * 2
    from = mod(me / 2 + evens - 1, evens) * 2
    call shmem_integer_put(word, me, 1, to)
    call shmem_barrier(0, 1, evens, pSync)
    call expect(word == from, 'barrier')
  end if
end subroutine

subroutine the_heap_by_cray_pointers()
  use shmem
  use checks
  implicit none
  integer :: block(*), code, i
  pointer (p, block)
  integer(8) :: old

  call shpalloc(p, 100, code, 1)
  call expect(code == 0 .and. p /= 0, 'shpalloc')
  call expect(shmem_addr_accessible(block, next), 'it is symmetric')
  do i = 1, 100
    block(i) = -1
  end do
  call shmem_barrier_all()
  call shmem_integer_put(block, [(1000 * me + i, i = 1, 100)], 100, next)
  call shmem_barrier_all()
  call expect(all(block(1:100) == [(1000 * previous + i, i = 1, 100)]), 'a transfer')

  ! Larger: it moves, or it does not, and the code says so.
  old = p
  call shpclmove(p, 100000, code, 1)
  call expect((code == 1 .and. p /= old) .or. (code == 0 .and. p == old), 'shpclmove')
  call expect(all(block(1:100) == [(1000 * previous + i, i = 1, 100)]), 'its content')
  block(100000) = me
  call expect(shmem_addr_accessible(block(100000), next), 'its end')
  old = p
  call shpclmove(p, 99999, code, 0)
  call expect(code == 0 .and. p == old, 'a little less')
  call shpdeallc(p, code, 1)
  call expect(code == 0, 'shpdeallc')
end subroutine

subroutine the_heap_by_c_pointers()
  use shmem
  use checks
  use, intrinsic :: iso_c_binding
  implicit none
  type(c_ptr) :: p
  real(8), pointer :: table(:)
  integer :: code

  p = c_null_ptr
  call shpalloc(p, 2 * 10, code, 0)
  call expect(code == 0 .and. c_associated(p), 'shpalloc')
  call c_f_pointer(p, table, [10])
  table = 0
  call shmem_barrier_all()
  call shmem_double_put(table(10), me + 0.5d0, 1, next)
  call shmem_barrier_all()
  call expect(table(10) == previous + 0.5d0, 'a transfer')
  call shpclmove(p, 2 * 20, code, 0)
  call expect(code >= 0, 'shpclmove')
  call c_f_pointer(p, table, [20])
  call expect(table(10) == previous + 0.5d0, 'its content')
  call shpdeallc(p, code, 0)
  call expect(code == 0, 'shpdeallc')
end subroutine

subroutine errors_of_the_heap()
  use shmem
  use checks
  implicit none
  integer :: block(*), other(*), code
  integer(8) :: wrong
  integer, save :: static
  pointer (p, block)
  pointer (q, other)

  p = 5
  call shpalloc(p, 0, code, 0)
  call expect(code == -1 .and. p == 5, 'no length')
  call shpalloc(p, -3, code, 0)
  call expect(code == -1, 'a negative length')
  call shpalloc(p, huge(code), code, 0)
  call expect(code == -2, 'no memory')
  call shpalloc(p, 64, code, 0)
  call shpalloc(q, 64, code, 0)
  call shpclmove(p, 0, code, 0)
  call expect(code == -1, 'no length for a move')
  call shpclmove(p, huge(code), code, 0)
  call expect(code == -2, 'no memory for a move')
  wrong = p + 4
  call shpdeallc(wrong, code, 0)
  call expect(code == -5, 'not the beginning of a block')
  call shpclmove(wrong, 3, code, 0)
  call expect(code == -5, 'not the beginning of a block to move')
  wrong = loc(static)
  call shpdeallc(wrong, code, 0)
  call expect(code == -3, 'outside of the heap')
  call shpclmove(wrong, 3, code, 0)
  call expect(code == -3, 'outside of the heap for a move')
  call shpdeallc(p, code, 0)
  call expect(code == 0, 'the block itself')
  call shpdeallc(p, code, 0)
  call expect(code == -4, 'freed already')
  call shpclmove(p, 3, code, 0)
  call expect(code == -4, 'freed already, a move')
  call shpdeallc(q, code, 0)
  call expect(code == 0, 'the other block')
end subroutine

subroutine cache_management()
  use shmem
  use checks
  implicit none
  integer, save :: word = 5
  call shmem_set_cache_inv()
  call shmem_clear_cache_inv()
  call shmem_set_cache_line_inv(word)
  call shmem_clear_cache_line_inv(word)
  call shmem_udcflush()
  call shmem_udcflush_line(word)
  call expect(word == 5, 'nothing changes')
end subroutine

! Several parts of a program may begin and end.
subroutine begin_and_end_again()
  use shmem
  use checks
  implicit none
  integer :: code
  integer(8) :: p
  call shmem_init()
  call start_pes(0)
  call shpalloc(p, 3, code, 1)
  call shmem_finalize()
  call shpdeallc(p, code, 0)
  call expect(code == 0, 'the heap stays until the last end')
end subroutine

! The others ask for it when this check has passed, while PE 0 is in SHMEM_FINALIZE.
subroutine a_lock_is_given_at_the_end()
  use shmem
  use checks
  implicit none
  integer :: lock
  logical :: is_asked_for
  common /at_the_end/ lock, is_asked_for

  if (me == 0) call shmem_set_lock(lock)
  is_asked_for = me /= 0
end subroutine

program shmem_fortran_module
  use checks
  implicit none
  integer :: lock
  logical :: is_asked_for
  common /at_the_end/ lock, is_asked_for
  external :: character_transfers, mem_transfers, complex_transfers, double_transfers, &
              integer_transfers, logical_transfers, real_transfers, transfers_of_4_bytes, &
              transfers_of_8_bytes, transfers_of_32_bits, transfers_of_64_bits, &
              transfers_of_128_bits, atomics_of_4_bytes, atomics_of_8_bytes, waits_for_4_bytes, &
              waits_for_8_bytes, reductions_of_int2, reductions_of_int4, reductions_of_int8, &
              reductions_of_real4, reductions_of_real8, reductions_of_real16, &
              reductions_of_comp4, reductions_of_comp8, constants_and_names, queries, &
              symmetric_variables, arguments_of_every_shape, old_transfers, atomics_of_reals, &
              default_integers, order, locks, a_lock_of_many_turns, collectives, &
              a_barrier_of_a_set, the_heap_by_cray_pointers, the_heap_by_c_pointers, &
              errors_of_the_heap, cache_management, begin_and_end_again, &
              a_lock_is_given_at_the_end
  external :: shmem_set_lock

  call begin()
  call run('constants_and_names', constants_and_names)
  call run('queries', queries)
  call run('symmetric_variables', symmetric_variables)
  call run('arguments_of_every_shape', arguments_of_every_shape)
  call run('character_transfers', character_transfers)
  call run('mem_transfers', mem_transfers)
  call run('complex_transfers', complex_transfers)
  call run('double_transfers', double_transfers)
  call run('integer_transfers', integer_transfers)
  call run('logical_transfers', logical_transfers)
  call run('real_transfers', real_transfers)
  call run('transfers_of_4_bytes', transfers_of_4_bytes)
  call run('transfers_of_8_bytes', transfers_of_8_bytes)
  call run('transfers_of_32_bits', transfers_of_32_bits)
  call run('transfers_of_64_bits', transfers_of_64_bits)
  call run('transfers_of_128_bits', transfers_of_128_bits)
  call run('old_transfers', old_transfers)
  call run('atomics_of_4_bytes', atomics_of_4_bytes)
  call run('atomics_of_8_bytes', atomics_of_8_bytes)
  call run('atomics_of_reals', atomics_of_reals)
  call run('default_integers', default_integers)
  call run('waits_for_4_bytes', waits_for_4_bytes)
  call run('waits_for_8_bytes', waits_for_8_bytes)
  call run('order', order)
  call run('locks', locks)
  call run('a_lock_of_many_turns', a_lock_of_many_turns)
  call run('collectives', collectives)
  call run('a_barrier_of_a_set', a_barrier_of_a_set)
  call run('reductions_of_int2', reductions_of_int2)
  call run('reductions_of_int4', reductions_of_int4)
  call run('reductions_of_int8', reductions_of_int8)
  call run('reductions_of_real4', reductions_of_real4)
  call run('reductions_of_real8', reductions_of_real8)
  call run('reductions_of_real16', reductions_of_real16)
  call run('reductions_of_comp4', reductions_of_comp4)
  call run('reductions_of_comp8', reductions_of_comp8)
  call run('the_heap_by_cray_pointers', the_heap_by_cray_pointers)
  call run('the_heap_by_c_pointers', the_heap_by_c_pointers)
  call run('errors_of_the_heap', errors_of_the_heap)
  call run('cache_management', cache_management)
  call run('begin_and_end_again', begin_and_end_again)
  call run('a_lock_is_given_at_the_end', a_lock_is_given_at_the_end)
  if (is_asked_for) call shmem_set_lock(lock)
  call finish()
end program shmem_fortran_module
