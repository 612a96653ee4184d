//! The moderators of groups: C News's `mailpaths`, then INN's `moderators`.

use std::io;
use std::path::Path;

use groups::{Pattern, Wildmat};

use crate::{mail_queue, mailbox};

/// Largest size of either file, bytes; the rest is ignored.
pub const FILE_BYTES_MAX: usize = 1 << 20;

/// An invalid line of one of the files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct ModeratorLineError {
    /// Number of the line, from 1.
    pub line: usize,
    /// The error.
    pub why: &'static str,
}

#[derive(Debug)]
enum Groups {
    Classic(Pattern),
    Inn(Wildmat),
}

impl Groups {
    fn matches(&self, group: &[u8]) -> bool {
        match self {
            Groups::Classic(pattern) => pattern.matches(group),
            Groups::Inn(wildmat) => wildmat.matches(group),
        }
    }
}

/// The lines of both files in order; the first line that matches a group counts.
#[derive(Debug, Default)]
pub struct Moderators {
    lines: Vec<(Groups, Vec<u8>)>,
}

impl Moderators {
    /// Reads `mailpaths` and INN's `moderators` of a news directory, and the errors in their lines. Either may be missing.
    ///
    /// # Errors
    /// One that is there cannot be read.
    pub fn of(news: &Path) -> Result<(Moderators, Vec<String>), mail_queue::Error> {
        let mut moderators = Moderators::default();
        let mut told = Vec::new();
        for file in ["mailpaths", "moderators"] {
            let path = news.join(file);
            let text = match store::regular::read(&path) {
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(source) => {
                    return Err(mail_queue::Error::Io {
                        doing: "read",
                        path,
                        source,
                    });
                }
            };
            let faults = match file {
                "mailpaths" => moderators.read_mailpaths(&text),
                _ => moderators.read_moderators(&text),
            };
            told.extend(faults.iter().map(|fault| format!("{file} {fault}")));
        }
        Ok((moderators, told))
    }

    /// Adds the lines of a `mailpaths` file: `pattern address`, with a pattern as in sys. `backbone` means
    /// all groups. The line `internet` is a mail gateway, not a moderator. Returns the invalid lines.
    pub fn read_mailpaths(&mut self, text: &[u8]) -> Vec<ModeratorLineError> {
        self.read(text, |line| {
            let mut words = line
                .split(u8::is_ascii_whitespace)
                .filter(|word| !word.is_empty());
            let (Some(pattern), Some(address), None) = (words.next(), words.next(), words.next())
            else {
                return Err(
                    "it is not `PATTERN ADDRESS' (lines of INN, `PATTERN:ADDRESS', belong in the file moderators)",
                );
            };
            if pattern.iter().any(|byte| b"*?[:".contains(byte)) {
                return Err(
                    "it matches no group: patterns are as in sys, `comp' for all groups of comp.* (lines of INN, `comp.*:ADDRESS', belong in the file moderators)",
                );
            }
            Ok(match pattern {
                b"internet" => None,
                b"backbone" => Some((Groups::Classic(Pattern::parse(b"all")), address)),
                pattern => Some((Groups::Classic(Pattern::parse(pattern)), address)),
            })
        })
    }

    /// Adds the lines of INN's `moderators`: `pattern:address`, with a wildmat. Returns the invalid lines.
    pub fn read_moderators(&mut self, text: &[u8]) -> Vec<ModeratorLineError> {
        self.read(text, |line| {
            let colon = line.iter().position(|&byte| byte == b':');
            let parts = colon.and_then(|colon| line.split_at_checked(colon));
            let (pattern, address) = parts.ok_or("it is not `PATTERN:ADDRESS'")?;
            let address = address.get(1..).unwrap_or_default().trim_ascii();
            let groups = Groups::Inn(Wildmat::parse_simple(pattern.trim_ascii()));
            Ok(Some((groups, address)))
        })
    }

