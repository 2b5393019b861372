//! Looks up the names of users and groups in `/etc/passwd` and `/etc/group`, for messages. An id
//! that is not found there is shown as its number. No name service is asked: a message must not
//! wait for a network.

use std::fs;

/// The name of a user.
pub fn user(id: u32) -> String {
    name("/etc/passwd", id)
}

/// The name of a group.
pub fn group(id: u32) -> String {
    name("/etc/group", id)
}

fn name(file: &str, id: u32) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    in_table(&text, id).map_or_else(|| id.to_string(), |name| printable(name, usize::MAX))
}

/// `name:password:id:...`
fn in_table(text: &str, id: u32) -> Option<&str> {
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        (fields.nth(1)?.parse() == Ok(id)).then_some(name)
    })
}

/// Makes text from others fit for a line of a message: printable ASCII as it is, everything else
/// escaped, and not longer than `most` characters.
pub fn printable(text: &str, most: usize) -> String {
    let plain = |c: char| c == ' ' || c.is_ascii_graphic();
    let escape = |c: char| if plain(c) { c.to_string() } else { c.escape_unicode().to_string() };
    let mut line = String::new();
    for piece in text.chars().map(escape) {
        if line.len() + piece.len() > most {
            return line + "...";
        }
        line.push_str(&piece);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_by_its_number() {
        let text = "root:x:0:0:root:/root:/bin/sh\n:x:7:7::\nbroken\nalice:x:1000:1000::/:\n";
        assert_eq!(in_table(text, 0), Some("root"));
        assert_eq!(in_table(text, 1000), Some("alice"));
        assert_eq!(in_table(text, 7), None);
        assert_eq!(in_table(text, 8), None);
        assert_eq!(user(4_294_000_001), "4294000001");
    }

    #[test]
    fn nothing_that_others_chose_reaches_a_terminal() {
        assert_eq!(printable("a b\n\u{1b}[2J\u{202e}", 99), r"a b\u{a}\u{1b}[2J\u{202e}");
        assert_eq!(printable("abcdef", 4), "abcd...");
        assert_eq!(printable("abc\n", 5), "abc...");
    }
}
