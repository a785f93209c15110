#include "shared_gpus.h"

#include <algorithm>
#include <list>
#include <map>
#include <set>

#include "../collectives/run_clocks.h"
#include "../sql/run_db.h"
#include "busy_spans.h"

namespace gpushim::analysis {

namespace {

struct User {  // a process's row of a GPU
    const TraceFacts* facts;
    const Gpu* gpu;
    const DeviceBusy* busy;
};

// What is summed of one of them while all are gone through.
struct SeenRank {
    explicit SeenRank(const User& user)
        : spans(*user.facts->trace, user.gpu->device_id), next(spans.next()) {}

    BusySpans spans;
    std::optional<Interval> next;
    int64_t busy_ns = 0;
    int64_t ended_ns = 0;  // of the time without operations, what one of its own ended
};

Interval lives_of(std::span<const User> users) {
    Interval lives = {INT64_MAX, INT64_MIN};
    for (const User& user : users) {
        lives.start_ns = std::min(lives.start_ns, user.busy->run.start_ns);
        lives.end_ns = std::max(lives.end_ns, user.busy->run.end_ns);
    }
    return lives;
}

Intervals known_of_all(std::span<const User> users) {
    const Interval lives = lives_of(users);
    Intervals all = {lives};
    for (const User& user : users) {
        const Interval run = user.busy->run;
        std::vector<Interval> known = {{lives.start_ns, run.start_ns}, {run.end_ns, lives.end_ns}};
        for (const SpanBusy& window : user.busy->windows)
            if (!is_refused(window)) known.push_back(window.span);
        all = intersect(all, unite(std::move(known)));
    }
    return all;
}

// The one that starts first; nullptr: none does before then.
SeenRank* first_before(std::list<SeenRank>& all, int64_t until_ns) {
    SeenRank* first = nullptr;
    for (SeenRank& seen : all)
        if (seen.next && seen.next->start_ns < (first != nullptr ? first->next->start_ns : until_ns))
            first = &seen;
    return first;
}

// Sums of one known span; returns the time behind the last operation.
int64_t go_through(std::list<SeenRank>& all, Interval known) {
    int64_t at_ns = known.start_ns;
    while (SeenRank* seen = first_before(all, known.end_ns)) {
        const Interval span = {std::max(seen->next->start_ns, known.start_ns),
                               std::min(seen->next->end_ns, known.end_ns)};
        if (span.length_ns() > 0) {
            seen->busy_ns += span.length_ns();
            seen->ended_ns += std::max<int64_t>(0, span.start_ns - at_ns);
            at_ns = std::max(at_ns, span.end_ns);
        }
        if (seen->next->end_ns > known.end_ns)
            seen->next->start_ns = known.end_ns;  // the rest lies in what comes
        else
            seen->next = seen->spans.next();
    }
    return known.end_ns - at_ns;
}

void write_gpu(std::span<const User> users, RunDb& run) {
    const Intervals known = known_of_all(users);
    const int64_t known_ns = length_ns(known);
    std::list<SeenRank> all;
    for (const User& user : users) all.emplace_back(user);
    int64_t tail_ns = 0, ended_ns = 0;
    for (const Interval& span : known) tail_ns += go_through(all, span);
    for (const SeenRank& seen : all) ended_ns += seen.ended_ns;
    const auto if_known = [&](int64_t ns) { return known_ns > 0 ? Value(ns) : Value(nullptr); };
    auto seen = all.begin();
    for (const User& user : users) {
        run.add("shared_gpu",
                {user.gpu->gpu_id, users.front().gpu->gpu_id, static_cast<int64_t>(users.size()), known_ns,
                 if_known(known_ns - ended_ns - tail_ns), if_known(seen->busy_ns), if_known(seen->ended_ns),
                 if_known(ended_ns - seen->ended_ns), if_known(tail_ns),
                 known_ns > 0 ? Value(nullptr)
                              : Value(std::string("the processes were never timed at the same time"))});
        ++seen;
    }
}

// To have a context somewhere is no use of it; to run something there outside of steps is.
constexpr const char* kUnused =
    "SELECT gpu_id FROM gpu WHERE unused = 1 AND coalesce(busy_share, busy_share_high, 0) < 0.01";

}  // namespace

void write_shared_gpus(std::span<const TraceFacts> traces, std::span<const std::vector<DeviceBusy>> busy,
                       RunDb& run) {
    RunClocks clocks;
    for (const TraceFacts& facts : traces) clocks.add(facts);
    std::map<std::pair<int, std::string>, std::vector<User>> gpus;
    for (size_t i = 0; i < traces.size(); ++i)
        for (const Gpu& gpu : traces[i].gpus)
            for (const DeviceBusy& device : busy[i])
                if (device.device_id == gpu.device_id && !gpu.uuid.empty())
                    gpus[{clocks.clock_of(traces[i].rank_id), gpu.uuid}].push_back(
                        {&traces[i], &gpu, &device});
    const std::set<int64_t> unused = run.numbers(kUnused);
    for (auto& [key, users] : gpus) {
        std::erase_if(users, [&](const User& user) { return unused.contains(user.gpu->gpu_id); });
        if (users.size() > 1) write_gpu(users, run);
    }
}

}  // namespace gpushim::analysis
