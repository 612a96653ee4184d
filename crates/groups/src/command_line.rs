//! A command as the administrator wrote it, split into words to be run without a shell.
//!
//! Blanks part words. `'…'` holds everything as it is; in `"…"`, and outside of quotes, `\` takes the next
//! character as it is. What only a shell understands (pipes, redirection, variables, patterns) is a fault
//! outside of quotes and not an ordinary character: a line that C News gave to a shell must not quietly
//! mean something else. Whoever wants a shell writes `sh -c '…'`.

use thiserror::Error;

/// Longest command, in bytes.
pub const COMMAND_BYTES_MAX: usize = 8192;

/// What a shell would act on, outside of quotes.
const FOR_A_SHELL: &[u8] = b"|&;<>()$`*?[\n";

/// Stands for the site's name in the commands of `[[site]]` and `batchparms`.
const SITE: &[u8] = b"SITE";

/// A command line, split; there is at least the program's name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CommandLine {
    words: Vec<Vec<u8>>,
}

/// What is wrong with a command line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CommandFault {
    /// Nothing but blanks.
    #[error("there is no command")]
    Empty,
    /// Over [`COMMAND_BYTES_MAX`].
    #[error("the command is longer than {COMMAND_BYTES_MAX} bytes; put it in a script")]
    TooLong,
    /// A quote that is not closed, or a `\` at the end.
    #[error("a quote in the command is not closed")]
    Open,
    /// A NUL, which no argument can hold.
    #[error("the command has a NUL")]
    Nul,
    /// Something only a shell understands.
    #[error("the command has `{0}' and no shell is run: quote it, or write sh -c '...'")]
    NeedsShell(char),
}

impl CommandLine {
    /// Splits a line into words.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(line: &[u8]) -> Result<Self, CommandFault> {
        if line.len() > COMMAND_BYTES_MAX {
            return Err(CommandFault::TooLong);
        }
        if line.contains(&0) {
            return Err(CommandFault::Nul);
        }
        let mut words = Vec::new();
        let mut rest = line.trim_ascii_start();
        while !rest.is_empty() {
            let (word, after) = split_word(rest)?;
            // `PATH=… program` sets a variable in a shell only.
            if words.is_empty() && word.contains(&b'=') {
                return Err(CommandFault::NeedsShell('='));
            }
            words.push(word);
            rest = after.trim_ascii_start();
        }
        match words.first() {
            Some(program) if !program.is_empty() => Ok(Self { words }),
            _ => Err(CommandFault::Empty),
        }
    }

    /// A program, which must be there, and its arguments, each as it is.
    pub fn of_words(words: &[&[u8]]) -> Self {
        Self {
            words: words.iter().map(|word| word.to_vec()).collect(),
        }
    }

    /// The program and its arguments.
    pub fn words(&self) -> &[Vec<u8>] {
        &self.words
    }

    /// The program: a path, or a name to be looked for along `PATH`.
    pub fn program(&self) -> &[u8] {
        self.words.first().map_or(b"", Vec::as_slice)
    }

    /// What follows the program.
    pub fn arguments(&self) -> &[Vec<u8>] {
        self.words.get(1..).unwrap_or(&[])
    }

    /// The same with `SITE`, where it stands by itself (`SITE!rnews`, not `OLDSITE`), made the site's name.
    #[must_use]
    pub fn for_site(mut self, name: &[u8]) -> Self {
        for word in &mut self.words {
            *word = with_site(word, name);
        }
        self
    }

    /// Whether every `%` is part of `%%` or of the only `%s`, the article's file.
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

    /// Whether an article has to be in a file: there is a `%s`.
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

    /// The same with `%s` made the article's file, and `%%` made `%`.
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

/// The first word, its quotes taken off, and what follows it.
fn split_word(line: &[u8]) -> Result<(Vec<u8>, &[u8]), CommandFault> {
    let mut word = Vec::new();
    let mut quote = None;
    let mut rest = line;
    // A shell looks at these only in front of a word.
    if let Some(first @ (b'#' | b'~')) = line.first() {
        return Err(CommandFault::NeedsShell(char::from(*first)));
    }
    while let Some((&byte, after)) = rest.split_first() {
        match (quote, byte) {
            (Some(open), byte) if byte == open => quote = None,
            (None, b'\'' | b'"') => quote = Some(byte),
            (None | Some(b'"'), b'\\') => {
                let (&next, after) = after.split_first().ok_or(CommandFault::Open)?;
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
            (None, byte) if FOR_A_SHELL.contains(&byte) => {
                return Err(CommandFault::NeedsShell(char::from(byte)));
            }
            (_, byte) => word.push(byte),
        }
        rest = after;
    }
    match quote {
        Some(_) => Err(CommandFault::Open),
        None => Ok((word, rest)),
    }
}

fn with_site(word: &[u8], name: &[u8]) -> Vec<u8> {
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

    fn words(line: &str) -> Result<Vec<String>, CommandFault> {
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
    fn what_needs_a_shell_is_a_fault() {
        for (line, fault) in [
            ("", CommandFault::Empty),
            ("  ", CommandFault::Empty),
            ("'' x", CommandFault::Empty),
            ("a 'b", CommandFault::Open),
            ("a \"b'", CommandFault::Open),
            ("a \\", CommandFault::Open),
            ("a\0", CommandFault::Nul),
            ("a | b", CommandFault::NeedsShell('|')),
            ("a >b", CommandFault::NeedsShell('>')),
            ("a $b", CommandFault::NeedsShell('$')),
            ("a *.c", CommandFault::NeedsShell('*')),
            ("a ~/c", CommandFault::NeedsShell('~')),
            ("A=b c", CommandFault::NeedsShell('=')),
            ("a\nb", CommandFault::NeedsShell('\n')),
        ] {
            assert_eq!(words(line), Err(fault), "{line:?}");
        }
        assert!(words(r"a \| '$b' x~ x#").is_ok());
        assert_eq!(
            words(&"a ".repeat(COMMAND_BYTES_MAX)),
            Err(CommandFault::TooLong)
        );
    }

    #[test]
    fn site_and_file_are_put_in() {
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
        fn any_bytes_do(line: Vec<u8>) {
            let _ = CommandLine::parse(&line);
        }

        #[test]
        fn quoted_words_come_back(words in prop::collection::vec("[ -&(-~]{1,9}", 1..5)) {
            let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
            prop_assume!(!words.iter().take(1).any(|word| word.contains('=')));
            let line = CommandLine::parse(quoted.join(" ").as_bytes()).unwrap();
            prop_assert_eq!(line.words(), words.iter().map(|w| w.as_bytes()).collect::<Vec<_>>());
        }
    }
}
