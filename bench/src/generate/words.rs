//! Invented prose: words drawn by Zipf's law, in lines, paragraphs and
//! quotations as wide as those of news articles.

use super::random::{Random, Zipf};

/// The most common words first; Zipf's law makes the first ones frequent.
const WORDS: &str = "the of to and a in is that it for on you this with be are not have I as or if but \
they was at can from by an what there all one so do which will would like some about we when has any my \
your them out use just only how then more than up no get other also into time does could know who their \
should were had people think make want because really see work good find now been way most need system \
where much even very problem might same anyone using two many why still over here these us its go say \
file after program try must right made thing never too before machine first since well old take sure look \
those read code through different seem list point each question run fact enough long number between last \
write case line name word while going group part both under every keep quite article post news version \
someone memory little own help back without another however nothing off done better give mean put idea \
reason set change hard disk call print tell believe please send open thought possible let example book \
actually years works simple against either rather already usually least anything screen start again great \
light answer side follow course board second matter local true public happen kind able far week order next \
data source turn server several place test user world often around small large show money host compiler \
space support type big almost trying probably command standard network letter mail come looking bit stuff \
window driver problem's day once agree ask paper terminal port seems wrong key free full clear power simply \
text whole original cost call's library half kernel until buffer sort pretty end short maybe common heard \
known hand across load reply table close message speed late modem water given wonder copy less fix single \
feel later guess above directory home note check fast string important function road language phone report \
interested bad best others unless package past month early cheap cable garden winter train morning window's \
printer thanks advice suggest opinion notice remember wait explain recently perhaps instead missing useful \
difference compare measure require describe discuss consider repair replace install compile configure \
allocate pointer register segment archive bicycle kitchen orchestra telescope harbour lantern meadow \
weather museum novel chapter sonata recipe flour pepper engine wheel brake valley mountain river island \
satellite orbit comet antenna signal receiver battery circuit solder resistor oscillator frequency \
baseline quarter season coach referee ballot council committee budget treaty frontier grammar dialect \
syllable vowel proverb ballad chorus rehearsal gallery sculpture canvas pigment violin cello trumpet \
hypothesis theorem lemma corollary estimate variance sample protein enzyme molecule crystal mineral fossil";

/// Words with non-ASCII letters, in ISO 8859-1.
const LATIN: &[&[u8]] = &[
    b"na\xefve",
    b"caf\xe9",
    b"stra\xdfe",
    b"\xfcber",
    b"g\xe5rd",
    b"ma\xf1ana",
    b"fa\xe7ade",
    b"sm\xf8rrebr\xf8d",
];

/// The same kind of words in UTF-8, as in later articles.
const UNICODE: &[&str] = &[
    "naïve",
    "café",
    "straße",
    "crème",
    "żółw",
    "Ελλάδα",
    "снег",
    "30 °C",
];

/// Lines that begin with a dot, for dot-stuffing (RFC 3977, 3.1.1).
const DOT_LINES: &[&str] = &[
    ".",
    "..",
    ".profile has that in it, as far as I can see",
    "...and then it stops.",
    ".TH NEWS 5",
];

/// The non-ASCII letters of a piece of prose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letters {
    /// None.
    Ascii,
    /// ISO 8859-1 without a charset label, as common on the early network.
    Latin,
    /// UTF-8.
    Unicode,
}

/// The special features of a body.
#[derive(Clone, Copy, Debug)]
pub struct ProseOptions {
    /// The non-ASCII letters.
    pub letters: Letters,
    /// Whether the text is a reply: some paragraphs are quoted with `> `.
    pub quotes: bool,
    /// Whether some line begins with a dot.
    pub dots: bool,
}

/// Draws words by Zipf's law.
#[derive(Clone, Debug)]
pub struct Prose {
    words: Vec<&'static str>,
    law: Zipf,
}

/// Fewest bytes that [`Prose::fill`] writes.
pub const FILL_BYTES_MIN: usize = 40;

/// Minimum length of the last line of a text, so that a byte can be removed.
const LAST_LINE_BYTES_MIN: usize = 20;

impl Default for Prose {
    fn default() -> Self {
        let words: Vec<&'static str> = WORDS.split_ascii_whitespace().collect();
        let law = Zipf::new(words.len(), 2.7);
        Prose { words, law }
    }
}

