// JSON read from front to back, value by value, without building anything. Lenient where profilers are
// sloppy: commas may be missing, doubled or trailing, words like NaN are values, strings may hold control
// characters and unknown escapes. It never recurses, so nesting costs nothing. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <string>
#include <string_view>

namespace gpushim::analysis {

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

    char peek();  // the first character of what comes next; '\0': nothing does
    bool enter(char bracket);
    bool next_member(std::string_view& key);  // after enter('{') or a member's value
    bool next_item();                         // after enter('[') or an item
    bool text(std::string_view& value);
    bool word(std::string_view& value);  // a number, true, null, NaN ...
    bool skip();
    bool skip(std::string_view& as_it_stands);

    bool cut() const { return state_ == State::cut; }
    bool wrong() const { return state_ == State::wrong; }
    size_t used() const { return static_cast<size_t>(at_ - begin_); }

  private:
    enum class State { fine, cut, wrong };
    bool fail();
    bool next(char closing);
    std::string_view without_escapes(std::string_view raw);

    const char *begin_, *at_, *end_;
    State state_ = State::fine;
    std::forward_list<std::string> unescaped_;
};

}  // namespace gpushim::analysis
