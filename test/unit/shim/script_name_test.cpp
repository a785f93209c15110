// What Python is asked to run, from its arguments.
#include "shim/machine/script_name.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace script_name_test {

using namespace gpushim::shim;

namespace {

std::string script(const std::vector<std::string>& words, const char* executable = "python3.11") {
    std::vector<const char*> arguments;
    for (const std::string& word : words) arguments.push_back(word.c_str());
    return std::string(script_in(executable, arguments));
}

}  // namespace

TEST_CASE("the file that Python runs, without its folder", "[script_name]") {
    CHECK(script({"python", "train.py"}) == "train.py");
    CHECK(script({"python", "-u", "/jobs/train.py", "--lr", "1"}) == "train.py");
    CHECK(script({"python", "-W", "ignore", "-X", "dev", "-B", "./a.py"}) == "a.py");
    CHECK(script({"python", "-Wignore", "-Xdev", "a.py"}) == "a.py");
    CHECK(script({"python", "--check-hash-based-pycs", "never", "a.py"}) == "a.py");
    CHECK(script({"pypy3", "a.py"}, "pypy3.9") == "a.py");
}

TEST_CASE("a module is called by its name", "[script_name]") {
    CHECK(script({"python", "-m", "torch.distributed.run", "train.py"}) == "torch.distributed.run");
    CHECK(script({"python", "-um", "pack.train"}) == "pack.train");
}

TEST_CASE("where there is no file there is no name", "[script_name]") {
    CHECK(script({"python"}) == "");
    CHECK(script({"python", "-c", "print(1)", "x.py"}) == "");
    CHECK(script({"python", "-uc", "print(1)"}) == "");
    CHECK(script({"python", "-", "x.py"}) == "");
    CHECK(script({"python", "-m"}) == "");
    CHECK(script({"python", "-W"}) == "");
    CHECK(script({"bash", "train.sh"}, "bash") == "");
    CHECK(script({}) == "");
    const char* const cleared[] = {"python3", "", "train.py"};  // some programs write over their arguments
    CHECK(script_in("python3", cleared) == "");
    const char* const gone[] = {"python3", nullptr};
    CHECK(script_in("python3", gone) == "");
}

}  // namespace script_name_test
