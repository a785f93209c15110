// What is forgotten because its rows are gone from the trace, and when it was last used.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "translator.h"

namespace gpushim::shim {

void Translator::graph_is_gone(size_t kernels) { graphs_.is_gone(kernels); }

void Translator::stream_is_gone(int64_t id) { group_on_stream_.erase(id); }

void Translator::shape_is_gone(int64_t id) { shapes_.forget(id); }

std::vector<int64_t> Translator::thread_is_gone(int64_t number) {
    threads_.erase(number);
    last_thread_ = nullptr;
    return streams_.forget_thread(number);
}

// A thread id that is used again keeps a row that nobody needs.
int64_t Translator::end_of_thread(int64_t number, int64_t tid) const {
    const auto known = threads_.find(number);
    if (recovered_ != 0 || known == threads_.end()) return kNull;
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%lld", static_cast<long long>(tid));
    return access(path, F_OK) == 0 ? kNull : known->second;
}

}  // namespace gpushim::shim
