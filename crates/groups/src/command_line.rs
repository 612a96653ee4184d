//! Splits a configured command into words, to run it without a shell.
//!
//! Blanks separate words. `'…'` quotes everything; in `"…"`, and outside of quotes, `\` quotes the next
//! character. What needs a shell (pipes, redirection, variables, patterns) is an error
//! outside of quotes, not an ordinary character: a line that C News passed to a shell must not silently
//! change its meaning. An administrator who wants a shell writes `sh -c '…'`.

use thiserror::Error;

/// Longest command, bytes.
pub const COMMAND_BYTES_MAX: usize = 8192;

/// Characters that a shell interprets outside of quotes.
const SHELL_CHARACTERS: &[u8] = b"|&;<>()$`*?[\n";

/// Placeholder for the site's name in the commands of `[[site]]` and `batchparms`.
const SITE: &[u8] = b"SITE";

/// A command split into words; the first word is the program.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CommandLine {
    words: Vec<Vec<u8>>,
}

/// The error in a command.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CommandError {
    /// Nothing but blanks.
    #[error("the command is empty")]
    Empty,
    /// Over [`COMMAND_BYTES_MAX`].
    #[error("the command is longer than {COMMAND_BYTES_MAX} bytes; put it in a script")]
    TooLong,
    /// A quote that is not closed, or a `\` at the end.
    #[error("a quote in the command is not closed")]
    OpenQuote,
    /// A NUL, which an argument cannot contain.
    #[error("the command contains a NUL byte")]
    Nul,
    /// A character that only a shell interprets.
    #[error("the command contains `{0}', but runs without a shell: quote it, or write sh -c '...'")]
    NeedsShell(char),
}

impl CommandLine {
    /// Splits a line into words.
    ///
    /// # Errors
    /// The first error in the line.
    pub fn parse(line: &[u8]) -> Result<Self, CommandError> {
        if line.len() > COMMAND_BYTES_MAX {
            return Err(CommandError::TooLong);
        }
        if line.contains(&0) {
            return Err(CommandError::Nul);
        }
        let mut words = Vec::new();
        let mut rest = line.trim_ascii_start();
        while !rest.is_empty() {
            let (word, after) = split_word(rest)?;
            // `PATH=… program` sets a variable only in a shell.
            if words.is_empty() && word.contains(&b'=') {
                return Err(CommandError::NeedsShell('='));
            }
            words.push(word);
            rest = after.trim_ascii_start();
        }
        match words.first() {
            Some(program) if !program.is_empty() => Ok(Self { words }),
            _ => Err(CommandError::Empty),
        }
    }

    /// Makes a command of a program (required) and its arguments, without parsing them.
    pub fn from_words(words: &[&[u8]]) -> Self {
        Self {
            words: words.iter().map(|word| word.to_vec()).collect(),
        }
    }

    /// The program and its arguments.
    pub fn words(&self) -> &[Vec<u8>] {
        &self.words
    }

    /// The program: a path, or a name to search along `PATH`.
    pub fn program(&self) -> &[u8] {
        self.words.first().map_or(b"", Vec::as_slice)
    }

    /// The arguments.
    pub fn arguments(&self) -> &[Vec<u8>] {
        self.words.get(1..).unwrap_or(&[])
    }

    /// Replaces `SITE`, where it stands alone (`SITE!rnews`, not `OLDSITE`), by the site's name.
    #[must_use]
    pub fn for_site(mut self, name: &[u8]) -> Self {
        for word in &mut self.words {
            *word = replace_site(word, name);
        }
        self
    }

    /// Whether every `%` belongs to `%%` or to a single `%s`, the article's file.
    pub fn has_one_file(&self) -> bool {
        let mut files = 0usize;
        for word in &self.words {
            let mut rest = word.as_slice();
            while let Some(after) = after_percent(rest) {
                rest = match after.split_first() {
                    Some((b's', after)) => {
                        files += 1;
                        after
                    }
                    Some((b'%', after)) => after,
                    _ => return false,
                };
            }
        }
        files <= 1
    }

    /// Whether the command contains `%s`, so that the article must be in a file.
    pub fn wants_file(&self) -> bool {
        self.words.iter().any(|word| {
            let mut rest = word.as_slice();
            while let Some(after) = after_percent(rest) {
                match after.split_first() {
                    Some((b's', _)) => return true,
                    Some((_, after)) => rest = after,
                    None => return false,
                }
            }
            false
        })
    }

    /// Replaces `%s` by the article's file, and `%%` by `%`.
    #[must_use]
    pub fn with_file(&self, file: &[u8]) -> Self {
        let words = self.words.iter().map(|word| {
            let mut out = Vec::with_capacity(word.len());
            let mut rest = word.as_slice();
            while let Some((&byte, after)) = rest.split_first() {
                rest = after;
                match (byte, after) {
                    (b'%', [b's', after @ ..]) => {
                        out.extend_from_slice(file);
                        rest = after;
                    }
                    (b'%', [b'%', after @ ..]) => {
                        out.push(b'%');
                        rest = after;
                    }
                    _ => out.push(byte),
                }
            }
            out
        });
        Self {
            words: words.collect(),
        }
    }
}

fn after_percent(text: &[u8]) -> Option<&[u8]> {
    let at = memchr::memchr(b'%', text)?;
    text.get(at.saturating_add(1)..)
}

