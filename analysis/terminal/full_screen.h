// The terminal as a program has it that draws on all of it: the other page, no cursor, keys as they are
// pressed. The destructor puts it back as it was. INT, TERM, HUP and QUIT are only noted (ended_by), so
// what draws comes to its end in order; then it is to raise the signal. Ctrl-Z puts the terminal back, and
// fg takes it again. One at a time; one thread.
//
// Escape sequences are those of VT100 and xterm, and no list of terminals is asked: containers have none, and
// every terminal of today, screen and tmux knows these.
#pragma once

#include <termios.h>

#include <string>

namespace gpushim::analysis {

// stdin and stdout are a terminal that obeys escape sequences (TERM=dumb does not).
bool can_fill_screen();

class FullScreen {
  public:
    // is_there(): false: it cannot be had.
    FullScreen();
    ~FullScreen();
    FullScreen(const FullScreen&) = delete;
    FullScreen& operator=(const FullScreen&) = delete;

    bool is_there() const { return is_there_; }
    // The terminal has gone, or a signal says that this is to end.
    bool has_ended() const { return has_ended_; }
    int ended_by() const;  // the signal that says so; 0: none

    struct Size {
        size_t rows, columns;
    };
    Size size() const;
    void show(const std::string& bytes);
    // Bytes of keys that were pressed; empty: none was within that time, or the size has changed.
    std::string wait_for_keys(int milliseconds);

  private:
    void take();
    void leave();

    bool is_there_ = false, has_ended_ = false;
    termios before_ = {};
};

}  // namespace gpushim::analysis
