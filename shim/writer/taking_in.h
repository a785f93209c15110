// What other processes of this user left when they died goes into their traces: by the writer, while its own
// rings are nearly empty, a bounded piece at a time, and a tenth of a core at most. It begins after 10 s and
// takes what was there 10 s before, so that whoever has just killed a process may see to it alone; at once
// where such leftovers are more than a tenth of what is free. The writer's thread only.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "../machine/identity.h"
#include "../sqlite/database.h"
#include "leftovers.h"
#include "recovery.h"

namespace gpushim::shim {

class TakingIn {
  public:
    TakingIn(const TraceIdentity& own, int64_t now_ns);
    ~TakingIn();

    bool is_due(int64_t now_ns) const { return now_ns >= next_ns_; }
    void take_piece(int64_t now_ns) noexcept;
    int64_t next_ns() const { return next_ns_; }

    // Before the program goes on: as long as they are more than a tenth of what is free, at most so long.
    void make_space(int64_t most_ns) noexcept;

  private:
    struct Current;
    void piece();
    void find();
    void begin(const Leftover& leftover);
    void give_up(const std::string& name);

    char own_[33];
    int64_t next_ns_;
    bool is_crowded_ = false;
    std::set<std::string> seen_, given_up_;
    std::deque<Leftover> wanted_;
    std::unique_ptr<Current> current_;
    LogLimit log_;  // of the trace that is being recovered
};

}  // namespace gpushim::shim
