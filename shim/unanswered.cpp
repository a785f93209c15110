#include "unanswered.h"

#include <array>
#include <atomic>
#include <iterator>

#include "log.h"

namespace gpushim::shim {
namespace {

struct Row {
    const char* asked;
    const char* unknown;
};

constexpr Row kRows[] = {
#define QUESTION(asked, unknown) {#asked, unknown},
#include "unanswered.def"
#undef QUESTION
};
constexpr size_t kQuestions = std::size(kRows);

constexpr int64_t kNotThere = -1;  // in place of an error; 0: answered, as far as is known

constinit std::atomic<int64_t> errors[kQuestions] = {};
constinit std::atomic<uint32_t> noted = 0;

// The first is told. Relaxed: who tells of it looks again and again.
void note(Question question, int64_t error) {
    int64_t none = 0;
    if (errors[static_cast<size_t>(question)].compare_exchange_strong(none, error, std::memory_order_relaxed))
        noted.fetch_add(1, std::memory_order_relaxed);
}

bool is_programs_doing(CUresult result) {
    constexpr int kFaults = 700, kLastFault = 799, kCaptures = 900, kLastCapture = 909;
    const int error = result;
    return result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_NOT_INITIALIZED ||
           result == CUDA_ERROR_DEINITIALIZED || result == CUDA_ERROR_INVALID_CONTEXT ||
           result == CUDA_ERROR_INVALID_HANDLE || (error >= kFaults && error <= kLastFault) ||
           (error >= kCaptures && error <= kLastCapture);
}

class Unanswered : public Observer {
  public:
    int64_t look(const Moment& now) override {
        const uint32_t count = noted.load(std::memory_order_relaxed);
        if (count != seen_) {
            seen_ = count;
            for (size_t i = 0; i < kQuestions; ++i) tell(i, now.mono_ns);
        }
        return INT64_MAX;
    }
    std::span<Rows* const> rows() override { return all_rows_; }

  private:
    void tell(size_t question, int64_t mono_ns) {
        const int64_t error = errors[question].load(std::memory_order_relaxed);
        if (error == 0 || told_[question]) return;
        told_[question] = true;
        const Row& row = kRows[question];
        log_line(LogLevel::info, "%s did not answer: not known: %s", row.asked, row.unknown);
        unanswered_.add(mono_ns, unanswered_.text(row.asked), error == kNotThere ? kNull : error,
                        unanswered_.text(row.unknown));
    }

    uint32_t seen_ = 0;
    std::array<bool, kQuestions> told_ = {};
    RowsOf<4> unanswered_{"unanswered", 1u << 1 | 1u << 3};
    std::array<Rows*, 1> all_rows_ = {&unanswered_};
};

}  // namespace

void is_unanswered(Question question, CUresult result) {
    if (!is_programs_doing(result)) note(question, result);
}

void is_not_there(Question question) { note(question, kNotThere); }

std::unique_ptr<Observer> make_unanswered(std::span<const Device>) { return std::make_unique<Unanswered>(); }

}  // namespace gpushim::shim
