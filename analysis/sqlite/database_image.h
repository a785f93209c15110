// The files of databases that have no rows yet, as bytes: what SQLite makes of the SQL of their tables and
// views, with the SQLite that is linked (run/sql/make_images.cpp, when gpushim is built). Who makes such a
// database writes them, instead of running some thousand lines of SQL.
#pragma once

#include <string_view>

namespace gpushim::analysis {

extern const std::string_view kTraceImage;  // a trace of another tool
extern const std::string_view kRunImage;    // a run

}  // namespace gpushim::analysis
