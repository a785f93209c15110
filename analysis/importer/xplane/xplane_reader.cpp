#include "xplane_reader.h"

#include <algorithm>

#include "../../failure.h"
#include "message_file.h"

namespace gpushim::analysis {

namespace {

using protozero::pbf_wire_type;
using protozero::tag_and_type;

constexpr size_t kMostPlanes = 256, kLongestPlane = 256, kLongestLine = 256, kLongestText = 1024;
constexpr int64_t kPicoPerNano = 1000;
// Times are since 1970 or since the profile began: what is later than the year 2116 is damaged.
constexpr int64_t kLatestNs = int64_t{1} << 62;

constexpr uint32_t kPlanes = 1, kErrors = 2, kHostNames = 4;                            // of XSpace
constexpr uint32_t kName = 2, kLines = 3, kEventNames = 4, kStatNames = 5, kStats = 6;  // of XPlane
constexpr uint32_t kLineId = 1, kBase = 3, kEvents = 4;                                 // of XLine

bool is_text(const MessageField& field) { return field.wire == pbf_wire_type::length_delimited; }
bool is_number(const MessageField& field) { return field.wire == pbf_wire_type::varint; }

// What an XEvent says itself.
struct RawEvent {
    int64_t name = 0, offset_ps = 0, duration_ps = 0;
    bool is_count = false;
};

// Exactly: offsets in picoseconds, rounded down to nanoseconds at both ends.
bool place(const RawEvent& raw, int64_t base_ns, XplaneEvent& event) {
    const __int128 start_ps = static_cast<__int128>(base_ns) * kPicoPerNano + raw.offset_ps;
    const __int128 end_ps = start_ps + raw.duration_ps;
    if (start_ps < 0 || raw.duration_ps < 0 || end_ps / kPicoPerNano > kLatestNs) return false;
    event.start_ns = static_cast<int64_t>(start_ps / kPicoPerNano);
    event.duration_ns = static_cast<int64_t>(end_ps / kPicoPerNano) - event.start_ns;
    return true;
}

class XplaneReader {
  public:
    XplaneReader(const std::string& path, const std::filesystem::path& folder, const XplaneHandlers& handlers)
        : path_(path), handlers_(handlers), file_(path, folder) {}

    XplaneSummary run() {
        refuse_what_is_none();
        MessageFields space(file_, 0, file_.size());
        MessageField field;
        while (space.next(field)) {
            if (!is_text(field)) continue;
            if (field.is_cut) stop_at_end();
            if (field.number == kPlanes) read_plane(field);
            if (field.number == kErrors && summary_.error.empty()) summary_.error = text(field, kLongestText);
            if (field.number == kHostNames && summary_.host.empty())
                summary_.host = text(field, kLongestPlane);
        }
        if (space.is_damaged()) stop_at(space.position());
        if (!file_.trouble().empty()) stop_at_end();
        return std::move(summary_);
    }

  private:
    // All that a file of a host begins with are messages and texts.
    void refuse_what_is_none() {
        MessageFields space(file_, 0, file_.size());
        MessageField field;
        if (file_.size() == 0) throw Failure(path_ + ": empty");
        if (!space.next(field) || !is_text(field) || field.number > kHostNames)
            throw Failure(path_ + ": no XPlane file (the .xplane.pb of TensorFlow's or JAX's profiler)");
    }

    std::string text(const MessageField& field, size_t longest) {
        return std::string(file_.part(field.from, std::min<uint64_t>(longest, field.to - field.from)));
    }

    void stop(const std::string& why) {
        if (!summary_.end_note.empty()) return;
        summary_.end_note = why;
        if (!file_.trouble().empty()) summary_.end_note += ": " + file_.trouble();
    }
    void stop_at_end() { stop("breaks off at byte " + std::to_string(file_.size())); }
    // A field's head that the end cuts through is not damaged.
    void stop_at(uint64_t byte) {
        if (byte + MessageFields::kLongestHead >= file_.size()) return stop_at_end();
        stop("is damaged at byte " + std::to_string(byte));
    }

    void read_plane(const MessageField& plane) {
        plane_.clear();
        names_ = XplaneNames();
        is_of_a_name_ = false;
        read_names(plane);
        if (!is_of_a_name_) ++summary_.planes_without_name;
        if (summary_.planes.size() < kMostPlanes) summary_.planes.push_back(plane_);
        if (!is_wanted_) return;
        MessageFields fields(file_, plane.from, plane.to);
        MessageField field;
        while (fields.next(field)) {
            if (field.is_cut) stop_at(field.from);
            if (field.number == kLines && is_text(field)) read_line(field);
        }
    }

