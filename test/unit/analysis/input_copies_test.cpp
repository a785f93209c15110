// Which copies to a device bring a step's input.
#include "analysis/run/busy/input_copies.h"

#include "busy_scene.h"

#include <catch2/catch.hpp>

namespace input_copies_test {

using namespace busy_scene;

namespace {

// A step as letters: H 1 MiB, h 64 bytes, L 512 bytes to a device; k a kernel. Which of them are input?
struct Run {
    TraceFacts facts = facts_of(1, 1);
    std::vector<Call> calls;

    void step(const std::string& letters, int32_t number, int64_t large = 1 << 20) {
        for (const char letter : letters) {
            const auto t = static_cast<int64_t>(calls.size());
            Call call = launch(0, t, t + 1);
            call.step = number;
            if (letter != 'k') call.type = OperationClass::h2d;
            call.bytes = letter == 'H' ? large : letter == 'L' ? 512 : letter == 'h' ? 64 : kNotRecorded;
            calls.push_back(call);
        }
    }
    std::string inputs(bool seen_before = true) {
        InputCopies copies(facts);
        std::string text;
        if (seen_before)
            for (const Call& call : calls) copies.see(call);
        copies.begin();
        for (const Call& call : calls) {
            if (!seen_before) copies.see(call);
            copies.take(call);
        }
        for (const Call& call : calls) text += copies.is_input(1, call.enter_ns) ? '^' : '.';
        CHECK_FALSE(copies.is_input(2, 0));
        return text;
    }
};

Run run_of(std::initializer_list<const char*> steps) {
    Run run;
    int32_t number = 0;
    for (const char* step : steps) run.step(step, number++);
    return run;
}

}  // namespace

TEST_CASE("the batch that comes in each step is its input", "[input_copies]") {
    CHECK(run_of({"Hkkhk", "Hkkk", "Hkkhk", "Hkk"}).inputs() == "^....^...^....^..");
    // With what else is in the batch, the labels before the images too.
    CHECK(run_of({"hHkk", "hHkk", "hHkk"}).inputs() == "^^..^^..^^..");
    // Two of them, where gradients are accumulated.
    CHECK(run_of({"HkHk", "HkHk", "HkHk"}).inputs() == "^.^.^.^.^.^.");
}

// As where a step is 100 batches whose gradients are accumulated, or actions of a player.
TEST_CASE("all of very many batches in a step are input", "[input_copies]") {
    Run run;
    std::string step, expected;
    for (int batch = 0; batch < 100; ++batch) {
        step += "Hk";
        expected += "^.";
    }
    for (int32_t i = 0; i < 3; ++i) run.step(step, i);
    CHECK(run.inputs() == expected + expected + expected);
}

TEST_CASE("as it goes, a place is known when it came twice", "[input_copies]") {
    CHECK(run_of({"Hkk", "Hkk", "Hkk", "Hkk"}).inputs(false) == "......^..^..");
}

TEST_CASE("what comes in few steps, or elsewhere, is no input", "[input_copies]") {
    CHECK(run_of({"kkk", "Hkk", "kkk", "kkk", "Hkk", "kkk"}).inputs() == "..................");
    // Weights come once before the first step, and in no place of it.
    Run run;
    run.step("HHHH", kNoStep);
    for (int32_t i = 0; i < 3; ++i) run.step("kHk", i);
    CHECK(run.inputs() == ".....^..^..^.");
    // Four in five are nearly every step, three in five are not.
    CHECK(run_of({"Hk", "kk", "Hk", "Hk", "Hk", "k"}).inputs() == "^...^.^.^..");
    CHECK(run_of({"Hk", "kk", "kk", "Hk", "Hk", "k"}).inputs() == "...........");
}

TEST_CASE("small copies are input where there is nothing larger", "[input_copies]") {
    CHECK(run_of({"Lkhk", "Lkhk", "Lkhk"}).inputs() == "^...^...^...");
    CHECK(run_of({"LkHk", "LkHk", "LkHk"}).inputs() == "..^...^...^.");
}

TEST_CASE("sizes may change from step to step", "[input_copies]") {
    Run run;
    for (int32_t i = 0; i < 4; ++i) run.step("Hkk", i, 70'000 + 1000 * i);
    CHECK(run.inputs() == "^..^..^..^..");
}

TEST_CASE("without steps, sizes that come again are input", "[input_copies]") {
    Run run;
    run.facts.are_slices = true;
    run.step("HkhkHkhkk", 0);
    run.step("H", 0, 2 << 20);
    run.step("Hk", 1);
    CHECK(run.inputs() == "^...^.....^.");
}

TEST_CASE("what is not asked any more is forgotten", "[input_copies]") {
    Run run = run_of({"Hk", "Hk", "Hk"});
    InputCopies copies(run.facts);
    for (const Call& call : run.calls) copies.see(call);
    copies.begin();
    for (const Call& call : run.calls) copies.take(call);
    copies.forget_before(2);
    CHECK_FALSE(copies.is_input(1, 0));
    CHECK(copies.is_input(1, 2));
    CHECK(copies.is_input(1, 4));
}

}  // namespace input_copies_test
