#include "inputs.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <tuple>

#include "../failure.h"
#include "../sqlite/plain_tables.h"
#include "../terminal/progress.h"
#include "../text/names.h"
#include "history_file.h"
#include "recovery.h"
#include "work_bound.h"

namespace gpushim::analysis {

namespace fs = std::filesystem;

namespace {

constexpr int kSchemaVersion = 2;

// A trace at rest has no log beside it.
int64_t until_of(const fs::path& file, const Database& base) {
    std::error_code none;
    if (fs::file_size(file.string() + "-wal", none) == 0 || none) return std::numeric_limits<int64_t>::max();
    Query mark = base.prepare("SELECT max(watermark_ns) FROM ring_commit");
    return mark.step() ? mark.maybe(0).value_or(0) : 0;
}

void keep_newest_run(Inputs& inputs, const fs::path& folder) {
    std::map<std::string, int64_t> newest;
    for (const Trace& trace : inputs.traces)
        newest[run_of(trace)] = std::max(newest[run_of(trace)], trace.started_real_ns);
    if (newest.size() < 2) return;
    const auto chosen = std::max_element(newest.begin(), newest.end(), [](auto& a, auto& b) {
                            return a.second < b.second;
                        })->first;
    std::vector<std::string> others;
    std::erase_if(inputs.traces, [&](const Trace& trace) {
        if (run_of(trace) == chosen) return false;
        others.push_back(trace.path.filename().string());
        return true;
    });
    inputs.notes.push_back(folder.string() + " holds " + std::to_string(newest.size()) +
                           " runs: this is the newest; not shown: " + std::to_string(others.size()) +
                           " traces: " + listed(others));
}

void add(Inputs& inputs, const fs::path& path, const Recovery& recovery) {
    try {
        inputs.traces.push_back(open_trace(path, recovery.file_of(path)));
        inputs.traces.back().base.may_rest();
    } catch (const Failure& failure) {
        inputs.refused.push_back(failure.what());
    }
}

void drop_repeated(Inputs& inputs) {
    std::set<std::string> seen;
    std::vector<std::string> copies;
    std::erase_if(inputs.traces, [&](const Trace& trace) {
        if (trace.uuid.empty() || seen.insert(trace.uuid).second) return false;
        copies.push_back(trace.path.string());
        return true;
    });
    if (!copies.empty())
        inputs.notes.push_back(listed(copies) +
                               (copies.size() == 1
                                    ? " is a copy of another trace here and is not counted twice"
                                    : " are copies of other traces here and are not counted twice"));
}

}  // namespace

std::optional<int64_t> application_of(const fs::path& file) {
    constexpr std::streamoff kPlace = 68;  // in a SQLite file; big-endian
    std::error_code ignored;               // whoever opens it says what is wrong with it
    if (!fs::is_regular_file(file, ignored)) return {};
    std::ifstream bytes(file, std::ios::binary);
    unsigned char id[4] = {};
    bytes.seekg(kPlace);
    bytes.read(reinterpret_cast<char*>(id), sizeof id);
    return bytes ? std::optional<int64_t>(id[0] << 24 | id[1] << 16 | id[2] << 8 | id[3]) : std::nullopt;
}

namespace {

bool is_no_trace(const fs::path& file) {
    if (file.filename() == "gpushim.run.db") return true;
    const auto application = application_of(file);
    return application == kRunApplication || application == kSummaryApplication ||
           application == kHistoryApplication;
}

}  // namespace

Trace open_trace(const fs::path& path, const fs::path& file) {
    Trace trace{path, Database(file), 0, {}, {}, "", "", "", 0, ""};
    const int version = trace.base.schema_version();
    Query application = trace.base.prepare("PRAGMA application_id");
    if (application.step() && application.number(0) == kSummaryApplication)
        throw Failure(path.string() + ": a rank summary, not a trace; `gpushim sql` reads it");
    if (version == 0) throw Failure(path.string() + ": not a trace of gpushim");
    if (version > kSchemaVersion)
        throw Failure(path.string() + ": written by a newer gpushim (schema " + std::to_string(version) +
                      "; this version reads schemas up to " + std::to_string(kSchemaVersion) + ")");
    require_plain_tables(trace.base);
    bound_work(trace.base);
    Query query = trace.base.prepare(
        "SELECT pid, rank, world_size, run_key, executable,"
        " (SELECT value FROM meta WHERE key = 'host'), (SELECT value FROM meta WHERE key = "
        "'started_real_ns'),"
        " (SELECT value FROM meta WHERE key = 'uuid'), (SELECT value FROM meta WHERE key = 'boot_id')"
        " FROM process");
    if (!query.step()) throw Failure(path.string() + ": it is still empty");
    trace.pid = query.number(0);
    trace.rank = query.maybe(1);
    trace.world_size = query.maybe(2);
    trace.run_key = query.text(3);
    trace.executable = query.text(4);
    trace.host = query.text(5);
    trace.started_real_ns = query.number(6);
    trace.uuid = query.text(7);
    trace.boot_id = query.text(8);
    trace.until_ns = until_of(file, trace.base);
    return trace;
}

std::string run_of(const Trace& trace) {
    return trace.run_key.empty() ? "pid " + std::to_string(trace.pid) + " " + trace.uuid : trace.run_key;
}

std::string Trace::label() const {
    return rank ? "rank " + std::to_string(*rank) : "process " + std::to_string(pid);
}

std::vector<fs::path> databases_in(const fs::path& folder) {
    std::vector<fs::path> all;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error))
        if (entry.path().extension() == ".db" && !is_no_trace(entry.path())) all.push_back(entry.path());
    if (error) throw Failure(folder.string() + ": " + error.message());
    std::sort(all.begin(), all.end());
    return all;
}

Inputs open_traces(std::span<const std::string> words, const Recovery& recovery) {
    Inputs inputs;
    const Progress opening("opening the traces");
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
        what +=
            inputs.refused.empty() ? " in " + (words.empty() ? "" : words[0]) : ": " + listed(inputs.refused);
        const auto is_missing = [](const std::string& word) { return !fs::exists(word); };
        if (inputs.refused.empty() || std::any_of(words.begin(), words.end(), is_missing))
            what +=
                "; `gpushim run -- PROGRAM` makes one, `gpushim doctor -- PROGRAM` says why there is none";
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
