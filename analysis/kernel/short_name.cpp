#include "short_name.h"

#include <cctype>
#include <optional>
#include <vector>

#include "../text/width.h"
#include "kernel_class.h"
#include "plain_name.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kLongestShort = 16384;
constexpr int kDeepest = 40;  // of templates within templates

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

// "a::b<c>::d(e)::{lambda(f)#1}" in parts, at the ::
struct Part {
    std::string_view base, arguments, parameters;  // d; what is in <>; what is in ()
};

std::vector<Part> parts_of(std::string_view text) {
    std::vector<Part> parts(1);
    size_t begin = 0;
    const auto name = [&](size_t end) {
        if (parts.back().base.empty()) parts.back().base = text.substr(begin, end - begin);
    };
    for (size_t i = 0; i < text.size();) {
        const char c = text[i];
        if (text.substr(i).starts_with("::")) {
            name(i);
            begin = i += 2;
            parts.push_back({});
        } else if (c == '<' || c == '(' || c == '{' || c == '[') {
            const size_t end = closing(text, i);
            const std::string_view inside = text.substr(i + 1, end > i ? end - i - 1 : 0);
            if (c == '<' || (c == '(' && i > begin)) name(i);
            if (c == '<') parts.back().arguments = inside;
            if (c == '(' && i > begin) parts.back().parameters = inside;
            i = end + 1;
        } else {
            ++i;
        }
    }
    name(text.size());
    return parts;
}

std::vector<std::string_view> list_of(std::string_view arguments) {
    std::vector<std::string_view> list;
    size_t begin = 0;
    for (size_t i = 0; i <= arguments.size(); ++i) {
        if (i < arguments.size() && std::string_view("<({[").find(arguments[i]) != std::string_view::npos)
            i = closing(arguments, i);
        if (i < arguments.size() && arguments[i] != ',') continue;
        const std::string_view one = trimmed(arguments.substr(begin, std::min(i, arguments.size()) - begin));
        if (!one.empty()) list.push_back(one);
        begin = i + 1;
    }
    return list;
}

std::string_view without_namespaces(std::string_view text) { return parts_of(text).back().base; }

// A type whose values are numbers: float, c10::BFloat16, __half, unsigned int. Empty: it is none.
std::string_view number_type(std::string_view argument) {
    constexpr std::string_view kTypes[] = {
        "float",   "double",        "half",           "bfloat16",   "Half",   "BFloat16",  "int",   "long",
        "int64_t", "int32_t",       "int8_t",         "bool",       "char",   "uint8_t",   "short", "complex",
        "__half",  "__nv_bfloat16", "__hip_bfloat16", "bfloat16_t", "half_t", "tfloat32_t"};
    if (argument.ends_with(" const")) argument.remove_suffix(6);
    if (argument.starts_with("unsigned ")) argument.remove_prefix(9);
    const std::string_view base = without_namespaces(argument);
    for (const std::string_view type : kTypes)
        if (base == type) return base;
    return base.starts_with("Float8_") || base.starts_with("float_e") ? base : std::string_view();
}

std::string with_type(std::string_view base, const std::vector<std::string_view>& arguments) {
    for (const std::string_view argument : arguments)
        if (const std::string_view type = number_type(argument); !type.empty())
            return std::string(base) + "<" + std::string(type) + ">";
    return std::string(base);
}

bool says_what_is_done(std::string_view base) {
    return base.find("Functor") != std::string_view::npos || base.find("functor") != std::string_view::npos ||
           base.ends_with("Op") || base.ends_with("Ops") || base.ends_with("_op");
}

bool is_lambda(std::string_view base) { return base.find("lambda") != std::string_view::npos; }

// In the parameters of a lambda: "{lambda(float)#1}", "[lambda(int, int) (instance 1)]".
std::vector<std::string_view> parameters_of_lambda(std::string_view base) {
    const size_t open = base.find('(');
    if (open == std::string_view::npos) return {};
    return list_of(base.substr(open + 1, closing(base, open) - open - 1));
}

