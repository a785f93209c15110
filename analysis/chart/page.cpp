#include "page.h"

#include <string_view>

#include "../text/sha256.h"

namespace gpushim::analysis {

extern const char kPageStyle[];   // page.css
extern const char kPageScript[];  // page.js

namespace {

std::string allowed(std::string_view text) { return "'sha256-" + base64(sha256(text)) + "'"; }

Markup head_of(const Page& page) {
    const std::string policy = std::string("default-src 'none'; style-src ") + allowed(kPageStyle) +
                               "; script-src " + allowed(kPageScript) +
                               "; base-uri 'none'; form-action 'none'";
    Markup all = element("meta", {{"charset", "utf-8"}});
    all += element("meta", {{"http-equiv", "Content-Security-Policy"}, {"content", policy}});
    all += element("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
    all += element("meta", {{"name", "color-scheme"}, {"content", "light dark"}});
    all += element("title", {}, page.title);
    all += element("style", {}, Markup::verbatim(kPageStyle));
    return element("head", {}, all);
}

Markup contents_of(const Page& page) {
    Markup items;
    for (const PageSection& section : page.sections)
        items += element("li", {}, element("a", {{"href", "#" + section.id}}, section.heading));
    return element("nav", {{"aria-label", "Sections"}}, element("ul", {}, items));
}

Markup section_of(const PageSection& section) {
    Markup all = element("h2", {{"id", section.id + "-heading"}}, section.heading);
    all += section.body;
    return element("section", {{"id", section.id}, {"aria-labelledby", section.id + "-heading"}}, all);
}

}  // namespace

std::string page_text(const Page& page) {
    Markup header = element("h1", {}, page.title);
    header += page.lead;
    Markup sections;
    for (const PageSection& section : page.sections) sections += section_of(section);
    Markup body = element("a", {{"class", "skip"}, {"href", "#content"}}, "To the content");
    body += element("header", {}, header);
    body += contents_of(page);
    body += element("main", {{"id", "content"}}, sections);
    body += element("script", {}, Markup::verbatim(kPageScript));
    Markup all = head_of(page);
    all += element("body", {}, body);
    return "<!DOCTYPE html>\n" + element("html", {{"lang", "en"}}, all).html() + "\n";
}

Markup cards(const std::vector<Card>& all) {
    Markup items;
    for (const Card& card : all) {
        Markup one = element("dt", {}, card.name);
        one += element("dd", {{"class", "figure"}}, card.figure);
        if (!card.words.empty()) one += element("dd", {{"class", "words"}}, card.words);
        items += element("div", {{"class", "card " + card.tone}}, one);
    }
    return element("dl", {{"class", "cards"}}, items);
}

Markup paragraph(const Markup& content, const char* style) {
    return element("p", *style == 0 ? Attributes{} : Attributes{{"class", style}}, content);
}

Markup preformatted(const std::vector<std::string>& lines) {
    Markup all;
    for (const std::string& line : lines) {
        all += line;
        all += Markup::verbatim("\n");
    }
    return element("pre", {{"tabindex", "0"}}, all);
}

Markup simulated_banner() {
    return banner("SIMULATED: made by gpushim's simulated box. These are not GPU times.");
}

Markup banner(const std::string& text) { return element("p", {{"class", "banner"}, {"role", "note"}}, text); }

}  // namespace gpushim::analysis
