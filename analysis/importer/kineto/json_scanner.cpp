#include "json_scanner.h"

#include <optional>

namespace gpushim::analysis {

namespace {

std::optional<uint32_t> hex4(std::string_view text) {
    if (text.size() < 4) return {};
    uint32_t value = 0;
    for (const char c : text.substr(0, 4)) {
        const char low = static_cast<char>(c | 0x20);
        if (c >= '0' && c <= '9')
            value = value * 16 + static_cast<uint32_t>(c - '0');
        else if (low >= 'a' && low <= 'f')
            value = value * 16 + static_cast<uint32_t>(low - 'a' + 10);
        else
            return {};
    }
    return value;
}

void append_utf8(std::string& to, uint32_t code) {
    const auto add = [&](uint32_t byte) { to += static_cast<char>(byte); };
    if (code < 0x80) return add(code);
    if (code < 0x800) return add(0xC0 | code >> 6), add(0x80 | (code & 63));
    if (code < 0x10000) return add(0xE0 | code >> 12), add(0x80 | (code >> 6 & 63)), add(0x80 | (code & 63));
    add(0xF0 | code >> 18), add(0x80 | (code >> 12 & 63)), add(0x80 | (code >> 6 & 63)),
        add(0x80 | (code & 63));
}

// What stands behind \u, and how long it is; half a pair is the replacement character.
size_t append_code(std::string& to, std::string_view rest) {
    const auto code = hex4(rest);
    if (!code) return to += 'u', 0;
    const uint32_t low = rest.substr(4, 2) == "\\u" ? hex4(rest.substr(6)).value_or(0) : 0;
    if (*code >= 0xD800 && *code < 0xDC00 && low >= 0xDC00 && low < 0xE000) {
        append_utf8(to, 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00));
        return 10;
    }
    append_utf8(to, *code >= 0xD800 && *code < 0xE000 ? 0xFFFD : *code);
    return 4;
}

}  // namespace

size_t JsonSkipper::feed(std::string_view piece) {
    const char *at = piece.data(), *const end = at + piece.size();
    const auto up_to = [&](const char* here) { return static_cast<size_t>(here - piece.data()); };
    const auto finish = [&](const char* here) { return done_ = true, up_to(here); };
    while (at < end) {
        if (in_text_) {
            if (step_through_text(at, end) && depth_ == 0) return finish(at);
            continue;
        }
        const JsonSign kind = sign_of(*at);
        if (in_word_ && kind != JsonSign::none) return finish(at);
        if (kind == JsonSign::close && depth_ == 0) return finish(at);
        if (kind == JsonSign::close && --depth_ == 0) return finish(at + 1);
        if (kind == JsonSign::open) ++depth_;
        in_text_ = kind == JsonSign::quote;
        in_word_ = kind == JsonSign::none && depth_ == 0;
        ++at;
    }
    return up_to(at);
}

bool JsonSkipper::step_through_text(const char*& at, const char* end) {
    if (escaped_) ++at;
    escaped_ = false;
    at = quote_or_backslash(at, end);
    if (at == end) return false;
    in_text_ = *at++ != '"';
    escaped_ = in_text_;
    return !in_text_;
}

JsonScanner::JsonScanner(std::string_view text)
    : begin_(text.data()), at_(begin_), end_(begin_ + text.size()) {}

bool JsonScanner::fail() {
    if (state_ == State::fine) state_ = at_ >= end_ ? State::cut : State::wrong;
    return false;
}

// Its end is not the next quote.
bool JsonScanner::rest_of_text(const char* first, std::string_view& value) {
    while (at_ < end_ && *at_ == '\\') at_ = at_ + 1 < end_ ? quote_or_backslash(at_ + 2, end_) : end_;
    if (at_ == end_) return fail();
    value = without_escapes({first, static_cast<size_t>(at_++ - first)});
    return true;
}

bool JsonScanner::word(std::string_view& value) {
    if (state_ != State::fine || sign_of(peek()) != JsonSign::none) return fail();
    const char* const first = at_;
    while (at_ < end_ && sign_of(*at_) == JsonSign::none && *at_ != ':') ++at_;
    if (at_ == end_ || at_ == first) return fail();  // more of it may follow
    value = {first, static_cast<size_t>(at_ - first)};
    return true;
}

bool JsonScanner::skip(std::string_view& as_it_stands) {
    if (state_ != State::fine) return false;
    peek();
    const char* const first = at_;
    if (!step_over()) return fail();
    as_it_stands = {first, static_cast<size_t>(at_ - first)};
    return true;
}

// Texts and words, which most values are, without what an array or object takes.
bool JsonScanner::step_over() {
    const char* const first = at_;
    if (*at_ == '"') {
        at_ = quote_or_backslash(at_ + 1, end_);
        while (end_ - at_ > 1 && *at_ == '\\') at_ = quote_or_backslash(at_ + 2, end_);
        if (at_ == end_ || *at_ != '"') return at_ = end_, false;
        return ++at_, true;
    }
    if (sign_of(*at_) == JsonSign::none) {
        while (at_ < end_ && sign_of(*at_) == JsonSign::none) ++at_;
        return at_ < end_;  // more of it may follow
    }
    JsonSkipper skipper;
    at_ += skipper.feed({at_, static_cast<size_t>(end_ - at_)});
    return skipper.done() && at_ != first;
}

bool JsonScanner::skip() {
    std::string_view unused;
    return skip(unused);
}

std::string_view JsonScanner::without_escapes(std::string_view raw) {
    constexpr std::string_view kLetters = "bfnrt", kMeanings = "\b\f\n\r\t";
    std::string& plain = unescaped_.emplace_front();
    for (size_t i = 0; i < raw.size(); ++i) {
        if (raw[i] != '\\' || ++i == raw.size())
            plain += raw[i];
        else if (const size_t letter = kLetters.find(raw[i]); letter != std::string_view::npos)
            plain += kMeanings[letter];
        else if (raw[i] == 'u')
            i += append_code(plain, raw.substr(i + 1));
        else
            plain += raw[i];
    }
    return plain;
}

}  // namespace gpushim::analysis
