#include "frames.h"

#include <algorithm>

namespace gpushim::shim {
namespace {

// What was at an address is taken to be there for that long: code that is thrown away is rare, and all of its
// texts and its table at the same addresses again rarer.
constexpr int64_t kForgetEveryNs = 10'000'000'000;
constexpr size_t kMostSeen = 65536;

auto seen_of(const PythonFrame& frame) {
    return std::tuple(frame.code, frame.file, frame.name, frame.table, frame.first_line);
}

}  // namespace

FrameLimits frame_limits(int64_t max_bytes) {
    constexpr int64_t kEach = 4096, kLeast = 128, kMost = 65536, kTextShare = 128;
    constexpr int64_t kLeastTexts = 16384, kMostTexts = 2 << 20;
    if (max_bytes == 0) return {kMost, kMost / 4, kMostTexts};
    const auto count = static_cast<size_t>(std::clamp(max_bytes / kEach, kLeast, kMost));
    return {count, count / 4,
            static_cast<size_t>(std::clamp(max_bytes / kTextShare, kLeastTexts, kMostTexts))};
}

int64_t Frames::add(const Code& code) {
    if (const auto found = code_ids_.find(code); found != code_ids_.end()) return found->second;
    const auto& [file, name, line] = code;
    if (code_ids_.size() >= most_.codes || text_bytes_ + file.size() + name.size() > most_.text_bytes)
        return 0;
    text_bytes_ += file.size() + name.size();
    const auto id = static_cast<int64_t>(code_ids_.size()) + 1;
    code_ids_.emplace(code, id);
    codes_.add({.id = id, .file = codes_.text(file), .function = codes_.text(name), .first_line = line});
    return id;
}

int64_t Frames::add(const Frame& frame) {
    if (const auto found = frame_ids_.find(frame); found != frame_ids_.end()) return found->second;
    if (frame_ids_.size() >= most_.frames) return 0;
    const auto& [caller, code, line] = frame;
    const auto id = static_cast<int64_t>(frame_ids_.size()) + 1;
    frame_ids_.emplace(frame, id);
    frames_.add({.id = id, .caller_id = caller, .code_id = code, .line = line});
    return id;
}

std::optional<int64_t> Frames::code_of(const Python& python, const PythonFrame& frame) {
    if (const auto found = seen_codes_.find(seen_of(frame)); found != seen_codes_.end()) return found->second;
    const auto file = read_text(python, frame.file), name = read_text(python, frame.name);
    if (!file || !name) return std::nullopt;
    const int64_t id = add(Code(*file, *name, frame.first_line));
    if (id != 0) seen_codes_.emplace(seen_of(frame), id);
    return id;
}

// kNull: none can be told.
int64_t Frames::line_of(const Python& python, const PythonFrame& frame) {
    const auto key = std::pair(Seen(seen_of(frame)), frame.instruction);
    if (const auto found = seen_lines_.find(key); found != seen_lines_.end()) return found->second;
    const int64_t line = read_line(python, frame).value_or(kNull);
    seen_lines_.emplace(key, line);
    return line;
}

void Frames::forget_addresses(int64_t now_ns) {
    if (now_ns - forgot_ns_ < kForgetEveryNs && seen_lines_.size() < kMostSeen) return;
    forgot_ns_ = now_ns;
    seen_codes_.clear();
    seen_lines_.clear();
}

Frames::Kept Frames::id_of(const Python& python, const PythonStack& stack, int64_t now_ns, int64_t& id) {
    forget_addresses(now_ns);
    // 0: the callers of the outermost were not read.
    id = stack.is_cut ? 0 : kNull;
    for (size_t i = stack.count; i-- > 0;) {
        const PythonFrame& frame = stack.frames[i];
        const auto code = code_of(python, frame);
        if (!code) return Kept::moved;
        if (*code == 0) return Kept::no_place;
        id = add(Frame(id, *code, line_of(python, frame)));
        if (id == 0) return Kept::no_place;
    }
    return Kept::yes;
}

}  // namespace gpushim::shim