/// Splits off the first word, without its quotes.
fn split_word(line: &[u8]) -> Result<(Vec<u8>, &[u8]), CommandError> {
    let mut word = Vec::new();
    let mut quote = None;
    let mut rest = line;
    // A shell interprets these only at the start of a word.
    if let Some(first @ (b'#' | b'~')) = line.first() {
        return Err(CommandError::NeedsShell(char::from(*first)));
    }
    while let Some((&byte, after)) = rest.split_first() {
        match (quote, byte) {
            (Some(open), byte) if byte == open => quote = None,
            (None, b'\'' | b'"') => quote = Some(byte),
            (None | Some(b'"'), b'\\') => {
                let (&next, after) = after.split_first().ok_or(CommandError::OpenQuote)?;
                // In double quotes a shell keeps the backslash of `\n' and the like.
                if quote.is_some() && !matches!(next, b'"' | b'\\' | b'$' | b'`') {
                    word.push(byte);
                }
                word.push(next);
                rest = after;
                continue;
            }
            (None, byte) if byte.is_ascii_whitespace() && byte != b'\n' => {
                return Ok((word, rest));
            }
            (None, byte) if SHELL_CHARACTERS.contains(&byte) => {
                return Err(CommandError::NeedsShell(char::from(byte)));
            }
            (_, byte) => word.push(byte),
        }
        rest = after;
    }
    match quote {
        Some(_) => Err(CommandError::OpenQuote),
        None => Ok((word, rest)),
    }
}

fn replace_site(word: &[u8], name: &[u8]) -> Vec<u8> {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let mut out = Vec::with_capacity(word.len());
    let mut rest = word;
    let mut before = None;
    while let Some((byte, after)) = rest.split_first() {
        match rest.strip_prefix(SITE) {
            Some(after) if !is_part(before) && !is_part(after.first()) => {
                out.extend_from_slice(name);
                rest = after;
                before = None;
            }
            _ => {
                out.push(*byte);
                rest = after;
                before = Some(byte);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(line: &str) -> Result<Vec<String>, CommandError> {
        let line = CommandLine::parse(line.as_bytes())?;
        let text = |word: &Vec<u8>| String::from_utf8_lossy(word).into_owned();
        Ok(line.words().iter().map(text).collect())
    }

    #[test]
    fn words_and_quotes() {
        let uux = ["uux", "-", "-r", "-z", "north!rnews"];
        assert_eq!(
            words(" uux - -r  -z\tnorth!rnews "),
            Ok(uux.map(String::from).into())
        );
        let shell = ["sh", "-c", "gzip | ssh x \"y\"", ""];
        assert_eq!(
            words(r#"sh -c 'gzip | ssh x "y"' ''"#),
            Ok(shell.map(String::from).into())
        );
        assert_eq!(
            words(r#"a\ b"c\"d\n"'e'"#),
            Ok(vec!["a bc\"d\\ne".to_owned()])
        );
    }

    #[test]
    fn what_needs_a_shell_is_an_error() {
        for (line, error) in [
            ("", CommandError::Empty),
            ("  ", CommandError::Empty),
            ("'' x", CommandError::Empty),
            ("a 'b", CommandError::OpenQuote),
            ("a \"b'", CommandError::OpenQuote),
            ("a \\", CommandError::OpenQuote),
            ("a\0", CommandError::Nul),
            ("a | b", CommandError::NeedsShell('|')),
            ("a >b", CommandError::NeedsShell('>')),
            ("a $b", CommandError::NeedsShell('$')),
            ("a *.c", CommandError::NeedsShell('*')),
            ("a ~/c", CommandError::NeedsShell('~')),
            ("A=b c", CommandError::NeedsShell('=')),
            ("a\nb", CommandError::NeedsShell('\n')),
        ] {
            assert_eq!(words(line), Err(error), "{line:?}");
        }
        assert!(words(r"a \| '$b' x~ x#").is_ok());
        assert_eq!(
            words(&"a ".repeat(COMMAND_BYTES_MAX)),
            Err(CommandError::TooLong)
        );
    }

    #[test]
    fn site_and_file_are_replaced() {
        let line = CommandLine::parse(b"uux SITE!rnews OLDSITE SITE2 a/SITE/b SITE").unwrap();
        let line = line.for_site(b"SITE!x");
        let want: [&[u8]; 6] = [
            b"uux",
            b"SITE!x!rnews",
            b"OLDSITE",
            b"SITE2",
            b"a/SITE!x/b",
            b"SITE!x",
        ];
        assert_eq!(line.words(), want);
        let line = CommandLine::parse(b"mail -s news%% -f%s").unwrap();
        assert!(line.has_one_file() && line.wants_file());
        let want: [&[u8]; 4] = [b"mail", b"-s", b"news%", b"-f/tmp/%s"];
        assert_eq!(line.with_file(b"/tmp/%s").words(), want);
        let percents = CommandLine::parse(b"date %%s").unwrap();
        assert!(percents.has_one_file() && !percents.wants_file());
        for wrong in ["a %s %s", "a %d", "a %"] {
            assert!(!CommandLine::parse(wrong.as_bytes()).unwrap().has_one_file());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed(line: Vec<u8>) {
            let _ = CommandLine::parse(&line);
        }

        #[test]
        fn quoted_words_are_split_again(words in prop::collection::vec("[ -&(-~]{1,9}", 1..5)) {
            let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
            prop_assume!(!words.iter().take(1).any(|word| word.contains('=')));
            let line = CommandLine::parse(quoted.join(" ").as_bytes()).unwrap();
            prop_assert_eq!(line.words(), words.iter().map(|w| w.as_bytes()).collect::<Vec<_>>());
        }
    }
}