    // Of the plane, and what it says of itself.
    void read_names(const MessageField& plane) {
        MessageFields fields(file_, plane.from, plane.to);
        MessageField field;
        XplaneStats stats;
        is_wanted_ = false;
        std::vector<std::string> said;  // until it is known what their numbers mean
        while (fields.next(field)) {
            if (!is_text(field) || field.is_cut) continue;
            if (field.number == kName) {
                plane_ = text(field, kLongestPlane);
                is_of_a_name_ = true;
                is_wanted_ = handlers_.wants(plane_);
            } else if (field.number == kStats) {
                if (said.size() < kMostPlanes) said.push_back(text(field, kLongestText));
            } else if (field.number == kEventNames || field.number == kStatNames) {
                read_entry(field);
            }
        }
        if (fields.is_damaged()) stop_at(fields.position());
        for (const std::string& message : said) attempt([&] { names_.read_stat(message, stats); });
        handlers_.on_plane(plane_, stats);
    }

    void read_entry(const MessageField& field) {
        if (field.to - field.from > MessageFile::kMost) return;  // a whole program, of which nobody asks
        const std::string_view entry = file_.part(field.from, field.to - field.from);
        attempt([&] {
            if (field.number == kStatNames)
                names_.add_stat(entry);
            else if (is_wanted_)
                names_.add_event(entry);
        });
    }

    // What protozero cannot read is damaged.
    template <class Read>
    static bool attempt(const Read& read) {
        try {
            read();
            return true;
        } catch (const protozero::exception&) {
            return false;
        }
    }

    void read_line(const MessageField& line) {
        line_ = XplaneLine();
        read_head(line);
        MessageFields fields(file_, line.from, line.to);
        MessageField field;
        while (fields.next(field))
            if (field.number == kEvents && is_text(field)) read_event(field);
        if (fields.is_damaged() && !line.is_cut) stop_at(fields.position());
    }

    // It stands before the events; where something is missing (a 0 is not written), behind them, too.
    void read_head(const MessageField& line) {
        MessageFields fields(file_, line.from, line.to);
        MessageField field;
        int missing = 3;
        while (missing > 0 && fields.next(field)) {
            if (field.number == kLineId && is_number(field)) {
                line_.id = static_cast<int64_t>(field.value);
            } else if (field.number == kBase && is_number(field)) {
                line_.base_ns = static_cast<int64_t>(field.value);
            } else if (field.number == kName && is_text(field)) {
                line_.name = text(field, kLongestLine);
            } else {
                continue;
            }
            --missing;
        }
    }

    void read_event(const MessageField& field) {
        if (field.is_cut || field.to - field.from > MessageFile::kMost) {
            ++summary_.unreadable;
            return;
        }
        const std::string_view message = file_.part(field.from, field.to - field.from);
        RawEvent raw;
        event_.stats.clear();
        if (!attempt([&] { decode(message, raw); })) {
            ++summary_.unreadable;
            return;
        }
        event_.name = names_.event(raw.name);
        if (raw.is_count) {
            ++summary_.aggregated;
        } else if (event_.name.empty()) {
            ++summary_.nameless;
        } else if (!place(raw, line_.base_ns, event_)) {
            ++summary_.unreadable;
        } else {
            ++summary_.events;
            event_.plane = plane_;
            event_.line = &line_;
            handlers_.on_event(event_);
        }
    }

    void decode(std::string_view message, RawEvent& raw) {
        protozero::pbf_reader event(message);
        while (event.next()) {
            switch (event.tag_and_type()) {
                case tag_and_type(1, pbf_wire_type::varint):
                    raw.name = event.get_int64();
                    break;
                case tag_and_type(2, pbf_wire_type::varint):
                    raw.offset_ps = event.get_int64();
                    break;
                case tag_and_type(3, pbf_wire_type::varint):
                    raw.duration_ps = event.get_int64();
                    break;
                case tag_and_type(4, pbf_wire_type::length_delimited):
                    names_.read_stat(event.get_view(), event_.stats);
                    break;
                case tag_and_type(5, pbf_wire_type::varint):
                    raw.is_count = event.get_int64() != 0;
                    break;
                default:
                    event.skip();
            }
        }
    }

    const std::string& path_;
    const XplaneHandlers& handlers_;
    MessageFile file_;
    XplaneSummary summary_;
    std::string plane_;
    bool is_of_a_name_ = false, is_wanted_ = false;
    XplaneNames names_;
    XplaneLine line_;
    XplaneEvent event_ = {};
};

}  // namespace

XplaneSummary read_xplane(const std::string& path, const std::filesystem::path& folder,
                          const XplaneHandlers& handlers) {
    return XplaneReader(path, folder, handlers).run();
}

}  // namespace gpushim::analysis
