// Questions of ours that the driver did not answer: what is not known for that is told once, in the trace.
// Asked on any thread, in the program's calls too: an answer costs a comparison.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver_api.h"

namespace gpushim::shim {

enum class Question : uint8_t {
#define QUESTION(asked, unknown) asked,
#include "unanswered.def"
#undef QUESTION
};

constexpr size_t kQuestions = 0
#define QUESTION(asked, unknown) +1
#include "unanswered.def"
#undef QUESTION
    ;

// What the program itself brought about (a handle that is none, a fault of its kernel) is no refusal.
void is_unanswered(Question question, CUresult result);
void is_not_there(Question question);

inline bool is_answered(Question question, CUresult result) {
    if (result != CUDA_SUCCESS) is_unanswered(question, result);
    return result == CUDA_SUCCESS;
}

// Asks, where there is such a function.
template <class... Types, class... Values>
bool answers(Question question, CUresult (*ask)(Types...), Values... values) {
    if (ask == nullptr) is_not_there(question);
    return ask != nullptr && is_answered(question, ask(values...));
}

constexpr int64_t kNotThere = -1;

// What a question was refused with first, a CUresult or kNotThere; 0: answered, as far as is known.
int64_t refusal(size_t question);
// How many have been refused.
uint32_t refusals();

}  // namespace gpushim::shim
