#include "schema_image.h"

#include <algorithm>

namespace gpushim::shim {

void hide_views(char* bytes, size_t size, size_t at) {
    for (const ImagePage& page : kSchemaImage.before_views) {
        const size_t from = std::max<size_t>(at, page.at);
        const size_t until = std::min<size_t>(at + size, page.at + SchemaImage::kPageBytes);
        if (from < until) std::copy_n(page.bytes + (from - page.at), until - from, bytes + (from - at));
    }
}

}  // namespace gpushim::shim
