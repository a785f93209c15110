#include "inputs.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "../failure.h"
#include "../process/recovery.h"

namespace gpushim::analysis {

namespace fs = std::filesystem;

namespace {

constexpr int kSchemaVersion = 2;

Trace open_trace(const fs::path& path, const fs::path& file) {
    Trace trace{path, Database(file), 0, {}, {}, "", "", "", 0, ""};
    const int version = trace.base.schema_version();
    if (version == 0) throw Failure(path.string() + ": not a trace of gpushim");
    if (version > kSchemaVersion)
        throw Failure(path.string() + ": written by a newer gpushim (schema " + std::to_string(version) +
                      "; this one reads up to " + std::to_string(kSchemaVersion) + ")");
    Query query = trace.base.prepare(
        "SELECT pid, rank, world_size, run_key, executable,"
        " (SELECT value FROM meta WHERE key = 'host'), (SELECT value FROM meta WHERE key = "
        "'started_real_ns'),"
        " (SELECT value FROM meta WHERE key = 'uuid') FROM process");
    if (!query.step()) throw Failure(path.string() + ": nothing in it yet");
    trace.pid = query.number(0);
    trace.rank = query.maybe(1);
    trace.world_size = query.maybe(2);
    trace.run_key = query.text(3);
    trace.executable = query.text(4);
    trace.host = query.text(5);
    trace.started_real_ns = query.number(6);
    trace.uuid = query.text(7);
    return trace;
}

// Processes without a key of their own are each a run.
std::string run_of(const Trace& trace) {
    return trace.run_key.empty() ? "pid " + std::to_string(trace.pid) + " " + trace.uuid : trace.run_key;
}

void keep_newest_run(Inputs& inputs, const fs::path& folder) {
    std::map<std::string, int64_t> newest;
    for (const Trace& trace : inputs.traces)
        newest[run_of(trace)] = std::max(newest[run_of(trace)], trace.started_real_ns);
    if (newest.size() < 2) return;
    const auto chosen = std::max_element(newest.begin(), newest.end(), [](auto& a, auto& b) {
                            return a.second < b.second;
                        })->first;
    std::string others;
    size_t left_out = std::erase_if(inputs.traces, [&](const Trace& trace) {
        if (run_of(trace) == chosen) return false;
        if (others.size() < 200) others += " " + trace.path.filename().string();
        return true;
    });
    inputs.notes.push_back(folder.string() + " holds " + std::to_string(newest.size()) +
                           " runs: this is the newest; not shown are " + std::to_string(left_out) +
                           " traces:" + others);
}

void add(Inputs& inputs, const fs::path& path, const Recovery& recovery) {
    try {
        inputs.traces.push_back(open_trace(path, recovery.file_of(path)));
    } catch (const Failure& failure) {
        inputs.refused.push_back(failure.what());
    }
}

void drop_repeated(Inputs& inputs) {
    std::set<std::string> seen;
    std::erase_if(inputs.traces, [&](const Trace& trace) {
        if (trace.uuid.empty() || seen.insert(trace.uuid).second) return false;
        inputs.notes.push_back(trace.path.string() +
                               " is a copy of another trace here and is not counted twice");
        return true;
    });
}

}  // namespace

std::string Trace::label() const {
    return rank ? "rank " + std::to_string(*rank) : "process " + std::to_string(pid);
}

std::vector<fs::path> databases_in(const fs::path& folder) {
    std::vector<fs::path> all;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error))
        if (entry.path().extension() == ".db" && entry.path().filename() != "gpushim.run.db")
            all.push_back(entry.path());
    if (error) throw Failure(folder.string() + ": " + error.message());
    std::sort(all.begin(), all.end());
    return all;
}

Inputs open_traces(std::span<const std::string> words, const Recovery& recovery) {
    Inputs inputs;
    for (const std::string& word : words) {
        if (!fs::is_directory(word)) {
            add(inputs, word, recovery);
            continue;
        }
        for (const fs::path& path : databases_in(word)) add(inputs, path, recovery);
        if (words.size() == 1) keep_newest_run(inputs, word);
    }
    drop_repeated(inputs);
    if (inputs.traces.empty()) {
        std::string what = "no trace to read";
        for (const std::string& refused : inputs.refused) what += "\n  " + refused;
        if (inputs.refused.empty())
            what += " in " + (words.empty() ? "" : words[0]) + "; `gpushim run -- PROGRAM` makes one, " +
                    "`gpushim doctor -- PROGRAM` says why there is none";
        throw Failure(what);
    }
    const auto order = [](const Trace& trace) {
        return std::tuple(!trace.rank, trace.rank.value_or(0), trace.started_real_ns, trace.pid);
    };
    std::sort(inputs.traces.begin(), inputs.traces.end(),
              [&](const Trace& a, const Trace& b) { return order(a) < order(b); });
    return inputs;
}

}  // namespace gpushim::analysis
