#include "shim/timing/cupti_callbacks.h"

#include <catch2/catch.hpp>
#include <set>
#include <vector>

namespace cupti_callbacks_test {

using namespace gpushim::shim;

namespace {

struct Lent {
    uint8_t* buffer = nullptr;
    size_t bytes = 0, records = 0;
};

Lent lend() {
    Lent lent;
    on_buffer_requested(&lent.buffer, &lent.bytes, &lent.records);
    return lent;
}

void call(CUpti_ApiCallbackSite site, uint32_t number) {
    CUpti_CallbackData data = {};
    data.callbackSite = site;
    data.correlationId = number;
    on_driver_call(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, 1, &data);
}

}  // namespace

TEST_CASE("the number of the first driver call since then is kept", "[cupti]") {
    forget_correlation();
    CHECK(correlation() == 0);
    call(CUPTI_API_EXIT, 4);
    CHECK(correlation() == 0);
    call(CUPTI_API_ENTER, 5);
    call(CUPTI_API_ENTER, 6);
    CHECK(correlation() == 5);
    forget_correlation();
    call(CUPTI_API_ENTER, 7);
    CHECK(correlation() == 7);
}

TEST_CASE("buffers are lent until there are none, and again when they were read", "[cupti]") {
    REQUIRE(make_cupti_buffers());
    limit_records(20);
    std::set<uint8_t*> all;
    std::vector<size_t> limits;
    for (uint32_t i = 0; i < kCuptiBuffers; ++i) {
        const Lent lent = lend();
        REQUIRE(lent.buffer != nullptr);
        CHECK(lent.bytes == kCuptiBufferBytes);
        lent.buffer[0] = lent.buffer[lent.bytes - 1] = 1;
        all.insert(lent.buffer);
        limits.push_back(lent.records);
    }
    CHECK(all.size() == kCuptiBuffers);
    // Where the queue is deep, room counts for more than soon.
    CHECK(limits.front() == 20);
    CHECK(limits.back() == 0);
    CHECK(lend().buffer == nullptr);
    CHECK(lend().bytes == 0);
    CHECK(take_completed().buffer == nullptr);

    size_t bytes = 0;
    for (uint8_t* buffer : all) on_buffer_completed(nullptr, 0, buffer, kCuptiBufferBytes, ++bytes);
    size_t sum = 0;
    for (CompletedBuffer full = take_completed(); full.buffer != nullptr; full = take_completed()) {
        CHECK(all.count(full.buffer) == 1);
        sum += full.bytes;
        give_back(full.buffer);
    }
    CHECK(sum == size_t{kCuptiBuffers} * (kCuptiBuffers + 1) / 2);
    const Lent again = lend();
    CHECK(again.buffer != nullptr);
    CHECK(again.records == 20);
    on_buffer_completed(nullptr, 0, again.buffer, again.bytes, 0);
    give_back(take_completed().buffer);
    limit_records(0);
}

TEST_CASE("a buffer that another tool lent comes back to it, not to us", "[cupti]") {
    uint8_t anywhere[64] = {};
    on_buffer_completed(nullptr, 0, anywhere, sizeof anywhere, 1);
    REQUIRE(make_cupti_buffers());
    uint8_t* first = nullptr;
    std::vector<Lent> all;
    for (Lent lent = lend(); lent.buffer != nullptr; lent = lend()) all.push_back(lent);
    for (const Lent& lent : all)
        if (first == nullptr || lent.buffer < first) first = lent.buffer;
    for (uint8_t* foreign : {first + kCuptiBuffers * kCuptiBufferBytes, first - 1, anywhere})
        on_buffer_completed(nullptr, 0, foreign, 64, 1);
    CHECK(take_completed().buffer == nullptr);
    for (const Lent& lent : all) on_buffer_completed(nullptr, 0, lent.buffer, lent.bytes, 0);
    for (CompletedBuffer full = take_completed(); full.buffer != nullptr; full = take_completed())
        give_back(full.buffer);
}

}  // namespace cupti_callbacks_test
