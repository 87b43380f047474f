/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* report: prints figures at once, and writes them to a JSON file at the end. */
#include "report.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <jansson.h>

extern "C" {
#include "../common/machine.h"
}
#include "tarn/version.h"

namespace
{

constexpr int format_version = 1;

double median_of(const std::vector<double> &sorted)
{
    size_t count = sorted.size();
    return count % 2 != 0 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

json_t *subject_json(const subject &of)
{
    json_t *row = json_pack("{s:s, s:s, s:s}", "test", of.test.c_str(), "workload",
                            of.workload.c_str(), "heap", of.heap.c_str());
    if (of.x > 0.0) json_object_set_new(row, "x", json_real(of.x));
    return row;
}

json_t *figure_json(const figure &figure)
{
    json_t *row = subject_json(figure.of);
    json_object_set_new(row, "figure", json_string(figure.name.c_str()));
    json_object_set_new(row, "unit", json_string(figure.unit.c_str()));
    json_object_set_new(row, "median", json_real(figure.median));
    json_object_set_new(row, "min", json_real(figure.min));
    json_object_set_new(row, "max", json_real(figure.max));
    json_object_set_new(row, "rounds", json_integer((json_int_t)figure.rounds));
    return row;
}

json_t *remark_json(const subject &of, const std::string &text)
{
    json_t *row = subject_json(of);
    json_object_set_new(row, "text", json_string(text.c_str()));
    return row;
}

json_t *machine_json()
{
    tn_machine machine;
    tn_reason reason;
    if (!tn_machine_look(0, &machine, &reason)) return json_object();
    std::string version = std::to_string(TARN_VERSION_MAJOR) + "." +
                          std::to_string(TARN_VERSION_MINOR) + "." +
                          std::to_string(TARN_VERSION_PATCH);
    return json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:I, s:s}", "tarn_version", version.c_str(),
                     "commit", machine.commit, "backend", machine.backend, "device_name",
                     machine.device_name, "driver_version", machine.driver_version,
                     "runtime_version", machine.runtime_version, "device_bytes",
                     (json_int_t)machine.device_total_bytes, "cpu_model", machine.cpu_model);
}

json_t *options_json(const options &options)
{
    return json_pack("{s:i, s:i, s:I, s:f}", "rounds", (int)options.rounds, "threads",
                     (int)options.threads, "heap_bytes", (json_int_t)options.heap_bytes,
                     "patience_seconds", options.patience_s);
}

void print_subject(const subject &of)
{
    std::printf("%-9s %-40s %-5s ", of.test.c_str(), of.workload.c_str(), of.heap.c_str());
}

} // namespace

void report::add(const subject &of, const std::string &name, const std::string &unit,
                 std::vector<double> values)
{
    if (values.empty()) return;
    std::sort(values.begin(), values.end());
    figure figure{
        of, name, unit, median_of(values), values.front(), values.back(), values.size()
    };
    print_subject(of);
    std::printf("%-26s %12.2f %-6s (%.2f to %.2f, %zu)\n", name.c_str(), figure.median,
                unit.c_str(), figure.min, figure.max, figure.rounds);
    std::fflush(stdout);
    figures_.push_back(figure);
}

void report::skip(const subject &of, const std::string &why)
{
    print_subject(of);
    std::printf("skipped: %s\n", why.c_str());
    skipped_.push_back({ of, why });
}

void report::fault(const subject &of, const std::string &what)
{
    print_subject(of);
    std::printf("WRONG: %s\n", what.c_str());
    faults_.push_back({ of, what });
}

bool report::write(const options &options, const std::vector<std::string> &kernels) const
{
    json_t *root = json_pack("{s:i, s:o, s:o, s:[], s:[], s:[], s:[]}", "tarn_device_heap_bench",
                             format_version, "machine", machine_json(), "options",
                             options_json(options), "kernels", "results", "skipped", "faults");
    for (const std::string &kernel : kernels)
        json_array_append_new(json_object_get(root, "kernels"), json_string(kernel.c_str()));
    for (const figure &figure : figures_)
        json_array_append_new(json_object_get(root, "results"), figure_json(figure));
    for (const remark &skip : skipped_)
        json_array_append_new(json_object_get(root, "skipped"), remark_json(skip.of, skip.text));
    for (const remark &fault : faults_)
        json_array_append_new(json_object_get(root, "faults"), remark_json(fault.of, fault.text));
    errno = 0;
    bool is_written = json_dump_file(root, options.json_path.c_str(),
                                     JSON_INDENT(1) | JSON_REAL_PRECISION(6)) == 0;
    json_decref(root);
    if (!is_written)
        std::fprintf(stderr, "device_heap_bench: %s: cannot be written: %s\n",
                     options.json_path.c_str(),
                     errno != 0 ? std::strerror(errno) : "there is not enough host memory");
    return is_written;
}
