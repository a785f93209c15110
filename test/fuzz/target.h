// A fuzz target: one file that registers itself, and one part of ours that reads what strangers wrote. A
// target returns whatever the bytes are; what it finds wrong with the answer ends the process. Two programs
// are made of them: one by libFuzzer (explore.cpp), and one that damages seeds by itself and watches time and
// memory (damage.cpp). One thread.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace fuzz {

struct Target {
    const char* name;
    const char* what;  // it reads
    void (*run)(std::string_view bytes);
    int dearer = 1;  // than the others: it is given so many times fewer inputs
};

struct Registration {
    explicit Registration(const Target& target);
};

std::span<const Target> targets();
const Target& target_named(std::string_view name);  // ends the process where there is none

// Says what is wrong and ends the process, so that the input is kept.
[[noreturn]] void wrong(std::string_view what);
inline void require(bool holds, std::string_view what) {
    if (!holds) wrong(what);
}

// A file in memory that is written anew for each input; gone with the process.
class InputFile {
  public:
    explicit InputFile(const char* name);
    ~InputFile();
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;

    void write(std::string_view bytes) const;
    const std::string& path() const { return path_; }
    std::filesystem::path folder() const { return std::filesystem::path(path_).parent_path(); }

  private:
    std::string path_;
};

// Does `work` as `gpushim` does it: a Failure is an answer, if it says which file it is about.
void may_fail(const std::string& file, void (*work)(const std::string& file));

}  // namespace fuzz
