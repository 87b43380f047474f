/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * exit_static_objects: pools in static objects of C++, made and unmade in every order around the first use
 * of the library. Ends with 0 when every destructor found what it should.
 */
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include "tarn/tarn.h"

namespace
{

void expect(bool is_true, const char *what)
{
    if (is_true) return;
    std::fprintf(stderr, "%s: %s\n", what, tarn_last_error().message);
    _exit(1);
}

/* A program's array of the device. */
class Array
{
  public:
    explicit Array(const char *name) noexcept : name_(name)
    {
    }

    void allocate()
    {
        tarn_status status = tarn_pool_create(nullptr, &pool_);
        if (status == TARN_STATUS_NO_DEVICE) _exit(77);
        expect(status == TARN_STATUS_OK, name_);
        expect(tarn_pool_alloc(pool_, 1000, &of_pool_) == TARN_STATUS_OK, name_);
        expect(tarn_malloc(1000, &of_process_) == TARN_STATUS_OK, name_);
    }

    ~Array()
    {
        void *more;
        expect(tarn_free(of_process_) == TARN_STATUS_OK, name_);
        expect(tarn_pool_alloc(pool_, 1000, &more) == TARN_STATUS_OK, name_);
        expect(tarn_pool_free(pool_, more) == TARN_STATUS_OK, name_);
        expect(tarn_pool_free(pool_, of_pool_) == TARN_STATUS_OK, name_);
        expect(tarn_pool_destroy(pool_) == TARN_STATUS_OK, name_);
        destroyed_count++;
    }

    static int destroyed_count;

  private:
    const char *name_;
    tarn_pool *pool_ = nullptr;
    void *of_pool_ = nullptr;
    void *of_process_ = nullptr;
};

int Array::destroyed_count = 0;

/* The first to be made, so the last to be unmade. */
struct Witness {
    ~Witness()
    {
        expect(Array::destroyed_count == 3, "an object was not destroyed");
    }
};
Witness witness;

Array made_before_the_first_use("made before the first use");

struct MadeInUse : Array {
    MadeInUse() noexcept : Array("made in use, before main")
    {
        allocate();
    }
};
MadeInUse made_in_use;

} // namespace

int main()
{
    static Array made_in_main("made in main");
    made_before_the_first_use.allocate();
    made_in_main.allocate();
    return 0;
}
