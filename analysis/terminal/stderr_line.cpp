#include "stderr_line.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string_view>

#include "../text/escape.h"
#include "../text/names.h"
#include "../text/redact.h"
#include "progress.h"
#include "style.h"
#include "terminal.h"

namespace gpushim::analysis {

namespace {

void stderr_line_as(Style style, const std::string& text) {
    std::fflush(stdout);  // what was said before stands before it, where both go to one place
    const BesideProgress room;
    const std::string name = has_colours(STDERR_FILENO) ? styled(style, "gpushim:") : "gpushim:";
    const std::string line = name + " " + for_terminal(without_hidden_names(text)) + "\n";
    for (std::string_view left = line; !left.empty();) {
        const ssize_t done = write(STDERR_FILENO, left.data(), left.size());
        if (done < 0 && errno != EINTR) return;  // there is nowhere else to say it
        if (done > 0) left.remove_prefix(static_cast<size_t>(done));
    }
}

}  // namespace

void stderr_line(const std::string& text) { stderr_line_as(Style::warning, text); }

void tell_error(const std::string& text) { stderr_line_as(Style::trouble, text); }

void tell_few(const std::string& what, std::span<const std::string> texts) {
    for (const std::string& text : texts.first(std::min(texts.size(), kMostNames))) stderr_line(what + text);
    if (texts.size() > kMostNames) stderr_line(what + std::to_string(texts.size() - kMostNames) + " more");
}

}  // namespace gpushim::analysis
