#include "layout.h"

#include <cstdio>
#include <cstring>
#include <iterator>

#include "own_memory.h"

namespace gpushim::shim {
namespace {

constexpr int kOldest = 9, kFirstPublished = 13, kNewest = 14;
constexpr uint64_t kCandidate = 0xc0;  // level of a version: from there on its layout is fixed
constexpr char kCookie[] = "xdebugpy";
constexpr uint64_t kLargestOffset = 1 << 20;
constexpr uint32_t kAsciiText = 40, kOtherText = 56, kWidthShift = 2;  // since 3.12

constexpr auto bytes = InstructionIs::bytes, units = InstructionIs::units, address = InstructionIs::address;

struct KnownLayout {
    int minor;
    PythonLayout layout;
};
constexpr KnownLayout kKnown[] = {
#define PYTHON(minor, ...) {minor, {__VA_ARGS__}},
#include "layouts.def"
#undef PYTHON
};

struct PublishedWord {
    uint32_t PythonLayout::*to;
    uint32_t at[kNewest - kFirstPublished + 1];
};
constexpr PublishedWord kPublished[] = {
#define WORD(to, ...) {&PythonLayout::to, {__VA_ARGS__}},
#include "debug_offsets.def"
#undef WORD
};
constexpr size_t kPublishedWords = 96;

template <class... Words>
void refuse(Python& python, const char* format, Words... words) {
    std::snprintf(python.why_not, sizeof python.why_not, format, words...);
}

// Interpreters older than 3.11 export no version.
void tell_version(Python& python, const PythonExports& exports) {
    uint64_t version = 0;
    if (read_own(exports.version, version)) {
        const auto part = [&](int shift) { return static_cast<int>(version >> shift & 0xff); };
        python.minor = part(24) == 3 ? part(16) : 0;
        std::snprintf(python.version, sizeof python.version, "%d.%d.%d", part(24), part(16), part(8));
        if ((version & 0xf0) < kCandidate)
            refuse(python, "Python %s is not released and not known", python.version);
    } else if (exports.has_frame_back) {
        python.minor = exports.has_iter_send ? 10 : 9;
        std::snprintf(python.version, sizeof python.version, "3.%d", python.minor);
    } else {
        refuse(python, "Python older than 3.%d is not known", kOldest);
    }
}

void take_published(Python& python) {
    uint64_t words[kPublishedWords];
    if (!read_own(python.runtime, words) || std::memcmp(words, kCookie, sizeof words[0]) != 0)
        return refuse(python, "Python %s does not say where it keeps its frames", python.version);
    if (static_cast<int>(words[1] >> 16 & 0xff) != python.minor)
        return refuse(python, "Python %s publishes what another version does", python.version);
    if (words[2] != 0) return refuse(python, "Python %s is free-threaded", python.version);
    PythonLayout& layout = python.layout;
    for (const PublishedWord& word : kPublished) {
        const uint64_t offset = words[word.at[python.minor - kFirstPublished]];
        if (offset > kLargestOffset)
            return refuse(python, "Python %s publishes what is not understood", python.version);
        layout.*word.to = static_cast<uint32_t>(offset);
    }
    layout.frame_in_thread_frame = layout.runtime_lock = kNo;
    layout.ascii_text = kAsciiText;
    layout.other_text = kOtherText;
    layout.kind_shift = kWidthShift;
    layout.instruction_is = address;
}

}  // namespace

bool is_known(int minor) { return minor >= kOldest && minor <= kNewest; }

void describe(Python& python, const PythonExports& exports) {
    python = {};
    python.runtime = exports.runtime;
    python.code_type = exports.code_type;
    python.unicode_type = exports.unicode_type;
    tell_version(python, exports);
    if (python.why_not[0] != '\0') return;
    if (!is_known(python.minor)) return refuse(python, "Python %s is not known", python.version);
    if (python.code_type == 0 || python.unicode_type == 0)
        return refuse(python, "Python %s does not export its types", python.version);
    if (python.minor >= kFirstPublished) return take_published(python);
    for (const KnownLayout& known : kKnown)
        if (known.minor == python.minor) python.layout = known.layout;
}

Python find_python() {
    Python python = {};
    const PythonExports exports = find_python_exports();
    if (exports.runtime != 0) describe(python, exports);
    return python;
}

}  // namespace gpushim::shim
