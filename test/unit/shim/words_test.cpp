// Words take from the arguments of a call what an event holds.
#include <catch2/catch.hpp>
#include <limits>

#include "shim/hooks/cuda_words.h"
#include "shim/hooks/nccl_words.h"

namespace words_test {

using namespace gpushim::shim::words;

namespace {

template <class W, class... A>
uint64_t taken(bool succeeded, const A&... a) {
    uint64_t words[4];
    Words<W>::store(words, std::tuple<const A&...>(a...), succeeded);
    REQUIRE(words[1] == 0);
    return words[0];
}

struct Shape {
    int width;
    uint64_t* where;
};

}  // namespace

TEST_CASE("an argument is taken as it is, whatever its type", "[words]") {
    int thing = 0;
    CHECK(taken<arg<0>>(true, &thing) == reinterpret_cast<uint64_t>(&thing));
    CHECK(taken<arg<1>>(true, 1, uint16_t{0xfffe}) == 0xfffe);
    // Not sign-extended: a word is the bits of the argument.
    CHECK(taken<arg<0>>(true, -1) == 0xffffffff);
    CHECK(taken<arg<0>>(true, std::numeric_limits<uint64_t>::max()) == ~uint64_t{0});
}

TEST_CASE("what a call gives back is taken only when it succeeded", "[words]") {
    uint64_t handle = 77;
    uint64_t* none_given = nullptr;
    CHECK(taken<out<0>>(true, &handle) == 77);
    CHECK(taken<out<0>>(false, &handle) == 0);
    CHECK(taken<out<0>>(true, none_given) == 0);
}

TEST_CASE("members of a struct are read only when the call accepted it", "[words]") {
    const Shape shape = {5, nullptr};
    const auto* nowhere = reinterpret_cast<const Shape*>(8);
    CHECK(taken<field<0, &Shape::width>>(true, &shape) == 5);
    CHECK(taken<field<0, &Shape::width>>(false, nowhere) == 0);
}

TEST_CASE("products do not lose their upper half", "[words]") {
    CHECK(taken<product<arg<0>, arg<1>>>(true, 1u << 31, 6u) == uint64_t{6} << 31);
}

TEST_CASE("a launch's geometry fits into two words", "[words]") {
    CHECK(taken<grid<0>>(true, 0x7fffffffu, 0xffffu, 0xfffeu) ==
          (0x7fffffffu | 0xffffull << 32 | 0xfffeull << 48));
    CHECK(taken<block<0>>(true, 1024u, 1024u, 64u, 232448u) ==
          (1024u | 1024u << 11 | 64u << 22 | 232448ull << 32));
    CHECK(taken<flat_grid<0>>(true, 3, 4) == (3 | 4ull << 32 | 1ull << 48));
}

TEST_CASE("a copy told by a struct has its bytes and both types of memory", "[words]") {
    CUDA_MEMCPY3D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = &copy;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = reinterpret_cast<CUarray>(0x55);
    copy.WidthInBytes = 1 << 20;
    copy.Height = 1 << 10;
    copy.Depth = 4;
    CHECK(taken<shape_target<0>>(true, &copy) == 0x55);
    CHECK(taken<shape_source<0>>(true, &copy) == reinterpret_cast<uint64_t>(&copy));
    CHECK(taken<shape_bytes<0>>(true, &copy) == (uint64_t{1} << 32 | 3ull << 60 | 1ull << 56));
    CUDA_MEMCPY2D flat = {};
    flat.WidthInBytes = 7;
    flat.Height = 3;
    flat.srcMemoryType = flat.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    CHECK(taken<shape_bytes<0>>(true, &flat) == (21 | 2ull << 60 | 2ull << 56));
    CHECK(taken<shape_bytes<0>>(false, static_cast<CUDA_MEMCPY2D*>(nullptr)) == 0);
}

TEST_CASE("a row over a list makes one event of each element", "[words]") {
    using List = Words<each<0, 2, item<0>, item<1>>>;
    const uint64_t targets[] = {10, 11, 12};
    const uint64_t bytes[] = {1, 2, 3};
    const uint64_t *to = targets, *size = bytes;
    const size_t count = 3;
    const std::tuple<const uint64_t* const&, const uint64_t* const&, const size_t&> arguments(to, size,
                                                                                              count);
    REQUIRE(List::count(arguments, true) == 3);
    CHECK(List::count(arguments, false) == 0);
    uint64_t words[4];
    List::store(words, arguments, true, 2);
    CHECK(words[0] == 12);
    CHECK(words[1] == 3);
    List::store(words, arguments, false, 0);
    CHECK(words[0] == 0);
}

TEST_CASE("a launch's attributes make a second slot, their absence none", "[words]") {
    CUlaunchAttribute attributes[2] = {};
    attributes[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[0].value.clusterDim = {4, 2, 1};
    attributes[1].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    CUlaunchConfig config = {};
    config.attrs = attributes;
    config.numAttrs = 2;
    const CUlaunchConfig* given = &config;
    using Row = Words<config_grid<0>, config_odd<0>>;
    gpushim::event::odd_launch second;
    REQUIRE(Row::take_second(second, std::tuple<const CUlaunchConfig* const&>(given)));
    CHECK(second.cluster == (4 | 2u << 16 | 1ull << 32));
    CHECK(second.attributes ==
          (1u << CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION | 1u << CU_LAUNCH_ATTRIBUTE_COOPERATIVE));
    config.numAttrs = 0;
    CHECK_FALSE(Row::take_second(second, std::tuple<const CUlaunchConfig* const&>(given)));
}

TEST_CASE("what a collective does fits into one word", "[words]") {
    const auto send = static_cast<const void*>(nullptr);
    CHECK(taken<pack<1, 2, 3>>(true, send, ncclBfloat16, ncclAvg, 5) ==
          (uint64_t{ncclBfloat16} | uint64_t{ncclAvg} << 8 | 5ull << 32));
    CHECK(taken<pack<1, 0, 0>>(true, send, ncclFloat) == uint64_t{ncclFloat});
}

TEST_CASE("a communicator's hash never changes: other processes and recordings compare it", "[words]") {
    ncclUniqueId id = {};
    for (size_t i = 0; i < sizeof id.internal; ++i) id.internal[i] = static_cast<char>(i);
    const uint64_t hash_of_id = taken<hash<0>>(true, id);
    CHECK(hash_of_id == 0x356c6cc8137514a5);
    id.internal[127] = 0;
    CHECK(taken<hash<0>>(true, id) != hash_of_id);
}

TEST_CASE("communicators made together are on the devices listed, or on the first ones", "[words]") {
    using Row = Words<each<0, 1, item<0>, rank_of_item<1>, device_item<2>>>;
    const uint64_t handles[] = {70, 71};
    const int devices[] = {5, 3};
    const uint64_t* handle = handles;
    const int count = 2, *listed = devices, *unlisted = nullptr;
    uint64_t words[4];
    using Arguments = std::tuple<const uint64_t* const&, const int&, const int* const&>;
    Row::store(words, Arguments(handle, count, listed), true, 1);
    CHECK(words[0] == 71);
    CHECK(words[1] == (1 | 2ull << 32));
    CHECK(words[2] == 3);
    Row::store(words, Arguments(handle, count, unlisted), true, 1);
    CHECK(words[2] == 1);
}

}  // namespace words_test
