// The truth file of this process: the lines whose operation's name begins with `ncclDevKernel_`.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

struct TruthLine {
    std::string op;
    int device = 0;
    std::string stream;
    int64_t start_ns = 0, end_ns = 0, bytes = 0;
    std::string name;
};

// Removed with its counts when the case ends.
class TruthFile {
  public:
    std::string path() const { return path_; }
    std::string knob() const { return " GPUSIM_TRUTH=" + path_; }
    ~TruthFile() {
        unlink(path_.c_str());
        unlink((path_ + ".counts").c_str());
    }
    std::vector<TruthLine> nccl_lines() const {
        std::vector<TruthLine> lines;
        std::ifstream file(path_);
        for (std::string text; std::getline(file, text);) {
            std::istringstream words(text);
            TruthLine line;
            words >> line.op >> line.device >> line.stream >> line.start_ns >> line.end_ns >> line.bytes >>
                line.name;
            if (line.name.rfind("ncclDevKernel_", 0) == 0) lines.push_back(line);
        }
        return lines;
    }

  private:
    std::string path_ = "/tmp/gpusim-nccl-truth-" + std::to_string(getpid());
};
