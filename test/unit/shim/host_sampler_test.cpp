// The sampler on threads that record into rings and then wait.
#include "shim/machine/host_sampler.h"

#include <atomic>
#include <functional>

#include "rings.h"
#include "shim/ring/host_gap.h"
#include "shim/rows/host_samples.h"

namespace host_sampler_test {

using namespace rings;

namespace {

// As long as it lives, a thread that has recorded an event is in `work`.
class Busy {
  public:
    explicit Busy(const std::function<void()>& work)
        : thread_([this, work] {
              record();
              number_ = static_cast<uint32_t>(thread_state.ring->owners[0].number);
              is_there_ = true;
              work();
          }) {
        while (!is_there_) usleep(100);
    }
    ~Busy() { thread_.join(); }
    uint32_t number() const { return number_; }

  private:
    std::atomic<bool> is_there_ = false;
    uint32_t number_ = 0;
    std::thread thread_;
};

Moment now(bool ending = false) {
    const ClockPair pair = read_pair(kMonotonic);
    return {pair.mono_ns, pair.real_ns, ending};
}

SampledGap all_of(uint32_t thread) { return host_samples().in(thread, 0, INT64_MAX); }

class Waiting {
  public:
    void operator()() {
        while (word_ == 0) wait_while(word_, 0, 10'000'000'000);
    }
    void end() {
        word_ = 1;
        wake_all(word_);
    }

  private:
    std::atomic<uint32_t> word_ = 0;
};

void start_gaps() { begin_host_gaps(read_pair(kMonotonic)); }

}  // namespace

TEST_CASE("looks become rarer, the longer a gap is", "[host_sampler]") {
    CHECK(next_look_ns(2'000'000) == 7'000'000);
    CHECK(next_look_ns(40'000'000) == 45'000'000);
    CHECK(next_look_ns(8'000'000'000) == 9'000'000'000);
}

TEST_CASE("what may be spent gathers with time, up to a little", "[host_sampler]") {
    Allowance allowance;
    CHECK(allowance.has_any());
    allowance.spend(2'000'000);
    CHECK_FALSE(allowance.has_any());
    allowance.passed(1'000'000);
    CHECK(allowance.has_any());
    allowance.spend(2'000);
    CHECK_FALSE(allowance.has_any());
    allowance.passed(3'600'000'000'000);
    allowance.spend(2'000'000);
    CHECK_FALSE(allowance.has_any());
}

TEST_CASE("a thread that has made no call for a while is looked at", "[host_sampler][no_emulator]") {
    const Recording recording;
    start_gaps();
    Waiting waiting;
    const Busy busy([&] { waiting(); });
    const auto sampler = make_host_sampler({});
    usleep(5'000);
    const int64_t next_ns = sampler->look(now());
    CHECK(all_of(busy.number()).samples == 1);
    CHECK(std::string(all_of(busy.number()).what) == "waiting_for_lock");
    CHECK(next_ns > 0);
    CHECK(next_ns <= next_look_ns(10'000'000'000));
    sampler->look(now());
    CHECK(all_of(busy.number()).samples == 1);
    usleep(20'000);
    sampler->look(now());
    CHECK(all_of(busy.number()).samples == 2);
    CHECK(all_of(busy.number()).runqueue_ns != kNull);
    waiting.end();
}

TEST_CASE("nobody is looked at who is in a call, has just made one, or ends", "[host_sampler][alone]") {
    const Recording recording;
    start_gaps();
    Waiting waiting;
    const Busy in_call([&] {
        Slot* slot = open_event(EventKind::query);
        slot->exit = slot->enter + 1;  // as polls do that go on
        waiting();
        close_event(slot);
    });
    const auto sampler = make_host_sampler({});
    usleep(5'000);
    CHECK(sampler->look(now()) == INT64_MAX);
    CHECK(all_of(in_call.number()).samples == 0);
    const Busy other([&] { waiting(); });
    usleep(5'000);
    CHECK(sampler->look(now(true)) == INT64_MAX);
    process_state->doing = kResting;
    CHECK(sampler->look(now()) == INT64_MAX);
    process_state->doing = kRecording;
    CHECK(all_of(other.number()).samples == 0);
    sampler->look(now());
    CHECK(all_of(other.number()).samples == 1);
    waiting.end();
}

TEST_CASE("in stepped time nobody is looked at", "[host_sampler][alone]") {
    const Recording recording;
    start_gaps();
    Waiting waiting;
    const Busy busy([&] { waiting(); });
    const auto sampler = make_host_sampler({});
    usleep(5'000);
    process_state->clock_kind = kTestClock;
    CHECK(sampler->look({read_pair(kMonotonic).mono_ns, 0, false}) == INT64_MAX);
    process_state->clock_kind = kMonotonic;
    CHECK(all_of(busy.number()).samples == 0);
    waiting.end();
}

}  // namespace host_sampler_test
