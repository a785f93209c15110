#include "core.h"

Timeline::Timeline(const std::string& more_knobs)
    : path_("/tmp/gpusim-case-" + std::to_string(getpid()) + ".truth") {
    box::knobs(kStepped + "GPUSIM_TRUTH=" + path_ + " " + more_knobs);
}

Timeline::~Timeline() {
    unlink(path_.c_str());
    unlink((path_ + ".counts").c_str());
}

std::string Timeline::text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Truth> Timeline::all() const {
    std::vector<Truth> operations;
    std::istringstream lines(text());
    for (std::string line; std::getline(lines, line);) {
        Truth t;
        std::istringstream fields(line);
        fields >> t.op >> t.device >> t.stream >> t.start_ns >> t.end_ns >> t.bytes >> t.name >> t.enter_ns >>
            t.exit_ns;
        REQUIRE(fields);
        for (int64_t* ns : {&t.start_ns, &t.end_ns, &t.enter_ns, &t.exit_ns}) *ns -= zero_ns_;
        operations.push_back(t);
    }
    return operations;
}

Truth Timeline::named(const std::string& name) const {
    std::vector<Truth> found;
    for (const Truth& t : all())
        if (t.name == name) found.push_back(t);
    INFO("operations named " << name);
    REQUIRE(found.size() == 1);
    return found.front();
}

std::string Timeline::span(const std::string& name) const {
    const Truth t = named(name);
    return std::to_string(t.start_ns) + "-" + std::to_string(t.end_ns);
}
