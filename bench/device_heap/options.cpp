/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* options: what the command line says. */
#include "tests.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include <getopt.h>

extern "C" {
#include "../common/numbers.h"
}

namespace
{

const char usage[] =
    "usage: device_heap_bench [OPTION...]\n"
    "\n"
    "Measures tarn's device heap, malloc and free in kernels, beside CUDA's own malloc in kernels and\n"
    "beside a bump pointer, which manages nothing.\n"
    "\n"
    "  --tests LIST    some of one-size, mixed, scaling, churn, steady, large, oom, graph, latency,\n"
    "                  create (default all)\n"
    "  --heaps LIST    some of bump, tarn, cuda (default all)\n"
    "  --rounds N      rounds for each figure, if --patience lasts (default 9)\n"
    "  --threads N     threads that allocate at once, a power of two (default 1M)\n"
    "  --size BYTES    the size of the heap (default 8G)\n"
    "  --patience S    after a workload that took more than S seconds, its heap skips the rest of the\n"
    "                  test (default 1)\n"
    "  --json FILE     writes the figures for programs; tarn-report draws them\n";

std::vector<std::string> test_names()
{
    std::vector<std::string> names;
    for (const test &test : all_tests)
        names.push_back(test.name);
    return names;
}

bool parse_list(const char *option, const char *text, const std::vector<std::string> &known,
                std::vector<std::string> *list_out)
{
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');) {
        if (std::find(known.begin(), known.end(), word) == known.end()) {
            std::fprintf(stderr, "device_heap_bench: --%s %s: '%s' is not known\n", option, text,
                         word.c_str());
            return false;
        }
        list_out->push_back(word);
    }
    if (!list_out->empty()) return true;
    std::fprintf(stderr, "device_heap_bench: --%s: the list is empty\n", option);
    return false;
}

bool parse_size(const char *option, const char *text, uint64_t min, uint64_t max,
                uint64_t *number_out)
{
    std::string word(text);
    if (tn_size_parse(text, word.size(), number_out) == TN_NUMBER_OK && *number_out >= min &&
        *number_out <= max)
        return true;
    std::fprintf(stderr, "device_heap_bench: --%s %s: is not a number from %llu to %llu\n", option,
                 text, (unsigned long long)min, (unsigned long long)max);
    return false;
}

bool parse_seconds(const char *text, double *seconds_out)
{
    char *end;
    *seconds_out = std::strtod(text, &end);
    if (end != text && *end == '\0' && *seconds_out > 0.0 && *seconds_out < 1e6) return true;
    std::fprintf(stderr, "device_heap_bench: --patience %s: is not a number of seconds\n", text);
    return false;
}

bool parse_threads(const char *text, options *options_out)
{
    uint64_t number;
    if (!parse_size("threads", text, 1024, 1U << 24, &number)) return false;
    options_out->threads = (uint32_t)number;
    if ((number & (number - 1)) == 0) return true;
    std::fprintf(stderr, "device_heap_bench: --threads %s: is not a power of two\n", text);
    return false;
}

bool set_option(int option, const char *text, options *options_out)
{
    uint64_t number = 0;
    switch (option) {
    case 't':
        return parse_list("tests", text, test_names(), &options_out->tests);
    case 'h':
        return parse_list("heaps", text, { "bump", "tarn", "cuda" }, &options_out->heaps);
    case 'r':
        if (!parse_size("rounds", text, 1, 1000, &number)) return false;
        options_out->rounds = (unsigned)number;
        return true;
    case 'n':
        return parse_threads(text, options_out);
    case 's':
        if (!parse_size("size", text, 1U << 20, (uint64_t)1 << 38, &number)) return false;
        options_out->heap_bytes = (size_t)number;
        return true;
    case 'p':
        return parse_seconds(text, &options_out->patience_s);
    case 'j':
        options_out->json_path = text;
        return true;
    default:
        return false;
    }
}

bool contains(const std::vector<std::string> &list, const std::string &name)
{
    return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

} // namespace

bool options::has_test(const std::string &name) const
{
    return contains(tests, name);
}

bool options::has_heap(const std::string &name) const
{
    return contains(heaps, name);
}

bool options_parse(int argument_count, char **arguments, options *options_out, int *exit_status_out)
{
    static const option known[] = {
        { "tests", required_argument, nullptr, 't' },
        { "heaps", required_argument, nullptr, 'h' },
        { "rounds", required_argument, nullptr, 'r' },
        { "threads", required_argument, nullptr, 'n' },
        { "size", required_argument, nullptr, 's' },
        { "patience", required_argument, nullptr, 'p' },
        { "json", required_argument, nullptr, 'j' },
        { "help", no_argument, nullptr, '?' + 1 },
        { nullptr, 0, nullptr, 0 },
    };
    *exit_status_out = 2;
    for (int option; (option = getopt_long(argument_count, arguments, "", known, nullptr)) != -1;) {
        if (option == '?' + 1) {
            std::fputs(usage, stdout);
            *exit_status_out = EXIT_SUCCESS;
            return false;
        }
        if (!set_option(option, optarg, options_out)) return false;
    }
    if (optind == argument_count) return true;
    std::fprintf(stderr, "device_heap_bench: %s: is no option\n", arguments[optind]);
    return false;
}
