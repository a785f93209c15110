#include "arrival.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "../failure.h"
#include "../run/sql/run_db.h"
#include "../trace/inputs.h"
#include "../trace/recovery.h"

namespace gpushim::analysis {

namespace fs = std::filesystem;

namespace {

int64_t changed_of(const fs::path& file) {
    struct stat status;
    return stat(file.c_str(), &status) == 0 ? status.st_mtim.tv_sec * 1'000'000'000 : 0;
}

int64_t newest_of(const fs::path& word) {
    int64_t newest_ns = changed_of(word);
    std::error_code ignored;  // whoever opens it says what is wrong with it
    for (const auto& entry : fs::directory_iterator(word, ignored))
        newest_ns = std::max(newest_ns, changed_of(entry.path()));
    return newest_ns;
}

void look_at_run(const Database& run, Arrival& arrival) {
    Query row = run.prepare("SELECT coalesce(uuid, file), started_real_ns FROM rank ORDER BY 2 DESC");
    while (row.step()) {
        arrival.traces.insert(row.text(0));
        arrival.started_real_ns = row.number(1);
    }
}

void look_at_traces(Arrival& arrival) {
    const Recovery recovery({&arrival.word, 1});
    const Inputs inputs = open_traces({&arrival.word, 1}, recovery);
    arrival.started_real_ns = inputs.traces.front().started_real_ns;
    for (const Trace& trace : inputs.traces) {
        arrival.traces.insert(trace.uuid.empty() ? trace.path.string() : trace.uuid);
        arrival.started_real_ns = std::min(arrival.started_real_ns, trace.started_real_ns);
        if (trace.until_ns != std::numeric_limits<int64_t>::max())
            arrival.still_writing = trace.path.filename().string();
    }
}

}  // namespace

Arrival look_at(const std::string& word) {
    Arrival arrival;
    arrival.word = word;
    arrival.changed_real_ns = newest_of(word);
    try {
        fs::path file = word;
        if (fs::is_directory(word) && databases_in(word).empty()) file /= "gpushim.run.db";
        if (fs::is_regular_file(file) && is_run(Database(file)))
            look_at_run(Database(file), arrival);
        else
            look_at_traces(arrival);
    } catch (const Failure& failure) {
        arrival.traces.clear();
        arrival.why_empty = failure.what();
    }
    return arrival;
}

}  // namespace gpushim::analysis
