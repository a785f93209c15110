#include "rank_summary.h"

#include <cstdio>
#include <utility>

#include "../advice/advise.h"
#include "../failure.h"
#include "../process/temporary.h"
#include "../run/analyze.h"
#include "../run/summarise.h"
#include "../terminal/stderr_line.h"
#include "../trace/inputs.h"
#include "../trace/recovery.h"

namespace gpushim::analysis {

namespace fs = std::filesystem;

namespace {

void refuse_to_replace(const fs::path& place) {
    if (!fs::exists(place)) return;
    bool is_ours = false;
    try {
        is_ours = is_summary(Database(place));
    } catch (const Failure&) {  // not even a database
    }
    if (!is_ours)
        throw Unwritable(place.string() + ": exists and is not a rank summary; it was left unchanged");
}

void write_summary(const Inputs& inputs, const RunOptions& options, const fs::path& place) {
    refuse_to_replace(place);
    const TemporaryFolder folder;
    fs::path run;
    try {
        run = analyze(inputs, options, folder.path() / "gpushim.run.db", write_findings);
    } catch (const Unwritable& failure) {
        throw Unwritable(failure.what() + std::string("; set TMPDIR to another folder"));
    }
    summarise(run, inputs.traces, place);
}

struct Opened {
    Recovery recovery;
    Inputs traces;

    explicit Opened(const std::vector<std::string>& words)
        : recovery(words), traces(open_traces(words, recovery)) {
        for (const std::string& note : traces.notes) stderr_line(note);
        tell_few("left out ", traces.refused);
    }
    int code() const { return recovery.complete() && traces.refused.empty() ? kFine : kIncomplete; }
};

// `told` is called with each summary that was made.
template <class Told>
int each_of(const std::vector<std::string>& words, const RunOptions& options, Told told) {
    Opened opened(words);
    int code = opened.code();
    for (Trace& trace : opened.traces.traces) {
        const fs::path place = fs::path(trace.path).replace_extension(".summary");
        Inputs one;
        one.traces.push_back(std::move(trace));
        try {
            write_summary(one, options, place);
            told(place);
        } catch (const Failure& failure) {  // one trace; the others are not worse for it
            stderr_line(failure.what());
            code = kIncomplete;
        }
    }
    return code;
}

}  // namespace

int summarise_each(const std::vector<std::string>& words, const RunOptions& options) {
    return each_of(words, options, [](const fs::path& place) { std::printf("%s\n", place.c_str()); });
}

int summarise_together(const std::vector<std::string>& words, const RunOptions& options,
                       const fs::path& place) {
    const Opened opened(words);
    write_summary(opened.traces, options, place);
    std::printf("%s\n", place.c_str());
    return opened.code();
}

void summarise_left(const std::vector<fs::path>& traces) {
    std::vector<std::string> words;
    for (const fs::path& trace : traces) words.push_back(trace.string());
    if (words.empty()) return;
    try {  // on stdout only the program writes
        each_of(words, {}, [](const fs::path&) {});
    } catch (const std::exception& failure) {
        stderr_line(std::string("no summary: ") + failure.what());
    }
}

}  // namespace gpushim::analysis
