! What the Fortran tests start with: a table of checks, run by PEs, as live.h has it for C. With
! --list a program names its checks, with another argument it runs the check of that name.
!
! It declares what it calls by itself, because a test of INCLUDE 'shmem.fh' has no module.
module checks
  implicit none
  private
  public :: begin, run, expect, finish, me, pes, next, previous

  integer, protected :: me = 0, pes = 1, next = 0, previous = 0
  character(len=64) :: wanted = ''
  character(len=64) :: current = ''

contains

  subroutine begin()
    integer, external :: shmem_my_pe, shmem_n_pes
    external :: shmem_init
    call get_command_argument(1, wanted)
    if (wanted == '--list') return
    call shmem_init()
    me = shmem_my_pe()
    pes = shmem_n_pes()
    next = mod(me + 1, pes)
    previous = mod(me + pes - 1, pes)
  end subroutine

  subroutine run(name, check)
    character(len=*), intent(in) :: name
    external :: check, shmem_barrier_all
    if (wanted == '--list') then
      print '(a)', name
    else if (wanted == '' .or. wanted == name) then
      current = name
      call shmem_barrier_all()
      call check()
      call shmem_barrier_all()
      if (me == 0) then
        print '(2a)', 'ok ', name
        flush (6)
      end if
    end if
  end subroutine

  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    external :: shmem_global_exit
    if (holds) return
    print '(3a,i0,2a)', 'FAIL ', trim(current), ': PE ', me, ': ', what
    flush (6)
    call shmem_global_exit(1)
  end subroutine

  subroutine finish()
    external :: shmem_finalize
    if (wanted /= '--list') call shmem_finalize()
  end subroutine
end module checks
