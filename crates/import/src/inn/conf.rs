//! The syntaxes of INN's files: `key: value` and groups in braces (inn.conf, storage.conf, incoming.conf, innfeed.conf, readers.conf), and
//! lines of fields.

pub use crate::conf_file::ConfFile;

/// Groups within groups; deeper ones are read as part of the last.
pub const DEPTH_MAX: usize = 8;

impl ConfFile {
    /// The file as groups in braces. Keys outside of all groups are those of the first group returned, which has no kind.
    pub fn groups(&self) -> Group {
        Parser::new(&self.text).parse()
    }
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The line, from 1.
    pub line: usize,
    /// The key, without its colon.
    pub key: String,
    /// The value, without quotes; the elements of a list in brackets with blanks between them.
    pub value: String,
}

/// A group in braces: `kind name { key: value ... }`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Group {
    /// The line of its name, from 1.
    pub line: usize,
    /// Its kind, such as `peer`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its keys, in order.
    pub pairs: Vec<Pair>,
    /// The groups within, in order.
    pub groups: Vec<Group>,
}

impl Group {
    /// The last value of a key.
    pub fn value(&self, key: &str) -> Option<&str> {
        let found = self.pairs.iter().rev().find(|pair| pair.key == key);
        found.map(|pair| pair.value.as_str())
    }

    /// True for `true`, `yes` and `on`.
    pub fn is_true(&self, key: &str) -> bool {
        self.value(key).is_some_and(is_true)
    }
}

/// True for `true`, `yes` and `on`, as in INN.
pub fn is_true(value: &str) -> bool {
    ["true", "yes", "on"].contains(&value)
}

#[derive(Debug, PartialEq, Eq)]
enum Word {
    Open,
    Close,
    /// A key: ended by a colon.
    Key(String),
    Text(String),
}

struct Parser<'t> {
    rest: &'t [u8],
    line: usize,
}

