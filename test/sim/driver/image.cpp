#include "image.h"

#include <cxxabi.h>

#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>

#include "engine/knobs.h"

namespace gpusim::driver {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

std::string_view skip_space(std::string_view text) {
    const size_t start = text.find_first_not_of(kSpace);
    return start == std::string_view::npos ? std::string_view{} : text.substr(start);
}

std::string_view identifier(std::string_view text) {
    size_t length = 0;
    while (length < text.size() && (std::isalnum(static_cast<unsigned char>(text[length])) != 0 ||
                                    text[length] == '_' || text[length] == '$' || text[length] == '.'))
        ++length;
    return text.substr(0, length);
}

size_t number(std::string_view text, size_t otherwise) {
    size_t value = otherwise;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::string without_comments(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const size_t start = text.find('/');
        const std::string_view mark = text.substr(start == std::string_view::npos ? text.size() : start, 2);
        result += text.substr(0, start);
        if (start == std::string_view::npos) break;
        text.remove_prefix(start);
        const std::string_view close = mark == "//" ? "\n" : "*/";
        if (mark != "//" && mark != "/*") {
            result += '/';
            text.remove_prefix(1);
            continue;
        }
        const size_t end = text.find(close, 2);
        if (end == std::string_view::npos) break;
        text.remove_prefix(mark == "//" ? end : end + 2);
    }
    return result;
}

// The size that a PTX type such as .u32, .b64 or .pred gives one element.
size_t type_bytes(std::string_view declaration) {
    for (size_t dot = declaration.find('.'); dot != std::string_view::npos;
         dot = declaration.find('.', dot + 1)) {
        const std::string_view word = declaration.substr(dot + 1);
        if (word.empty() || std::strchr("busf", word[0]) == nullptr) continue;
        const size_t bits = number(word.substr(1), 0);
        if (bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128) return bits / 8;
    }
    return 8;
}

size_t declared_bytes(std::string_view declaration) {
    const size_t bracket = declaration.find('[');
    const size_t count = bracket == std::string_view::npos ? 1 : number(declaration.substr(bracket + 1), 1);
    return type_bytes(declaration.substr(0, bracket)) * count;
}

size_t alignment(std::string_view declaration) {
    // What follows .ptr is about the memory pointed to.
    declaration = declaration.substr(0, declaration.find(".ptr"));
    const size_t given = declaration.find(".align");
    if (given == std::string_view::npos) return type_bytes(declaration);
    return number(skip_space(declaration.substr(given + 6)), 8);
}

std::vector<Parameter> read_parameters(std::string_view text) {
    std::vector<Parameter> parameters;
    size_t offset = 0;
    while (text.find(".param") != std::string_view::npos) {
        text.remove_prefix(text.find(".param") + 6);
        const std::string_view one = text.substr(0, text.find(','));
        const size_t align = alignment(one), size = declared_bytes(one);
        offset = (offset + align - 1) / align * align;
        parameters.push_back({offset, size});
        offset += size;
    }
    return parameters;
}

void read_kernels(std::string_view text, Image& image) {
    while (text.find(".entry") != std::string_view::npos) {
        text.remove_prefix(text.find(".entry") + 6);
        text = skip_space(text);
        const std::string_view name = identifier(text);
        std::string_view rest = skip_space(text.substr(name.size()));
        const bool has_parameters = !rest.empty() && rest[0] == '(';
        const std::string_view inside = has_parameters ? rest.substr(0, rest.find(')')) : std::string_view{};
        image.functions.emplace(name, read_parameters(inside));
    }
}

// Module-scope variables only: those inside bodies are of no use to a host.
void read_globals(std::string_view text, Image& image) {
    int depth = 0;
    for (size_t start = 0; start < text.size();) {
        const size_t end = std::min(text.find_first_of(";{}", start), text.size());
        const std::string_view statement = text.substr(start, end - start);
        const size_t global = std::min(statement.find(".global"), statement.find(".const"));
        if (depth == 0 && global != std::string_view::npos &&
            statement.find(".entry") == std::string_view::npos) {
            std::string_view declaration = statement.substr(global, statement.find('=') - global);
            const size_t name_end = std::min(declaration.find('['), declaration.find_last_not_of(kSpace) + 1);
            const std::string_view head = declaration.substr(0, name_end);
            const size_t name = head.find_last_of(kSpace);
            if (name != std::string_view::npos)
                image.globals.emplace(head.substr(name + 1), declared_bytes(declaration.substr(7)));
        }
        if (end < text.size()) depth += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
        start = end + 1;
    }
}

bool is_text(const void* data) {
    const std::string_view head(static_cast<const char*>(data),
                                strnlen(static_cast<const char*>(data), 4096));
    return head.find(".version") != std::string_view::npos || head.starts_with("//");
}

// The name a person gave it: of a mangled one, what stands before parameters and template arguments.
std::string plain_name(std::string_view name) {
    if (!name.starts_with("_Z")) return std::string(name);
    int status = 0;
    char* demangled = abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status);
    if (demangled == nullptr) return std::string(name);
    std::string plain = demangled;
    std::free(demangled);
    return plain.substr(0, plain.find_first_of("(<"));
}

}  // namespace

std::shared_ptr<const Image> read_ptx(std::string_view text) {
    const std::string plain = without_comments(text);
    if (plain.find(".version") == std::string::npos) return nullptr;
    auto image = std::make_shared<Image>();
    image->names_known = true;
    read_kernels(plain, *image);
    read_globals(plain, *image);
    return image;
}

std::shared_ptr<const Image> read_image(const void* data) {
    if (std::memcmp(data, KernelImage{}.magic, 8) == 0) {
        auto image = std::make_shared<Image>();
        image->kernels = static_cast<const KernelImage*>(data);
        return image;
    }
    if (is_text(data)) return read_ptx(static_cast<const char*>(data));
    return std::make_shared<Image>();
}

namespace {

using Durations = std::map<std::string, Ns, std::less<>>;

Durations read_durations() {
    Durations durations;
    std::istringstream rows(knobs().durations);
    for (std::string row; std::getline(rows, row, ',');) {
        const size_t equals = row.find('=');
        const Ns ns = equals == std::string::npos ? 0 : std::atoll(row.c_str() + equals + 1);
        if (ns <= 0) {
            std::fprintf(stderr, "gpusim: GPUSIM_DURATIONS: %s is not <kernel>=<ns>\n", row.c_str());
            std::_Exit(2);
        }
        durations[row.substr(0, equals)] = ns;
    }
    return durations;
}

}  // namespace

Ns duration_by_name(std::string_view name) {
    static const Durations durations = read_durations();
    const std::string plain = plain_name(name);
    if (const auto found = durations.find(plain); found != durations.end()) return found->second;
    const size_t mark = plain.rfind("__");
    const char* digits = plain.c_str() + (mark == std::string::npos ? plain.size() : mark + 2);
    char* unit = nullptr;
    const long long value = std::strtoll(digits, &unit, 10);
    if (unit != digits && std::strcmp(unit, "ns") == 0) return value;
    if (unit != digits && std::strcmp(unit, "us") == 0) return value * 1000;
    return static_cast<Ns>(knobs().kernel_us * 1e3);
}

int fault_by_name(std::string_view name) {
    const size_t mark = name.find("__fault");
    return mark == std::string_view::npos ? 0 : static_cast<int>(number(name.substr(mark + 7), 719));
}

}  // namespace gpusim::driver
