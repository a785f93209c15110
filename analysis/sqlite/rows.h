// Results of a query as text: aligned columns for people, CSV or JSON for programs.
#pragma once

#include <cstdio>

#include "database.h"

namespace gpushim::analysis {

enum class Format { table, csv, json };

// Steps the query to its end and prints every row. Rows of CSV and JSON go out as they come.
void print_rows(Query& query, Format format, FILE* to);

}  // namespace gpushim::analysis
