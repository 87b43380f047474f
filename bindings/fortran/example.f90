! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Two fields from a pool with a limit. Without a GPU the memory is the host's, and the host may use it.
!     gfortran tarn.f90 example.f90 -ltarn -lpthread

program example
    use tarn
    use, intrinsic :: iso_c_binding
    implicit none
    real(8), pointer :: u(:,:), v(:,:)
    type(c_ptr) :: pool
    character(len=400) :: text
    integer :: stat

    call tarn_check(tarn_pool_create(tarn_pool_options(limit_bytes=2**20), pool, name='fields'))
    call tarn_allocate(u, [100, 100], pool=pool)
    u = 1
    call tarn_allocate(v, [1000, 1000], pool=pool, stat=stat, errmsg=text)
    if (stat /= 0) print '(a)', trim(text)
    print '(a, f8.1)', 'the sum is', sum(u)
    call tarn_deallocate(u, pool=pool)
    call tarn_check(tarn_pool_destroy(pool))
end program
