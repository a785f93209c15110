// What a server was asked for: the program's own ranges that are called a request ("request 17", "req-17"),
// of any thread. Those that never ended are kept without an end. At most kMost, the first ones, so that the
// run's database stays bounded; the rest is counted.
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

class RequestPart : public Part {
  public:
    explicit RequestPart(const TraceFacts& facts) : facts_(facts) {}

    void see(const Call&) override {}

    void finish(RunDb& run) override {
        if (facts_.served.program != Program::serving || !facts_.trace->base.has("v_range")) return;
        int64_t kept = 0;
        Query range = facts_.trace->base.prepare(
            "SELECT name, start_ns, end_ns FROM v_range WHERE name LIKE 'req%' ORDER BY start_ns, end_ns");
        while (kept < kMost && range.step())
            if (is_request(range.text(0)))
                run.add("request",
                        {facts_.rank_id, kept++, range.text(0), range.number(1), maybe(range.maybe(2))});
    }

  private:
    const TraceFacts& facts_;
};

const PartRegistration kRequestPart(make_request_part);

}  // namespace

std::unique_ptr<Part> make_request_part(const TraceFacts& facts) {
    return std::make_unique<RequestPart>(facts);
}

}  // namespace gpushim::analysis
