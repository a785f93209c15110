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
    // U+0080 to U+009F are controls, too, and U+202A to U+202E, U+2066 to U+2069 turn the direction of
    // writing.
    if (character.size() == 2 && first == 0xC2) return static_cast<uint8_t>(character[1]) < 0xA0;
    if (character.size() == 3 && first == 0xE2) {
        const auto second = static_cast<uint8_t>(character[1]), third = static_cast<uint8_t>(character[2]);
        return (second == 0x80 && third >= 0xAA && third <= 0xAE) ||
               (second == 0x81 && third >= 0xA6 && third <= 0xA9);
    }
    return first < 0x20 || first == 0x7F;
}

std::string formatted(const char* format, unsigned value) {
    char text[16];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

}  // namespace

std::string for_terminal(std::string_view text) {
    std::string safe;
    while (!text.empty()) {
        const size_t length = character_length(text);
        const std::string_view character = text.substr(0, length == 0 ? 1 : length);
        if (length == 0 || is_control(character))
            for (const char c : character) safe += formatted("\\x%02x", static_cast<uint8_t>(c));
        else
            safe += character;
        text.remove_prefix(character.size());
    }
    return safe;
}

std::string for_csv(std::string_view text) {
    std::string cell(text);
    if (!cell.empty() && std::string_view("=+-@\t\r").find(cell[0]) != std::string_view::npos)
        cell = "'" + cell;
    if (cell.find_first_of("\",\r\n") == std::string::npos) return cell;
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
        else if (static_cast<uint8_t>(c) < 0x20 || c == 0x7F)
            safe += formatted("\\u%04x", static_cast<uint8_t>(c));
        else
            safe += character;
        text.remove_prefix(character.size());
    }
    return safe + "\"";
}

std::string hex(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes) text += formatted("%02x", static_cast<uint8_t>(byte));
    return text;
}

}  // namespace gpushim::analysis
