#include "ecosystem.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "../sqlite/database.h"
#include "../trace/work_bound.h"

namespace gpushim::analysis {

namespace {

void add(std::string_view name, Ecosystem& to) {
    to.pytorch |= name == "pytorch";
    to.tensorflow |= name == "tensorflow";
    to.jax |= name == "jax";
    to.python |= name == "python";
}

// What traces say themselves: a list with commas.
void add_told(sqlite3* run, Ecosystem& to) {
    Query told(run, file_of(run), "SELECT value FROM run WHERE key = 'frameworks'");
    if (!told.step() || told.is_null(0)) return;
    const std::string all = told.text(0);
    for (size_t at = 0; at < all.size();) {
        const size_t end = std::min(all.find(',', at), all.size());
        add(std::string_view(all).substr(at, end - at), to);
        at = end + 1;
    }
}

void add_by_kernels(sqlite3* run, Ecosystem& to) {
    bool is_xla = false;
    Query row(run, file_of(run), "SELECT DISTINCT library FROM kernel");
    while (row.step()) {
        if (row.is_null(0)) continue;
        add(row.text(0), to);
        is_xla |= row.text(0) == "xla";
    }
    // XLA compiles for either.
    if (is_xla && !to.has_framework()) to.tensorflow = to.jax = true;
}

bool is_of_amd(sqlite3* run) {
    Query row(run, file_of(run), "SELECT 1 FROM gpu WHERE name LIKE 'AMD %' LIMIT 1");
    return row.step();
}

// What people call Python is python3, python3.11 or pypy3.
bool is_interpreter(std::string_view executable) {
    return executable.starts_with("python") || executable.starts_with("pypy");
}

}  // namespace

bool Ecosystem::is(Who who) const {
    const bool is_one[] = {true, pytorch, tensorflow, jax, python, !has_framework()};
    return is_one[static_cast<size_t>(who)];
}

Ecosystem ecosystem_of(sqlite3* run) {
    Ecosystem is;
    add_told(run, is);
    add_by_kernels(run, is);
    is.hip = is_of_amd(run);
    bool is_named = false;
    Query row(run, file_of(run), "SELECT DISTINCT executable FROM rank WHERE executable IS NOT NULL");
    while (row.step()) {
        is_named = is_named || !row.text(0).empty();
        is.python |= is_interpreter(row.text(0));
    }
    // Most programs of a framework are Python; a name that is none says that this one is not.
    if (!is_named) is.python |= is.has_framework();
    return is;
}

}  // namespace gpushim::analysis
