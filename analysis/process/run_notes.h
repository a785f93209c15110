// Which traces the processes of a run leave. They say so themselves while they run: nothing is concluded from
// the files in a folder. The library knows how (shim/base/run_notes.h), and what cannot be seen by it.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace gpushim::analysis {

// What was noted until now.
struct RunLeft {
    std::vector<std::filesystem::path> traces;  // that are there, in the order of their start
    std::set<std::string> left_out;             // ranks that GPUSHIM_RANKS does not name
    size_t failed = 0;                          // processes that could not make their trace, which they said
};

class RunNotes {
  public:
    RunNotes();
    ~RunNotes();
    RunNotes(const RunNotes&) = delete;
    RunNotes& operator=(const RunNotes&) = delete;

    // False: an outer `gpushim run` has the notes and speaks at its end, or there are none to be had.
    bool are_kept() const { return notes_ >= 0; }
    // Into the environment of the program.
    void name_in(std::map<std::string, std::string>& variables) const;
    RunLeft read() const;

  private:
    int notes_ = -1;
    std::string name_, value_;
};

}  // namespace gpushim::analysis