impl<'t> Parser<'t> {
    fn new(text: &'t [u8]) -> Parser<'t> {
        Parser {
            rest: text,
            line: 1,
        }
    }

    fn parse(mut self) -> Group {
        let mut open = vec![Group::default()];
        // Words before `{`: kind and name.
        let mut before: Vec<(usize, String)> = Vec::new();
        while let Some((line, word)) = self.word() {
            match word {
                Word::Open => {
                    let mut words = before.drain(..);
                    let (line, kind) = words.next().unwrap_or((line, String::new()));
                    let name: Vec<String> = words.map(|(_, word)| word).collect();
                    let name = name.join(" ");
                    if open.len() <= DEPTH_MAX {
                        open.push(Group {
                            line,
                            kind,
                            name,
                            ..Group::default()
                        });
                    }
                }
                Word::Close => {
                    before.clear();
                    if open.len() > 1
                        && let Some(done) = open.pop()
                        && let Some(outer) = open.last_mut()
                    {
                        outer.groups.push(done);
                    }
                }
                Word::Key(key) => {
                    before.clear();
                    let value = self.value(open.len() > 1);
                    if let Some(group) = open.last_mut() {
                        group.pairs.push(Pair { line, key, value });
                    }
                }
                Word::Text(text) => before.push((line, text)),
            }
        }
        while open.len() > 1 {
            if let Some(done) = open.pop()
                && let Some(outer) = open.last_mut()
            {
                outer.groups.push(done);
            }
        }
        open.pop().unwrap_or_default()
    }

    fn skip_blanks(&mut self, over_lines: bool) {
        loop {
            match self.rest.first() {
                Some(b'\n') if over_lines => {
                    self.line += 1;
                    self.advance(1);
                }
                Some(b' ' | b'\t' | b'\r') => self.advance(1),
                Some(b'#') => {
                    let end = memchr::memchr(b'\n', self.rest).unwrap_or(self.rest.len());
                    self.advance(end);
                }
                _ => return,
            }
        }
    }

    fn advance(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn quoted(&mut self) -> String {
        self.advance(1);
        let mut text = Vec::new();
        while let Some(&byte) = self.rest.first() {
            self.advance(1);
            match byte {
                b'"' => break,
                b'\\' if matches!(self.rest.first(), Some(b'"' | b'\\')) => {
                    text.extend(self.rest.first());
                    self.advance(1);
                }
                b'\\' if self.rest.first() == Some(&b'\n') => {
                    self.line += 1;
                    self.advance(1);
                }
                byte => {
                    self.line += usize::from(byte == b'\n');
                    text.push(byte);
                }
            }
        }
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The next word that may begin a key or a group.
    fn word(&mut self) -> Option<(usize, Word)> {
        loop {
            self.skip_blanks(true);
            let line = self.line;
            let word = match *self.rest.first()? {
                b'{' => Word::Open,
                b'}' => Word::Close,
                b';' => {
                    self.advance(1);
                    continue;
                }
                b'"' => return Some((line, Word::Text(self.quoted()))),
                _ => {
                    let is_end = |b: &u8| b.is_ascii_whitespace() || b"{};:\"".contains(b);
                    let mut end = self.rest.iter().position(is_end).unwrap_or(self.rest.len());
                    // A colon within a word (an address) is not the end of a key.
                    while self.rest.get(end) == Some(&b':')
                        && self
                            .rest
                            .get(end + 1)
                            .is_some_and(|next| !next.is_ascii_whitespace())
                    {
                        let rest = self.rest.get(end + 1..).unwrap_or_default();
                        end += 1 + rest.iter().position(is_end).unwrap_or(rest.len());
                    }
                    let text = self.rest.get(..end).unwrap_or_default();
                    let text = String::from_utf8_lossy(text).into_owned();
                    let is_key = self.rest.get(end) == Some(&b':');
                    self.advance((end + usize::from(is_key)).max(1));
                    return Some((
                        line,
                        if is_key {
                            Word::Key(text)
                        } else {
                            Word::Text(text)
                        },
                    ));
                }
            };
            self.advance(1);
            return Some((line, word));
        }
    }

    /// The value of a key: a word, or what is in quotes or brackets. In a group it may be on a later line, as for INN.
    fn value(&mut self, is_in_group: bool) -> String {
        self.skip_blanks(is_in_group);
        match self.rest.first() {
            Some(b'"') => self.quoted(),
            Some(b'[') => {
                let end = memchr::memchr(b']', self.rest).unwrap_or(self.rest.len());
                let list = self.rest.get(1..end).unwrap_or_default();
                self.line += memchr::memchr_iter(b'\n', list).count();
                let list = String::from_utf8_lossy(list).replace('"', "");
                self.advance(end + 1);
                list.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
            }
            _ => self.bare(is_in_group),
        }
    }

    /// A value without quotes. A blank ends it; but INN before 2.4 took the rest of the line in inn.conf, and a list that goes on behind a
    /// comma must not lose an exclusion.
    fn bare(&mut self, is_in_group: bool) -> String {
        let mut value = String::new();
        loop {
            let is_end = |b: &u8| b.is_ascii_whitespace() || b";}".contains(b);
            let end = self.rest.iter().position(is_end).unwrap_or(self.rest.len());
            let word = self.rest.get(..end).unwrap_or_default();
            let goes_on = value.is_empty()
                || value.ends_with(',')
                || word.starts_with(b",")
                || !is_in_group && !word.ends_with(b":");
            if word.is_empty() || !goes_on {
                return value;
            }
            if !value.is_empty() {
                value.push(' ');
            }
            value.push_str(&String::from_utf8_lossy(word));
            self.advance(end);
            self.skip_blanks(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn groups(text: &str) -> Group {
        ConfFile {
            text: text.into(),
            ..ConfFile::default()
        }
        .groups()
    }

    #[test]
    fn keys_groups_and_lists_are_read_with_their_lines() {
        let top = groups(
            "pathhost: news.example.org\norganization: \"A \\\"big\\\" site\"  # ours\n\n\
             peer uunet {\n  hostname: \"news.uu.net, 2001:db8::1\"\n  max-connections: 5 }\n\
             group g { peer ME { ip-name: 2001:db8::2 } }\n\
             method cnfs {\n newsgroups: *,!junk\n class: 1\n options: METAONE\n}\n\
             extraoverviewadvertised: [ Path \"Keywords\"\n  Injection-Info ]\nlast: x\n",
        );
        assert_eq!(top.value("pathhost"), Some("news.example.org"));
        assert_eq!(top.value("organization"), Some("A \"big\" site"));
        assert_eq!(
            top.value("extraoverviewadvertised"),
            Some("Path Keywords Injection-Info")
        );
        assert_eq!(top.pairs.last().unwrap().line, 15);
        let [peer, group, method] = top.groups.as_slice() else {
            panic!("{top:?}")
        };
        assert_eq!(
            (peer.kind.as_str(), peer.name.as_str(), peer.line),
            ("peer", "uunet", 4)
        );
        assert_eq!(peer.value("hostname"), Some("news.uu.net, 2001:db8::1"));
        assert_eq!(peer.value("max-connections"), Some("5"));
        assert_eq!(group.groups[0].value("ip-name"), Some("2001:db8::2"));
        assert_eq!(method.value("newsgroups"), Some("*,!junk"));
        assert_eq!(method.value("options"), Some("METAONE"));
    }

    #[test]
    fn a_blank_ends_a_value() {
        let top = groups(
            "streaming: true  max-connections: 8\norganization: A small site  # ours\n\
             peer p { ip-name: h  port-number: 433 }\n\
             peer q { hostname: \"h, i\" patterns: *,!x streaming: false }\n\
             auth a {\n hosts: *, !10.9.0.0/16 , 10.9.1.1\n default:\n  \"<reader>\"\n key: k # of a\n}\n",
        );
        assert_eq!(top.value("streaming"), Some("true"));
        assert_eq!(top.value("max-connections"), Some("8"));
        assert_eq!(top.value("organization"), Some("A small site"));
        let [p, q, a] = top.groups.as_slice() else {
            panic!("{top:?}")
        };
        assert_eq!(p.value("ip-name"), Some("h"));
        assert_eq!(p.value("port-number"), Some("433"));
        assert_eq!(q.value("hostname"), Some("h, i"));
        assert_eq!(q.value("patterns"), Some("*,!x"));
        assert_eq!(q.value("streaming"), Some("false"));
        assert_eq!(a.value("hosts"), Some("*, !10.9.0.0/16 , 10.9.1.1"));
        assert_eq!(a.value("default"), Some("<reader>"));
        assert_eq!((a.value("key"), a.line), (Some("k"), 5));
    }

    #[test]
    fn lines_are_joined_and_numbered() {
        let file = ConfFile {
            text: b"# c\nME:*::\n\nnews.x/a:*,\\\n   !b.*:Tf:\nlast".to_vec(),
            ..ConfFile::default()
        };
        let told: Vec<_> = file.lines();
        let told: Vec<_> = told
            .iter()
            .map(|(line, text)| (*line, text.as_str()))
            .collect();
        assert_eq!(
            told,
            [(2, "ME:*::"), (4, "news.x/a:*,!b.*:Tf:"), (6, "last")]
        );
    }

    proptest! {
        #[test]
        fn anything_is_read(text in prop::collection::vec(prop::sample::select(b"{}:;\"\\#[] \nab\xff".to_vec()), 0..200)) {
            let file = ConfFile { text, ..ConfFile::default() };
            let _ = (file.groups(), file.lines());
        }
    }
}
