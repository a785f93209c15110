// What an end by a signal takes along: tried in children, for it is the end of a process.
#include "analysis/process/unfinished.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <memory>
#include <vector>

#include "analysis/process/temporary.h"

namespace unfinished_test {

using namespace gpushim::analysis;
namespace fs = std::filesystem;

namespace {

std::string touched(const fs::path& file) {
    std::ofstream{file};
    return file.string();
}

// Before anything here waits for it: who started us with nohup has it ignored, and so it stays.
const auto hang_up = signal(SIGHUP, SIG_DFL);

template <class Work>
int status_of(Work work) {
    const pid_t child = fork();
    if (child == 0) {
        for (const int number : {SIGINT, SIGTERM}) signal(number, SIG_DFL);  // Catch2 has its own
        work();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

}  // namespace

TEST_CASE("files and folders with files go with the process", "[unfinished]") {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "file", inner = folder.path() / "inner";
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        const int status = status_of([&] {
            const Unfinished one([&] { return touched(file); });
            const Unfinished other([&] {
                fs::create_directory(inner);
                for (int i = 0; i < 500; ++i) touched(inner / std::to_string(i));  // more than one reading
                return inner.string();
            });
            raise(number);
        });
        CHECK(WIFSIGNALED(status));
        CHECK(WTERMSIG(status) == number);
        CHECK(fs::is_empty(folder.path()));
    }
}

TEST_CASE("what was crossed off before is not touched", "[unfinished]") {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "file";
    const int status = status_of([&] {
        std::vector<std::unique_ptr<Unfinished>> all;
        for (int i = 0; i < 4; ++i)
            all.push_back(
                std::make_unique<Unfinished>([&] { return touched(file.string() + char('0' + i)); }));
        all[1].reset();  // in the middle, at an end
        all[3].reset();
        touched(file.string() + "1");
        raise(SIGTERM);
    });
    CHECK(WTERMSIG(status) == SIGTERM);
    CHECK(fs::exists(file.string() + "1"));
    CHECK_FALSE(fs::exists(file.string() + "0"));
    CHECK_FALSE(fs::exists(file.string() + "2"));
}

TEST_CASE("a child's end takes nothing of its parent's along", "[unfinished]") {
    const TemporaryFolder folder;
    CHECK(WTERMSIG(status_of([] { raise(SIGHUP); })) == SIGHUP);  // by the handler of its parent
    CHECK(fs::exists(folder.path()));
}

}  // namespace unfinished_test
