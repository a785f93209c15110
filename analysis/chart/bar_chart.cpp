#include "bar_chart.h"

namespace gpushim::analysis {

Markup bar_chart(const BarChart& chart) {
    Extent x, y;
    for (const BarChart::Bar& bar : chart.bars) {
        x.take(bar.low);
        x.take(bar.high);
        y.take(bar.value);
    }
    return drawing(chart.words, [&](const Room& room) {
        const Frame frame(room, chart.x, x, chart.y, y, chart.height);
        Markup all = frame.axes(chart.x, chart.y);
        for (const BarChart::Bar& bar : chart.bars) {
            const double from = frame.x.place(bar.low), to = frame.x.place(bar.high),
                         top = frame.y.place(bar.value);
            all += element("rect",
                           {{"x", coordinate(from)},
                            {"y", coordinate(top)},
                            {"width", coordinate(to - from)},
                            {"height", coordinate(frame.y.begin - top)},
                            {"class", "part " + fill_class(chart.colour)}},
                           hint(chart.x.text(bar.low) + " to " + chart.x.text(bar.high) + ": " +
                                chart.y.text(bar.value)));
        }
        return Drawn{chart.height, all};
    });
}

}  // namespace gpushim::analysis
