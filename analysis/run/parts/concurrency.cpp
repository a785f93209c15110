#include "concurrency.h"

#include <algorithm>

namespace gpushim::analysis {

void Concurrency::add(int64_t enter_ns, const Ran& ran, size_t stream) {
    waiting_.add(stream, ran.start_ns) = ran;
    while (const Ran* next = waiting_.next(enter_ns + 1)) start(*next);
}

void Concurrency::finish() {
    while (const Ran* next = waiting_.next(INT64_MAX)) start(*next);
    advance(INT64_MAX);
    now_ns_ = INT64_MIN;
}

void Concurrency::pass(int64_t t_ns) {
    if (active_.size() == 1 && t_ns > now_ns_) active_.front().alone_ns += t_ns - now_ns_;
    now_ns_ = std::max(now_ns_, t_ns);
}

void Concurrency::advance(int64_t t_ns) {
    while (!active_.empty()) {
        const auto first = std::min_element(active_.begin(), active_.end(),
                                            [](const Ran& a, const Ran& b) { return a.end_ns < b.end_ns; });
        if (first->end_ns > t_ns) break;
        pass(first->end_ns);
        const Ran over = *first;
        *first = active_.back();
        active_.pop_back();
        active_comm_ -= over.is_comm;
        ended_(over);
    }
}

void Concurrency::start(const Ran& ran) {
    advance(ran.start_ns);
    pass(ran.start_ns);
    if (started_) started_(ran);
    if (ran.is_comm) {
        for (Ran& other : active_) other.beside_comm = true;
        ++active_comm_;
    }
    active_.push_back(ran);
    // Of two collectives' kernels at one time both ran beside one.
    active_.back().beside_comm = active_comm_ > size_t{ran.is_comm};
}

}  // namespace gpushim::analysis
