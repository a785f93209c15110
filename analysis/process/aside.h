// Arrays that memory may have no room for. The first bytes stay in it; those behind lie in a file that is
// gone with the process, and are in memory only while they are read or changed, as far as their readers count
// that. Where no such file can be made, or its disk is nearly full, or memory itself, all stay in memory.
//
//   memory   [array][array][array]  ┌─ what is just read ─┐
//   file                       [array][array][array][array]
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <filesystem>
#include <mutex>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace gpushim::analysis {

class Aside {
  public:
    static constexpr size_t kInMemory = 64 << 20, kReadAtOnce = 32 << 20;

    explicit Aside(std::filesystem::path folder, size_t in_memory = kInMemory,
                   size_t read_at_once = kReadAtOnce);
    ~Aside();  // when nobody reads its arrays any more
    Aside(const Aside&) = delete;
    Aside& operator=(const Aside&) = delete;

    // The same bytes in the file; null: they stay where they are. Any thread.
    void* take(const void* bytes, size_t count);
    // So many bytes of arrays were read or changed: from time to time all of them leave the memory, and are
    // read again when somebody asks for them; true is returned then. Any thread.
    bool count_read(size_t bytes);
    void rest();  // now, for nobody reads on. Any thread

    size_t in_file() const;  // bytes

  private:
    struct Piece {
        std::byte* at;
        size_t bytes, used;
    };
    std::byte* room_for(size_t bytes);
    bool add_piece(size_t bytes);

    std::filesystem::path folder_;
    size_t in_memory_, read_at_once_;
    std::atomic<size_t> read_ = 0;
    mutable std::mutex mutex_;  // of all below
    size_t stayed_ = 0, in_file_ = 0, file_bytes_ = 0;
    int file_ = -1;
    bool is_full_ = false;
    std::vector<Piece> pieces_;
};

// An array: one thread at a time.
template <class T>
class AsideArray {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    AsideArray() = default;
    AsideArray(AsideArray&& other) noexcept
        : own_(std::move(other.own_)), aside_(std::exchange(other.aside_, {})) {}
    AsideArray& operator=(AsideArray&& other) noexcept {
        own_ = std::move(other.own_);
        aside_ = std::exchange(other.aside_, {});
        return *this;
    }

    void push_back(const T& one) {  // until it is put aside
        assert(aside_.empty());
        own_.push_back(one);
    }
    void put(Aside& aside) {
        void* const bytes = aside.take(own_.data(), own_.size() * sizeof(T));
        if (bytes == nullptr) return own_.shrink_to_fit();
        aside_ = {static_cast<T*>(bytes), own_.size()};
        std::vector<T>().swap(own_);
    }

    size_t size() const { return own_.size() + aside_.size(); }
    bool empty() const { return size() == 0; }
    T* data() { return aside_.empty() ? own_.data() : aside_.data(); }
    const T* data() const { return aside_.empty() ? own_.data() : aside_.data(); }
    const T& front() const { return *data(); }
    T& operator[](size_t i) { return data()[i]; }
    const T& operator[](size_t i) const { return data()[i]; }
    T* begin() { return data(); }
    T* end() { return data() + size(); }
    const T* begin() const { return data(); }
    const T* end() const { return data() + size(); }

  private:
    std::vector<T> own_;
    std::span<T> aside_;  // empty: its own
};

}  // namespace gpushim::analysis
