#include "shim/output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

using namespace gpushim::shim;

namespace {

TraceIdentity somebody() {
    TraceIdentity identity = {};
    strcpy(identity.host, "node1");
    identity.pid = 123;
    identity.rank = 5;
    identity.local_rank = -1;
    strcpy(identity.job, "77");
    return identity;
}

std::string filled(const char* pattern, bool understood = true, size_t size = 1024) {
    std::string to(size, '\0');
    INFO(pattern);
    CHECK(fill_pattern(pattern, somebody(), to.data(), size) == understood);
    return to.c_str();
}

struct Folder {
    Folder() {
        char name[] = "/tmp/gpushim-output-XXXXXX";
        path = mkdtemp(name);
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::filesystem::path path;
};

std::string created(const std::filesystem::path& name, int expected = 0) {
    char path[1024];
    CHECK(create_output(name.c_str(), path, sizeof path) == expected);
    return expected == 0 ? std::filesystem::path(path).filename().string() : "";
}

}  // namespace

TEST_CASE("the fields of a pattern", "[output]") {
    CHECK(filled("gpushim.%h.%r.%p.db") == "gpushim.node1.5.123.db");
    CHECK(filled("%l-%j-%%") == "x-77-%");
    setenv("SHIM_TEST_WHO", "../a/b", 1);
    CHECK(filled("%q{SHIM_TEST_WHO}/%q{SHIM_TEST_NOBODY}.db") == ".._a_b/.db");
}

TEST_CASE("what is no pattern", "[output]") {
    for (const char* pattern : {"%", "%x", "a%", "%q", "%q{", "%q{A", "%qA", "%H"}) filled(pattern, false);
    filled("12345678", false, 8);
    CHECK(filled("1234567", true, 8) == "1234567");
}

TEST_CASE("names: absolute, new, numbered before the suffix", "[output]") {
    const Folder folder;
    CHECK(created(folder.path / "a.db") == "a.db");
    CHECK(created(folder.path / "a.db") == "a.2.db");
    CHECK(created(folder.path / "a.db") == "a.3.db");
    CHECK(created(folder.path / "plain") == "plain");
    CHECK(created(folder.path / "plain") == "plain.2");
    CHECK(created(folder.path / ".db") == ".db");
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path);
    char path[1024];
    REQUIRE(create_output("here.db", path, sizeof path) == 0);
    CHECK(path == std::filesystem::canonical(folder.path) / "here.db");
    std::filesystem::current_path(before);
}

TEST_CASE("at most 99 names", "[output]") {
    const Folder folder;
    for (int i = 1; i < 99; ++i) created(folder.path / "a.db");
    CHECK(created(folder.path / "a.db") == "a.99.db");
    created(folder.path / "a.db", EEXIST);
}

TEST_CASE("no link is followed, whatever the umask the file is the user's alone", "[output]") {
    const Folder folder;
    std::ofstream(folder.path / "victim") << "precious";
    std::filesystem::create_symlink(folder.path / "victim", folder.path / "a.db");
    std::filesystem::create_symlink(folder.path / "nothing", folder.path / "a.2.db");
    const mode_t before = umask(0777);
    CHECK(created(folder.path / "a.db") == "a.3.db");
    umask(before);
    CHECK(std::filesystem::file_size(folder.path / "victim") == 8);
    CHECK(!std::filesystem::exists(folder.path / "nothing"));
    struct stat facts;
    REQUIRE(stat((folder.path / "a.3.db").c_str(), &facts) == 0);
    CHECK((facts.st_mode & 0777) == 0600);
}

TEST_CASE("where nothing can be made", "[output]") {
    created("/nowhere/at/all.db", ENOENT);
    created("/proc/all.db", ENOENT);
    created(std::string(2000, 'x'), ENAMETOOLONG);
}
