//! Keys, by what is on them, and what the caller has to do after one.

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
    /// The first.
    Home,
    /// The last.
    End,
    /// Ctrl-C and Ctrl-D.
    Interrupt,
}

/// What the caller has to do after a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reply {
    /// Draw.
    Stay,
    /// End.
    Quit,
    /// Let the machine stand still, where it can (a simulated one, a recording), or go on.
    Pause(bool),
    /// One epoch more, of a machine that stands still.
    Step,
    /// Faster or slower, by a factor.
    Speed(f64),
    /// Look for an action on a program that can be taken back elsewhere, and ask about it
    /// (`App::ask`).
    FindUndo(Pid),
    /// Take back what was agreed to (`App::agreed`).
    Undo,
    /// Begin to record what is watched, or end that.
    Record,
}
