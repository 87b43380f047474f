! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Memory of tarn in OpenACC's parallel regions. Where there is no device they run on the host.
!     gfortran -fopenacc tarn.f90 example_openacc.f90 -ltarn -lpthread
!
! deviceptr takes a dummy argument without POINTER, so a subroutine stands between the pointer and the region.

module kernels
    implicit none
contains
    subroutine fill(u, n, m)
        integer, intent(in) :: n, m
        real(8), intent(inout) :: u(n, m)
        integer :: i, j

        !$acc parallel loop collapse(2) deviceptr(u)
        do j = 1, m
            do i = 1, n
                u(i, j) = i + n * (j - 1)
            end do
        end do
    end subroutine

    real(8) function total(u, n, m)
        integer, intent(in) :: n, m
        real(8), intent(in) :: u(n, m)
        integer :: i, j

        total = 0
        !$acc parallel loop collapse(2) deviceptr(u) reduction(+: total)
        do j = 1, m
            do i = 1, n
                total = total + u(i, j)
            end do
        end do
    end function
end module

program example_openacc
    use tarn
    use kernels
    implicit none
    real(8), pointer :: u(:,:)

    call tarn_allocate(u, [30, 40])
    call fill(u, 30, 40)
    print '(a, f10.1)', 'the sum is', total(u, 30, 40)
    call tarn_deallocate(u)
end program
