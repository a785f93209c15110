// When a wait is a hang, in seconds that the test counts.
#include "shim/alarm/silence.h"

#include <catch2/catch.hpp>

namespace silence_test {

using namespace gpushim::shim;

namespace {

constexpr int64_t kSecond = 1'000'000'000;
using Said = Silence::Said;

// Looks once a second, as the writer does.
class Looks {
  public:
    explicit Looks(int64_t least_s) : silence_(least_s * kSecond) {}

    Said look(bool has_moved, bool waits) {
        now_ns_ += kSecond;
        const Said said = silence_.look({now_ns_, has_moved, waits});
        hangs_ += said == Said::hangs;
        return said;
    }
    void work(int seconds) {
        for (int i = 0; i < seconds; ++i) look(true, true);
    }
    void wait(int seconds) {
        for (int i = 0; i < seconds; ++i) look(false, true);
    }
    void pause(int seconds) {  // in Python: no call is open
        for (int i = 0; i < seconds; ++i) look(false, false);
    }
    void jump(int64_t seconds) { now_ns_ += seconds * kSecond; }
    int hangs() const { return hangs_; }
    Silence& silence() { return silence_; }

  private:
    Silence silence_;
    int64_t now_ns_ = 77 * kSecond;
    int hangs_ = 0;
};

}  // namespace

TEST_CASE("a wait is a hang once, when it has taken so long", "[hang]") {
    Looks looks(30);
    looks.work(100);
    looks.wait(29);
    CHECK(looks.hangs() == 0);
    CHECK(looks.look(false, true) == Said::hangs);
    CHECK(looks.silence().for_ns() == 30 * kSecond);
    looks.wait(500);
    CHECK(looks.hangs() == 1);
    CHECK(looks.look(true, true) == Said::goes_on);
    CHECK(looks.silence().before_ns() == 530 * kSecond);
    CHECK(looks.look(true, true) == Said::nothing);
}

TEST_CASE("nothing counts while no call is open", "[hang]") {
    Looks looks(30);
    looks.work(10);
    looks.pause(3000);
    CHECK(looks.hangs() == 0);
    looks.wait(29);
    CHECK(looks.hangs() == 0);
}

//  looked    | | | |                        | | |
//  stopped           =====================          by a debugger, SIGSTOP or a slow disk: the clock jumps
TEST_CASE("time that nobody looked on is no wait", "[hang]") {
    Looks looks(30);
    looks.work(10);
    looks.wait(5);
    looks.jump(100'000);
    looks.wait(1);
    CHECK(looks.hangs() == 0);
    CHECK(looks.silence().for_ns() == 8'750'000'000);  // of 30 s an eighth
    // Stopped at each look, as by a person who steps.
    for (int i = 0; i < 3; ++i) {
        looks.jump(60);
        looks.wait(1);
    }
    CHECK(looks.hangs() == 0);
    looks.jump(-1000);  // none of our clocks does that
    looks.wait(1);
    CHECK(looks.silence().for_ns() == 20 * kSecond);
}

TEST_CASE("waits that a program is used to are no hang", "[hang]") {
    Looks looks(30);
    // Every step waits for 8 s: ten times that is not unusual.
    for (int i = 0; i < 50; ++i) {
        looks.work(1);
        looks.wait(8);
    }
    CHECK(looks.silence().usual_ns() == 8 * kSecond);
    CHECK(looks.silence().limit_ns() == 80 * kSecond);
    looks.work(1);
    looks.wait(79);
    CHECK(looks.hangs() == 0);
    looks.wait(1);
    CHECK(looks.hangs() == 1);
}

TEST_CASE("the longest wait that ended may be twice as long next time, one of hours teaches no more",
          "[hang]") {
    Looks looks(30);
    looks.work(10);
    looks.wait(29);  // for a checkpoint of another rank
    looks.work(10);
    CHECK(looks.silence().limit_ns() == 58 * kSecond);
    CHECK(looks.silence().usual_ns() == 0);
    Looks hung(30);
    hung.work(10);
    hung.wait(7200);
    CHECK(hung.hangs() == 1);
    hung.work(10);
    CHECK(hung.silence().limit_ns() == 60 * kSecond);  // twice the 30 s that were called a hang
}

TEST_CASE("an alarm that was taken back comes again after as long", "[hang]") {
    Looks looks(30);
    looks.work(1);
    looks.wait(30);
    REQUIRE(looks.hangs() == 1);
    looks.silence().forget_alarm();
    looks.wait(29);
    CHECK(looks.hangs() == 1);
    looks.wait(1);
    CHECK(looks.hangs() == 2);
}

// Steps of 1 s, an evaluation each 5 min, a checkpoint each 10 (rank 0 writes, this one waits for it),
// compilation at the beginning, a debugger once.
TEST_CASE("an hour of training with its pauses is no hang", "[hang]") {
    Looks looks(300);
    looks.pause(180);
    looks.wait(120);
    for (int minute = 0; minute < 60; ++minute) {
        looks.work(40);
        if (minute % 5 == 4) looks.pause(700);
        if (minute % 10 == 9) looks.wait(100);
        if (minute == 30) looks.jump(3600);
        looks.wait(3);
    }
    CHECK(looks.hangs() == 0);
}

}  // namespace silence_test
