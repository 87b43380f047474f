/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * lookup_entry: the exported dlsym and dlvsym. Each asks lookup.c first. If that has no answer, the entry jumps to the
 * next such function, at last the system's, with the caller's registers and return address: the system looks at the return address to find out
 * who calls, for RTLD_NEXT and RTLD_DEFAULT. A call written in C would make this library the caller.
 */
#include "lookup.h"
#include "system_symbols.h"

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "tarn-run: the entries of dlsym and dlvsym are written for x86-64 and 64-bit ARM"
#endif

#define TEXT(x)   #x
#define NUMBER(x) TEXT(x)

/* Offsets in struct tn_system_symbols. */
#define AT_DLSYM  16
#define AT_DLVSYM 24
_Static_assert(offsetof(struct tn_system_symbols, next_dlsym) == AT_DLSYM, "the entry of dlsym");
_Static_assert(offsetof(struct tn_system_symbols, next_dlvsym) == AT_DLVSYM, "the entry of dlvsym");

#if defined(__x86_64__)

/* The answer comes in rax and rdx. The registers of the arguments are kept on the stack, which stays aligned. */
#define ENTRY(name, ask, caller_register, offset)                          \
    __asm__(".text\n"                                                      \
            ".p2align 4\n"                                                 \
            ".globl " #name "\n"                                           \
            ".type " #name ", @function\n" #name ":\n"                     \
            ".cfi_startproc\n"                                             \
            "    endbr64\n"                                                \
            "    pushq %rdi\n"                                             \
            "    .cfi_adjust_cfa_offset 8\n"                               \
            "    pushq %rsi\n"                                             \
            "    .cfi_adjust_cfa_offset 8\n"                               \
            "    pushq %rdx\n"                                             \
            "    .cfi_adjust_cfa_offset 8\n"                               \
            "    movq 24(%rsp), %" caller_register "\n"                    \
            "    call " #ask "\n"                                          \
            "    movq %rdx, %r11\n"                                        \
            "    popq %rdx\n"                                              \
            "    .cfi_adjust_cfa_offset -8\n"                              \
            "    popq %rsi\n"                                              \
            "    .cfi_adjust_cfa_offset -8\n"                              \
            "    popq %rdi\n"                                              \
            "    .cfi_adjust_cfa_offset -8\n"                              \
            "    testq %r11, %r11\n"                                       \
            "    jne 1f\n"                                                 \
            "    jmpq *tn_system_symbols+" NUMBER(offset) "(%rip)\n"       \
                                                          "1:  ret\n"      \
                                                          ".cfi_endproc\n" \
                                                          ".size " #name ", . - " #name "\n")

ENTRY(dlsym, tn_lookup_dlsym, "rdx", AT_DLSYM);
ENTRY(dlvsym, tn_lookup_dlvsym, "rcx", AT_DLVSYM);

#else

/* The answer comes in x0 and x1. The registers of the arguments are kept on the stack. */
#define ENTRY(name, ask, caller_register, offset)                     \
    __asm__(".text\n"                                                 \
            ".p2align 4\n"                                            \
            ".globl " #name "\n"                                      \
            ".type " #name ", %function\n" #name ":\n"                \
            ".cfi_startproc\n"                                        \
            "    hint #34\n" /* bti c */                              \
            "    stp x29, x30, [sp, #-48]!\n"                         \
            "    .cfi_adjust_cfa_offset 48\n"                         \
            "    .cfi_rel_offset x29, 0\n"                            \
            "    .cfi_rel_offset x30, 8\n"                            \
            "    mov x29, sp\n"                                       \
            "    stp x0, x1, [sp, #16]\n"                             \
            "    str x2, [sp, #32]\n"                                 \
            "    mov " caller_register ", x30\n"                      \
            "    bl " #ask "\n"                                       \
            "    mov x16, x0\n"                                       \
            "    mov x17, x1\n"                                       \
            "    ldp x0, x1, [sp, #16]\n"                             \
            "    ldr x2, [sp, #32]\n"                                 \
            "    ldp x29, x30, [sp], #48\n"                           \
            "    .cfi_adjust_cfa_offset -48\n"                        \
            "    .cfi_restore x29\n"                                  \
            "    .cfi_restore x30\n"                                  \
            "    cbnz x17, 1f\n"                                      \
            "    adrp x16, tn_system_symbols\n"                       \
            "    add x16, x16, :lo12:tn_system_symbols\n"             \
            "    ldr x16, [x16, #" NUMBER(offset) "]\n"               \
                                                  "    br x16\n"      \
                                                  "1:  mov x0, x16\n" \
                                                  "    ret\n"         \
                                                  ".cfi_endproc\n"    \
                                                  ".size " #name ", . - " #name "\n")

ENTRY(dlsym, tn_lookup_dlsym, "x2", AT_DLSYM);
ENTRY(dlvsym, tn_lookup_dlvsym, "x3", AT_DLVSYM);

#endif
