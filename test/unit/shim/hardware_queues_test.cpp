// Which streams may get events where they share hardware queues.
#include "shim/timing/hardware_queues.h"

#include <catch2/catch.hpp>
#include <utility>

#include "shim/machine/identity.h"

namespace hardware_queues_test {

using namespace gpushim::shim;

namespace {

constexpr uint32_t kContext = 3;
constexpr uint64_t kWindow = 77, kA = 0xa0, kB = 0xb0, kC = 0xc0;

// Recording starts with that much in the environment; nullptr: nothing.
void start(const char* connections) {
    const Variable variables[] = {{"CUDA_VISIBLE_DEVICES", "1"},
                                  {"CUDA_DEVICE_MAX_CONNECTIONS", connections}};
    find_hardware_queues({variables, connections != nullptr ? size_t{2} : 1});
    forget_hardware_queues();
}

bool use(uint64_t stream, uint32_t number, bool is_new = false, uint64_t window = kWindow) {
    return may_get_events(kContext, stream, number, is_new, window);
}

}  // namespace

TEST_CASE("the environment says how many queues there are, or the driver's default holds", "[queues]") {
    for (const auto& [said, queues] : {std::pair<const char*, uint32_t>{nullptr, 8},
                                       {"1", 1},
                                       {"32", 32},
                                       {"0", 8},
                                       {"33", 8},
                                       {"many", 8},
                                       {"", 8}}) {
        start(said);
        CHECK(hardware_queues() == queues);
    }
    start(nullptr);
}

TEST_CASE("as many streams as there are queues all get events, one more and it is the busiest", "[queues]") {
    start(nullptr);
    for (uint64_t stream = 1; stream <= 8; ++stream) CHECK(use(stream, 1, true));
    CHECK(use(3, 50));
    CHECK(seen_sharing() == Sharing::none_seen);
    CHECK_FALSE(use(9, 1, true));
    CHECK(seen_sharing() == Sharing::one_gets_events);
    CHECK(use(3, 51));
    CHECK_FALSE(use(4, 2));
    CHECK(use(4, 52));  // it is the busiest now
    CHECK_FALSE(use(3, 52));
    // Once found, it stays, though each window has its own busiest.
    CHECK(use(1, 2, true, kWindow + 1));
    CHECK_FALSE(use(2, 1, true, kWindow + 1));
}

TEST_CASE("streams of another window do not count", "[queues]") {
    start(nullptr);
    for (uint64_t window = 1; window <= 5; ++window)
        for (uint64_t stream = 1; stream <= 4; ++stream) CHECK(use(stream + 4 * window, 1, true, window));
    CHECK(seen_sharing() == Sharing::none_seen);
}

TEST_CASE("where few queues were asked for it is seen first how many streams there are", "[queues]") {
    start("4");
    for (uint32_t i = 1; i <= kFirstLooks; ++i) CHECK_FALSE(use(kA, i, i == 1));
    CHECK(use(kA, kFirstLooks + 1));
    CHECK_FALSE(use(kB, 1, true));
    CHECK(use(kA, kFirstLooks + 2));
    start(nullptr);
}

TEST_CASE("of streams that share the only queue none gets events", "[queues]") {
    start("1");
    for (uint32_t i = 1; i <= kFirstLooks; ++i) use(kA, i, i == 1);
    CHECK(use(kA, kFirstLooks + 1));
    CHECK_FALSE(use(kC, 1, true));
    CHECK_FALSE(use(kA, kFirstLooks + 2));
    CHECK(seen_sharing() == Sharing::none_gets_events);
    start(nullptr);
}

TEST_CASE("a stream that is not used any more is in nobody's way", "[queues]") {
    start(nullptr);
    for (uint64_t stream = 1; stream <= 9; ++stream) use(stream, 1, true);
    CHECK(use(9, 1'000'000));
    CHECK_FALSE(use(2, 100));
    CHECK(use(2, 101, true, kWindow + 1));  // 9 is gone
    CHECK(use(2, 102, false, kWindow + 1));
    CHECK_FALSE(use(3, 50, true, kWindow + 1));
}

TEST_CASE("when events are stopped nobody gets any", "[queues]") {
    start(nullptr);
    CHECK(use(kA, 1, true));
    stop_events();
    CHECK_FALSE(use(kA, 2));
    forget_hardware_queues();
    CHECK(use(kA, 3, true));
}

}  // namespace hardware_queues_test
