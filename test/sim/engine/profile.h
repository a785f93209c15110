// What a profiler's library (cupti/) is told: each outermost driver call of a thread, by a number that its
// operations carry, and operations whose times are known. Nothing is told, and nothing costs, until one
// attaches. Any thread.
#pragma once

#include <cstdint>

#include "operation.h"

namespace gpusim::profile {

struct Profiler {
    uint32_t (*entered)(const char* name);            // the call's number; no lock is held
    void (*left)(const char* name, uint32_t number);  // no lock is held
    void (*known)(const Operation& operation);        // with the engine's lock held
};

void attach(const Profiler& profiler);  // for good; one that lives for ever

// From the driver: around the outermost call.
void enter_call(const char* name);
void leave_call(const char* name);

// The node of a graph that the thread is issuing.
class IssuesNode {
  public:
    explicit IssuesNode(uint64_t id);
    ~IssuesNode();
    IssuesNode(const IssuesNode&) = delete;
    IssuesNode& operator=(const IssuesNode&) = delete;

  private:
    uint64_t before_;
};

// From the engine, with its lock held.
void issued(Operation& operation);
void known(const Operation& operation);

}  // namespace gpusim::profile
