// Makes an allocation of C++'s fail: the nth from now on, of this thread. The test program has operators of
// its own for that, which otherwise do what any do.
#pragma once

#include <cstdint>

class FailingNew {
  public:
    static const bool kWorks;
    explicit FailingNew(uint64_t nth);
    ~FailingNew();
    bool has_failed() const;
};
