#include "unanswered.h"

#include <atomic>

namespace gpushim::shim {
namespace {

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

}  // namespace

void is_unanswered(Question question, CUresult result) {
    if (!is_programs_doing(result)) note(question, result);
}

void is_not_there(Question question) { note(question, kNotThere); }

int64_t refusal(size_t question) { return errors[question].load(std::memory_order_relaxed); }

uint32_t refusals() { return noted.load(std::memory_order_relaxed); }

}  // namespace gpushim::shim
