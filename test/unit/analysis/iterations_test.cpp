// Whether a program trains or serves, and a server's iterations, by hand and at random: one letter is one
// token, 10 ns apart (step_tokens.h). `graph(n)` launches the n-th graph.
#include "analysis/step/iterations.h"

#include <catch2/catch.hpp>
#include <random>

#include "step_tokens.h"

namespace iterations_test {

using namespace gpushim::analysis;

namespace {

struct Server : MadeRun {
    std::vector<int64_t> begins;
    std::vector<IterationKind> kinds;

    void decode(int64_t size, std::string_view before = "h", std::string_view after = "s") {
        begins.push_back(now_ns);
        kinds.push_back(IterationKind::decode);
        play(before);
        play("g", 0, size);
        play(after);
    }
    void graph(int64_t size, int64_t batch) {
        begins.push_back(now_ns);
        kinds.push_back(IterationKind::decode);
        copy('h', 8 * batch);
        copy('s', 0);
        play("g", 0, size);
        copy('s', 8 * batch);
    }
    // Tokens that come in, the model's work, tokens that are read back; of 8 bytes each. With `waits` the
    // program waits for each copy to the device.
    void tokens(int64_t in, std::string_view work, int64_t out, IterationKind kind, bool waits = true) {
        begins.push_back(now_ns);
        kinds.push_back(kind);
        copy('h', 8 * in);
        if (waits) copy('s', 0);
        play("p");
        copy('h', 4);
        if (waits) copy('s', 0);
        play(work);
        copy('s', 8 * out);
    }
    // Kernels of so many blocks, and so many bytes that are read back.
    void rows(int64_t blocks, std::string_view work, int64_t out, IterationKind kind) {
        begins.push_back(play(work, 0, blocks));
        kinds.push_back(kind);
        copy('s', out);
    }
    void eager(std::string_view letters, IterationKind kind) {
        begins.push_back(play(letters));
        kinds.push_back(kind);
    }
};

std::vector<int64_t> begins_of(const Steps& found) {
    std::vector<int64_t> begins;
    for (const Step& step : found.steps) begins.push_back(step.begin_ns);
    return begins;
}

std::vector<IterationKind> kinds_of(const MadeRun& run, const Steps& found) {
    std::vector<IterationKind> kinds;
    for (const Iteration& one : look_into(run.source(), found.steps)) kinds.push_back(one.kind);
    return kinds;
}

Served judged(const MadeRun& run, std::optional<Program> asked = {}) {
    return find_iterations(Surveyed(run.source()).survey(), asked, false);
}

void hold(const Server& run) {
    const Served served = judged(run);
    INFO(served.why);
    REQUIRE(served.program == Program::serving);
    CHECK(begins_of(served.found) == run.begins);
    CHECK(kinds_of(run, served.found) == run.kinds);
}

}  // namespace

TEST_CASE("a server's iterations are what lies between two read-backs", "[iterations]") {
    Server run;
    for (int i = 0; i < 5; ++i) {
        run.eager("hCPkkkPkks", IterationKind::prefill);
        for (int token = 0; token < 4; ++token) run.decode(i % 2);
    }
    hold(run);
    const Steps found = judged(run).found;
    CHECK(found.steps[0].end_ns == found.steps[1].begin_ns);
    CHECK(found.steps.back().is_left_out);
    CHECK_FALSE(found.steps[0].is_left_out);
}

TEST_CASE("without a name for prefills, what has no decode's attention is one", "[iterations]") {
    Server run;
    for (int i = 0; i < 4; ++i) {
        run.eager("hCakkks", IterationKind::prefill);
        for (int token = 0; token < 5; ++token) run.eager("hCDkks", IterationKind::decode);
    }
    hold(run);
}

TEST_CASE("a prompt's chunk beside decodes is of both", "[iterations]") {
    Server run;
    for (int i = 0; i < 9; ++i) run.eager("hDkDks", IterationKind::decode);
    for (int i = 0; i < 3; ++i) run.eager("hDkPks", IterationKind::mixed);
    hold(run);
}

TEST_CASE("a second look at something in an iteration begins none", "[iterations]") {
    Server run;
    for (int i = 0; i < 10; ++i) run.eager("hDkks us s", IterationKind::decode);
    hold(run);
}

TEST_CASE("a decode without its graph is still a decode", "[iterations]") {
    Server run;
    for (int i = 0; i < 6; ++i) {
        for (int token = 0; token < 4; ++token) run.decode(1);
        run.eager("hCDkks", IterationKind::decode);
    }
    hold(run);
    const auto iterations = look_into(run.source(), judged(run).found.steps);
    CHECK(iterations[0].graphs == 1);
    CHECK(iterations[4].graphs == 0);
    CHECK(iterations[4].launches == 4);
}

TEST_CASE("graphs of several sizes in no fixed order serve; no name tells what the rest is", "[iterations]") {
    Server run;
    for (int64_t size = 0; size < 6; ++size) {
        run.eager("hkkkkkks", IterationKind::eager);
        for (int token = 0; token < 9; ++token) run.decode(size % 3);
    }
    hold(run);
    CHECK(judged(run).confidence == 0.85);
    const auto iterations = look_into(run.source(), judged(run).found.steps);
    CHECK(iterations[1].of_class == iterations[9].of_class);
    CHECK(iterations[1].of_class != iterations[11].of_class);
    CHECK(iterations[1].of_class == iterations[31].of_class);
}

TEST_CASE("what is read back and comes in again is generated, without graphs and names", "[iterations]") {
    for (const bool waits : {true, false}) {
        Server run;
        for (int request = 0; request < 9; ++request) {
            run.tokens(40 + 7 * request, "kAkkAkk", 1, IterationKind::prefill, waits);
            for (int token = 0; token < 8; ++token) run.tokens(1, "kAkAk", 1, IterationKind::decode, waits);
        }
        hold(run);
        CHECK(judged(run).confidence == 0.85);
    }
}

TEST_CASE("what comes in from elsewhere, attends to nothing, or trains, is not generated", "[iterations]") {
    const auto with = [](int64_t in, std::string_view work) {
        Server run;
        for (int i = 0; i < 60; ++i) run.tokens(in, work, 1, IterationKind::decode);
        return judged(run).program;
    };
    CHECK(with(1, "kAkAk") == Program::serving);
    CHECK(with(200, "kAkAk") == Program::not_known);
    CHECK(with(1, "kkkkk") == Program::not_known);
    CHECK(with(1, "kAkAo") == Program::training);
}

TEST_CASE("tokens that stay on the device are generated, too", "[iterations]") {
    for (const char* attends : {"kA", "kWk"}) {
        Server run;
        const std::string layers = std::string(attends) + "k" + attends + "k";
        for (int request = 0; request < 4; ++request) {
            run.rows(256, layers + "kX", 1, IterationKind::prefill);
            for (int token = 0; token < 30; ++token) run.rows(4, layers + "kX", 1, IterationKind::decode);
        }
        hold(run);
        CHECK(judged(run).confidence == 0.85);
        CHECK(judged(run).do_batches_end);
    }
}

TEST_CASE("a larger grid behind which there are no smaller ones is no prompt", "[iterations]") {
    Server run;
    for (const int64_t batch : {4, 256})
        for (int token = 0; token < 30; ++token) run.rows(batch, "kAkAkX", 1, IterationKind::decode);
    hold(run);
}

TEST_CASE("one name for prompts and decodes: larger grids tell the prompts", "[iterations]") {
    Server run;
    for (int request = 0; request < 4; ++request) {
        run.rows(256, "kDkDk", 8, IterationKind::prefill);
        for (int token = 0; token < 30; ++token) run.rows(4, "kDkDk", 8, IterationKind::decode);
    }
    hold(run);
    CHECK_FALSE(judged(run).do_batches_end);
}

TEST_CASE("what generates nothing that shows is not known", "[iterations]") {
    const auto with = [](std::string_view work, int64_t in, int64_t out) {
        Server run;
        for (int i = 0; i < 60; ++i) {
            if (in > 0) run.copy('h', in);
            run.rows(4, work, out, IterationKind::decode);
        }
        return judged(run).program;
    };
    CHECK(with("kAkAkX", 0, 1) == Program::serving);
    CHECK(with("kAkAkX", 8, 1) == Program::serving);       // a scalar
    CHECK(with("kAkAkX", 4096, 1) == Program::not_known);  // an evaluation: its input
    CHECK(with("kAkAkX", 0, 0) == Program::not_known);     // nothing is read
    CHECK(with("kAkAkX", 0, 1 << 20) == Program::not_known);
    CHECK(with("kAkAkk", 0, 1) == Program::not_known);  // nothing is chosen: a picture is made, perhaps
    CHECK(with("kkkkkX", 0, 1) == Program::not_known);  // nothing attends
    CHECK(with("kWkkkX", 0, 1) == Program::not_known);  // one softmax is no model
    CHECK(with("kAkAkXB", 0, 1) == Program::training);
}

TEST_CASE("beside graphs, many tokens in for one that is sampled are a prompt", "[iterations]") {
    Server run;
    for (int64_t size = 0; size < 8; ++size) {
        run.tokens(60 + 3 * size, "kAkkAkk", 1, IterationKind::prefill);
        run.tokens(3, "kAkAk", 3, IterationKind::decode);  // no size that has a graph
        for (int token = 0; token < 9; ++token) run.graph(size % 4, 1 << size % 4);
    }
    hold(run);
}

TEST_CASE("beside graphs, what each brings another amount of is a prompt", "[iterations]") {
    //  a decode brings 4 tokens for each that is sampled; no name tells, and nothing comes in again
    const auto served = [](const std::vector<int64_t>& prompts, int64_t missed, IterationKind kind) {
        Server run;
        for (size_t i = 0; i < prompts.size(); ++i) {
            run.tokens(prompts[i], "kAkkAkk", 1, kind);
            if (missed > 0) run.tokens(4 * missed, "kAkkAkk", missed, IterationKind::decode);
            for (int token = 0; token < 9; ++token) {
                const int64_t size = static_cast<int64_t>(i) % 4;
                run.begins.push_back(run.now_ns);
                run.kinds.push_back(IterationKind::decode);
                run.copy('h', int64_t{32} << size);
                run.play("g", 0, size);
                run.copy('s', int64_t{8} << size);
            }
        }
        CHECK(kinds_of(run, judged(run).found) == run.kinds);
    };
    const std::vector<int64_t> of_any_length = {61, 4, 180, 33, 5, 412, 90, 257, 128, 17},
                               of_two = {64, 128, 64, 128, 64, 128, 64, 128, 64, 128};
    served(of_any_length, 0, IterationKind::prefill);
    served(of_any_length, 3, IterationKind::prefill);
    served(of_two, 0, IterationKind::eager);
    served(of_two, 3, IterationKind::eager);
}

TEST_CASE("what trains does not serve, whatever else it does", "[iterations]") {
    for (const char* step : {"hCDkkos", "hDkBks"}) {
        MadeRun run;
        run.repeat(step, 30);
        const Served served = judged(run);
        CHECK(served.program == Program::training);
        CHECK(served.found.steps.empty());
    }
}

TEST_CASE("graphs that come in turn, or two of them, are no server's", "[iterations]") {
    Server in_turn, two;
    for (int i = 0; i < 90; ++i) in_turn.decode(i % 3);
    for (int i = 0; i < 90; ++i) two.decode(i / 10 % 2);
    for (const Server* run : {&in_turn, &two}) CHECK(judged(*run).program == Program::not_known);
}

TEST_CASE("who says what a program is has the last word", "[iterations]") {
    MadeRun trains, plain;
    trains.repeat("hkkos", 9);
    plain.repeat("hkkkks", 9);
    CHECK(judged(trains, Program::serving).program == Program::serving);
    CHECK(judged(plain, Program::serving).found.steps.size() == 9);
    Server serves;
    for (int i = 0; i < 9; ++i) serves.decode(1, "hD");
    CHECK(judged(serves).program == Program::serving);
    CHECK(judged(serves, Program::training).found.steps.empty());
}

TEST_CASE("a server that never waits has no iterations, and says why", "[iterations]") {
    MadeRun run;
    run.repeat("hDkk", 50);
    const Served served = judged(run);
    CHECK(served.program == Program::serving);
    CHECK(served.found.source == "none");
    CHECK_FALSE(served.found.why.empty());
}

TEST_CASE("of thousands of batch sizes the first are told apart", "[iterations]") {
    Server run;
    for (int64_t size = 0; size < 5000; ++size) run.decode(size, "hC");
    hold(run);
    const auto iterations = look_into(run.source(), judged(run).found.steps);
    CHECK(iterations[kMostClasses - 1].of_class == int32_t{kMostClasses} - 1);
    CHECK(iterations[kMostClasses].of_class == -1);
}

namespace {

int64_t up_to(std::mt19937_64& chance, int64_t most) {
    return static_cast<int64_t>(chance() % static_cast<uint64_t>(most)) + 1;
}

// Requests come as they like; a batch has as many sequences as are under way.
Server random_server(uint64_t seed) {
    std::mt19937_64 chance(seed);
    Server run;
    const bool has_graphs = up_to(chance, 3) > 1, looks_twice = up_to(chance, 3) == 1;
    const int64_t layers = up_to(chance, 12);
    const std::string end = looks_twice ? "suhs" : "s";
    std::string prompt = "hC", token = "hC";
    for (int64_t layer = 0; layer < layers; ++layer) prompt += "kPk", token += "kDk";
    int64_t batch = 0;
    for (int i = 0; i < 300; ++i) {
        if (batch == 0 || (batch < 8 && up_to(chance, 10) == 1)) {
            run.eager(prompt + end, IterationKind::prefill);
            ++batch;
        } else {
            const bool is_missed = up_to(chance, 20) == 1;
            if (has_graphs && !is_missed)
                run.decode(batch, "h", end);
            else
                run.eager(token + end, IterationKind::decode);
            batch -= up_to(chance, 12) == 1;
        }
        run.play(up_to(chance, 5) == 1 ? "    " : "");
    }
    return run;
}

// Whole steps as graphs, so that no name tells: one for training, one for evaluations; or parts of a step.
MadeRun random_training(uint64_t seed) {
    std::mt19937_64 chance(seed);
    Server run;
    const int64_t parts = up_to(chance, 4), every = 2 + up_to(chance, 20), evaluations = up_to(chance, 8);
    const bool waits_often = up_to(chance, 2) == 1;
    for (int64_t step = 0; step < 100; ++step) {
        for (int64_t part = 0; part < parts; ++part) {
            run.decode(part, part == 0 ? "h" : "", waits_often || part + 1 == parts ? "s" : "");
        }
        if (step % every != 0) continue;
        for (int64_t i = 0; i < evaluations; ++i) run.decode(9, "h", "s");
    }
    return run;
}

// Kernel by kernel, with attention, with what counts right answers, and with the host that reads the loss. No
// name tells of gradients where its input comes from the host.
MadeRun random_eager_training(uint64_t seed) {
    std::mt19937_64 chance(seed);
    Server run;
    const int64_t layers = up_to(chance, 12),
                  in_bytes = up_to(chance, 2) == 1 ? 0 : 8 * up_to(chance, 4096) + 8;
    const int64_t every = 2 + up_to(chance, 20), evaluations = up_to(chance, 8);
    std::string forward, backward;
    for (int64_t layer = 0; layer < layers; ++layer)
        forward += "kAkk", backward += in_bytes > 0 ? "kk" : "kB";
    for (int64_t step = 0; step < 60; ++step) {
        if (in_bytes > 0) run.copy('h', in_bytes);
        run.rows(64, forward + "X" + backward + "kk", up_to(chance, 16), IterationKind::other);
        if (step % every != 0) continue;
        for (int64_t i = 0; i < evaluations; ++i) {
            if (in_bytes > 0) run.copy('h', in_bytes);
            run.rows(64, forward + "X", 8, IterationKind::other);
        }
    }
    return run;
}

}  // namespace

TEST_CASE("random servers are cut as they ran", "[iterations]") {
    for (uint64_t seed = 1; seed <= 300; ++seed) {
        INFO(seed);
        hold(random_server(seed));
    }
}

TEST_CASE("nothing that trains is taken for a server", "[iterations]") {
    int taken = 0;
    for (uint64_t seed = 1; seed <= 1000; ++seed)
        for (const MadeRun& run : {random_training(seed), random_eager_training(seed)})
            taken += judged(run).program == Program::serving;
    CHECK(taken == 0);
}

}  // namespace iterations_test