    fn read<'t>(
        &mut self,
        text: &'t [u8],
        parse: impl Fn(&'t [u8]) -> Result<Option<(Groups, &'t [u8])>, &'static str>,
    ) -> Vec<ModeratorLineError> {
        let text = text.get(..FILE_BYTES_MAX).unwrap_or(text);
        let mut errors = Vec::new();
        for (number, line) in text.split(|&byte| byte == b'\n').enumerate() {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let has_host = |address: &[u8]| address.contains(&b'@') || address.contains(&b'!');
            let parsed = parse(line).and_then(|parsed| match parsed {
                Some((_, address)) if !has_host(address) => {
                    Err("the address has no host: write NAME@HOST")
                }
                // The address must be valid with a group's name in it; it is checked again when it is used.
                Some((_, address))
                    if !mailbox::is_safe_recipient(&expand_address(address, b"a")) =>
                {
                    Err("the address contains characters that are not allowed")
                }
                parsed => Ok(parsed),
            });
            match parsed {
                Ok(Some((groups, address))) => self.lines.push((groups, address.to_vec())),
                Ok(None) => {}
                Err(why) => errors.push(ModeratorLineError {
                    line: number + 1,
                    why,
                }),
            }
        }
        errors
    }

    /// Number of lines with an address.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there are no lines.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The address of a group's moderator. `None` if no line matches, or the group's name makes the address invalid.
    pub fn address(&self, group: &[u8]) -> Option<Vec<u8>> {
        let (_, address) = self
            .lines
            .iter()
            .find(|(groups, _)| groups.matches(group))?;
        let address = expand_address(address, group);
        mailbox::is_safe_recipient(&address).then_some(address)
    }
}

/// Replaces each `%s` in an address by the group, with hyphens for its dots, and `%%` by `%`.
fn expand_address(address: &[u8], group: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(address.len() + group.len());
    let mut rest = address;
    while let [byte, after @ ..] = rest {
        rest = after;
        match (byte, after) {
            (b'%', [b's', after @ ..]) => {
                out.extend(group.iter().map(|&b| if b == b'.' { b'-' } else { b }));
                rest = after;
            }
            (b'%', [b'%', after @ ..]) => {
                out.push(b'%');
                rest = after;
            }
            _ => out.push(*byte),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_rules_and_mailpaths_come_first() {
        let mut moderators = Moderators::default();
        let errors = moderators.read_mailpaths(
            b"# who\ninternet gate.example\ncomp.sources\tsources@a.example\ncomp %s@b.example\nbad\n",
        );
        assert_eq!(errors.len(), 1);
        assert_eq!(errors.first().map(|error| error.line), Some(5));
        let errors = moderators
            .read_moderators(b"foo.important:announce@foo.example\n*:%s@moderators.example\nx\n");
        assert_eq!(errors.len(), 1);
        let of =
            |group: &str| String::from_utf8(moderators.address(group.as_bytes()).unwrap()).unwrap();
        assert_eq!(of("comp.sources.unix"), "sources@a.example");
        assert_eq!(of("comp.lang.c"), "comp-lang-c@b.example");
        assert_eq!(of("foo.important"), "announce@foo.example");
        assert_eq!(of("foo.other.x"), "foo-other-x@moderators.example");
    }

    #[test]
    fn lines_of_inn_in_mailpaths_are_errors() {
        let mut moderators = Moderators::default();
        let text = b"pub.*:x@y.example\npub.*: x@y.example\npub.* x@y.example\npub x@y.example\n";
        let errors = moderators.read_mailpaths(text);
        assert_eq!((errors.len(), moderators.len()), (3, 1));
        assert!(errors.iter().all(|error| error.why.contains("moderators")));
    }

    #[test]
    fn backbone_matches_all_groups_and_unsafe_addresses_are_rejected() {
        let mut moderators = Moderators::default();
        assert!(moderators.is_empty());
        let errors = moderators.read_mailpaths(b"a x@y,z@w\na |sh@x\nbackbone hub!%s\n");
        assert_eq!((errors.len(), moderators.len()), (2, 1));
        assert_eq!(moderators.address(b"a.b").unwrap(), b"hub!a-b");
        assert_eq!(moderators.address(b"a.b\"c"), None);
        assert_eq!(moderators.address(b"a,x@y"), None);
    }
}
