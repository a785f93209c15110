#include "nvml_sampler.h"

#include <array>
#include <cstdlib>
#include <cstring>

#include "../base/fork_gate.h"
#include "../base/log.h"
#include "../base/own_thread.h"
#include "../base/system.h"
#include "../ring/clock.h"
#include "../ring/process_state.h"
#include "nvml_keys.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kSlowNs = 5'000'000;           // a question that takes longer …
constexpr int64_t kSlowEveryNs = 4'900'000'000;  // … is asked every fifth second only
constexpr int64_t kLookAgainNs = 60'000'000'000;
constexpr int64_t kExitWaitNs = 100'000'000;
constexpr int64_t kLastAnswerNs = 20'000'000;

int64_t now_ns() { return read_pair(static_cast<ClockKind>(process_state->clock_kind)).mono_ns; }

void close_gate_at_exit();

}  // namespace

class NvmlSampler {
  public:
    // `before`: the one whose place it takes, whose thread may still look at it.
    NvmlSampler(std::span<const Device> devices, uint32_t generation, NvmlSampler* before)
        : devices_(devices.begin(), devices.end()), generation_(generation), before_(before) {}

    uint32_t generation() const { return generation_; }
    bool is_idle() const { return asked_.load() == answered_.load(); }

    void ask(int64_t mono_ns, uint64_t devices) {
        answer_.mono_ns = mono_ns;
        wanted_ = devices;
        asked_.fetch_add(1);
        wake_all(asked_);
    }
    void wait(int64_t most_ns) {
        const uint32_t asked = asked_.load();
        for (uint32_t seen = answered_.load(); seen != asked; seen = answered_.load()) {
            const int64_t started_ns = clock_ns(CLOCK_MONOTONIC);
            wait_while(answered_, seen, most_ns);
            most_ns -= clock_ns(CLOCK_MONOTONIC) - started_ns;
            if (most_ns <= 0) return;
        }
    }
    NvmlAnswer& answer() { return answer_; }

    // An exit handler: the thread makes it between two answers.
    void ask_last(int64_t most_ns) {
        if (leaving_.load()) return;
        last_.store(kLastWanted);
        asked_.fetch_add(1);
        wake_all(asked_);
        wait_while(last_, kLastWanted, most_ns);
    }
    const NvmlAnswer* last_answer() const { return last_.load() == kLastMade ? &last_answer_ : nullptr; }

    void leave() {
        leaving_.store(true);
        asked_.fetch_add(1);
        wake_all(asked_);
    }

    void run() {
        while (true) {
            wait_while(asked_, answered_.load(), kLookAgainNs);
            if (leaving_.load()) return;
            if (is_idle()) continue;
            if (last_.load() == kLastWanted)
                answer_last();
            else
                answer_request();
            answered_.fetch_add(1);
            wake_all(answered_);
        }
    }

  private:
    enum : uint32_t { kLastNotYet, kLastWanted, kLastMade };
    struct Question {
        void* function = nullptr;
        bool is_final = true;  // never asked again
        int64_t not_before_ns = 0;
    };
    struct Known {
        nvmlDevice_t handle = nullptr;
        std::array<Question, kMostNvmlKeys> questions;
    };

    void answer_request() {
        answer_.values.clear();
        answer_.links.clear();
        answer_.took_ns = 0;
        answer_.there = known_.empty() ? open() : answer_.there;
        for (size_t i = 0; i < known_.size() && answer_.there; ++i)
            if ((wanted_ >> i & 1) != 0 && known_[i].handle != nullptr) sample(i, answer_);
    }

    // The program waits: what has ever been slow is not asked.
    void answer_last() {
        last_answer_.mono_ns = now_ns();
        for (Known& device : known_)
            for (Question& question : device.questions) question.is_final |= question.not_before_ns != 0;
        for (size_t i = 0; i < known_.size() && answer_.there; ++i)
            if ((wanted_ >> i & 1) != 0 && known_[i].handle != nullptr) sample(i, last_answer_);
        last_.store(kLastMade);
        wake_all(last_);
    }

    bool open() {
        known_.resize(devices_.size());
        if (known_.empty() || !nvml_gate.enter()) return false;
        const bool opened = library_.open();
        if (opened) close_gate_at_exit();
        if (opened) look_at_devices();
        nvml_gate.leave();
        return opened;
    }

    void look_at_devices() {
        std::vector<Place> places;
        for (size_t i = 0; i < devices_.size(); ++i) {
            known_[i].handle = library_.find_device(devices_[i]);
            if (known_[i].handle != nullptr) places.push_back({devices_[i].ordinal, known_[i].handle});
            for (size_t k = 0; k < nvml_keys().size(); ++k) {
                void* function = library_.find(nvml_keys()[k].function);
                known_[i].questions[k] = {function, function == nullptr, 0};
            }
        }
        answer_.links = links_between(library_, places);
    }

