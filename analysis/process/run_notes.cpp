#include "run_notes.h"

#include <unistd.h>

#include "library.h"

namespace gpushim::analysis {

namespace fs = std::filesystem;

namespace {

using Begin = int(char* variable, size_t size);
using Note = void(void* with, char kind, const char* text);
using Read = void(int notes, Note* note, void* with);

void take(void* with, char kind, const char* text) {
    auto& left = *static_cast<RunLeft*>(with);
    std::error_code none;  // a trace that cannot be looked at is none to name
    if (kind == 't' && fs::exists(text, none)) left.traces.emplace_back(text);
    if (kind == 'r') left.left_out.insert(text);
    if (kind == 'f') ++left.failed;
}

}  // namespace

RunNotes::RunNotes() {
    std::string why;
    char variable[256];
    const auto begin = library_function<Begin>("gpushim_begin_notes", why);
    if (begin == nullptr || (notes_ = begin(variable, sizeof variable)) < 0) return;
    const std::string entry = variable;
    name_ = entry.substr(0, entry.find('='));
    value_ = entry.substr(name_.size() + 1);
}

RunNotes::~RunNotes() {
    if (notes_ >= 0) close(notes_);
}

void RunNotes::name_in(std::map<std::string, std::string>& variables) const {
    if (are_kept()) variables[name_] = value_;
}

RunLeft RunNotes::read() const {
    RunLeft left;
    std::string why;
    const auto read_notes = library_function<Read>("gpushim_read_notes", why);
    if (are_kept() && read_notes != nullptr) read_notes(notes_, take, &left);
    return left;
}

}  // namespace gpushim::analysis
