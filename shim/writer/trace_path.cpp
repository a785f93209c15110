#include "trace_path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../base/log.h"
#include "../base/protection.h"
#include "output_folder.h"

namespace gpushim::shim {
namespace {

constexpr int kMostNames = 99;
constexpr char kSuffix[] = ".db";

// Text of bounded length; remembers that something did not fit.
class Text {
  public:
    Text(char* to, size_t size) : to_(to), size_(size) { to_[0] = '\0'; }

    void add(char c) {
        if (length_ + 1 >= size_) {
            fits_ = false;
            return;
        }
        to_[length_++] = c;
        to_[length_] = '\0';
    }
    void add(const char* text) {
        while (*text != '\0') add(*text++);
    }
    // What comes from outside is one part of a name: it leads to no other folder.
    void add_value(const char* text) {
        for (; *text != '\0'; ++text) add(*text == '/' || *text < ' ' ? '_' : *text);
    }
    void add_number(int64_t number) {
        char digits[24];
        snprintf(digits, sizeof digits, "%" PRId64, number);
        add(number < 0 ? "x" : digits);
    }
    bool fits() const { return fits_; }

  private:
    char* to_;
    size_t size_;
    size_t length_ = 0;
    bool fits_ = true;
};

// %q{VAR}: `text` stands on the brace. Null: there is no such variable's name.
const char* add_variable(const char* text, Text& to) {
    char name[128];
    const char* end = *text == '{' ? strchr(text, '}') : nullptr;
    if (end == nullptr || static_cast<size_t>(end - text) > sizeof name) return nullptr;
    const auto length = static_cast<size_t>(end - text - 1);
    memcpy(name, text + 1, length);
    name[length] = '\0';
    const char* value = getenv(name);
    to.add_value(value != nullptr ? value : "");
    return end + 1;
}

bool add_field(char field, const TraceIdentity& identity, Text& to) {
    switch (field) {
        case '%':
            to.add('%');
            return true;
        case 'h':
            to.add_value(identity.host);
            return true;
        case 'p':
            to.add_number(identity.pid);
            return true;
        case 'r':
            to.add_number(identity.rank);
            return true;
        case 'l':
            to.add_number(identity.local_rank);
            return true;
        case 'j':
            to.add_value(identity.job[0] != '\0' ? identity.job : "x");
            return true;
        default:
            return false;
    }
}

int create(const char* path) {
    constexpr int kAlone = kept(Protection::exclusive_creation) ? O_EXCL | O_NOFOLLOW : 0;
    constexpr mode_t kMode = kept(Protection::private_files) ? 0600 : 0666;
    const int file = open(path, O_RDWR | O_CREAT | kAlone | O_CLOEXEC, kMode);
    if (file < 0) return errno;
    // The umask may have taken away more than was wanted.
    fchmod(file, kMode);
    close(file);
    return 0;
}

bool ends_in_suffix(const char* name, size_t length) {
    const size_t suffix = sizeof kSuffix - 1;
    return length > suffix && strcmp(name + length - suffix, kSuffix) == 0;
}

// The nth name to try.
bool numbered(const char* name, int n, char* to, size_t size) {
    const size_t length = strlen(name);
    const bool has_suffix = ends_in_suffix(name, length);
    const auto stem = static_cast<int>(has_suffix ? length - (sizeof kSuffix - 1) : length);
    const char* suffix = has_suffix ? kSuffix : "";
    const int written =
        n == 1 ? snprintf(to, size, "%s", name) : snprintf(to, size, "%.*s.%d%s", stem, name, n, suffix);
    return written > 0 && static_cast<size_t>(written) < size;
}

// With the default name where `name` is a folder.
bool complete(OutputName& name, const TraceIdentity& identity, const char* default_name) {
    const size_t length = strlen(name.path);
    const bool wanted = name.path[length - 1] == '/';
    if (!wanted && !is_folder(name.path)) return true;
    char file[256];
    if (!fill_pattern(default_name, identity, file, sizeof file)) return false;
    return snprintf(name.path + length, sizeof name.path - length, "%s%s", wanted ? "" : "/", file) <
           static_cast<int>(sizeof name.path - length);
}

}  // namespace

bool fill_pattern(const char* pattern, const TraceIdentity& identity, char* to, size_t size) {
    Text text(to, size);
    while (*pattern != '\0') {
        if (*pattern != '%') {
            text.add(*pattern++);
        } else if (pattern[1] == 'q') {
            pattern = add_variable(pattern + 2, text);
            if (pattern == nullptr) return false;
        } else if (add_field(pattern[1], identity, text)) {
            pattern += 2;
        } else {
            return false;
        }
    }
    return text.fits();
}

OutputName name_output(const char* pattern, const TraceIdentity& identity, const char* default_name) {
    OutputName name = {};
    char filled[sizeof name.path];
    if (!fill_pattern(pattern, identity, filled, sizeof filled) || filled[0] == '\0')
        name.why = "is not understood or too long";
    else if (!make_absolute(filled, name.path, sizeof name.path, &name.base))
        name.why = "is too long, or in no folder";
    else if (const char* special = special_file(name.path); special != nullptr)
        name.why = special;
    else if (!complete(name, identity, default_name))
        name.why = "is too long";
    return name;
}

bool make_metrics_path(const char* pattern, const TraceIdentity& identity, char* path, size_t size) {
    const OutputName name = name_output(pattern, identity, kDefaultMetrics);
    if (name.why != nullptr) {
        log_line(LogLevel::warn, "GPUSHIM_METRICS=%s %s; no metrics", pattern, name.why);
        return false;
    }
    if (const int error = make_folders(name.path, name.base); error != 0) {
        log_line(LogLevel::warn, "cannot make the folder of %s (%s); no metrics", name.path, strerror(error));
        return false;
    }
    return snprintf(path, size, "%s", name.path) < static_cast<int>(size);
}

int create_output(const OutputName& name, char* path, size_t size) {
    for (int n = 1; n <= kMostNames; ++n) {
        if (!numbered(name.path, n, path, size)) return ENAMETOOLONG;
        int error = create(path);
        if (error == ENOENT) {
            error = make_folders(path, name.base);
            if (error == 0) error = create(path);
        }
        // A link that leads nowhere, or anywhere, is a taken name, too.
        if (error != EEXIST && error != ELOOP) return error;
    }
    return EEXIST;
}

const char* why_no_output(const char* pattern) {
    // Fields are told apart from what is none by any values.
    const OutputName name = name_output(pattern, TraceIdentity{});
    return name.why;
}

}  // namespace gpushim::shim
