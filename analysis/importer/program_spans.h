// What a program's thread was in, and what other threads did for it: while it is in an operator they run the
// parts of that, and allocate for them.
//
//   program      |ffffffffff|  |pppp|
//   others     |ff|  |aaa|  |ff|
//   given        |ff|ff|aaa|fff|  |pppp|
//
// Memory is bounded by kMost parts; of more, only the program's own spans count. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "../interval/interval.h"
#include "host_spans.h"

namespace gpushim::analysis {

// In three readings of all spans, each by thread and start: see lay_out_program.
class ProgramSpans {
  public:
    ProgramSpans(int64_t thread, std::function<void(const HostSpan&)> give)
        : thread_(thread), laid_out_(std::move(give)) {}

    void find_operators(const HostSpan& span);  // the program's
    void find_parts(const HostSpan& span);      // of those
    void lay_out(const HostSpan& span);
    void finish();

  private:
    static constexpr size_t kMost = 1'000'000;

    void sort_parts();
    void add_parts_until(int64_t start_ns);

    const int64_t thread_;
    HostSpans laid_out_;
    std::vector<Interval> operators_;  // by time, apart from each other
    std::vector<HostSpan> parts_;
    size_t next_ = 0;
    bool are_sorted_ = false;
};

// `spans` has `each`, which gives all of them by thread and start, each time that it is asked.
template <class Spans>
void lay_out_program(int64_t thread, Spans& spans, std::function<void(const HostSpan&)> give) {
    ProgramSpans program(thread, std::move(give));
    spans.each([&](const HostSpan& span) { program.find_operators(span); });
    spans.each([&](const HostSpan& span) { program.find_parts(span); });
    spans.each([&](const HostSpan& span) { program.lay_out(span); });
    program.finish();
}

}  // namespace gpushim::analysis
