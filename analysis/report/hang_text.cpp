#include "hang_text.h"

#include <cstdio>

#include "../text/escape.h"
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

std::string missing_text(const HungRank& rank, const Hang& hang) {
    const std::string since = duration_text(static_cast<double>(rank.for_ns));
    std::string text = rank.label;
    if (rank.is_behind)
        text += " has not called " + collective_text(hang.last_collective, hang.last_sequence) +
                (rank.sequence >= 0 ? ", its last is " + count_text(rank.sequence) : "") + ";";
    if (rank.has_ended) return text + " has ended";
    if (rank.is_inside)
        text += " has been in " + for_terminal(rank.call) + " for " + since;
    else
        text += " has made no call for " + since + ", the last was " + for_terminal(rank.call);
    return text + (rank.is_silent ? "; its process has been stopped, or is gone" : "");
}

void add_ranks(const std::vector<HungRank>& ranks, const auto& text_of, std::vector<std::string>& lines) {
    for (size_t i = 0; i < ranks.size() && i < kMostRanks; ++i) lines.push_back(text_of(ranks[i]));
    if (ranks.size() > kMostRanks)
        lines.push_back("… and " + count_text(static_cast<int64_t>(ranks.size() - kMostRanks)) +
                        " more like these: --json has them all");
}

Json json_of(const std::vector<HungRank>& ranks) {
    Json list = Json::array();
    for (const HungRank& rank : ranks)
        list.push(Facts()
                      .maybe("rank", rank.rank, "no rank is known")
                      .known("call", rank.call)
                      .known("for_ns", rank.for_ns)
                      .known("has_ended", rank.has_ended)
                      .maybe("collective", rank.sequence >= 0 ? std::optional(rank.sequence) : std::nullopt,
                             "none was called")
                      .known("is_behind", rank.is_behind)
                      .known("is_silent", rank.is_silent)
                      .json());
    return list;
}

}  // namespace

std::vector<std::string> hang_lines(const Hang& hang) {
    char steps[48] = "";
    if (hang.steps) std::snprintf(steps, sizeof steps, ", %.0f times the usual step", *hang.steps);
    std::vector<std::string> lines = {"nothing moved for " + duration_text(static_cast<double>(hang.for_ns)) +
                                      steps};
    add_ranks(
        hang.missing, [&](const HungRank& rank) { return missing_text(rank, hang); }, lines);
    add_ranks(hang.waiting, waiting_text, lines);
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
        .maybe("usual_steps", hang->steps, "no steps were found")
        .known("waiting", json_of(hang->waiting))
        .known("missing", json_of(hang->missing))
        .json();
}

}  // namespace gpushim::analysis
