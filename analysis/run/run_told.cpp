#include "run_told.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "../trace/ended.h"
#include "../trace/placeless.h"
#include "../trace/unknown_abi.h"
#include "shim/base/version.h"
#include "sql/run_db.h"

namespace gpushim::analysis {

namespace {

// "580.65.06, CUDA 13.0" and "2.28.3", of those that are recorded.
std::map<const char*, std::string> versions_of(const Trace& trace) {
    std::string driver, nccl;
    Query fact = trace.base.prepare(
        "SELECT key, value FROM meta WHERE key IN ('cuda_version', 'driver_version', 'nccl_version') ORDER "
        "BY 1 DESC");
    while (fact.step()) {
        const int64_t number = fact.number(1);
        if (fact.text(0) == "driver_version") driver = fact.text(1);
        if (fact.text(0) == "nccl_version")
            nccl = std::to_string(number / 10'000) + "." + std::to_string(number / 100 % 100) + "." +
                   std::to_string(number % 100);
        if (fact.text(0) == "cuda_version")
            driver += (driver.empty() ? "CUDA " : ", CUDA ") + std::to_string(number / 1000) + "." +
                      std::to_string(number % 1000 / 10);
    }
    std::map<const char*, std::string> versions;
    if (!driver.empty()) versions["driver_version"] = driver;
    if (!nccl.empty()) versions["nccl_version"] = nccl;
    return versions;
}

std::string joined(const std::set<std::string>& all, const char* between) {
    std::string text;
    for (const std::string& one : all) text += (text.empty() ? "" : between) + one;
    return text;
}

// Unknown of one is unknown of all.
void add_if_known(std::optional<int64_t>& sum, const std::optional<int64_t>& more) {
    sum = sum && more ? std::optional(*sum + *more) : std::nullopt;
}

}  // namespace

void RunTold::add(const Trace& trace) {
    if (!std::exchange(is_any_, true)) add_process_of_first(trace);
    expected_ranks_ = std::max(expected_ranks_, trace.world_size);
    const bool is_told = trace.started_real_ns > 0;
    if (is_told && (!started_ns_ || trace.started_real_ns < *started_ns_))
        started_ns_ = trace.started_real_ns;
    add_meta(trace);
    add_if_known(unknown_abi_, unknown_abi_of(trace.base));
    placeless_ += placeless_operations(trace.base);
    const std::optional<bool> ended = has_ended(trace.base);
    add_if_known(not_ended_, ended ? std::optional<int64_t>(*ended ? 0 : 1) : std::nullopt);
    add_python(trace);
}

// The program is the script, and of what no interpreter runs its executable.
void RunTold::add_meta(const Trace& trace) {
    Query meta = trace.base.prepare(
        "SELECT key, value FROM meta"
        " WHERE key IN ('source', 'samples_per_step', 'end_note', 'frameworks', 'script')");
    std::string source = "gpushim", program = trace.executable;
    while (meta.step()) {
        const std::string key = meta.text(0);
        if (key == "samples_per_step" && !samples_per_step_) samples_per_step_ = meta.maybe(1);
        if (key == "source") source = meta.text(1);
        if (key == "script") program = meta.text(1);
        partly_read_ += key == "end_note";
        if (key != "frameworks") continue;
        are_frameworks_told_ = true;
        std::istringstream names(meta.text(1));
        for (std::string name; std::getline(names, name, ',');)
            if (name != "none") frameworks_.insert(name);
    }
    sources_.insert(source);
    if (!program.empty()) programs_.insert(program);
}

// Why the lines of a Python program were not read: its version, or how it was built.
void RunTold::add_python(const Trace& trace) {
    if (python_refused_ || !trace.base.has("python_source")) return;
    Query why = trace.base.prepare("SELECT refused FROM python_source WHERE refused IS NOT NULL LIMIT 1");
    if (why.step()) python_refused_ = why.text(0);
}

void RunTold::add_process_of_first(const Trace& trace) {
    executable_ = trace.executable;
    run_key_ = trace.run_key;
    versions_ = versions_of(trace);
    Query tag = trace.base.prepare("SELECT tag FROM process");
    if (tag.step() && !tag.is_null(0)) tag_ = tag.text(0);
}

void RunTold::write(const Inputs& inputs, const RunOptions& options, RunDb& run) const {
    const auto fact = [&](const char* key, const Value& value) {
        if (!std::holds_alternative<std::nullptr_t>(value)) run.add("run", {std::string(key), value});
    };
    const std::optional<int64_t> samples =
        options.samples_per_step ? options.samples_per_step : samples_per_step_;
    fact("analysed_by", std::string("gpushim ") + kVersion);
    fact("traces", static_cast<int64_t>(inputs.traces.size()));
    fact("refused", static_cast<int64_t>(inputs.refused.size()));
    fact("ranks_expected", maybe(expected_ranks_));
    fact("unknown_abi", maybe(unknown_abi_));
    fact("not_ended", maybe(not_ended_));
    fact("placeless_operations", placeless_);
    fact("partly_read", partly_read_);
    fact("started_real_ns", maybe(started_ns_));
    fact("sources", joined(sources_, ","));
    if (are_frameworks_told_) fact("frameworks", frameworks_.empty() ? "none" : joined(frameworks_, ","));
    if (python_refused_) fact("python_refused", *python_refused_);
    fact("params", maybe(options.params));
    fact("samples_per_step", maybe(samples));
    fact("tokens_per_sample", maybe(options.tokens_per_sample));
    fact("flops_per_sample", maybe(options.flops_per_sample));
    fact("bandwidth_bytes_per_s", maybe(options.bandwidth_bytes_per_s));
    fact("between_bytes_per_s", maybe(options.between_bytes_per_s));
    fact("price_per_gpu_hour", maybe(options.price_per_gpu_hour));
    if (!is_any_) return;
    fact("executable", executable_);
    if (!programs_.empty()) fact("programs", joined(programs_, ", "));
    fact("run_key", run_key_);
    if (tag_) fact("tag", *tag_);
    for (const auto& [key, words] : versions_) fact(key, words);
}

}  // namespace gpushim::analysis
