#include "analysis/process/new_file.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "analysis/failure.h"
#include "analysis/process/temporary.h"

namespace new_file_test {

using namespace gpushim::analysis;
namespace fs = std::filesystem;

namespace {
size_t files_in(const fs::path& folder) {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}
}  // namespace

TEST_CASE("a file is in its place when it is whole, and nowhere before", "[new_file]") {
    const TemporaryFolder folder;
    const fs::path place = folder.path() / "run.db";
    {
        const NewFile abandoned(place);
        CHECK(abandoned.path().parent_path() == fs::canonical(folder.path()));
        CHECK(fs::status(abandoned.path()).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
        CHECK_FALSE(fs::exists(place));
    }
    CHECK(files_in(folder.path()) == 0);
    NewFile file(place);
    std::ofstream(file.path()) << "whole";
    file.move_to_place();
    CHECK(fs::file_size(place) == 5);
    CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("bytes stand where they were written", "[new_file]") {
    const TemporaryFolder folder;
    NewFile file(folder.path() / "run.db");
    file.write(0, "whole");
    file.write(3, "ly");
    file.move_to_place();
    std::string text;
    std::ifstream(folder.path() / "run.db") >> text;
    CHECK(text == "wholy");
}

TEST_CASE("files of the dead go, those of the living stay", "[new_file]") {
    const TemporaryFolder folder;
    const fs::path place = folder.path() / "run.db";
    const NewFile living(place);
    std::ofstream(folder.path() / "run.db.new.aB3dE6");
    std::ofstream(folder.path() / "run.db.new.notes");
    std::ofstream(folder.path() / "other.db.new.aB3dE6");
    const NewFile next(place);
    CHECK(fs::exists(living.path()));
    CHECK_FALSE(fs::exists(folder.path() / "run.db.new.aB3dE6"));
    CHECK(fs::exists(folder.path() / "run.db.new.notes"));
    CHECK(fs::exists(folder.path() / "other.db.new.aB3dE6"));
}

TEST_CASE("a device or a pipe is no place for a file", "[new_file]") {
    const TemporaryFolder folder;
    const fs::path pipe = folder.path() / "pipe";
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(is_no_place_for_a_file(pipe));
    CHECK(is_no_place_for_a_file("/dev/null"));
    CHECK(is_no_place_for_a_file("/dev/stdout"));
    CHECK(is_no_place_for_a_file("/proc/self/fd/1"));
    CHECK_FALSE(is_no_place_for_a_file(folder.path() / "new"));
    CHECK_FALSE(is_no_place_for_a_file("/dev/shm/new"));
    CHECK_THROWS_AS(NewFile(pipe), Unwritable);
    CHECK_THROWS_AS(NewFile(folder.path() / "none" / "file"), Unwritable);
    CHECK(files_in(folder.path()) == 1);
}

}  // namespace new_file_test
