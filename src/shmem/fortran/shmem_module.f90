! The module shmem: OpenSHMEM's constants, and explicit interfaces of all its routines for Fortran.
!
! An interface has the arguments of many routines; the lists behind `procedure` are the table of
! their names. Data may be of any type, kind and rank: gfortran looks neither at these nor at the
! number of elements. Numbers, PEs and words of atomics are checked.
module shmem
  use, intrinsic :: iso_c_binding, only: c_int, c_intptr_t, c_ptr
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  implicit none
  private :: c_int, c_intptr_t, c_ptr, int32, int64, real32, real64

  include 'shmem_constants.fh'

  ! ---- Set-up, queries, order -------------------------------------------------------------------

  abstract interface
    subroutine action()
    end subroutine

    subroutine with_number(number)
      integer, intent(in) :: number
    end subroutine

    subroutine with_data(dest)
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: dest
      type(*), dimension(*) :: dest
    end subroutine

    integer function query()
    end function

    logical function question_of_pe(pe)
      integer, intent(in) :: pe
    end function

    logical function question_of_address(addr, pe)
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: addr
      type(*), dimension(*) :: addr
      integer, intent(in) :: pe
    end function

    integer(c_intptr_t) function address(dest, pe)
      import :: c_intptr_t
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: dest
      type(*), dimension(*) :: dest
      integer, intent(in) :: pe
    end function

    subroutine version(major, minor)
      integer, intent(out) :: major, minor
    end subroutine

    subroutine text(name)
      character(len=*), intent(out) :: name
    end subroutine
  end interface
  private :: action, with_number, with_data, query, question_of_pe, question_of_address, address, &
             version, text

  procedure(action) :: shmem_init, shmem_finalize, shmem_fence, shmem_quiet, shmem_barrier_all, &
                       shmem_clear_cache_inv, shmem_set_cache_inv, shmem_udcflush
  procedure(with_number) :: start_pes, shmem_global_exit
  procedure(with_data) :: shmem_clear_cache_line_inv, shmem_set_cache_line_inv, &
                          shmem_udcflush_line
  procedure(query) :: my_pe, num_pes, shmem_my_pe, shmem_n_pes
  procedure(question_of_pe) :: shmem_pe_accessible
  procedure(question_of_address) :: shmem_addr_accessible
  procedure(address) :: shmem_ptr
  procedure(version) :: shmem_info_get_version
  procedure(text) :: shmem_info_get_name

  ! ---- The symmetric heap: the address is a Cray pointer or a type(c_ptr) -----------------------

  interface shpalloc
    subroutine shpalloc_to_integer(addr, length, errcode, abort) bind(c, name='shpalloc_')
      import :: c_int, c_intptr_t
      integer(c_intptr_t), intent(inout) :: addr
      integer(c_int), intent(in) :: length, abort
      integer(c_int), intent(out) :: errcode
    end subroutine

    subroutine shpalloc_to_c_ptr(addr, length, errcode, abort) bind(c, name='shpalloc_')
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: addr
      integer(c_int), intent(in) :: length, abort
      integer(c_int), intent(out) :: errcode
    end subroutine
  end interface

  interface shpdeallc
    subroutine shpdeallc_of_integer(addr, errcode, abort) bind(c, name='shpdeallc_')
      import :: c_int, c_intptr_t
      integer(c_intptr_t), intent(in) :: addr
      integer(c_int), intent(out) :: errcode
      integer(c_int), intent(in) :: abort
    end subroutine

    subroutine shpdeallc_of_c_ptr(addr, errcode, abort) bind(c, name='shpdeallc_')
      import :: c_int, c_ptr
      type(c_ptr), intent(in) :: addr
      integer(c_int), intent(out) :: errcode
      integer(c_int), intent(in) :: abort
    end subroutine
  end interface

  interface shpclmove
    subroutine shpclmove_of_integer(addr, length, status, abort) bind(c, name='shpclmove_')
      import :: c_int, c_intptr_t
      integer(c_intptr_t), intent(inout) :: addr
      integer(c_int), intent(in) :: length, abort
      integer(c_int), intent(out) :: status
    end subroutine

    subroutine shpclmove_of_c_ptr(addr, length, status, abort) bind(c, name='shpclmove_')
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: addr
      integer(c_int), intent(in) :: length, abort
      integer(c_int), intent(out) :: status
    end subroutine
  end interface

  ! ---- Transfers --------------------------------------------------------------------------------

  abstract interface
    subroutine transfer_block(dest, source, nelems, pe)
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: dest, source
      type(*), dimension(*) :: dest, source
      integer, intent(in) :: nelems, pe
    end subroutine

    subroutine transfer_strided(dest, source, dst, sst, nelems, pe)
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: dest, source
      type(*), dimension(*) :: dest, source
      integer, intent(in) :: dst, sst, nelems, pe
    end subroutine
  end interface
  private :: transfer_block, transfer_strided

  procedure(transfer_block) :: &
    shmem_put, shmem_get, &
    shmem_character_put, shmem_character_get, shmem_character_put_nbi, shmem_character_get_nbi, &
    shmem_complex_put, shmem_complex_get, shmem_complex_put_nbi, shmem_complex_get_nbi, &
    shmem_double_put, shmem_double_get, shmem_double_put_nbi, shmem_double_get_nbi, &
    shmem_integer_put, shmem_integer_get, shmem_integer_put_nbi, shmem_integer_get_nbi, &
    shmem_logical_put, shmem_logical_get, shmem_logical_put_nbi, shmem_logical_get_nbi, &
    shmem_real_put, shmem_real_get, shmem_real_put_nbi, shmem_real_get_nbi, &
    shmem_put4, shmem_get4, shmem_put4_nbi, shmem_get4_nbi, &
    shmem_put8, shmem_get8, shmem_put8_nbi, shmem_get8_nbi, &
    shmem_put32, shmem_get32, shmem_put32_nbi, shmem_get32_nbi, &
    shmem_put64, shmem_get64, shmem_put64_nbi, shmem_get64_nbi, &
    shmem_put128, shmem_get128, shmem_put128_nbi, shmem_get128_nbi, &
    shmem_putmem, shmem_getmem, shmem_putmem_nbi, shmem_getmem_nbi

  procedure(transfer_strided) :: &
    shmem_complex_iput, shmem_complex_iget, shmem_double_iput, shmem_double_iget, &
    shmem_integer_iput, shmem_integer_iget, shmem_logical_iput, shmem_logical_iget, &
    shmem_real_iput, shmem_real_iget, &
    shmem_iput4, shmem_iget4, shmem_iput8, shmem_iget8, shmem_iput32, shmem_iget32, &
    shmem_iput64, shmem_iget64, shmem_iput128, shmem_iget128

  ! ---- Atomics ----------------------------------------------------------------------------------

  abstract interface
    integer(int32) function fetch_int4(source, pe)
      import :: int32
      integer(int32) :: source
      integer, intent(in) :: pe
    end function

    integer(int64) function fetch_int8(source, pe)
      import :: int64
      integer(int64) :: source
      integer, intent(in) :: pe
    end function

    real(real32) function fetch_real4(source, pe)
      import :: real32
      real(real32) :: source
      integer, intent(in) :: pe
    end function

    real(real64) function fetch_real8(source, pe)
      import :: real64
      real(real64) :: source
      integer, intent(in) :: pe
    end function

    integer(int32) function swap_int4(dest, value, pe)
      import :: int32
      integer(int32) :: dest
      integer(int32), intent(in) :: value
      integer, intent(in) :: pe
    end function

    integer(int64) function swap_int8(dest, value, pe)
      import :: int64
      integer(int64) :: dest
      integer(int64), intent(in) :: value
      integer, intent(in) :: pe
    end function

    real(real32) function swap_real4(dest, value, pe)
      import :: real32
      real(real32) :: dest
      real(real32), intent(in) :: value
      integer, intent(in) :: pe
    end function

    real(real64) function swap_real8(dest, value, pe)
      import :: real64
      real(real64) :: dest
      real(real64), intent(in) :: value
      integer, intent(in) :: pe
    end function

    integer(int32) function compare_swap_int4(dest, cond, value, pe)
      import :: int32
      integer(int32) :: dest
      integer(int32), intent(in) :: cond, value
      integer, intent(in) :: pe
    end function

    integer(int64) function compare_swap_int8(dest, cond, value, pe)
      import :: int64
      integer(int64) :: dest
      integer(int64), intent(in) :: cond, value
      integer, intent(in) :: pe
    end function

    subroutine set_int4(dest, value, pe)
      import :: int32
      integer(int32) :: dest
      integer(int32), intent(in) :: value
      integer, intent(in) :: pe
    end subroutine

    subroutine set_int8(dest, value, pe)
      import :: int64
      integer(int64) :: dest
      integer(int64), intent(in) :: value
      integer, intent(in) :: pe
    end subroutine

    subroutine set_real4(dest, value, pe)
      import :: real32
      real(real32) :: dest
      real(real32), intent(in) :: value
      integer, intent(in) :: pe
    end subroutine

    subroutine set_real8(dest, value, pe)
      import :: real64
      real(real64) :: dest
      real(real64), intent(in) :: value
      integer, intent(in) :: pe
    end subroutine

    subroutine increment_int4(dest, pe)
      import :: int32
      integer(int32) :: dest
      integer, intent(in) :: pe
    end subroutine

    subroutine increment_int8(dest, pe)
      import :: int64
      integer(int64) :: dest
      integer, intent(in) :: pe
    end subroutine
  end interface
  private :: fetch_int4, fetch_int8, fetch_real4, fetch_real8, swap_int4, swap_int8, swap_real4, &
             swap_real8, compare_swap_int4, compare_swap_int8, set_int4, set_int8, set_real4, &
             set_real8, increment_int4, increment_int8

  procedure(fetch_int4) :: shmem_int4_fetch, shmem_int4_finc
  procedure(fetch_int8) :: shmem_int8_fetch, shmem_int8_finc
  procedure(fetch_real4) :: shmem_real4_fetch
  procedure(fetch_real8) :: shmem_real8_fetch
  procedure(swap_int4) :: shmem_swap, shmem_int4_swap, shmem_int4_fadd
  procedure(swap_int8) :: shmem_int8_swap, shmem_int8_fadd
  procedure(swap_real4) :: shmem_real4_swap
  procedure(swap_real8) :: shmem_real8_swap
  procedure(compare_swap_int4) :: shmem_int4_cswap
  procedure(compare_swap_int8) :: shmem_int8_cswap
  procedure(set_int4) :: shmem_int4_set, shmem_int4_add
  procedure(set_int8) :: shmem_int8_set, shmem_int8_add
  procedure(set_real4) :: shmem_real4_set
  procedure(set_real8) :: shmem_real8_set
  procedure(increment_int4) :: shmem_int4_inc
  procedure(increment_int8) :: shmem_int8_inc

  ! ---- Waiting, locks ---------------------------------------------------------------------------

  abstract interface
    subroutine wait_int4(ivar, cmp_value)
      import :: int32
      integer(int32) :: ivar
      integer(int32), intent(in) :: cmp_value
    end subroutine

    subroutine wait_int8(ivar, cmp_value)
      import :: int64
      integer(int64) :: ivar
      integer(int64), intent(in) :: cmp_value
    end subroutine

    subroutine wait_until_int4(ivar, cmp, cmp_value)
      import :: int32
      integer(int32) :: ivar
      integer, intent(in) :: cmp
      integer(int32), intent(in) :: cmp_value
    end subroutine

    subroutine wait_until_int8(ivar, cmp, cmp_value)
      import :: int64
      integer(int64) :: ivar
      integer, intent(in) :: cmp
      integer(int64), intent(in) :: cmp_value
    end subroutine

    ! A lock is an INTEGER; programs for other libraries have an INTEGER*8.
    subroutine with_lock(lock)
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: lock
      type(*), dimension(*) :: lock
    end subroutine

    integer function question_of_lock(lock)
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: lock
      type(*), dimension(*) :: lock
    end function
  end interface
  private :: wait_int4, wait_int8, wait_until_int4, wait_until_int8, with_lock, question_of_lock

  procedure(wait_int4) :: shmem_wait, shmem_int4_wait
  procedure(wait_int8) :: shmem_int8_wait
  procedure(wait_until_int4) :: shmem_wait_until, shmem_int4_wait_until
  procedure(wait_until_int8) :: shmem_int8_wait_until
  procedure(with_lock) :: shmem_set_lock, shmem_clear_lock
  procedure(question_of_lock) :: shmem_test_lock

  ! ---- Collective calls on active sets ----------------------------------------------------------

  abstract interface
    subroutine barrier(PE_start, logPE_stride, PE_size, pSync)
      integer, intent(in) :: PE_start, logPE_stride, PE_size
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: pSync
      type(*), dimension(*) :: pSync
    end subroutine

    subroutine broadcast(dest, source, nelems, PE_root, PE_start, logPE_stride, PE_size, pSync)
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: dest, source, pSync
      type(*), dimension(*) :: dest, source, pSync
      integer, intent(in) :: nelems, PE_root, PE_start, logPE_stride, PE_size
    end subroutine

    subroutine gather(dest, source, nelems, PE_start, logPE_stride, PE_size, pSync)
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: dest, source, pSync
      type(*), dimension(*) :: dest, source, pSync
      integer, intent(in) :: nelems, PE_start, logPE_stride, PE_size
    end subroutine

    subroutine exchange_strided(dest, source, dst, sst, nelems, PE_start, logPE_stride, PE_size, &
                                pSync)
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: dest, source, pSync
      type(*), dimension(*) :: dest, source, pSync
      integer, intent(in) :: dst, sst, nelems, PE_start, logPE_stride, PE_size
    end subroutine

    subroutine reduce(dest, source, nreduce, PE_start, logPE_stride, PE_size, pWrk, pSync)
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: dest, source, pWrk, pSync
      type(*), dimension(*) :: dest, source, pWrk, pSync
      integer, intent(in) :: nreduce, PE_start, logPE_stride, PE_size
    end subroutine
  end interface
  private :: barrier, broadcast, gather, exchange_strided, reduce

  procedure(barrier) :: shmem_barrier
  procedure(broadcast) :: shmem_broadcast4, shmem_broadcast8, shmem_broadcast32, shmem_broadcast64
  procedure(gather) :: shmem_collect4, shmem_collect8, shmem_collect32, shmem_collect64, &
                       shmem_fcollect4, shmem_fcollect8, shmem_fcollect32, shmem_fcollect64, &
                       shmem_alltoall32, shmem_alltoall64
  procedure(exchange_strided) :: shmem_alltoalls32, shmem_alltoalls64

  procedure(reduce) :: &
    shmem_int2_and_to_all, shmem_int4_and_to_all, shmem_int8_and_to_all, &
    shmem_int2_or_to_all, shmem_int4_or_to_all, shmem_int8_or_to_all, &
    shmem_int2_xor_to_all, shmem_int4_xor_to_all, shmem_int8_xor_to_all, &
    shmem_int2_min_to_all, shmem_int4_min_to_all, shmem_int8_min_to_all, &
    shmem_real4_min_to_all, shmem_real8_min_to_all, shmem_real16_min_to_all, &
    shmem_int2_max_to_all, shmem_int4_max_to_all, shmem_int8_max_to_all, &
    shmem_real4_max_to_all, shmem_real8_max_to_all, shmem_real16_max_to_all, &
    shmem_int2_sum_to_all, shmem_int4_sum_to_all, shmem_int8_sum_to_all, &
    shmem_real4_sum_to_all, shmem_real8_sum_to_all, shmem_real16_sum_to_all, &
    shmem_comp4_sum_to_all, shmem_comp8_sum_to_all, &
    shmem_int2_prod_to_all, shmem_int4_prod_to_all, shmem_int8_prod_to_all, &
    shmem_real4_prod_to_all, shmem_real8_prod_to_all, shmem_real16_prod_to_all, &
    shmem_comp4_prod_to_all, shmem_comp8_prod_to_all
end module shmem
