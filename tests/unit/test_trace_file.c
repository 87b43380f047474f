/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_trace_file: what is written comes back through zlib, and what cannot be written is told. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "harness/claims.h"
#include "harness/random.h"

#include "record/deflate.h"
#include "record/trace_file.h"

static char plain_path[64], gzip_path[64];

static int create_paths(void **state)
{
    snprintf(plain_path, sizeof plain_path, "/tmp/tarn-trace-file-%d", (int)getpid());
    snprintf(gzip_path, sizeof gzip_path, "/tmp/tarn-trace-file-%d.gz", (int)getpid());
    return 0;
}

static int remove_files(void **state)
{
    unlink(plain_path);
    unlink(gzip_path);
    return 0;
}

/* In pieces of all sizes. */
static void expect_round_trip(const char *path, const char *text, size_t length)
{
    struct tn_trace_file *file = tn_trace_file_create(path);
    assert_non_null(file);
    for (size_t done = 0, piece = 1; done < length; done += piece, piece = piece * 3 + 1) {
        if (piece > length - done) piece = length - done;
        tn_trace_file_write(file, text + done, piece);
    }
    assert_int_equal(tn_trace_file_close(file), 0);

    char *back = malloc(length + 1);
    gzFile read = gzopen(path, "rb");
    assert_non_null(back);
    assert_non_null(read);
    assert_int_equal(gzread(read, back, (unsigned)length + 1), length);
    assert_memory_equal(back, text, length);
    assert_int_equal(gzclose_r(read), Z_OK);
    free(back);
}

static void expect_both_round_trips(const char *text, size_t length)
{
    expect_round_trip(plain_path, text, length);
    expect_round_trip(gzip_path, text, length);
}

/* Sizes around those of a block. */
static void test_all_kinds_of_text(void **state)
{
    static const size_t lengths[] = { 0,
                                      1,
                                      3,
                                      4,
                                      5,
                                      300,
                                      TN_DEFLATE_BLOCK_BYTES_MAX - 1,
                                      TN_DEFLATE_BLOCK_BYTES_MAX,
                                      TN_DEFLATE_BLOCK_BYTES_MAX + 1,
                                      3 * TN_DEFLATE_BLOCK_BYTES_MAX + 17 };
    struct random random = random_init(random_seed(1));
    char *text = malloc(4 * TN_DEFLATE_BLOCK_BYTES_MAX);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        /* One letter; few; all, which nothing is gained by; repeats of many lengths and distances. */
        memset(text, 'a', lengths[i]);
        expect_both_round_trips(text, lengths[i]);
        for (unsigned letters = 2; letters <= 256; letters *= 2) {
            for (size_t j = 0; j < lengths[i]; j++)
                text[j] = (char)random_below(&random, letters);
            expect_both_round_trips(text, lengths[i]);
        }
        for (size_t j = 1; j < lengths[i]; j++) {
            size_t distance = (size_t)random_size(&random, 15), length = random_size(&random, 9);
            for (; length > 0 && distance <= j && j < lengths[i]; length--, j++)
                text[j] = text[j - distance];
        }
        expect_both_round_trips(text, lengths[i]);
    }
    free(text);
}

static void test_lines_become_smaller(void **state)
{
    struct tn_trace_file *file = tn_trace_file_create(gzip_path);
    assert_non_null(file);
    size_t text_bytes = 0;
    for (unsigned i = 0; i < 20000; i++) {
        char line[64];
        int length =
            snprintf(line, sizeof line, "a %u %u 0 0 %u\n", i, i % 7 * 4096, 100000 + i * 317);
        tn_trace_file_write(file, line, (size_t)length);
        text_bytes += (size_t)length;
    }
    assert_int_equal(tn_trace_file_close(file), 0);
    FILE *written = fopen(gzip_path, "rb");
    assert_non_null(written);
    assert_int_equal(fseek(written, 0, SEEK_END), 0);
    assert_in_range(ftell(written), 1, text_bytes * 6 / 10);
    fclose(written);
}

static void test_what_cannot_be_written_is_told(void **state)
{
    assert_null(tn_trace_file_create("/no/such/folder/trace"));
    assert_int_equal(errno, ENOENT);
    struct tn_trace_file *file = tn_trace_file_create("/dev/full");
    assert_non_null(file);
    tn_trace_file_write(file, "text", 4);
    assert_int_equal(tn_trace_file_close(file), ENOSPC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_kinds_of_text),
        cmocka_unit_test(test_lines_become_smaller),
        cmocka_unit_test(test_what_cannot_be_written_is_told),
    };
    return cmocka_run_group_tests(tests, create_paths, remove_files);
}
