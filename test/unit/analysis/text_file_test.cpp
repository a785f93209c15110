#include "analysis/exporter/text_file.h"

#include <fstream>
#include <sstream>

#include "analysis/process/temporary.h"
#include "catch2/catch.hpp"

namespace text_file_test {

using namespace gpushim::analysis;

namespace {

std::string bytes_of(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

}  // namespace

TEST_CASE("a text as it is, and as gzip by its name", "[text_file]") {
    const TemporaryFolder folder;
    for (const char* name : {"a.json", "a.json.gz"}) {
        TextFile file(folder.path() / name);
        for (int i = 0; i < 100'000; ++i) file.write("some words\n");
        CHECK(!std::filesystem::exists(folder.path() / name));  // not before it is whole
        file.finish();
    }
    CHECK(bytes_of(folder.path() / "a.json").size() == 1'100'000);
    const std::string packed = bytes_of(folder.path() / "a.json.gz");
    CHECK(packed.substr(0, 2) == "\x1f\x8b");
    CHECK(packed.size() < 20'000);
}

TEST_CASE("what is not finished leaves nothing", "[text_file]") {
    const TemporaryFolder folder;
    { TextFile(folder.path() / "a.json").write("begun"); }
    CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a place that cannot be written is named", "[text_file]") {
    CHECK_THROWS_WITH(TextFile("/nowhere/a.json"), Catch::Contains("/nowhere/a.json: No such file"));
}

}  // namespace text_file_test
