// Questions of ours that the driver did not answer: what is not known for that is told once, in the trace.
// Asked on any thread, in the program's calls too: an answer costs a comparison.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "device.h"
#include "hooks/driver_api.h"
#include "observer.h"

namespace gpushim::shim {

enum class Question : uint8_t {
#define QUESTION(asked, unknown) asked,
#include "unanswered.def"
#undef QUESTION
};

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

// Rows of what was not answered so far.
std::unique_ptr<Observer> make_unanswered(std::span<const Device> devices);

}  // namespace gpushim::shim
