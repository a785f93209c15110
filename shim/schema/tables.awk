# tables.def as the SQL that a trace begins with. Lines stay as they are, with their remarks: TABLE(a, ...)
# becomes `CREATE TABLE a (`, COLUMN(a, b) becomes `a b,`, END(b) becomes `) b;`.

# A comma is \001 until it is known that another column follows.
function columns(line, words, room) {
    while (match(line, /COLUMN(_AS)?\([^()]*\)/)) {
        split(substr(line, RSTART, RLENGTH), words, /[(),] */)
        # Remarks stay below each other.
        room = words[1] == "COLUMN" ? "" : sprintf("%*s", length(words[3]) + 5, "")
        if (words[1] != "COLUMN") words[3] = words[4]
        line = substr(line, 1, RSTART - 1) words[2] (words[3] == "" ? "" : " ") words[3] "\001" room \
            substr(line, RSTART + RLENGTH)
    }
    if (match(line, /CONSTRAINT\([^()]*\([^()]*\)[^()]*\)/))
        line = substr(line, 1, RSTART - 1) substr(line, RSTART + 11, RLENGTH - 12) "\001" \
            substr(line, RSTART + RLENGTH)
    return line
}

function begun(line, name) {
    match(line, /\([a-z_]+/)
    name = substr(line, RSTART + 1, RLENGTH - 1)
    sub(/^[A-Z]+\([^()]*\) */, "", line)
    return "CREATE TABLE " (name == "drop" ? "\"drop\"" : name) " (" line
}

function with_commas(table, last) {
    for (last = length(table); substr(table, last, 1) != "\001"; --last) continue
    table = substr(table, 1, last - 1) (substr(table, last + 1) ~ /^ +--/ ? " " : "") substr(table, last + 1)
    gsub(/\001/, ",", table)
    return table
}

/^#/ { next } # of the preprocessor
/^SQL\(/ { print substr($0, 5, length($0) - 5); next }
{
    remark = match($0, / *\/\/.*/) ? substr($0, RSTART) : ""
    sub(/ *\/\/.*/, "")
    sub(/\/\//, "--", remark)
}
/^(TABLE|EVENT)\(/ { $0 = begun($0); table = "" }
/^CREATE/, /END\(/ {
    is_over = match($0, / ?END\(/)
    if (is_over) {
        sub(/ ?END\(\)$/, ");")
        if (sub(/ ?END\(/, ") ")) sub(/\)$/, ";")
    }
    table = table (table == "" ? "" : "\n") columns($0) remark
    if (is_over) print with_commas(table)
    next
}
{ print $0 remark }
