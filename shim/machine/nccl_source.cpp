#include "nccl_source.h"

#include <array>

#include "../base/config.h"
#include "../base/log.h"
#include "../program/nccl_plugin.h"
#include "../schema/rows.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kTellEveryNs = 1'000'000'000;

bool operator==(const NcclPluginState& a, const NcclPluginState& b) {
    return a.interface == b.interface && a.refused == b.refused && a.left_out == b.left_out &&
           a.lost == b.lost;
}

class NcclSource : public Observer {
  public:
    int64_t look(const Moment& now) override {
        const NcclPluginState state = nccl_plugin_state();
        const bool is_due = is_first_ || now.ending || now.mono_ns - told_ns_ >= kTellEveryNs;
        if (is_due && (is_first_ || !(state == told_))) tell(state, now.mono_ns);
        return INT64_MAX;
    }
    std::span<Rows* const> rows() override { return all_rows_; }

  private:
    void tell(const NcclPluginState& state, int64_t mono_ns) {
        if (state.refused != nullptr && told_.refused != state.refused)
            log_line(LogLevel::info, "GPUSHIM_NCCL_PROFILER: not recorded, for %s", state.refused);
        is_first_ = false;
        told_ = state;
        told_ns_ = mono_ns;
        sources_.add({.mono_ns = mono_ns,
                      .interface = state.interface == 0 ? kNull : state.interface,
                      .refused = state.refused == nullptr ? kNull : sources_.text(state.refused),
                      .left_out = static_cast<int64_t>(state.left_out),
                      .lost = static_cast<int64_t>(state.lost)});
    }

    bool is_first_ = true;
    NcclPluginState told_ = {};
    int64_t told_ns_ = 0;
    RowsOf<row::nccl_source> sources_;
    std::array<Rows*, 1> all_rows_ = {&sources_};
};

}  // namespace

std::unique_ptr<Observer> make_nccl_source(std::span<const Device>) {
    if (config.nccl_profiler == NcclProfiler::off) return nullptr;
    return std::make_unique<NcclSource>();
}

}  // namespace gpushim::shim
