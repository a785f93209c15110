// What is behind gzip's magic: unpacked to the end, in pieces of odd sizes.
#include "analysis/importer/kineto/input_stream.h"
#include "target.h"

namespace {

using namespace gpushim::analysis;

void unpack(std::string_view bytes) {
    static const fuzz::InputFile file("trace.json.gz");
    file.write(std::string("\x1f\x8b").append(bytes));
    fuzz::may_fail(file.path(), [](const std::string& path) {
        InputStream stream(path);
        fuzz::require(stream.is_gzip(), "not seen as gzip");
        char piece[4096];
        uint64_t got = 0;
        for (size_t more, room = 1; (more = stream.read(piece, room)) > 0; room = room % sizeof piece + 7) {
            fuzz::require(more <= room, "more than there is room for");
            got += more;
            room = room > sizeof piece - 7 ? 1 : room;
        }
        fuzz::require(stream.read(piece, sizeof piece) == 0, "something behind the end");
        fuzz::require(got <= (stream.file_bytes() + 1) * 1100, "gzip cannot hold so much");
    });
}

const fuzz::Registration kTarget({"gzip", "gzip", unpack});

}  // namespace
