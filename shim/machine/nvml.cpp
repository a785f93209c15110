#include "nvml.h"

#include <algorithm>
#include <array>

#include "../base/time_units.h"
#include "../calls/api.h"
#include "../calls/unanswered.h"
#include "../ring/process_state.h"
#include "../ring/ticks.h"
#include "../schema/rows.h"
#include "nvml_sampler.h"

namespace gpushim::shim {
namespace {

// Opening NVML takes long where there are many devices: a process that ends at once is spared it.
constexpr int64_t kFirstNs = 200 * kMillisecond;
constexpr int64_t kEveryNs = 1'000 * kMillisecond;
constexpr int64_t kSeldomNs = 5'000 * kMillisecond;  // where asking takes longer than kMostNs
constexpr int64_t kMostNs = 5 * kMillisecond;
constexpr int64_t kAnswerNs = 20 * kMillisecond;
constexpr int64_t kTestWaitNs = 2'000 * kMillisecond;
constexpr uint64_t kAll = ~uint64_t{0};

class NvmlObserver : public Observer {
  public:
    explicit NvmlObserver(std::span<const Device> devices) : devices_(devices.begin(), devices.end()) {}
    ~NvmlObserver() override { stop_nvml_sampler(); }

    // The first sample comes soon after the first look, the others at whole periods after it, each as soon
    // as there is a look; and the last when the process ends.
    int64_t look(const Moment& now) override {
        if (is_over_) return kSeldomNs;
        if (due_ns_ == 0) {
            began_ns_ = now.mono_ns;
            due_ns_ = now.mono_ns + kFirstNs;
        }
        collect();
        if (now.ending) {
            collect_last();
            return kSeldomNs;
        }
        if (now.mono_ns >= due_ns_) ask(now.mono_ns);
        if (is_waiting_) return kAnswerNs;
        return is_over_ ? kSeldomNs : std::max(kMillisecond, due_ns_ - now.mono_ns);
    }

    std::span<Rows* const> rows() override { return blocks_; }

    void stored(std::span<const Event> events, std::span<const TimedOperation>) override {
        for (const Event& event : events) {
            if (event.slot.kind != static_cast<uint8_t>(EventKind::born) || event.slot.api >= kApis) continue;
            const uint32_t object = api_traits[event.slot.api].traits & traits::object_bits;
            if (object == traits::of_context) note_use(event);
        }
    }

  private:
    void note_use(const Event& event) {
        if ((event.slot.flags & kFailed) != 0 || event.exit_ns == kUnfinished) return;
        const uint64_t device = words_of<event::born>(event.slot).extra;
        for (size_t i = 0; i < devices_.size(); ++i)
            if (static_cast<uint64_t>(devices_[i].ordinal) == device) used_ |= uint64_t{1} << i;
    }

    void ask(int64_t mono_ns) {
        NvmlSampler* const sampler = nvml_sampler();
        due_ns_ = began_ns_ + ((mono_ns - began_ns_) / period_ns_ + 1) * period_ns_;
        if (sampler == nullptr || is_waiting_) return;
        ask_nvml(*sampler, mono_ns, used_ != 0 ? used_ : kAll);
        is_waiting_ = true;
        // The program is held at this moment: what is seen is what there is now.
        if (process_state->clock_kind == kTestClock) wait_for_answer(*sampler, kTestWaitNs);
        collect();
    }

    void collect() {
        NvmlSampler* const sampler = is_waiting_ ? nvml_sampler() : nullptr;
        if (sampler == nullptr || !has_answered(*sampler)) return;
        is_waiting_ = false;
        const NvmlAnswer& answer = answer_of(*sampler);
        keep(answer);
        for (const Link& link : answer.links)
            links_.add({.device_id = link.device,
                        .peer_id = link.peer == kHost ? kNull : link.peer,
                        .link = links_.text(link.how),
                        .links = link.links,
                        .bytes_per_s = link.bytes_per_s});
        period_ns_ = answer.took_ns > kMostNs ? kSeldomNs : kEveryNs;
        is_over_ = !answer.there;
        if (!is_over_) return;
        is_not_there(Question::NVML);
        stop_nvml_sampler();
    }

    void collect_last() {
        NvmlSampler* const sampler = nvml_sampler();
        const NvmlAnswer* const last = sampler != nullptr ? last_answer_of(*sampler) : nullptr;
        if (last != nullptr) keep(*last);
    }

    void keep(const NvmlAnswer& answer) {
        for (const NvmlValue& value : answer.values)
            samples_.add({.mono_ns = answer.mono_ns,
                          .device_id = value.device,
                          .key = samples_.text(value.key),
                          .value = Rows::real(static_cast<double>(value.value))});
    }

    const std::vector<Device> devices_;
    uint64_t used_ = 0;  // bits of places in devices_
    int64_t began_ns_ = 0;
    int64_t due_ns_ = 0;
    int64_t period_ns_ = kEveryNs;
    bool is_waiting_ = false;
    bool is_over_ = false;
    RowsOf<row::nvml> samples_;
    RowsOf<row::topology> links_;
    std::array<Rows*, 2> blocks_ = {&samples_, &links_};
};

}  // namespace

std::unique_ptr<Observer> make_nvml_observer(std::span<const Device> devices) {
    return std::make_unique<NvmlObserver>(devices);
}

}  // namespace gpushim::shim