impl Prose {
    /// Draws one word.
    pub fn word(&self, random: &mut Random) -> &'static str {
        self.words
            .get(self.law.draw(random))
            .copied()
            .unwrap_or("the")
    }

    /// Draws a few words with an initial capital: a subject, or a group's description.
    pub fn phrase(&self, random: &mut Random, words: usize) -> String {
        let mut text = String::new();
        for place in 0..words {
            if place > 0 {
                text.push(' ');
            }
            // Titles have rarer words than prose.
            let at = random.position(self.words.len());
            text.push_str(self.words.get(at).copied().unwrap_or("news"));
        }
        let mut letters = text.chars();
        match letters.next() {
            Some(first) => first.to_uppercase().chain(letters).collect(),
            None => text,
        }
    }

    /// Writes exactly `bytes` bytes (at least [`FILL_BYTES_MIN`]) of whole lines.
    pub fn fill(
        &self,
        out: &mut Vec<u8>,
        random: &mut Random,
        bytes: usize,
        options: ProseOptions,
    ) {
        let end = out.len() + bytes.max(FILL_BYTES_MIN);
        let mut dot_line = if options.dots {
            random.below(4)
        } else {
            u64::MAX
        };
        let mut quoting = options.quotes;
        let mut paragraph = 2 + random.below(7);
        let mut sentence = 0;
        loop {
            let left = end.saturating_sub(out.len());
            if left <= 80 + LAST_LINE_BYTES_MIN {
                self.last_lines(out, random, end);
                return;
            }
            if paragraph == 0 {
                out.push(b'\n');
                paragraph = 2 + random.below(7);
                quoting = options.quotes && random.chance(35);
                dot_line = dot_line.saturating_sub(1);
                sentence = 0;
                continue;
            }
            if dot_line == 0 && left > 160 {
                out.extend_from_slice(random.pick(DOT_LINES).as_bytes());
                out.push(b'\n');
                dot_line = u64::MAX;
            }
            if quoting {
                out.extend_from_slice(b"> ");
            }
            let width = 56 + random.position(18);
            self.line(out, random, width, options.letters, &mut sentence);
            paragraph -= 1;
        }
    }

    /// Writes one line of about `width` bytes.
    fn line(
        &self,
        out: &mut Vec<u8>,
        random: &mut Random,
        width: usize,
        letters: Letters,
        sentence: &mut u32,
    ) {
        let stop = out.len() + width.saturating_sub(6);
        while out.len() < stop {
            let at = out.len();
            match letters {
                Letters::Latin if random.below(20) == 0 => {
                    out.extend_from_slice(
                        LATIN
                            .get(random.position(LATIN.len()))
                            .copied()
                            .unwrap_or(b"e"),
                    );
                }
                Letters::Unicode if random.below(20) == 0 => {
                    out.extend_from_slice(random.pick(UNICODE).as_bytes())
                }
                _ => out.extend_from_slice(self.word(random).as_bytes()),
            }
            if *sentence == 0
                && let Some(first) = out.get_mut(at)
            {
                first.make_ascii_uppercase();
            }
            *sentence += 1;
            if *sentence > 6 && random.below(9) == 0 {
                let stop = if random.chance(12) { b'?' } else { b'.' };
                out.extend_from_slice(&[stop, b' ']);
                *sentence = 0;
            } else if random.below(14) == 0 {
                out.extend_from_slice(b", ");
            } else {
                out.push(b' ');
            }
        }
        out.pop();
        out.push(b'\n');
    }

    /// Writes one or two lines that end exactly at `end`.
    fn last_lines(&self, out: &mut Vec<u8>, random: &mut Random, end: usize) {
        let start = out.len();
        while out.len() < end {
            out.extend_from_slice(self.word(random).as_bytes());
            out.push(b' ');
        }
        out.truncate(end);
        if end - start > 80
            && let Some(blank) = out
                .get(..start + 72)
                .and_then(|text| text.iter().rposition(|&byte| byte == b' '))
            && blank > start
            && let Some(byte) = out.get_mut(blank)
        {
            *byte = b'\n';
        }
        let close = out.len() - start;
        for (byte, value) in out.iter_mut().rev().take(close.min(2)).zip([b'\n', b'.']) {
            *byte = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_to_the_byte_with_whole_lines() {
        let prose = Prose::default();
        let mut random = Random::new(5);
        for bytes in (FILL_BYTES_MIN..400).chain([4_000, 100_000]) {
            let mut out = b"x".to_vec();
            let options = ProseOptions {
                letters: Letters::Latin,
                quotes: bytes % 2 == 0,
                dots: bytes % 3 == 0,
            };
            prose.fill(&mut out, &mut random, bytes, options);
            assert_eq!(out.len(), 1 + bytes);
            assert!(out.ends_with(b".\n"));
            assert!(
                out.split(|&byte| byte == b'\n')
                    .all(|line| line.len() < 110)
            );
        }
    }
}