// What a template argument does, if it is a function: the innermost that says so. None: it is data.
std::optional<std::string> done_by(std::string_view argument, int depth) {
    if (depth == kDeepest) return {};
    const std::vector<Part> parts = parts_of(argument);
    for (const Part& part : parts)
        for (const std::string_view inner : list_of(part.arguments))
            if (auto done = done_by(inner, depth + 1)) return done;
    if (is_lambda(argument))  // named after the function that it is in
        for (const Part& part : parts)
            if (!part.parameters.empty() && !is_lambda(part.base))
                return with_type(part.base, parameters_of_lambda(parts.back().base));
    if (says_what_is_done(parts.back().base))
        return with_type(parts.back().base, list_of(parts.back().arguments));
    return {};
}

// A function that launches a class of this name is a shell: entry<2, FmhaFwdKernel<…>>.
bool is_kernel(std::string_view base) { return base.size() > 6 && base.ends_with("Kernel"); }

bool is_decimal(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Among what is left of a mangled name: the first name of a class that is launched.
std::string_view kernel_in_mangled(std::string_view rest) {
    for (size_t i = 0; i < rest.size(); ++i) {
        if (!is_decimal(rest[i]) || (i > 0 && is_decimal(rest[i - 1]))) continue;
        size_t length = 0, at = i;
        for (; at < rest.size() && at < i + 3 && is_decimal(rest[at]); ++at)
            length = 10 * length + static_cast<size_t>(rest[at] - '0');
        const std::string_view name = rest.substr(at, length);
        if (name.size() == length && is_kernel(name)) return name;
    }
    return {};
}

// Of a mangled name that is cut off: the last of the names that it begins with.
std::string_view begun_mangled(std::string_view name) {
    std::string_view rest = name.substr(2), last;
    if (rest.starts_with('N')) rest.remove_prefix(1);
    while (!rest.empty() && is_decimal(rest.front())) {
        size_t length = 0, digits = 0;
        for (; digits < rest.size() && digits < 5 &&
               std::isdigit(static_cast<unsigned char>(rest[digits])) != 0;
             ++digits)
            length = 10 * length + static_cast<size_t>(rest[digits] - '0');
        last = rest.substr(digits, length);
        rest.remove_prefix(std::min(rest.size(), digits + length));
    }
    if (rest.starts_with('I'))  // the arguments of a template
        if (const std::string_view launched = kernel_in_mangled(rest); !launched.empty()) return launched;
    return last;
}

bool is_readable(std::string_view text) {
    if (text.empty()) return false;
    for (const char c : text)
        if (!is_of_word(c)) return false;
    return true;
}

}  // namespace

std::string short_name(std::string_view name) {
    const std::string plain = demangled(name.substr(0, kLongestShort));
    if (plain.starts_with("_Z")) {
        const std::string_view begun = begun_mangled(plain);
        return is_readable(begun) ? std::string(begun) : std::string(name);
    }
    const Part own = parts_of(own_name(plain)).back();
    if (!is_readable(own.base)) return std::string(name);
    const std::vector<std::string_view> arguments = list_of(own.arguments);
    for (const std::string_view argument : arguments)
        if (const auto done = done_by(argument, 0)) {
            const KernelFamily family = classify(name).family;
            const std::string_view kind = family == KernelFamily::other ? own.base : name_of(family);
            return std::string(kind) + ": " + *done;
        }
    // CUTLASS launches everything by functions that are called like this.
    const bool is_shell = own.base == "Kernel" || own.base == "Kernel2" || own.base == "device_kernel";
    if (is_shell && !arguments.empty())
        if (const std::string_view base = without_namespaces(arguments[0]); is_readable(base))
            return std::string(base);
    for (const std::string_view argument : arguments)
        if (const std::string_view base = without_namespaces(argument); is_readable(base) && is_kernel(base))
            return std::string(base);
    return with_type(own.base, arguments);
}

std::string cut_short_name(std::string_view name) {
    return cut_in_the_middle(short_name(name), kWidestKernel);
}

}  // namespace gpushim::analysis
