/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * tarn/init.h: the initial values of options and results, in C11 and in C++11.
 *
 *     tarn_pool_options options = TARN_POOL_OPTIONS_INIT;
 *
 * A struct lists its initial values by name. Every field that it does not list is zero. In C the
 * values are also good for objects of static storage duration.
 */
#ifndef TARN_INIT_H
#define TARN_INIT_H

/* A struct of which struct_bytes alone is not zero: TARN_SIZED_INIT(type). */

/* Any other: VALUES(SET) is a list such as SET(struct_bytes, sizeof(type)) SET(count, 3).
 *     TARN_DEFINE_INIT(name, type, VALUES)
 *     #define TARN_NAME_INIT TARN_LISTED_INIT(name, VALUES) */

/* clang-format off */
#ifdef __cplusplus
extern "C++" {
template <typename type> inline type tarn_sized_init()
{
    type initial = {};
    initial.struct_bytes = sizeof(type);
    return initial;
}
}
#define TARN_SIZED_INIT(type) tarn_sized_init<type>()
#define TARN_INITIAL_VALUE(field, value) initial.field = (value);
#define TARN_DEFINE_INIT(name, type, VALUES) \
    inline type name() { type initial = {}; VALUES(TARN_INITIAL_VALUE) return initial; }
#define TARN_LISTED_INIT(name, VALUES) name()
#else
#define TARN_SIZED_INIT(type) { .struct_bytes = sizeof(type) }
#define TARN_INITIAL_VALUE(field, value) .field = (value),
#define TARN_DEFINE_INIT(name, type, VALUES)
#define TARN_LISTED_INIT(name, VALUES) { VALUES(TARN_INITIAL_VALUE) }
#endif
/* clang-format on */

#endif
