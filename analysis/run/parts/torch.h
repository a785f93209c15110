// The step breakdown of PyTorch's TensorBoard plugin, by its own definition. Pure.
//
//   kernel    |======|        |====|       each instant of a step is the first of these that there is then
//   runtime |--|   |-----|  |-|
//   loader             |--------------|
//   step     kkkkkkkkrrrrlllllkkkkkkllloo
//
// A step is from the host's mark to the end of the host's step, or to the end of the last operation that was
// launched in it, whichever is later; the next one begins there at the earliest.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "../../interval/interval.h"

namespace gpushim::analysis {

// In that tool's order. `other`: none of them.
enum class TorchRole : uint8_t {
    kernel,
    memcpy,
    memset,
    communication,
    runtime,
    data_loader,
    cpu_exec,
    other
};
constexpr size_t kTorchRoles = static_cast<size_t>(TorchRole::other) + 1;

struct TorchLaunch {
    Interval call, ran;
};

// Where the host's steps lie once what they launched is looked at. Launches come in order of their calls.
class TorchSteps {
  public:
    explicit TorchSteps(std::vector<Interval> host_steps);

    void add(const TorchLaunch& launch);
    void add_alone(Interval ran);  // its call was not recorded: no step launched it
    // Without steps at the end whose work was not recorded as a whole; empty: nothing was launched in them.
    std::vector<Interval> spans() const;

  private:
    struct Ran {
        Interval span = {INT64_MAX, INT64_MIN};
        int64_t operations = 0;
    };
    void add_unmatched(int64_t end_ns);
    int64_t first_begin_ns() const;
    size_t whole_steps() const;

    std::vector<Interval> steps_;
    std::vector<Ran> ran_;              // by step
    std::vector<int64_t> ended_first_;  // operations of no step that ended after the first one's mark
    size_t at_ = 0;
};

class TorchSums {
  public:
    explicit TorchSums(std::vector<Interval> steps) : steps_(std::move(steps)), ns_(steps_.size()) {
        until_ns_.fill(INT64_MIN);
    }

    void add(TorchRole role, Interval span);  // by start
    void finish();

    using ByRole = std::array<int64_t, kTorchRoles>;
    const std::vector<ByRole>& ns() const { return ns_; }  // by step
    int64_t out_of_order() const { return out_of_order_; }

  private:
    void go_to(int64_t until_ns);
    void give(TorchRole role, int64_t from_ns, int64_t until_ns);

    std::vector<Interval> steps_;
    std::vector<ByRole> ns_;
    std::array<int64_t, kTorchRoles - 1> until_ns_;  // by role: it is there until then
    int64_t at_ns_ = INT64_MIN;
    size_t step_ = 0;  // what ended before now lies behind
    int64_t out_of_order_ = 0;
};

}  // namespace gpushim::analysis
