// What a server was asked for: the program's own ranges that are called a request ("request 17", "req-17"),
// of any thread. Those that never ended are kept without an end. At most kMost, the first ones, so that the
// run's database stays bounded; the rest is counted.
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "../sql/run_db.h"
#include "own_parts.h"

namespace gpushim::analysis {

namespace {

constexpr int64_t kMost = 100'000;

bool is_request(const std::string& name) {
    constexpr std::string_view kRequestWords[] = {"request", "req"};
    for (const std::string_view word : kRequestWords) {
        if (name.size() < word.size()) continue;
        bool is_word = true;
        for (size_t i = 0; i < word.size(); ++i)
            is_word &= std::tolower(static_cast<unsigned char>(name[i])) == word[i];
        const bool goes_on =
            name.size() > word.size() && std::isalpha(static_cast<unsigned char>(name[word.size()])) != 0;
        if (is_word && !goes_on) return true;
    }
    return false;
}

// How long in each step no request was open. Requests in order of their begins; one without an end stays
// open.
//
//   requests   |────|  |───|            |──|
//                 |──────|
//   steps    |1────────|2────────|3────────|
//   quiet    ═             ══════ ══════
std::vector<int64_t> quiet_in(const std::vector<Step>& steps, const std::vector<Interval>& requests) {
    std::vector<int64_t> quiet;
    size_t next = 0;
    int64_t open_until_ns = INT64_MIN;
    for (const Step& step : steps) {
        int64_t sum_ns = 0, at_ns = step.begin_ns;
        for (; next < requests.size() && requests[next].start_ns < step.end_ns; ++next) {
            const int64_t begin_ns = std::max(at_ns, requests[next].start_ns);
            sum_ns += std::max(int64_t{0}, begin_ns - std::max(at_ns, open_until_ns));
            at_ns = begin_ns;
            open_until_ns = std::max(open_until_ns, requests[next].end_ns);
        }
        sum_ns += std::max(int64_t{0}, step.end_ns - std::max(at_ns, open_until_ns));
        quiet.push_back(sum_ns);
    }
    return quiet;
}

class RequestPart : public PartByCall<RequestPart> {
  public:
    explicit RequestPart(const TraceFacts& facts) : facts_(facts) {}

    void see(const Call&) override {}

    void finish(RunDb& run) override {
        if (facts_.served.program != Program::serving || !facts_.trace->base.has("v_range")) return;
        int64_t kept = 0;
        Query range = facts_.trace->base.prepare(
            "SELECT name, start_ns, end_ns FROM v_range WHERE name LIKE 'req%' ORDER BY start_ns, end_ns");
        std::vector<Interval> requests;
        while (kept < kMost && range.step()) {
            if (!is_request(range.text(0))) continue;
            run.add("request",
                    {facts_.rank_id, kept++, range.text(0), range.number(1), maybe(range.maybe(2))});
            requests.push_back({range.number(1), range.maybe(2).value_or(INT64_MAX)});
        }
        // Of those that were left out nobody knows when they were open.
        if (!requests.empty() && kept < kMost) write_quiet(requests, run);
    }

  private:
    void write_quiet(const std::vector<Interval>& requests, RunDb& run) const {
        const std::vector<int64_t> quiet = quiet_in(facts_.steps, requests);
        for (size_t i = 0; i < facts_.iterations.size() && i < quiet.size(); ++i)
            run.add("quiet", {facts_.rank_id, static_cast<int64_t>(i), quiet[i]});
    }

    const TraceFacts& facts_;
};

const PartRegistration kRequestPart(make_request_part);

}  // namespace

std::unique_ptr<Part> make_request_part(const TraceFacts& facts) {
    return std::make_unique<RequestPart>(facts);
}

}  // namespace gpushim::analysis
