// ThreadSanitizer, in a program that runs under it. It sees what our threads ask of the C library, memory and
// files, but not the atomics that put them in order, because this library is not compiled for it; and it
// knows files by their numbers, as if there were one table of them. Unhelped it finds races where there are
// none, and the program ends with its status. Any thread.
#pragma once

#include "protection.h"
#include "sanitized.h"

extern "C" {
// Of its library; null where that is not in the process. Another language's race detector has some of them.
void __tsan_init() __attribute__((weak));
void AnnotateIgnoreReadsBegin(const char* file, int line) __attribute__((weak));
void AnnotateIgnoreReadsEnd(const char* file, int line) __attribute__((weak));
void AnnotateIgnoreWritesBegin(const char* file, int line) __attribute__((weak));
void AnnotateIgnoreWritesEnd(const char* file, int line) __attribute__((weak));
}

namespace gpushim::shim {

inline bool thread_sanitizer_watches() {
    return kept(Protection::no_false_races) && __tsan_init != nullptr &&
           AnnotateIgnoreReadsBegin != nullptr && AnnotateIgnoreReadsEnd != nullptr &&
           AnnotateIgnoreWritesBegin != nullptr && AnnotateIgnoreWritesEnd != nullptr;
}

// While it lives, ThreadSanitizer does not judge what the calling thread does; but where this library is
// compiled for it after all, as unit tests are.
class Unjudged {
  public:
    Unjudged() : is_(!UNDER_THREAD_SANITIZER && thread_sanitizer_watches()) {
        if (!is_) return;
        AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
        AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    }
    ~Unjudged() {
        if (!is_) return;
        AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
        AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    }
    Unjudged(const Unjudged&) = delete;
    Unjudged& operator=(const Unjudged&) = delete;

  private:
    const bool is_;
};

}  // namespace gpushim::shim
