#include "hang_text.h"

#include <algorithm>
#include <cstdio>

#include "../text/escape.h"
#include "../text/names.h"
#include "../text/units.h"
#include "facts.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kMostRanks = 4;

std::string collective_text(const std::string& name, int64_t sequence) {
    return for_terminal(name) + " " + count_text(sequence);
}

std::string waiting_text(const HungRank& rank) {
    return rank.label + " waits in " + for_terminal(rank.call) + " for " +
           duration_text(static_cast<double>(rank.for_ns)) +
           (rank.sequence >= 0 ? ", last called " + collective_text(rank.collective, rank.sequence) : "");
}

// "ranks 0-2, 4", "process 4711"
std::string ranks_text(const std::vector<std::string>& labels,
                       const std::vector<std::optional<int64_t>>& ranks) {
    if (std::ranges::any_of(ranks, [](const auto& rank) { return !rank; })) return listed(labels);
    std::vector<int64_t> sorted;
    for (const auto& rank : ranks) sorted.push_back(*rank);
    std::ranges::sort(sorted);
    std::string text;
    for (size_t i = 0, last = 0; i < sorted.size(); i = last + 1) {
        for (last = i; last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1;) ++last;
        text += (i == 0 ? "" : ", ") + std::to_string(sorted[i]) +
                (last > i ? "-" + std::to_string(sorted[last]) : "");
    }
    return (sorted.size() == 1 ? "rank " : "ranks ") + text;
}

// Its name is a hash of 16 digits: eight tell it from the others of a job.
std::string communicator_text(const std::string& name, std::optional<int64_t> ranks) {
    return "communicator " + for_terminal(name.substr(0, 8)) +
           (ranks ? " (" + count_text(*ranks) + " ranks)" : "");
}

// Those that have called what others have not.
std::string who_waits_text(const Hang& hang) {
    std::vector<std::string> labels;
    std::vector<std::optional<int64_t>> ranks;
    for (const HungRank& rank : hang.waiting) {
        if (rank.sequence < hang.last_sequence) continue;
        labels.push_back(rank.label);
        ranks.push_back(rank.rank);
    }
    if (labels.empty()) return "";
    return ", in which " + ranks_text(labels, ranks) + (labels.size() == 1 ? " waits" : " wait");
}

std::string process_text(const HungRank& rank) {
    if (rank.process == ProcessNow::stopped)
        return "; its process is stopped, and what it did last may not be written";
    if (rank.process == ProcessNow::gone) return "; its process is gone";
    return rank.is_silent ? "; its process has been stopped, or is gone" : "";
}

std::string missing_text(const HungRank& rank, const Hang& hang) {
    const std::string since = duration_text(static_cast<double>(rank.for_ns));
    std::string text = rank.label;
    if (rank.is_behind)
        text += " has not called " + collective_text(hang.last_collective, hang.last_sequence) + " of " +
                communicator_text(hang.communicator, hang.communicator_ranks) + who_waits_text(hang) +
                (rank.sequence >= 0 ? "; its last is " + count_text(rank.sequence) : "") + ";";
    if (rank.is_behind && rank.elsewhere)
        text += " has called " + collective_text(rank.elsewhere->name, rank.elsewhere->sequence) + " of " +
                communicator_text(rank.elsewhere->communicator, {}) + " instead;";
    if (rank.may_be_in_it)
        text += " may be in " + collective_text(hang.last_collective, hang.last_sequence) + " of " +
                communicator_text(hang.communicator, hang.communicator_ranks) + who_waits_text(hang) +
                ", or in one of another communicator;";
    if (rank.has_ended) return text + " has ended";
    if (!rank.has_written) return text + " has written nothing yet" + process_text(rank);
    if (rank.is_inside)
        text += " has been in " + for_terminal(rank.call) + " for " + since;
    else
        text += " has made no call for " + since + ", the last was " + for_terminal(rank.call);
    return text + (rank.python.empty() ? "" : ", at " + for_terminal(rank.python)) + process_text(rank);
}

std::string called_text(const CalledBy& call) {
    std::string text = ranks_text(call.labels, call.ranks) + " called " + for_terminal(call.what.name);
    if (call.what.bytes) text += " of " + bytes_text(static_cast<double>(*call.what.bytes));
    if (call.what.root) text += " with root " + std::to_string(*call.what.root);
    return text;
}

// A rank that is alone first.
std::string mismatch_text(const Mismatch& mismatch, const Hang& hang) {
    std::string text = called_text(mismatch.calls.back()) + " as number " + count_text(mismatch.sequence) +
                       " of " + communicator_text(mismatch.communicator, hang.communicator_ranks);
    for (size_t i = 0; i + 1 < mismatch.calls.size(); ++i) text += ", " + called_text(mismatch.calls[i]);
    return text + ": these cannot meet";
}

