// A page: one HTML file that asks the network for nothing. Its content policy allows the style sheet and the
// script in it, by their digests, and nothing else; with scripts off all of it is there, but tables cannot be
// sorted and filtered.
#pragma once

#include <string>
#include <vector>

#include "markup.h"

namespace gpushim::analysis {

struct PageSection {
    std::string id;  // letters, digits and '-'
    std::string heading;
    Markup body;
};

struct Page {
    std::string title;
    Markup lead;  // below the title, before the sections
    std::vector<PageSection> sections;
};

std::string page_text(const Page& page);

// A figure that is to be seen first: its name, how much it is, and what it is of. tone: "", good, warn, bad;
// the words say it, too.
struct Card {
    std::string name, figure;
    Markup words;
    std::string tone = "";
};
Markup cards(const std::vector<Card>& all);

Markup paragraph(const Markup& content, const char* style = "");
Markup preformatted(const std::vector<std::string>& lines);
// A line above everything, for what nobody may miss.
Markup banner(const std::string& text);
Markup simulated_banner();  // no figure of the simulated box is ever taken for a GPU's

}  // namespace gpushim::analysis
