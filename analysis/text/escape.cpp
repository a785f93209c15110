#include "escape.h"

#include <cstdint>
#include <cstdio>

namespace gpushim::analysis {

namespace {

// Bytes of the well-formed UTF-8 character at the start; 0: there is none.
size_t character_length(std::string_view text) {
    const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0u; };
    const auto continues = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
    const uint32_t first = byte(0);
    if (first < 0x80) return 1;
    if (first >= 0xC2 && first < 0xE0) return continues(1) ? 2 : 0;
    const uint32_t code = (first & 15) << 12 | (byte(1) & 63) << 6;
    if (first >= 0xE0 && first < 0xF0)
        return continues(1) && continues(2) && code >= 0x800 && !(code >= 0xD800 && code < 0xE000) ? 3 : 0;
    const uint32_t wide = (first & 7) << 18 | (byte(1) & 63) << 12;
    if (first >= 0xF0 && first < 0xF5)
        return continues(1) && continues(2) && continues(3) && wide >= 0x10000 && wide < 0x110000 ? 4 : 0;
    return 0;
}

bool is_control(std::string_view character) {
    const auto first = static_cast<uint8_t>(character[0]);
    // U+0080 to U+009F are controls, too, U+2028 and U+2029 end lines, and U+202A to U+202E, U+2066 to U+2069
    // turn the direction of writing.
    if (character.size() == 2 && first == 0xC2) return static_cast<uint8_t>(character[1]) < 0xA0;
    if (character.size() == 3 && first == 0xE2) {
        const auto second = static_cast<uint8_t>(character[1]), third = static_cast<uint8_t>(character[2]);
        return (second == 0x80 && third >= 0xA8 && third <= 0xAE) ||
               (second == 0x81 && third >= 0xA6 && third <= 0xA9);
    }
    return first < 0x20 || first == 0x7F;
}

// Of one that is well-formed and below U+10000.
unsigned code_of(std::string_view character) {
    unsigned code = static_cast<uint8_t>(character[0]);
    if (character.size() > 1) code &= character.size() == 2 ? 31u : 15u;
    for (const char c : character.substr(1)) code = code << 6 | (static_cast<uint8_t>(c) & 63u);
    return code;
}

std::string formatted(const char* format, unsigned value) {
    char text[16];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

std::string without_controls(std::string_view text, std::string_view but_for) {
    std::string safe;
    while (!text.empty()) {
        const size_t length = character_length(text);
        const std::string_view character = text.substr(0, length == 0 ? 1 : length);
        const bool is_fine = length == 1 && but_for.find(character[0]) != std::string_view::npos;
        if (!is_fine && (length == 0 || is_control(character)))
            for (const char c : character) safe += formatted("\\x%02x", static_cast<uint8_t>(c));
        else
            safe += character;
        text.remove_prefix(character.size());
    }
    return safe;
}

std::string with_entities(std::string_view text) {
    constexpr const char* kEntities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    std::string safe;
    for (const char c : text) {
        const size_t which = std::string_view("&<>\"'").find(c);
        which == std::string_view::npos ? safe += c : safe += kEntities[which];
    }
    return safe;
}

}  // namespace

std::string for_terminal(std::string_view text) { return without_controls(text, ""); }

std::string for_csv(std::string_view text) {
    std::string cell = without_controls(text, "\n\t");
    if (!cell.empty() && std::string_view("=+-@\t\n").find(cell[0]) != std::string_view::npos)
        cell = "'" + cell;
    // Semicolons and tabs part cells, too, where a spreadsheet was told so.
    if (cell.find_first_of("\",;\t\n") == std::string::npos) return cell;
    std::string quoted = "\"";
    for (const char c : cell) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + "\"";
}

std::string for_json(std::string_view text) {
    std::string safe = "\"";
    while (!text.empty()) {
        const size_t length = character_length(text);
        const std::string_view character = text.substr(0, length == 0 ? 1 : length);
        const char c = character[0];
        if (length == 0)
            safe += "\\ufffd";
        else if (c == '"' || c == '\\')
            safe += {'\\', c};
        else if (is_control(character))
            safe += formatted("\\u%04x", code_of(character));
        else
            safe += character;
        text.remove_prefix(character.size());
    }
    return safe + "\"";
}

std::string for_html(std::string_view text) { return with_entities(for_terminal(text)); }

std::string for_xml(std::string_view text) {
    std::string safe = with_entities(without_controls(text, "\n\t"));
    // No characters, and the only ones left that XML does not allow: U+FFFE and U+FFFF.
    for (const char* none : {"\xef\xbf\xbe", "\xef\xbf\xbf"})
        for (size_t at; (at = safe.find(none)) != std::string::npos;) safe.replace(at, 3, "\xef\xbf\xbd");
    return safe;
}

std::string hex(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes) text += formatted("%02x", static_cast<uint8_t>(byte));
    return text;
}

}  // namespace gpushim::analysis
