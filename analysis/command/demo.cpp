// `gpushim demo`: a report within seconds of an install, of a training loop on the simulated box. The loops
// and the box are a package of their own, which this command only finds and starts.
#include <algorithm>
#include <filesystem>

#include "../failure.h"
#include "../process/child.h"
#include "../process/library.h"
#include "command.h"

namespace gpushim::analysis::command_demo {

namespace {

namespace fs = std::filesystem;

constexpr Option kOptions[] = {
    {"list", nullptr, "print the cases, and what is wrong in each"},
    {"fixed", nullptr, "run the same loop without what is wrong"},
    {"keep", "DIR", "put the traces there, and leave them"},
};

// Where the cases are: installed with the program, by pip, unpacked beside it, or in the sources that it was
// built from. Empty: nowhere.
fs::path cases() {
    const fs::path here = program_path().parent_path();
    for (const fs::path& place : {here / "gpushim-sim", here / "../lib/gpushim-sim",
                                  here / "../../gpushim_sim", here / "../examples"})
        if (fs::exists(place / "cases/demo.py")) return (place / "cases").lexically_normal();
    return {};
}

std::vector<std::string> first_words() {
    std::vector<std::string> names;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(cases(), none))
        if (fs::exists(entry.path() / "case.py")) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
}

// That of the environment which pip has put us into comes first: it need not be on the path.
std::string python() {
    const fs::path own = program_path().parent_path() / "../../../../../bin/python3";
    return fs::exists(own) ? own.string() : "python3";
}

int run(const Arguments& arguments) {
    const fs::path found = cases();
    if (found.empty())
        throw Failure(
            "the demo is a package of its own, which is not installed: gpushim-sim_*.deb for apt, "
            "`pip install 'gpushim[sim]'`, or gpushim-*-sim.tar.gz unpacked where gpushim's tarball was");
    if (arguments.words_.size() > 1) throw Failure("one case at a time: gpushim demo CASE");
    std::vector<std::string> words = {python(), "-B", (found / "demo.py").string(), program_path().string(),
                                      library_path().string()};
    words.insert(words.end(), arguments.words_.begin(), arguments.words_.end());
    for (const Option& option : kOptions) {
        if (!arguments.has(option.name)) continue;
        words.push_back(std::string("--") + option.name);
        if (option.value != nullptr) words.push_back(*arguments.value(option.name));
    }
    std::vector<char*> command;
    for (std::string& word : words) command.push_back(word.data());
    return end_like(run_child(command, {}));
}

constexpr Command kDemo = {
    "demo",
    "[CASE]",
    "show a report now, of a training loop on a simulated GPU",
    "A case is a loop with one thing wrong, which the report has to find. It runs on the simulated box, a "
    "package of its own (gpushim-sim) that needs Python and no GPU; none of its times is a GPU's. It takes a "
    "few seconds.",
    5,
    kOptions,
    run,
    false,
    first_words};
const Registration kRegistration(kDemo);

}  // namespace

}  // namespace gpushim::analysis::command_demo
