#include "unanswered_rows.h"

#include <array>
#include <iterator>

#include "../base/log.h"
#include "../calls/unanswered.h"
#include "../schema/rows.h"

namespace gpushim::shim {
namespace {

struct Row {
    const char* asked;
    const char* unknown;
};

constexpr Row kRows[] = {
#define QUESTION(asked, unknown) {#asked, unknown},
#include "../calls/unanswered.def"
#undef QUESTION
};
static_assert(std::size(kRows) == kQuestions);

class Unanswered : public Observer {
  public:
    int64_t look(const Moment& now) override {
        const uint32_t count = refusals();
        if (count != seen_) {
            seen_ = count;
            for (size_t i = 0; i < kQuestions; ++i) tell(i, now.mono_ns);
        }
        return INT64_MAX;
    }
    std::span<Rows* const> rows() override { return all_rows_; }

  private:
    void tell(size_t question, int64_t mono_ns) {
        const int64_t error = refusal(question);
        if (error == 0 || told_[question]) return;
        told_[question] = true;
        const Row& row = kRows[question];
        log_line(LogLevel::info, "%s did not answer; not known: %s", row.asked, row.unknown);
        unanswered_.add({.mono_ns = mono_ns,
                         .asked = unanswered_.text(row.asked),
                         .error = error == kNotThere ? kNull : error,
                         .unknown = unanswered_.text(row.unknown)});
    }

    uint32_t seen_ = 0;
    std::array<bool, kQuestions> told_ = {};
    RowsOf<row::unanswered> unanswered_;
    std::array<Rows*, 1> all_rows_ = {&unanswered_};
};

}  // namespace

std::unique_ptr<Observer> make_unanswered(std::span<const Device>) { return std::make_unique<Unanswered>(); }

}  // namespace gpushim::shim
