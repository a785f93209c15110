// Random programs whose true steps are known: found exactly, or refused. And runs without a period: refused.
#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "analysis/step/steps.h"
#include "repeats.h"
#include "step_tokens.h"

namespace step_property_test {

using namespace gpushim::analysis;

namespace {

struct Program {
    explicit Program(uint64_t seed) : random(seed) {}

    std::mt19937_64 random;
    std::vector<Token> tokens;
    std::vector<int64_t> begins;
    std::vector<int64_t> train_ends;
    int64_t evaluations = 0;
    int64_t now_ns = 0;

    int64_t up_to(int64_t most) { return static_cast<int64_t>(random() % static_cast<uint64_t>(most)) + 1; }
    bool one_in(int64_t n) { return up_to(n) == 1; }

    void launch(Token token) {
        token.at_ns = now_ns;
        tokens.push_back(token);
        now_ns += 500 + up_to(1000);
    }
    void kernel(int64_t hash) { launch({hash, 0, 0, TokenKind::kernel}); }

    TokenSource source(size_t most = SIZE_MAX) const {
        return [this, most](const std::function<void(const Token&)>& take) {
            for (size_t i = 0; i < std::min(most, tokens.size()); ++i) take(tokens[i]);
        };
    }
};

struct Shape {
    int64_t layers, kernels, head, optimizers, micro_steps, steps, eval_every, eval_steps, rare;
    int64_t ways;  // in which a step is done, in turn
    bool has_input, has_sync, has_collectives, names_optimizer;
};

Shape random_shape(Program& of) {
    Shape shape{};
    shape.layers = of.up_to(24);
    shape.kernels = 2 + of.up_to(8);
    shape.head = of.up_to(6);
    shape.optimizers = of.up_to(12);
    shape.micro_steps = of.one_in(3) ? 1 + of.up_to(7) : 1;
    shape.steps = 12 + of.up_to(60);
    shape.eval_every = of.one_in(2) ? 4 + of.up_to(12) : 0;
    shape.eval_steps = of.up_to(6);
    shape.rare = of.one_in(2) ? 20 + of.up_to(60) : 0;  // one in so many steps has a kernel of its own
    shape.has_input = !of.one_in(5);
    shape.has_sync = of.one_in(2);
    shape.has_collectives = of.one_in(2);
    shape.names_optimizer = !of.one_in(4);
    shape.ways = shape.micro_steps == 1 && of.one_in(5) ? 1 + of.up_to(4) : 1;
    return shape;
}

void forward(Program& run, const Shape& shape) {
    if (shape.has_input) run.launch({4096, 0, 0, TokenKind::copy_h2d});
    run.kernel(1);
    for (int64_t layer = 0; layer < shape.layers; ++layer)
        for (int64_t i = 0; i < shape.kernels; ++i) run.kernel(100 + i);
    for (int64_t i = 0; i < shape.head; ++i) run.kernel(200 + i);
}

void train(Program& run, const Shape& shape, int64_t step) {
    for (int64_t micro = 1; micro <= shape.micro_steps; ++micro) {
        forward(run, shape);
        for (int64_t layer = 0; layer < shape.layers; ++layer)
            for (int64_t i = 0; i < shape.kernels; ++i) {
                run.kernel(300 + i);
                if (i == 0 && shape.has_collectives && micro == shape.micro_steps)
                    run.launch({7, 0, 0, TokenKind::collective});
            }
    }
    if (shape.ways > 1) run.kernel(600 + step % shape.ways);
    for (int64_t i = 0; i < shape.optimizers; ++i)
        run.launch({400 + i, 0, 0, TokenKind::kernel, shape.names_optimizer});
    if (shape.rare != 0 && run.one_in(shape.rare)) run.kernel(900 + run.up_to(3));
    if (shape.has_sync) run.launch({0, 0, 0, TokenKind::sync});
    if (run.one_in(4)) run.now_ns += run.up_to(20'000);  // the loader was late
}

Shape made(Program& run, int64_t times_as_many_steps = 1) {
    Shape shape = random_shape(run);
    shape.steps *= times_as_many_steps;
    for (int64_t i = 0; i < run.up_to(20); ++i) run.kernel(1000 + i);
    for (int64_t step = 0; step < shape.steps; ++step) {
        run.begins.push_back(run.now_ns);
        train(run, shape, step);
        run.train_ends.push_back(run.now_ns);
        if (shape.eval_every == 0 || step % shape.eval_every != shape.eval_every - 1) continue;
        for (int64_t i = 0; i < shape.eval_steps; ++i) {
            ++run.evaluations;
            if (shape.has_input || shape.has_sync) run.begins.push_back(run.now_ns);
            forward(run, shape);
            run.kernel(500);
            if (shape.has_sync) run.launch({0, 0, 0, TokenKind::sync});
        }
    }
    return shape;
}

// Where nothing says at which operation a step begins, any that comes once in each will do.
bool is_right(const Program& run, const Shape& shape, const std::vector<int64_t>& found) {
    if (shape.has_input || shape.has_sync) return found == run.begins;
    const auto count = static_cast<int64_t>(found.size()), steps = static_cast<int64_t>(run.begins.size());
    if (run.evaluations > 0 && count == steps + run.evaluations) return true;
    if (count != steps) return false;
    for (size_t i = 0; i < found.size(); ++i)
        if (found[i] >= run.train_ends[i] || found[i] < (i == 0 ? run.begins[0] : run.train_ends[i - 1]))
            return false;
    return true;
}

std::string in_words(const Shape& of) {
    std::string text;
    for (const int64_t value :
         {of.layers, of.kernels, of.head, of.optimizers, of.micro_steps, of.steps, of.eval_every,
          of.eval_steps, of.rare, int64_t{of.has_input}, int64_t{of.has_sync}, int64_t{of.has_collectives},
          int64_t{of.names_optimizer}, of.ways})
        text += std::to_string(value) + " ";
    return text;
}

}  // namespace

TEST_CASE("random training programs: their steps exactly, or none", "[step]") {
    constexpr int kPrograms = repeats(300, 60);
    struct {
        int programs = 0, exactly = 0;
    } one_way, several_ways;
    for (uint64_t seed = 1; seed <= kPrograms; ++seed) {
        Program run(seed);
        const Shape shape = made(run);
        auto& of_its_kind = shape.ways == 1 ? one_way : several_ways;
        ++of_its_kind.programs;
        const Steps found = find_steps(run.source(), {});
        INFO("seed " << seed << ": " << in_words(shape) << found.anchor << " " << found.why);
        if (found.source == "none") {
            CHECK(found.steps.empty());
            continue;
        }
        const bool is_exact = is_right(run, shape, begins(found));
        CHECK(is_exact);
        of_its_kind.exactly += is_exact;
    }
    CHECK(one_way.exactly >= one_way.programs * 90 / 100);
    CHECK(several_ways.programs > 0);
    CHECK(several_ways.exactly >= several_ways.programs * 60 / 100);
}

// A fifth of a long run, and all of it where that is not enough: what is found is the same.
TEST_CASE("a first look at a long run tells what all of it does", "[step]") {
    int at_first_look = 0, evaluated_later = 0;
    for (uint64_t seed = 1; seed <= repeats(100, 30); ++seed) {
        Program run(seed);
        const Shape shape = made(run, 10);
        const bool ends_with_others = seed % 3 == 0;
        for (int i = 0; ends_with_others && i < 40; ++i) {
            forward(run, shape);
            for (int64_t k = 0; k < 20 + shape.layers * shape.kernels; ++k) run.kernel(700 + k % 7);
        }
        const auto all = static_cast<int64_t>(run.tokens.size());
        const Beginning looks[] = {{run.source(run.tokens.size() / 5), all / 5}, {run.source(), all + 1}};
        const Steps found = find_steps(run.source(), looks, {}), whole = find_steps(run.source(), {});
        INFO("seed " << seed << ": " << in_words(shape) << found.anchor << " " << found.why);
        CHECK(found.source == whole.source);
        if (shape.has_input || shape.has_sync)  // else a step may begin at any operation that it has once
            CHECK(begins(found) == begins(whole));
        else
            CHECK(found.steps.size() == whole.steps.size());
        CHECK(found.micro_steps == whole.micro_steps);
        CHECK(found.why == whole.why);
        const bool is_by_first_look = found.confidence < whole.confidence;
        at_first_look += is_by_first_look;
        evaluated_later += ends_with_others && !is_by_first_look;
    }
    CHECK(at_first_look >= repeats(100, 30) / 4);
    CHECK(evaluated_later > 0);
}

TEST_CASE("tokens in no order are refused", "[step]") {
    for (uint64_t seed = 1; seed <= repeats(600, 100); ++seed) {
        Program run(seed);
        const int64_t names = 1 + run.up_to(seed % 3 == 0 ? 4 : 60), length = 20 + run.up_to(4000);
        const bool has_cues = seed % 2 == 0;
        for (int64_t i = 0; i < length; ++i) {
            // The product of two: some names are far more frequent than others.
            const int64_t name = run.up_to(names) * run.up_to(names);
            if (has_cues && run.one_in(12))
                run.launch({name, 0, 0, run.one_in(2) ? TokenKind::copy_h2d : TokenKind::sync});
            else
                run.launch({name, 0, 0, TokenKind::kernel, has_cues && name % 7 == 0});
        }
        const Steps found = find_steps(run.source(), {});
        INFO("seed " << seed << " names " << names << " length " << length << " " << found.anchor << " "
                     << found.confidence << " " << found.steps.size());
        CHECK(found.source == "none");
        CHECK_FALSE(found.why.empty());
    }
}

}  // namespace step_property_test
