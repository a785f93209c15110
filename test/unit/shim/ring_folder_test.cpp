#include "shim/ring/ring_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "other_process.h"
#include "ring_root.h"

namespace ring_folder_test {

using namespace gpushim::shim;
namespace fs = std::filesystem;

namespace {

mode_t mode(const fs::path& path) {
    struct stat facts;
    REQUIRE(stat(path.c_str(), &facts) == 0);
    return facts.st_mode & 0777;
}

}  // namespace

TEST_CASE("folders are made for the user alone, whatever the umask", "[folder]") {
    const RingRoot root;
    const mode_t before = umask(0);
    const int user = open_user_folder(root.path.c_str(), true);
    REQUIRE(user >= 0);
    const int trace = open_trace_folder(user, kRingsUuid, true);
    umask(before);
    REQUIRE(trace >= 0);
    CHECK(mode(root.user) == 0700);
    CHECK(mode(root.user / kRingsName) == 0700);
    CHECK(open_trace_folder(user, kRingsUuid, false) >= 0);
}

TEST_CASE("a folder that others may write to, or that is a link, is not ours", "[folder]") {
    const RingRoot root;
    SECTION("open to others") {
        fs::create_directory(root.user);
        fs::permissions(root.user, fs::perms::all);
        CHECK(open_user_folder(root.path.c_str(), true) == -1);
    }
    SECTION("a link") {
        fs::create_directory(root.path / "elsewhere");
        fs::permissions(root.path / "elsewhere", fs::perms::owner_all);
        fs::create_directory_symlink(root.path / "elsewhere", root.user);
        CHECK(open_user_folder(root.path.c_str(), true) == -1);
    }
    SECTION("a file") {
        std::ofstream(root.user) << "x";
        CHECK(open_user_folder(root.path.c_str(), true) == -1);
    }
    SECTION("not there") { CHECK(open_user_folder(root.path.c_str(), false) == -1); }
}

TEST_CASE("a folder is held for as long as its process lives", "[folder]") {
    const RingRoot root;
    const int user = open_user_folder(root.path.c_str(), true);
    const int trace = open_trace_folder(user, kRingsUuid, true);
    CHECK(!is_held(trace));
    {
        OtherProcess other([&] { lock_trace_folder(trace); });
        CHECK(is_held(trace));
        CHECK(lock_trace_folder(trace) == -1);
    }
    CHECK(!is_held(trace));
    CHECK(lock_trace_folder(trace) >= 0);
}

TEST_CASE("a child does not hold what its parent holds", "[folder]") {
    const RingRoot root;
    const int user = open_user_folder(root.path.c_str(), true);
    const int trace = open_trace_folder(user, kRingsUuid, true);
    pid_t grandchild = 0;
    int to_us[2];
    REQUIRE(pipe(to_us) == 0);
    {
        OtherProcess other([&] {
            lock_trace_folder(trace);
            const pid_t child = fork();
            if (child == 0)
                for (;;) pause();
            if (write(to_us[1], &child, sizeof child) != sizeof child) _exit(1);
        });
        REQUIRE(read(to_us[0], &grandchild, sizeof grandchild) == sizeof grandchild);
        CHECK(is_held(trace));
    }
    CHECK(!is_held(trace));
    kill(grandchild, SIGKILL);
}

TEST_CASE("names of rings", "[folder]") {
    char name[kRingNameBytes];
    ring_name(name, 0);
    CHECK(std::string(name) == "ring-0");
    ring_name(name, 18446744073709551615u);
    CHECK(std::string(name) == "ring-18446744073709551615");
}

}  // namespace ring_folder_test
