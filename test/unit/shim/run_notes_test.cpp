#include "shim/base/run_notes.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace run_notes_test {

using namespace gpushim::shim;

namespace {

using Notes = std::vector<std::string>;

// A run's notes, named in the environment.
struct Run {
    Run() {
        char variable[256];
        notes = gpushim_begin_notes(variable, sizeof variable);
        entry = variable;
        if (notes >= 0) setenv(name().c_str(), entry.substr(entry.find('=') + 1).c_str(), 1);
    }
    ~Run() {
        if (notes >= 0) close(notes);
    }
    std::string name() const { return entry.substr(0, entry.find('=')); }
    Notes read() const {
        Notes all;
        gpushim_read_notes(
            notes,
            [](void* to, char kind, const char* text) {
                static_cast<Notes*>(to)->push_back(std::string(1, kind) + text);
            },
            &all);
        return all;
    }
    int notes;
    std::string entry;
};

}  // namespace

TEST_CASE("what processes note is read in its order", "[run_notes]") {
    const Run run;
    REQUIRE(run.notes >= 3);
    CHECK((fcntl(run.notes, F_GETFD) & FD_CLOEXEC) != 0);
    CHECK(run.read().empty());
    CHECK(is_noted());
    CHECK(leave_note(NoteKind::trace, "/tmp/a b.db"));
    if (const pid_t child = fork(); child == 0)
        _exit(leave_note(NoteKind::left_out, "3") ? 0 : 1);
    else
        waitpid(child, nullptr, 0);
    CHECK(leave_note(NoteKind::failed, ""));
    CHECK(run.read() == Notes{"t/tmp/a b.db", "r3", "f"});
}

TEST_CASE("without a run there is nobody to tell", "[run_notes]") {
    unsetenv("GPUSHIM_RUN_NOTES");
    errno = 5;
    CHECK(!is_noted());
    CHECK(!leave_note(NoteKind::trace, "/tmp/a.db"));
    CHECK(errno == 5);
    {
        const Run run;
        CHECK(is_noted());
    }
    CHECK(!is_noted());  // it has ended
}

TEST_CASE("an outer run keeps its notes", "[run_notes]") {
    const Run outer;
    char variable[256];
    CHECK(gpushim_begin_notes(variable, sizeof variable) == -1);
}

TEST_CASE("a file that is not the notes is never written to", "[run_notes]") {
    char path[] = "/tmp/gpushim-notes-XXXXXX";
    const int file = mkstemp(path);
    const std::string content = "0123456789abcdeX other things";
    REQUIRE(write(file, content.data(), content.size()) == static_cast<ssize_t>(content.size()));
    const std::string token = "0123456789abcdef@";
    const std::vector<std::string> values = {token + path, path, "@", token + "/dev/null", token};
    for (const std::string& value : values) {
        INFO(value);
        setenv("GPUSHIM_RUN_NOTES", value.c_str(), 1);
        CHECK(!leave_note(NoteKind::trace, "/tmp/a.db"));
    }
    CHECK(lseek(file, 0, SEEK_END) == static_cast<off_t>(content.size()));
    close(file);
    unlink(path);
}

TEST_CASE("a note that is too long is none, not a part of one", "[run_notes]") {
    const Run run;
    CHECK(!leave_note(NoteKind::trace, std::string(5000, 'x').c_str()));
    CHECK(run.read().empty());
}

}  // namespace run_notes_test
