//! Text within HTML.

/// A text within HTML: nothing in it is markup, and control characters, also of writing direction, become `?`.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if groups::is_terminal_control(c) => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_turns_a_page_around() {
        assert_eq!(escape("<a\u{202e}\u{9b}&\u{fc}>"), "&lt;a??&amp;\u{fc}&gt;");
    }
}
