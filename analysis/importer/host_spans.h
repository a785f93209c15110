// What each thread was inside of, from spans that lie in and over each other: at each instant what the most
// telling of those that are open says.
//
//   input       |═════════|
//   framework      |═══|       |════|  |══|
//   python    |════════════════════════════════|
//   given     |p|iiiiiiiii|pppp|ffff|pp|ff|pppp|
//
// Of input, which stage of loading it is: of spans in it whose names tell the one that began last; what is
// around it holds the whole program.
//
//   stages   |────────────── reads ─────────|
//   input      |════════════════════|
//   stages       |── reads ──|
//                  |dec.|
//   given      |.|r|dddd|rrrr|.....|
//
// Memory is that of one span, and of those open in which a stage is told. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "../trace/host_inside.h"
#include "../trace/loading_stage.h"

namespace gpushim::analysis {

struct HostSpan {
    int64_t thread;  // as the source numbers it
    int64_t start_ns, end_ns;
    HostInside inside;
    LoadingStage stage = LoadingStage::untold;  // if it loads
    friend bool operator==(const HostSpan&, const HostSpan&) = default;
};

struct ByThreadAndStart {
    bool operator()(const HostSpan& a, const HostSpan& b) const {
        return std::tie(a.thread, a.start_ns, a.end_ns) < std::tie(b.thread, b.start_ns, b.end_ns);
    }
};

class HostSpans {
  public:
    explicit HostSpans(std::function<void(const HostSpan&)> give) : give_(std::move(give)) {
        open_until_ns_.fill(INT64_MIN);
    }

    void add(const HostSpan& span);  // by thread, each by start
    void finish();

  private:
    static constexpr int64_t kLongNs = 500'000, kOwnWorkNs = 100'000;

    int64_t& open_until(HostInside inside) { return open_until_ns_[static_cast<size_t>(inside)]; }
    void begin_operator();
    void go_to(int64_t until_ns);
    void begin_stage(const HostSpan& span);
    void end_stages(int64_t by_ns);
    void extend(HostInside inside, LoadingStage stage, int64_t from_ns);

    std::function<void(const HostSpan&)> give_;
    std::array<int64_t, static_cast<size_t>(kLastInside) + 1> open_until_ns_;  // by HostInside
    int64_t at_ns_ = INT64_MIN;
    struct OpenStage {
        int64_t until_ns;
        LoadingStage stage;
    };
    std::vector<OpenStage> stages_;           // as they began
    HostSpan last_ = {0, 0, 0, kLastInside};  // may go on; of no length: there is none
    // Of it, if it is of operators: when the last one began, and how long single ones went on without
    // another.
    int64_t begun_ns_ = INT64_MIN, own_work_ns_ = 0;
};

}  // namespace gpushim::analysis
