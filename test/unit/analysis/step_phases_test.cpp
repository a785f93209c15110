// Phases of one step, by hand: one letter is one token, 10 ns apart (step_tokens.h).
#include "analysis/step/phases.h"

#include <catch2/catch.hpp>

#include "step_tokens.h"

namespace step_phases_test {

using namespace gpushim::analysis;

namespace {

std::vector<Phase> phases(std::string_view letters, std::optional<int64_t> backward_ns = {}) {
    MadeRun run;
    run.play("hco");  // another step's
    const int64_t begin_ns = run.play(letters), end_ns = run.now_ns;
    run.play("hco");
    return phases_of({begin_ns, end_ns}, run.tokens, {}, backward_ns);
}

using enum PhaseKind;

}  // namespace

TEST_CASE("a step with collectives and an optimizer has all phases", "[step]") {
    //  30  50      90          140 150 170
    //  h h f f f f c b b c x   o   o   i
    CHECK(phases("hhffffcbbcxooi") == std::vector<Phase>{{input, {30, 50}, 0.8},
                                                         {forward, {50, 90}, 0.5},
                                                         {backward, {90, 140}, 0.5},
                                                         {communication, {90, 130}, 0.8},
                                                         {optimizer, {140, 160}, 0.9}});
    CHECK(in_words(communication) == "communication");
}

TEST_CASE("an operation named as backward says where it begins", "[step]") {
    CHECK(phases("hffbbcboo", 60) == std::vector<Phase>{{input, {30, 40}, 0.8},
                                                        {forward, {40, 60}, 0.9},
                                                        {backward, {60, 100}, 0.9},
                                                        {communication, {80, 90}, 0.8},
                                                        {optimizer, {100, 120}, 0.9}});
}

TEST_CASE("what nothing tells is not a phase", "[step]") {
    CHECK(phases("fffbbb").empty());
    CHECK(phases("").empty());
    // A copy behind the first kernel feeds a later step.
    CHECK(phases(" ffhbb").empty());
    // The first collective after 1 of 9: layers are split over GPUs. With 2 of 9 it would be gradients.
    CHECK(phases("fcfcbcbcb") == std::vector<Phase>{{communication, {40, 110}, 0.8}});
    CHECK(phases("ffcbbcbcb").size() == 4);
}

TEST_CASE("input carries most of what goes to the device", "[step]") {
    const auto with_copies = [](int64_t before, int64_t behind) {
        MadeRun run;
        run.copy('h', before);
        run.play("ff");
        run.copy('h', behind);
        run.play("bbo");
        return phases_of({0, run.now_ns}, run.tokens, {}, 40);
    };
    CHECK(with_copies(4096, 4096).front() == Phase{input, {0, 10}, 0.8});
    CHECK(with_copies(680, 4096).front() == Phase{forward, {10, 40}, 0.9});
}

TEST_CASE("a step that was found may begin behind its forward", "[step]") {
    const auto found = [](std::string_view letters, StepBegins begins) {
        MadeRun run;
        run.play(letters);
        return phases_of({0, run.now_ns}, run.tokens, {}, 20, begins);
    };
    CHECK(found("ffbbcoo ff", StepBegins::anywhere) == std::vector<Phase>{{forward, {0, 20}, 0.9},
                                                                          {backward, {20, 50}, 0.9},
                                                                          {communication, {40, 50}, 0.8},
                                                                          {optimizer, {50, 80}, 0.9},
                                                                          {forward, {80, 100}, 0.9}});
    CHECK(found("ffbbcoo ff", StepBegins::where_marked).back().kind == optimizer);
    // It begins with its input: what computes behind the optimizer is something else.
    CHECK(found("hfbbcoo ff", StepBegins::anywhere).back().kind == optimizer);
    CHECK(found("  bbcoo  h", StepBegins::anywhere).back().kind == optimizer);
}

//  f f f x x b a b o        x exchanges, a adds up
TEST_CASE("a collective that adds nothing up tells no backward", "[step]") {
    const auto of = [](std::string_view letters) {
        MadeRun run;
        run.play(letters);
        for (Token& token : run.tokens) {
            token.purpose.only_moves = token.hash == 'x' * 1000;
            if (token.purpose.only_moves) token.kind = TokenKind::collective;
        }
        return phases_of({0, run.now_ns}, run.tokens, {}, {});
    };
    CHECK(of("ffxffxff") == std::vector<Phase>{{communication, {20, 60}, 0.8}});
    CHECK(of("ffxxfcfb") == std::vector<Phase>{{forward, {0, 50}, 0.5},
                                               {communication, {20, 60}, 0.8},
                                               {backward, {50, 60}, 0.5},
                                               {optimizer, {60, 80}, 0.5}});
}

//  h f f B B o o · · · ·  h      behind the optimizer the host waits for its loader; 40 to 42: the last call
TEST_CASE("a phase is over when its last operation has been submitted", "[step]") {
    const auto of = [](std::string_view letters) {
        MadeRun run;
        run.play(letters);
        for (Token& token : run.tokens) token.until_ns = token.at_ns + 2;
        return phases_of({0, run.now_ns}, run.tokens, {}, 30);
    };
    CHECK(of("hffBBoo    ").back() == Phase{optimizer, {50, 62}, 0.9});
    CHECK(of("hffBBcc    ").back() == Phase{communication, {50, 62}, 0.8});
    CHECK(of("hffBcbx    ").back() == Phase{optimizer, {50, 62}, 0.5});
    // What comes directly behind it ends it, too.
    CHECK(of("hffBBoox   ").back() == Phase{optimizer, {50, 62}, 0.9});
}

TEST_CASE("two models of a step have their phases each", "[step]") {
    for (const int64_t gradients_thread : {1, 0}) {
        MadeRun run;
        run.gradients_thread = gradients_thread;
        run.play(
            "hfxBBoo"
            "fffBBBoo   ");
        for (Token& token : run.tokens) token.until_ns = token.at_ns + 2;
        const std::vector<Phase> found = phases_of({0, run.now_ns}, run.tokens, {}, 30);
        if (gradients_thread == 0) {  // layer by layer, perhaps
            CHECK(found.back() == Phase{optimizer, {50, 142}, 0.9});
            continue;
        }
        CHECK(found == std::vector<Phase>{{input, {0, 10}, 0.8},
                                          {forward, {10, 30}, 0.9},
                                          {backward, {30, 50}, 0.9},
                                          {optimizer, {50, 62}, 0.9},
                                          {forward, {70, 100}, 0.9},
                                          {backward, {100, 130}, 0.9},
                                          {optimizer, {130, 142}, 0.9}});
    }
}

//  h f f B B o | x x x x x B B B B B o      in one thread, as in C++: what lies between is no update
TEST_CASE("what is computed between the updates of two models is no update", "[step]") {
    MadeRun run;
    run.play("hffBBoxxxxxBBBBBo   ");
    for (Token& token : run.tokens) token.until_ns = token.at_ns + 2;
    CHECK(phases_of({0, run.now_ns}, run.tokens, {}, 30) == std::vector<Phase>{{input, {0, 10}, 0.8},
                                                                               {forward, {10, 30}, 0.9},
                                                                               {backward, {30, 50}, 0.9},
                                                                               {optimizer, {50, 52}, 0.9},
                                                                               {optimizer, {160, 162}, 0.9}});
}

//  p p p f f B B o | f f B B o | f f B B o      in one thread: what p does is the first forward's
TEST_CASE("a step of several updates in one thread has as many rounds", "[step]") {
    MadeRun run;
    run.play("pppffBBoffBBoffBBo");
    for (Token& token : run.tokens) token.until_ns = token.at_ns + 2;
    CHECK(phases_of({0, run.now_ns}, run.tokens, {}, 50) == std::vector<Phase>{{forward, {0, 50}, 0.9},
                                                                               {backward, {50, 70}, 0.9},
                                                                               {optimizer, {70, 72}, 0.9},
                                                                               {forward, {80, 100}, 0.9},
                                                                               {backward, {100, 120}, 0.9},
                                                                               {optimizer, {120, 122}, 0.9},
                                                                               {forward, {130, 150}, 0.9},
                                                                               {backward, {150, 170}, 0.9},
                                                                               {optimizer, {170, 172}, 0.9}});
    // Batches whose gradients are accumulated.
    MadeRun batches;
    batches.play("hffBBhffBBo");
    CHECK(phases_of({0, batches.now_ns}, batches.tokens, {}, 30) ==
          std::vector<Phase>{{input, {0, 10}, 0.8},
                             {forward, {10, 30}, 0.9},
                             {backward, {30, 50}, 0.9},
                             {input, {50, 60}, 0.8},
                             {forward, {60, 80}, 0.9},
                             {backward, {80, 100}, 0.9},
                             {optimizer, {100, 110}, 0.9}});
    // Layer by layer: gradients go on behind an update.
    MadeRun layers;
    layers.play("hpffBxBoBxBoBo");
    CHECK(phases_of({0, layers.now_ns}, layers.tokens, {}, 40).back().kind == optimizer);
    CHECK(phases_of({0, layers.now_ns}, layers.tokens, {}, 40).size() == 4);
}

TEST_CASE("each batch of a step has a forward and gradients", "[step]") {
    //  h f f B B | h f f B B | x x o o      x: gradients are cut off, by the thread that updates
    MadeRun run;
    run.gradients_thread = 1;
    run.play("hffBBhffBBxxoo");
    for (Token& token : run.tokens) token.until_ns = token.at_ns + 2;
    CHECK(phases_of({0, run.now_ns}, run.tokens, {}, 30) == std::vector<Phase>{{input, {0, 10}, 0.8},
                                                                               {forward, {10, 30}, 0.9},
                                                                               {backward, {30, 50}, 0.9},
                                                                               {input, {50, 60}, 0.8},
                                                                               {forward, {60, 80}, 0.9},
                                                                               {backward, {80, 120}, 0.9},
                                                                               {optimizer, {120, 132}, 0.9}});
    // Another thread makes the next batch ready on the GPU meanwhile.
    for (Token& token : run.tokens)
        if (token.at_ns == 50) token.thread = 2;
    const std::vector<Phase> found = phases_of({0, run.now_ns}, run.tokens, {}, 30);
    CHECK(found[2] == Phase{backward, {30, 60}, 0.9});
}

TEST_CASE("without its name the optimizer is what follows the last exchange", "[step]") {
    CHECK(phases("ffcbcxx") == std::vector<Phase>{{forward, {30, 50}, 0.5},
                                                  {backward, {50, 80}, 0.5},
                                                  {communication, {50, 80}, 0.8},
                                                  {optimizer, {80, 100}, 0.5}});
}

TEST_CASE("ranges win, clipped to the step", "[step]") {
    MadeRun run;
    run.play("hffcbcoo");
    const PhaseRange ranges[] = {
        {{-50, 20}, input}, {{20, 60}, forward}, {{60, 90}, backward}, {{90, 99}, input}};
    CHECK(phases_of({0, 80}, run.tokens, ranges) == std::vector<Phase>{{input, {0, 20}, 1.0},
                                                                       {forward, {20, 60}, 1.0},
                                                                       {communication, {30, 60}, 0.8},
                                                                       {backward, {60, 80}, 1.0}});
}

//  h |f f| x B B | h |f f| x B B |o o|     ranges: f and o; gradients have a thread of their own
//  |o| . f f |i| f f B B B B     a step that was found may begin with the update of the one before
TEST_CASE("behind the update of the step before come forward and backward", "[step]") {
    MadeRun run;
    run.play("o ff  ffBBBB");
    const std::vector<Phase> without = phases_of({0, 120}, run.tokens, {}, 80, StepBegins::anywhere);
    CHECK(without == std::vector<Phase>{
                         {optimizer, {0, 20}, 0.9}, {forward, {20, 80}, 0.9}, {backward, {80, 120}, 0.9}});
    const PhaseRange ranges[] = {{{-1, 6}, optimizer}, {{42, 58}, input}};
    CHECK(phases_of({0, 120}, run.tokens, ranges, 80, StepBegins::anywhere) ==
          std::vector<Phase>{{optimizer, {0, 6}, 1.0},
                             {forward, {20, 42}, 0.9},
                             {input, {42, 58}, 1.0},
                             {forward, {58, 80}, 0.9},
                             {backward, {80, 120}, 0.9}});
}

TEST_CASE("what ranges do not name lies beside what they name", "[step]") {
    MadeRun run;
    run.gradients_thread = 1;
    run.play("hffxBBhffxBBoo");
    const PhaseRange ranges[] = {{{10, 30}, forward}, {{70, 90}, forward}, {{120, 140}, optimizer}};
    CHECK(phases_of({0, run.now_ns}, run.tokens, ranges, 40) ==
          std::vector<Phase>{{input, {0, 10}, 0.8},
                             {forward, {10, 30}, 1.0},
                             {backward, {40, 60}, 0.9},
                             {input, {60, 70}, 0.8},
                             {forward, {70, 90}, 1.0},
                             {backward, {100, 120}, 0.9},
                             {optimizer, {120, 140}, 1.0}});
    // An optimizer whose kernels have no name ends the gradients; what is behind it is none, and is no phase.
    run.play("x");
    for (Token& token : run.tokens) token.is_optimizer = false;
    CHECK(phases_of({0, run.now_ns}, run.tokens, ranges, 40).back() == Phase{optimizer, {120, 140}, 1.0});
    // A batch that was loaded in a range is copied behind it.
    run.tokens.front().until_ns = 8;
    const PhaseRange loader[] = {{{-20, 5}, input}};
    CHECK(phases_of({0, 60}, run.tokens, loader, 40) == std::vector<Phase>{{input, {0, 5}, 1.0},
                                                                           {input, {5, 10}, 0.8},
                                                                           {forward, {10, 40}, 0.9},
                                                                           {backward, {40, 60}, 0.9}});
}

}  // namespace step_phases_test
