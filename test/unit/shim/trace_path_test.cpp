#include "shim/writer/trace_path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "shim/writer/output_folder.h"

namespace trace_path_test {

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

OutputName named(const std::filesystem::path& pattern) {
    const OutputName name = name_output(pattern.c_str(), somebody());
    INFO(pattern);
    CHECK(name.why == nullptr);
    return name;
}

std::string created(const std::filesystem::path& pattern, int expected = 0) {
    char path[1024];
    CHECK(create_output(named(pattern), path, sizeof path) == expected);
    return expected == 0 ? std::filesystem::path(path).filename().string() : "";
}

void refuses(const std::filesystem::path& pattern, const std::string& why) {
    INFO(pattern);
    const OutputName name = name_output(pattern.c_str(), somebody());
    REQUIRE(name.why != nullptr);
    CHECK(name.why == why);
    REQUIRE(why_no_output(pattern.c_str()) != nullptr);
    CHECK(why_no_output(pattern.c_str()) == why);
}

constexpr char kDefaultName[] = "gpushim.node1.5.123.db";

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
}

TEST_CASE("a relative name is taken from where the process started", "[output]") {
    const Folder folder;
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path);
    remember_start_folder();
    std::filesystem::current_path("/");
    char path[1024];
    REQUIRE(create_output(named("new/here.db"), path, sizeof path) == 0);
    CHECK(path == std::filesystem::canonical(folder.path) / "new/here.db");
    std::filesystem::remove_all(folder.path);
    CHECK(create_output(named("again/here.db"), path, sizeof path) == ENOENT);
    CHECK(!std::filesystem::exists(folder.path));
    std::filesystem::current_path(before);
    remember_start_folder();
}

TEST_CASE("a folder gets the default name", "[output]") {
    const Folder folder;
    CHECK(created(folder.path) == kDefaultName);
    CHECK(created(folder.path) == "gpushim.node1.5.123.2.db");
    std::filesystem::create_symlink(folder.path, folder.path / "own-link");
    CHECK(created(folder.path / "own-link") == "gpushim.node1.5.123.3.db");
    CHECK(created(folder.path / "%h-traces/") == kDefaultName);
    CHECK(std::filesystem::exists(folder.path / "node1-traces" / kDefaultName));
}

TEST_CASE("folders are made", "[output]") {
    const Folder folder;
    const mode_t before = umask(022);
    CHECK(created(folder.path / "a/b/%r.db") == "5.db");
    umask(before);
    struct stat facts;
    REQUIRE(stat((folder.path / "a/b").c_str(), &facts) == 0);
    CHECK((facts.st_mode & 0777) == 0755);
    CHECK(created(folder.path / "a/b/%r.db") == "5.2.db");
    std::ofstream(folder.path / "file") << "precious";
    created(folder.path / "file/a.db", ENOTDIR);
}

TEST_CASE("no folder is made through a link that leads nowhere", "[output]") {
    const Folder folder;
    std::filesystem::create_symlink(folder.path / "elsewhere", folder.path / "planted");
    char path[1024];
    CHECK(create_output(named(folder.path / "planted/a.db"), path, sizeof path) != 0);
    CHECK(!std::filesystem::exists(folder.path / "elsewhere"));
}

TEST_CASE("somebody else's link to a folder is a taken name", "[output]") {
    if (geteuid() != 0) return;
    const Folder folder;
    std::filesystem::create_directory(folder.path / "real");
    std::filesystem::create_symlink(folder.path / "real", folder.path / "theirs");
    REQUIRE(lchown((folder.path / "theirs").c_str(), 12345, 12345) == 0);
    CHECK(created(folder.path / "theirs") == "theirs.2");
    CHECK(std::filesystem::is_empty(folder.path / "real"));
}

TEST_CASE("devices, FIFOs and sockets are refused, also behind a link", "[output]") {
    const Folder folder;
    refuses("/dev/null", "is a device");
    REQUIRE(mkfifo((folder.path / "fifo").c_str(), 0600) == 0);
    refuses(folder.path / "fifo", "is a FIFO");
    std::filesystem::create_symlink("/dev/null", folder.path / "link");
    refuses(folder.path / "link", "is a device");
    // The C library has had a function for it only since 2.33: before, a macro.
    REQUIRE(syscall(SYS_mknodat, AT_FDCWD, (folder.path / "socket").c_str(), S_IFSOCK | 0600, 0) == 0);
    refuses(folder.path / "socket", "is a socket");
    refuses("%z", "is not understood or too long");
    CHECK(why_no_output("traces/%h.%p.db") == nullptr);
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
    created("/proc/nowhere/all.db", ENOENT);
    created("/proc/all.db", ENOENT);
    refuses(std::string(2000, 'x'), "is not understood or too long");
    refuses("/" + std::string(1023, 'x'), "is not understood or too long");
}

}  // namespace trace_path_test
