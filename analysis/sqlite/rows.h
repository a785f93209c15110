// Results of a query as text: aligned columns for people; CSV or JSON for programs; typed JSON lines, which
// lose nothing: an array of the columns' names, then one for each row.
#pragma once

#include <cstdio>

#include "database.h"

namespace gpushim::analysis {

enum class Format { table, csv, json, lines };

// Steps the query to its end and prints every row. Rows but those of a table go out as they come.
void print_rows(Query& query, Format format, FILE* to);

}  // namespace gpushim::analysis
