/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * fiber: a function with a stack of its own, which gives way and goes on later, all in one thread.
 *
 * The model of a device has hundreds of thousands of fibers, and switches with every operation on memory. So
 * a switch is a jump, which leaves the signal mask alone. swapcontext would make a system call to set it.
 */
#ifndef TN_MODEL_FIBER_H
#define TN_MODEL_FIBER_H

#include <setjmp.h>
#include <stddef.h>

#include <memory>

namespace model
{

class fiber
{
  public:
    /* The first go_on() begins `body`, which never returns. */
    explicit fiber(void (*body)());

    fiber(const fiber &) = delete;
    fiber &operator=(const fiber &) = delete;

    /* Returns when the fiber gives way. */
    void go_on();

    /* To be called in the fiber. */
    void give_way();

  private:
    void begin();

    void (*body_)();
    std::unique_ptr<char[]> stack_;
    bool is_begun_ = false;
    jmp_buf own_, other_; /* where it goes on, and who let it */
};

} // namespace model

#endif
