/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fiber: stacks, and jumps from one to another. */

/* The fortified longjmp rejects a jump to another stack. */
#undef _FORTIFY_SOURCE

#include "fiber.h"

#include <stdlib.h>
#include <ucontext.h>

namespace model
{

constexpr size_t STACK_BYTES = 16 << 10;

fiber::fiber(void (*body)()) : body_(body), stack_(new char[STACK_BYTES])
{
}

void fiber::go_on()
{
    if (_setjmp(other_) != 0) return;
    if (!is_begun_) begin();
    _longjmp(own_, 1);
}

void fiber::give_way()
{
    if (_setjmp(own_) == 0) _longjmp(other_, 1);
}

/* The first time there is no saved place to jump to. */
void fiber::begin()
{
    ucontext_t context;
    is_begun_ = true;
    getcontext(&context);
    context.uc_stack.ss_sp = stack_.get();
    context.uc_stack.ss_size = STACK_BYTES;
    context.uc_link = nullptr;
    makecontext(&context, body_, 0);
    setcontext(&context);
    abort();
}

} // namespace model