    void sample(size_t index, NvmlAnswer& into) {
        for (size_t k = 0; k < nvml_keys().size(); ++k) {
            const NvmlKey& key = nvml_keys()[k];
            Question& question = known_[index].questions[k];
            if (question.is_final || question.not_before_ns > into.mono_ns) continue;
            if (is_spare(index, k) || !nvml_gate.enter()) continue;
            ask_one(question, key, index, into);
            nvml_gate.leave();
            if (!answer_.there) return;
        }
    }

    // Another way to ask for the key of the row before, which still may have an answer.
    bool is_spare(size_t index, size_t k) const {
        return k > 0 && strcmp(nvml_keys()[k].name, nvml_keys()[k - 1].name) == 0 &&
               !known_[index].questions[k - 1].is_final;
    }

    void ask_one(Question& question, const NvmlKey& key, size_t index, NvmlAnswer& into) {
        int64_t value = 0;
        const int64_t started_ns = now_ns();
        const nvmlReturn_t result = key.ask(question.function, known_[index].handle, value);
        const int64_t took_ns = now_ns() - started_ns;
        if (took_ns > kSlowNs)
            question.not_before_ns = into.mono_ns + kSlowEveryNs;
        else
            into.took_ns += took_ns;
        question.is_final = is_final(result);
        // Somebody in the process has shut it down once too often: with our count.
        if (result == NVML_ERROR_UNINITIALIZED) answer_.there = false;
        if (result == NVML_SUCCESS) into.values.push_back({devices_[index].ordinal, key.name, value});
    }

    const std::vector<Device> devices_;
    const uint32_t generation_;
    [[maybe_unused]] NvmlSampler* const before_;  // reachable, as its thread may be
    NvmlLibrary library_;
    std::vector<Known> known_;  // empty: not opened yet

    // Whose turn it is: the observer's while both are equal, else the thread's.
    std::atomic<uint32_t> asked_ = 0;
    std::atomic<uint32_t> answered_ = 0;
    std::atomic<bool> leaving_ = false;
    std::atomic<uint64_t> wanted_ = 0;
    NvmlAnswer answer_ = {};

    // The thread's while it is wanted.
    std::atomic<uint32_t> last_ = kLastNotYet;
    NvmlAnswer last_answer_ = {};
};

namespace {

// Never destroyed: its thread may still be in NVML, and a child that was forked has another.
constinit std::atomic<NvmlSampler*> sampler = nullptr;

void main_of_sampler(void* given) {
    try {
        static_cast<NvmlSampler*>(given)->run();
    } catch (...) {
        // Out of memory: no more answers.
    }
}

// Registered when NVML has registered its own, so called before it: afterwards it may be torn down.
void close_gate_at_exit() {
    static constinit std::atomic<bool> registered = false;
    const auto close = [] {
        const KeepErrno keep;
        if (NvmlSampler* const there = nvml_sampler(); there != nullptr) there->ask_last(kLastAnswerNs);
        nvml_gate.close(kExitWaitNs);
    };
    if (!registered.exchange(true)) atexit(close);
}

}  // namespace

void start_nvml_sampler(std::span<const Device> devices) {
    if (devices.empty()) return;
    watch_forks();
    try {
        auto* made = new NvmlSampler(devices, process_state->generation, sampler.load());
        if (start_own_thread({"gpushim-nvml", main_of_sampler, made}) == 0) return sampler.store(made);
        delete made;
    } catch (...) {
        // Out of memory: nothing is recorded of NVML.
    }
}

NvmlSampler* nvml_sampler() {
    NvmlSampler* const there = sampler.load();
    return there != nullptr && there->generation() == process_state->generation ? there : nullptr;
}

void ask_nvml(NvmlSampler& to, int64_t mono_ns, uint64_t devices) { to.ask(mono_ns, devices); }
bool has_answered(const NvmlSampler& of) { return of.is_idle(); }
void wait_for_answer(NvmlSampler& of, int64_t most_ns) { of.wait(most_ns); }
NvmlAnswer& answer_of(NvmlSampler& of) { return of.answer(); }
const NvmlAnswer* last_answer_of(const NvmlSampler& of) { return of.last_answer(); }

void stop_nvml_sampler() {
    if (NvmlSampler* const there = nvml_sampler(); there != nullptr) there->leave();
}

}  // namespace gpushim::shim
