#include "hang.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "hang_ends.h"

namespace gpushim::analysis {

namespace {

constexpr int64_t kLeastNs = 2'000'000'000, kWithoutStepsNs = 10'000'000'000;
constexpr int64_t kSteps = 20;  // so many usual ones at least

int64_t threshold_ns(std::optional<int64_t> step_ns, std::optional<int64_t> after_ns) {
    if (after_ns) return *after_ns;
    return step_ns ? std::max(kLeastNs, kSteps * *step_ns) : kWithoutStepsNs;
}

// By name and number where they are furthest apart; of one communicator alone, of that.
std::string widest_communicator(const std::vector<LastSeen>& ranks) {
    std::map<std::string, std::pair<int64_t, int64_t>> ends;
    for (const LastSeen& rank : ranks)
        for (const auto& [name, last] : rank.collectives) {
            const auto [place, is_new] = ends.try_emplace(name, last.sequence, last.sequence);
            auto& [low, high] = place->second;
            low = std::min(low, last.sequence);
            high = std::max(high, last.sequence);
        }
    std::string widest;
    int64_t most = -1;
    for (const auto& [name, range] : ends)
        if (range.second - range.first > most) {
            most = range.second - range.first;
            widest = name;
        }
    return widest;
}

// Calls by what they are: ranks that called the same belong together.
std::vector<CalledBy> called_at(const std::vector<LastSeen>& ranks, const std::string& communicator,
                                int64_t sequence) {
    std::vector<CalledBy> calls;
    for (const LastSeen& rank : ranks) {
        const auto named = rank.recent.find(communicator);
        if (named == rank.recent.end()) continue;
        const auto called = named->second.find(sequence);
        if (called == named->second.end()) continue;
        const auto same = [&](const CalledBy& call) { return call.what == called->second; };
        auto place = std::find_if(calls.begin(), calls.end(), same);
        if (place == calls.end()) place = calls.insert(calls.end(), {called->second, {}, {}});
        place->labels.push_back(rank.label);
        place->ranks.push_back(rank.rank);
    }
    std::stable_sort(calls.begin(), calls.end(),
                     [](const CalledBy& a, const CalledBy& b) { return a.labels.size() > b.labels.size(); });
    return calls;
}

// The first place in which ranks have called different things: later ones differ because of it.
std::optional<Mismatch> first_mismatch(const std::vector<LastSeen>& ranks) {
    std::set<std::pair<std::string, int64_t>> places;
    for (const LastSeen& rank : ranks)
        for (const auto& [communicator, calls] : rank.recent)
            for (const auto& [sequence, call] : calls) places.insert({communicator, sequence});
    for (const auto& [communicator, sequence] : places)
        if (auto calls = called_at(ranks, communicator, sequence); calls.size() > 1)
            return Mismatch{communicator, sequence, std::move(calls)};
    return {};
}

// Of which communicator it is told, and how far that is.
void note_communicator(Hang& hang, const std::vector<LastSeen>& ranks) {
    hang.mismatch = first_mismatch(ranks);
    hang.communicator = hang.mismatch ? hang.mismatch->communicator : widest_communicator(ranks);
    for (const LastSeen& rank : ranks) {
        if (const auto last = rank.collectives.find(hang.communicator);
            last != rank.collectives.end() && last->second.sequence > hang.last_sequence) {
            hang.last_sequence = last->second.sequence;
            hang.last_collective = last->second.name;
        }
        if (const auto size = rank.communicator_ranks.find(hang.communicator);
            size != rank.communicator_ranks.end())
            hang.communicator_ranks = size->second;
    }
}

// Of those ranks that mark steps.
std::optional<int64_t> usual_step_ns(const std::vector<LastSeen>& ranks) {
    std::vector<int64_t> steps;
    for (const LastSeen& rank : ranks)
        if (rank.step_ns) steps.push_back(*rank.step_ns);
    if (steps.empty()) return {};
    std::ranges::sort(steps);
    return steps[steps.size() / 2];
}

HungRank hung(const LastSeen& rank, int64_t now_ns, const Hang& hang) {
    HungRank result = {};
    result.rank = rank.rank;
    result.label = rank.label;
    result.call = rank.last_call;
    result.for_ns = now_ns - rank.last_ns;
    result.has_ended = rank.has_ended;
    result.process = rank.process;
    result.python = rank.python;
    if (rank.newest && rank.newest->communicator != hang.communicator) result.elsewhere = rank.newest;
    result.is_inside = !rank.open_call.empty();
    if (result.is_inside) {
        result.call = rank.open_call;
        result.for_ns = now_ns - rank.open_since_ns;
    }
    if (const auto last = rank.collectives.find(hang.communicator); last != rank.collectives.end()) {
        result.collective = last->second.name;
        result.sequence = last->second.sequence;
    }
    result.has_written = rank.last_ns != 0;
    // No row tells of a call before it returns, nor of which communicator it is: this may be the one.
    result.may_be_in_it = result.has_written && result.is_inside && result.call == hang.last_collective &&
                          result.sequence + 1 == hang.last_sequence;
    result.is_behind = result.has_written && result.sequence < hang.last_sequence && !result.may_be_in_it;
    return result;
}

// Where each rank says which it is, and all of how many there are.
void note_absent(Hang& hang, const std::vector<LastSeen>& ranks) {
    constexpr int64_t kMostRanks = 1 << 20;
    std::set<int64_t> here;
    for (const LastSeen& rank : ranks) {
        if (!rank.rank || !rank.world_size || *rank.world_size > kMostRanks) return;
        here.insert(*rank.rank);
        hang.world_size = std::max(hang.world_size, *rank.world_size);
    }
    for (int64_t rank = 0; rank < hang.world_size; ++rank)
        if (!here.contains(rank)) hang.absent.push_back(rank);
}

}  // namespace

bool Mismatch::differs(const std::string& label) const {
    for (size_t i = 1; i < calls.size(); ++i)
        if (std::ranges::count(calls[i].labels, label) != 0) return true;
    return false;
}

std::optional<Hang> judge(const std::vector<LastSeen>& ranks, std::optional<int64_t> step_ns,
                          std::optional<int64_t> after_ns) {
    const int64_t least_ns = threshold_ns(step_ns, after_ns);
    std::map<std::string, int64_t> now_ns;
    for (const LastSeen& rank : ranks)
        now_ns[rank.clock] = std::max(now_ns[rank.clock], std::max(rank.alive_ns, rank.last_ns));
    Hang hang;
    hang.for_ns = INT64_MAX;
    bool waits = false;
    for (const LastSeen& rank : ranks) {
        if (rank.has_ended) continue;
        hang.for_ns = std::min(hang.for_ns, now_ns[rank.clock] - rank.last_ns);
        waits |= rank.open_waits;
    }
    if (!waits || hang.for_ns < least_ns) return {};
    if (!step_ns) step_ns = usual_step_ns(ranks);
    if (step_ns && *step_ns > 0)
        hang.steps = static_cast<double>(hang.for_ns) / static_cast<double>(*step_ns);
    note_communicator(hang, ranks);
    for (const LastSeen& rank : ranks) {
        HungRank one = hung(rank, now_ns[rank.clock], hang);
        one.is_silent = !rank.has_ended && now_ns[rank.clock] - rank.alive_ns >= least_ns;
        one.differs = hang.mismatch && hang.mismatch->differs(rank.label);
        const bool is_missing = !rank.open_waits || one.is_behind || one.is_silent || one.differs;
        (is_missing ? hang.missing : hang.waiting).push_back(std::move(one));
    }
    // Nobody else is missing: then it is they who are waited for, if they are in another one.
    if (hang.missing.empty()) {
        const auto in_it = std::stable_partition(hang.waiting.begin(), hang.waiting.end(),
                                                 [](const HungRank& rank) { return !rank.may_be_in_it; });
        hang.missing.assign(std::make_move_iterator(in_it), std::make_move_iterator(hang.waiting.end()));
        hang.waiting.erase(in_it, hang.waiting.end());
    }
    note_absent(hang, ranks);
    return hang;
}

std::optional<Hang> hang_of(const ReportSource& source) {
    if (source.traces == nullptr) return {};
    const auto ranks = ends_of(source.traces->traces);
    if (!ranks) return {};
    Query step = source.run.prepare(
        "SELECT value FROM metric WHERE scope = 'run' AND name = 'step_median_ns' AND value > 0");
    return judge(*ranks, step.step() ? std::optional(step.number(0)) : std::nullopt);
}

}  // namespace gpushim::analysis
