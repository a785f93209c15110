// JSON read from front to back, value by value, without building anything. Lenient where profilers are
// sloppy: commas may be missing, doubled or trailing, words like NaN are values, strings may hold control
// characters and unknown escapes. It never recurses, so nesting costs nothing. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <string>
#include <string_view>

#include "text_end.h"

namespace gpushim::analysis {

enum class JsonSign : uint8_t { none, blank, quote, open, close };
inline constexpr std::array<JsonSign, 256> kJsonSigns = [] {
    std::array<JsonSign, 256> signs{};
    for (const char c : {' ', '\t', '\r', '\n', ','}) signs[static_cast<unsigned char>(c)] = JsonSign::blank;
    signs['"'] = JsonSign::quote;
    signs['{'] = signs['['] = JsonSign::open;
    signs['}'] = signs[']'] = JsonSign::close;
    return signs;
}();
inline JsonSign sign_of(char c) { return kJsonSigns[static_cast<unsigned char>(c)]; }

// Steps over one value that may come in pieces, by counting brackets outside strings.
class JsonSkipper {
  public:
    size_t feed(std::string_view piece);  // how much of the piece, blanks before the value included
    bool done() const { return done_; }

  private:
    bool step_through_text(const char*& at, const char* end);

    uint64_t depth_ = 0;
    bool in_text_ = false, escaped_ = false, in_word_ = false, done_ = false;
};

// Text that lies in memory but may be cut off at its end. A function that returns false has come to the end
// of an object or array, or has failed: then `cut` tells that the text was too short, `wrong` that it is no
// JSON, and every further call fails. Views live as long as both the text and the scanner.
class JsonScanner {
  public:
    explicit JsonScanner(std::string_view text);  // the character behind it must be readable, and '\0'

    // The first character of what comes next; '\0': nothing does.
    char peek() {
        while (sign_of(*at_) == JsonSign::blank) do
                ++at_;
            while (*at_ == ' ');  // most are
        return *at_;
    }
    bool enter(char bracket) {
        if (state_ != State::fine || peek() != bracket) return fail();
        return ++at_, true;
    }
    // After enter('{') or a member's value.
    bool next_member(std::string_view& key) {
        if (!next('}') || !text(key)) return false;
        while (sign_of(*at_) == JsonSign::blank && *at_ != ',') ++at_;
        return *at_ == ':' ? (++at_, true) : fail();
    }
    bool next_item() { return next(']'); }  // after enter('[') or an item
    bool text(std::string_view& value) {
        if (state_ != State::fine || peek() != '"') return fail();
        const char* const first = ++at_;
        at_ = quote_or_backslash(first, end_);
        if (at_ == end_ || *at_ != '"') return rest_of_text(first, value);
        value = {first, static_cast<size_t>(at_++ - first)};
        return true;
    }
    bool word(std::string_view& value);  // a number, true, null, NaN ...
    bool skip();
    bool skip(std::string_view& as_it_stands);

    bool cut() const { return state_ == State::cut; }
    bool wrong() const { return state_ == State::wrong; }
    size_t used() const { return static_cast<size_t>(at_ - begin_); }

  private:
    enum class State { fine, cut, wrong };
    bool fail();
    bool rest_of_text(const char* first, std::string_view& value);
    bool step_over();
    // Whether there is another one before the closing bracket, which is stepped over.
    bool next(char closing) {
        if (state_ != State::fine) return false;
        const char c = peek();
        if (c == closing) return ++at_, false;
        return c != '\0' && sign_of(c) != JsonSign::close ? true : fail();
    }
    std::string_view without_escapes(std::string_view raw);

    const char *begin_, *at_, *end_;
    State state_ = State::fine;
    std::forward_list<std::string> unescaped_;
};

}  // namespace gpushim::analysis
