// HTML and SVG as a value that cannot be built wrongly: a text that becomes Markup is escaped, tags come from
// element() only, and values of attributes are escaped, too. So no name out of a trace is ever a tag.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpushim::analysis {

class Markup;

struct Attribute {
    const char* name;
    std::string value;
};
using Attributes = std::vector<Attribute>;

class Markup {
  public:
    Markup() = default;
    Markup(std::string_view text);  // escaped
    Markup(const std::string& text) : Markup(std::string_view(text)) {}
    Markup(const char* text) : Markup(std::string_view(text)) {}
    // As it is: a style sheet or a script that was compiled in.
    static Markup verbatim(std::string_view compiled_in);

    Markup& operator+=(const Markup& more) {
        html_ += more.html_;
        return *this;
    }
    bool empty() const { return html_.empty(); }
    const std::string& html() const { return html_; }

  private:
    friend Markup element(const char* name, const Attributes& attributes, const Markup& content);
    std::string html_;
};

// name and the attributes' names: of HTML or SVG, from the program.
Markup element(const char* name, const Attributes& attributes = {}, const Markup& content = {});

std::string coordinate(double value);  // at most two decimals: "12", "0.25"

}  // namespace gpushim::analysis
