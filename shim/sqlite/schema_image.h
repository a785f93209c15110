// An empty trace as bytes: what SQLite makes of the SQL of schema/, with the SQLite that is linked
// (schema/make_image.cpp, when the library is built). A process that makes a trace writes them, instead of
// running a thousand lines of SQL. Reading the views' SQL would still take most of what opening it takes, and
// the writer needs none of them: `before_views` are those pages as they were when there were only tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace gpushim::shim {

struct ImagePage {
    uint32_t at;
    const char* bytes;
};

struct SchemaImage {
    static constexpr size_t kPageBytes = 4096;
    std::string_view bytes;
    std::span<const ImagePage> before_views;  // the file's change counter is another there
};

extern const SchemaImage kSchemaImage;

// What was read of an image, as it was before there were views.
void hide_views(char* bytes, size_t size, size_t at);

}  // namespace gpushim::shim
