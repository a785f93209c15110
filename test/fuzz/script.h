// The bytes of an input, read as what to do: a number, the next one, so many bytes. Behind the end all is 0.
#pragma once

#include <cstdint>
#include <string_view>

namespace fuzz {

class Script {
  public:
    explicit Script(std::string_view bytes) : bytes_(bytes) {}
    bool is_over() const { return bytes_.empty(); }
    uint8_t byte() {
        if (bytes_.empty()) return 0;
        const auto first = static_cast<uint8_t>(bytes_[0]);
        bytes_.remove_prefix(1);
        return first;
    }
    uint32_t number() {  // of three bytes
        const uint32_t low = byte(), middle = byte(), high = byte();
        return low | middle << 8 | high << 16;
    }
    std::string_view take(size_t count) {
        const std::string_view taken = bytes_.substr(0, count);
        bytes_.remove_prefix(taken.size());
        return taken;
    }
    std::string_view rest() const { return bytes_; }

  private:
    std::string_view bytes_;
};

}  // namespace fuzz
