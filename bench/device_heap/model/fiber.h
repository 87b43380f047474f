/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * fiber: a function with a stack of its own, which gives way and goes on later, all in one thread.
 *
 * A model of a device has hundreds of thousands and changes from one to another with every operation on memory. So the
 * change is a jump, which leaves the mask of signals alone, and no swapcontext, which asks the system to set it.
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
    /* `body` begins when this goes on for the first time, and never returns. */
    explicit fiber(void (*body)());

    fiber(const fiber &) = delete;
    fiber &operator=(const fiber &) = delete;

    /* Returns when it gives way. */
    void go_on();

    /* To be called in it. */
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
