//! Keys by their labels, and what the caller has to do after one.

use isobar_model::Pid;

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Backspace.
    Backspace,
    /// Arrows.
    Up,
    /// down
    Down,
    /// left
    Left,
    /// right
    Right,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the first row.
    Home,
    /// To the last row.
    End,
    /// Ctrl-C and Ctrl-D.
    Interrupt,
}

/// What the caller has to do after a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reply {
    /// Draw again.
    Stay,
    /// End the program.
    Quit,
    /// Pause the machine, if that is possible (a simulated one, a recording), or resume it.
    Pause(bool),
    /// Advance a paused machine by one epoch.
    Step,
    /// Change the speed by a factor.
    Speed(f64),
    /// Look for an action on a program that can be taken back elsewhere, and ask about it
    /// (`App::ask`).
    FindUndo(Pid),
    /// Take back what was confirmed (`App::agreed`).
    Undo,
    /// Start or end a recording of what is watched.
    Record,
}
