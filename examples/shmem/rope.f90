! How deep does a rope sag under its load? Each PE has a piece of the rope. The method of conjugate
! gradients finds the depth of all points: in each step PEs tell their neighbours the ends of their
! pieces and add up two numbers.
!
!     PE 0 <-> PE 1 <-> PE 2 <-> ...
!
! Static variables, as those of a module, are symmetric: every PE has its own, and the others can
! name it.
!
!     oshfort -O2 rope.f90 -o rope && oshrun -n 4 ./rope
module rope
  use shmem
  implicit none
  integer, parameter :: real64 = kind(1d0), points = 100, of_reduce = SHMEM_REDUCE_SYNC_SIZE
  integer :: me, count

  ! The point in front of this PE's piece, the piece, and the point behind it.
  real(real64) :: direction(0:points + 1) = 0

  ! Of reductions. Two work arrays take turns, because a PE may begin the next reduction while
  ! others are still in this one.
  real(real64) :: part, sum_of_all, pWrk(SHMEM_REDUCE_MIN_WRKDATA_SIZE + 1)
  integer :: pSync(of_reduce, 2) = SHMEM_SYNC_VALUE, turn = 1

contains

  real(real64) function total(numbers)
    real(real64), intent(in) :: numbers(:)
    part = sum(numbers)
    call shmem_real8_sum_to_all(sum_of_all, part, 1, 0, 0, count, pWrk, pSync(:, turn))
    turn = 3 - turn
    total = sum_of_all
  end function

  subroutine tell_neighbours()
    if (me > 0) call shmem_double_put(direction(points + 1), direction(1), 1, me - 1)
    if (me < count - 1) call shmem_double_put(direction(0), direction(points), 1, me + 1)
    call shmem_barrier_all()
  end subroutine

  ! How much each point is pulled up, for a depth of `direction`.
  function pull() result(force)
    real(real64) :: force(points)
    force = 2 * direction(1:points) - direction(0:points - 1) - direction(2:points + 1)
  end function
end module rope

program hang
  use rope
  implicit none
  real(real64), dimension(points) :: depth, missing, force
  real(real64) :: load, before, now, along, sag, expected
  integer :: all_points, step, middle

  call shmem_init()
  me = shmem_my_pe()
  count = shmem_n_pes()
  all_points = points * count
  load = 1 / real(all_points + 1, real64)**2

  depth = 0
  missing = load
  direction(1:points) = missing
  now = total(missing**2)
  do step = 1, 2 * all_points
    call tell_neighbours()
    force = pull()
    along = now / total(direction(1:points) * force)
    depth = depth + along * direction(1:points)
    missing = missing - along * force
    before = now
    now = total(missing**2)
    if (now < 1d-28 * load) exit
    direction(1:points) = missing + now / before * direction(1:points)
  end do

  ! A rope under an even load hangs as a parabola.
  middle = (all_points + 1) / 2
  sag = 0
  if (me == (middle - 1) / points) sag = depth(middle - me * points)
  sag = total([sag])
  expected = middle * (all_points + 1 - middle) * load / 2
  if (me == 0) then
    print '(i0, a, i0, a, i0, a, f8.6, a, f8.6)', count, ' PEs, ', all_points, ' points, ', step, &
      ' steps: sag ', sag, ', expected ', expected
  end if
  if (abs(sag - expected) > 1d-9) call shmem_global_exit(1)
  call shmem_finalize()
end program hang
