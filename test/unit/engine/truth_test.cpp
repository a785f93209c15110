#include "engine/truth.h"

#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "box.h"
#include "streams.h"

namespace truth_test {

using namespace gpusim;

namespace {

std::string truth_file() { return "/tmp/gpusim-truth-test-" + std::to_string(getpid()); }

// A box that writes the truth to truth_file(), which goes with it.
class TruthBox {
  public:
    explicit TruthBox(const std::string& knobs) {
        ::box::knobs("GPUSIM_TRUTH=/tmp/gpusim-truth-test-%p " + knobs);
    }
    ~TruthBox() {
        std::filesystem::remove(truth_file());
        std::filesystem::remove(truth_file() + ".counts");
    }
};

std::string contents(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

template <class Issue>
void call(Ns enter_ns, Ns exit_ns, Issue issue) {
    truth::begin_call(enter_ns);
    issue();
    truth::end_call(exit_ns);
}

Operation named(const char* word, const char* name, Ns start_ns, Ns duration_ns, int64_t bytes) {
    Operation op;
    op.op = word;
    op.name = name;
    op.stream = 7;
    op.earliest_ns = start_ns;
    op.duration_ns = duration_ns;
    op.bytes = bytes;
    return op;
}

}  // namespace

TEST_CASE("the truth is one line per operation, with the call that issued it", "[truth]") {
    TruthBox truth_box("GPUSIM_CLOCK=stepped");
    Stream a;
    call(100, 130, [&] { a.add(named("kernel", "adam", 200, 50, 0)); });
    call(140, 150, [&] { a.add(named("h2d", "", 0, 10, 4096)); });
    CHECK(contents(truth_file()) ==
          "kernel\t0\t7\t200\t250\t0\tadam\t100\t130\n"
          "h2d\t0\t7\t250\t260\t4096\t-\t140\t150\n");
}

TEST_CASE("an operation is written when its call has returned, and not before", "[truth]") {
    TruthBox truth_box("");
    Stream a;
    truth::begin_call(5);
    a.add(named("kernel", "k", 10, 10, 0));
    CHECK(contents(truth_file()).empty());
    truth::end_call(9);
    CHECK(contents(truth_file()) == "kernel\t0\t7\t10\t20\t0\tk\t5\t9\n");
    truth::end_call(11);  // a call that issued nothing
    CHECK(contents(truth_file()) == "kernel\t0\t7\t10\t20\t0\tk\t5\t9\n");
}

// Issued first, known last.
TEST_CASE("in stepped time lines keep the order of issue", "[truth]") {
    TruthBox truth_box("GPUSIM_CLOCK=stepped");
    Stream a, b;
    const auto open = std::make_shared<Told>();
    Operation first = told_operation(open);
    first.name = "first";
    call(1, 2, [&] { a.add(first); });
    call(3, 4, [&] { b.add(named("kernel", "second", 50, 1, 0)); });
    CHECK(contents(truth_file()).empty());
    {
        const auto held = engine::lock();
        open->answer = Outcome{60, 70, 0};
        engine::pump();
    }
    CHECK(contents(truth_file()) ==
          "kernel\t0\t0\t60\t70\t77\tfirst\t1\t2\n"
          "kernel\t0\t7\t50\t51\t0\tsecond\t3\t4\n");
}

TEST_CASE("in real time a line is there as soon as its operation is known", "[truth]") {
    TruthBox truth_box("");
    Stream a, b;
    const auto open = std::make_shared<Told>();
    call(1, 2, [&] { a.add(told_operation(open)); });
    call(3, 4, [&] { b.add(named("kernel", "second", 50, 1, 0)); });
    CHECK(contents(truth_file()) == "kernel\t0\t7\t50\t51\t0\tsecond\t3\t4\n");
}

TEST_CASE("joins and waits are not in the truth, and hold up no line of what follows", "[truth]") {
    TruthBox truth_box("GPUSIM_CLOCK=stepped");
    Stream a;
    Operation silent = named("wait", "x", 1, 1, 0);
    silent.silent = true;
    call(1, 2, [&] { a.add(silent); });
    call(3, 4, [&] { a.add(named("kernel", "k", 5, 1, 0)); });
    CHECK(contents(truth_file()) == "kernel\t0\t7\t5\t6\t0\tk\t3\t4\n");
}

TEST_CASE("one call may issue several operations", "[truth]") {
    TruthBox truth_box("");
    Stream a;
    call(1, 2, [&] {
        a.add(named("kernel", "k1", 5, 1, 0));
        a.add(named("kernel", "k2", 5, 1, 0));
    });
    CHECK(contents(truth_file()) ==
          "kernel\t0\t7\t5\t6\t0\tk1\t1\t2\n"
          "kernel\t0\t7\t6\t7\t0\tk2\t1\t2\n");
}

TEST_CASE("threads write whole lines", "[truth]") {
    TruthBox truth_box("");
    constexpr int kThreads = 4, kLines = 500;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([] {
            Stream own;
            for (int i = 0; i < kLines; ++i)
                call(1, 2, [&] { own.add(named("kernel", "a_name_that_is_not_short", 1, 1, 0)); });
        });
    for (auto& thread : threads) thread.join();
    std::ifstream file(truth_file());
    int lines = 0;
    for (std::string line; std::getline(file, line); ++lines) {
        CHECK(std::count(line.begin(), line.end(), '\t') == 8);
        CHECK(line.substr(line.size() - 4) == "\t1\t2");
    }
    CHECK(lines == kThreads * kLines);
}

TEST_CASE("very long names are cut, the line stays whole", "[truth]") {
    TruthBox truth_box("");
    Stream a;
    const std::string name(9000, 'n');
    call(1, 2, [&] { a.add(named("kernel", name.c_str(), 3, 1, 0)); });
    CHECK(contents(truth_file()) == "kernel\t0\t7\t3\t4\t0\t" + name.substr(0, 4096) + "\t1\t2\n");
}

TEST_CASE("the counts file holds a record per name, and a kill loses nothing", "[truth]") {
    TruthBox truth_box("");
    const pid_t child = fork();
    if (child == 0) {
        truth::Count* count = truth::count("cuInit");
        count->entered = 3, count->returned = 2, count->nested = 1;
        truth::count("cuMemAlloc_v2")->entered = 1;
        if (truth::count("cuInit") == count) raise(SIGKILL);
        _exit(1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    REQUIRE(WIFSIGNALED(status));
    const std::string path = "/tmp/gpusim-truth-test-" + std::to_string(child);
    const std::string bytes = contents(path + ".counts");
    std::filesystem::remove(path);
    std::filesystem::remove(path + ".counts");
    truth::Count records[3];
    REQUIRE(bytes.size() > sizeof records);
    std::memcpy(records, bytes.data(), sizeof records);
    CHECK(records[0].name == std::string("cuInit"));
    CHECK(records[0].entered == 3);
    CHECK(records[0].returned == 2);
    CHECK(records[0].nested == 1);
    CHECK(records[1].name == std::string("cuMemAlloc_v2"));
    CHECK(records[2].name == std::string());
}

TEST_CASE("without a truth file calls are counted all the same", "[truth]") {
    Stream a;
    call(1, 2, [&] { a.add(named("kernel", "k", 3, 1, 0)); });
    CHECK(truth::count("cuInit") == truth::count("cuInit"));
    CHECK(truth::count("cuInit") != truth::count("cuInit2"));
}

}  // namespace truth_test
