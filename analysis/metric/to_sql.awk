# From files of metrics, each with a head and a SELECT, to texts of SQL as C++ rows: the definitions, and for
# each metric what writes its rows. How rows are made of a SELECT is in analysis/run/sql/metric, by what the
# metric is of.
function quoted(text) { gsub(/'/, "''", text); return "'" text "'" }

function fail(what) { print file ": " what >"/dev/stderr"; failed = 1; exit 1 }

function value_of(key) {
    if (!(key in head)) fail("its head has no '" key ":'")
    return head[key]
}

function finish(    rows, line, path, name) {
    if (file == "") return
    name = file
    sub(/.*\//, "", name)
    sub(/\.sql$/, "", name)
    path = "analysis/run/sql/metric/" value_of("of") ".sql"
    while ((getline line <path) > 0) rows = rows line "\n"
    close(path)
    if (rows == "" || select == "") fail("no SELECT, or of what nothing is")
    gsub(/'@name'/, quoted(name), rows)
    gsub(/'@absent'/, quoted(value_of("absent")), rows)
    if ("unknown" in head) gsub(/\(SELECT NULL AS gpu_id, NULL AS why\)/, head["unknown"], rows)
    definitions = definitions "INSERT INTO metric_definition VALUES (" quoted(name) ", " value_of("version") \
        ", " quoted(value_of("unit")) ", " quoted(value_of("kind")) ", " quoted(value_of("of")) ", " \
        quoted(value_of("words")) ");\n"
    metrics = metrics "{\"metric/" name "\", R\"sql(INSERT INTO metric WITH figure AS (\n" select ")\n" rows \
        more ")sql\"},\n"
}

FNR == 1 { finish(); file = FILENAME; select = more = ""; done = 0; split("", head) }

select == "" && /^-- of: / {
    count = split(substr($0, 4), pairs, ", ")
    for (i = 1; i <= count; ++i) head[substr(pairs[i], 1, index(pairs[i], ": ") - 1)] = \
        substr(pairs[i], index(pairs[i], ": ") + 2)
    next
}
select == "" && /^-- (words|absent|unknown): / {
    head[substr($2, 1, length($2) - 1)] = substr($0, length($2) + 5)
    next
}
done { more = more $0 "\n"; next }
{ done = sub(/;$/, ""); select = select $0 "\n" }

END {
    if (failed) exit 1
    finish()
    printf "{\"tables/metric_definition\", R\"sql(%s)sql\"},\n%s", definitions, metrics
}