void add_ranks(const std::vector<HungRank>& ranks, const auto& text_of, std::vector<std::string>& lines) {
    for (size_t i = 0; i < ranks.size() && i < kMostRanks; ++i) lines.push_back(text_of(ranks[i]));
    if (ranks.size() > kMostRanks)
        lines.push_back("… and " + count_text(static_cast<int64_t>(ranks.size() - kMostRanks)) +
                        " more like these: --json has them all");
}

std::optional<std::string> process_word(ProcessNow process) {
    constexpr const char* kWords[] = {"", "runs", "stopped", "gone"};
    if (process == ProcessNow::not_known) return {};
    return kWords[static_cast<size_t>(process)];
}

Json json_of(const Mismatch& mismatch) {
    Json calls = Json::array();
    for (const CalledBy& call : mismatch.calls) {
        Json ranks = Json::array();
        for (const std::string& label : call.labels) ranks.push(label);
        calls.push(Facts()
                       .known("who", std::move(ranks))
                       .known("call", call.what.name)
                       .maybe("bytes", call.what.bytes, "its type is not known")
                       .maybe("root", call.what.root, "it has none")
                       .json());
    }
    return Facts()
        .known("communicator", mismatch.communicator)
        .known("collective", mismatch.sequence)
        .known("calls", std::move(calls))
        .json();
}

Json json_of(const std::vector<HungRank>& ranks) {
    Json list = Json::array();
    for (const HungRank& rank : ranks)
        list.push(Facts()
                      .maybe("rank", rank.rank, "no rank is known")
                      .known("call", rank.call)
                      .maybe("for_ns", rank.has_written ? std::optional(rank.for_ns) : std::nullopt,
                             "it has written nothing yet")
                      .known("has_ended", rank.has_ended)
                      .maybe("collective", rank.sequence >= 0 ? std::optional(rank.sequence) : std::nullopt,
                             "none was called")
                      .known("is_behind", rank.is_behind)
                      .known("is_silent", rank.is_silent)
                      .maybe("process", process_word(rank.process), "it cannot be seen from here")
                      .maybe("python", rank.python.empty() ? std::nullopt : std::optional(rank.python),
                             "its line of Python was not seen since then")
                      .json());
    return list;
}

std::string absent_text(const Hang& hang) {
    const auto many = static_cast<int64_t>(hang.absent.size());
    const std::string of = " of " + count_text(hang.world_size);
    if (many > 1)
        return count_text(many) + of + " ranks have no trace here, rank " + count_text(hang.absent[0]) +
               " is the first of them";
    return "rank " + std::to_string(hang.absent[0]) + of + " has no trace here";
}

Json numbers_of(const std::vector<int64_t>& numbers) {
    Json list = Json::array();
    for (const int64_t number : numbers) list.push(number);
    return list;
}

}  // namespace

std::vector<std::string> hang_lines(const Hang& hang) {
    char steps[48] = "";
    if (hang.steps) std::snprintf(steps, sizeof steps, ", %.0f times the usual step", *hang.steps);
    std::vector<std::string> lines = {"nothing moved for " + duration_text(static_cast<double>(hang.for_ns)) +
                                      steps};
    if (hang.mismatch) lines.push_back(mismatch_text(*hang.mismatch, hang));
    add_ranks(
        hang.missing, [&](const HungRank& rank) { return missing_text(rank, hang); }, lines);
    add_ranks(hang.waiting, waiting_text, lines);
    if (!hang.absent.empty()) lines.push_back(absent_text(hang));
    return lines;
}

Json hang_json(const std::optional<Hang>& hang, bool has_traces) {
    if (!hang)
        return Facts()
            .maybe("for_ns", std::optional<int64_t>(),
                   has_traces ? "nothing tells that it hung" : "the traces are not here")
            .json();
    return Facts()
        .known("for_ns", hang->for_ns)
        .maybe("usual_steps", hang->steps, "no steps were found or marked")
        .maybe("communicator", hang->communicator.empty() ? std::nullopt : std::optional(hang->communicator),
               "no collective was called")
        .maybe("collective", hang->last_sequence >= 0 ? std::optional(hang->last_sequence) : std::nullopt,
               "no collective was called")
        .maybe("mismatch", hang->mismatch ? std::optional(json_of(*hang->mismatch)) : std::nullopt,
               "what the ranks called agrees, as far as their last calls tell")
        .known("waiting", json_of(hang->waiting))
        .known("missing", json_of(hang->missing))
        .known("absent", numbers_of(hang->absent))
        .json();
}

}  // namespace gpushim::analysis
