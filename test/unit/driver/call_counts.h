// What the counts file beside a truth file says of one export.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <ostream>
#include <string>

#include "core.h"
#include "engine/truth.h"

struct CallCounts {
    uint64_t entered = 0, returned = 0, nested = 0;
    bool operator==(const CallCounts&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const CallCounts& c) {
    return out << c.entered << " entered, " << c.returned << " returned, " << c.nested << " nested";
}

inline CallCounts counts_of(const std::string& truth_path, const char* name) {
    std::ifstream file(truth_path + ".counts", std::ios::binary);
    gpusim::truth::Count count;
    while (file.read(reinterpret_cast<char*>(&count), sizeof count))
        if (std::strncmp(count.name, name, sizeof count.name) == 0)
            return {count.entered, count.returned, count.nested};
    return {};
}

inline CallCounts counts_of(const Timeline& timeline, const char* name) {
    return counts_of(timeline.path(), name);
}
