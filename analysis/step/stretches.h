// What a run submitted between two waits of its host, and what its kernels' names say of the program. Waits
// for copies to the device are none: they read nothing back. Pure.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "token.h"

namespace gpushim::analysis {

// What was submitted between two waits of the host.
struct HostStretch {
    int64_t begin_ns = 0;
    uint64_t signature = 0;  // of names and of graphs
    int32_t graphs = 0, launches = 0, softmaxes = 0;
    bool serves = false, has_load = false, is_fed = false, samples = false;
    int64_t in_bytes = 0,
            out_bytes = 0;  // copied to the device, and read back at its end; below 0: not known

    void join(const HostStretch& next);  // one without a model's work, behind it
};

struct Survey {
    std::vector<HostStretch> stretches;
    bool trains = false, serves = false, attends = false;
    int64_t end_ns = 0;
};

// Who goes through all tokens of a run first has them surveyed on the way: nobody reads a trace once more for
// that. Nothing behind the first kernel that tells that the program trains is kept. Outlives its source().
class Surveyed {
  public:
    explicit Surveyed(TokenSource of) : of_(std::move(of)) {}

    TokenSource source() {
        return [this](const std::function<void(const Token&)>& take) { pass(take); };
    }
    // Once; of a source that nobody went through it is read now.
    Survey survey() {
        if (!survey_) pass([](const Token&) {});
        return std::move(*survey_);
    }

  private:
    void pass(const std::function<void(const Token&)>& take);

    TokenSource of_;
    std::optional<Survey> survey_;
};

}  // namespace gpushim::analysis
