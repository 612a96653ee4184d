//! The articles of a run: each follows from the seed and its number, so that any peer can offer any of them, and the end can tell what must be
//! there.
#![allow(clippy::indexing_slicing, reason = "a test fails by panicking")]

use crate::program::articles::with;
use crate::program::dice::Dice;

pub const GROUPS: [&str; 5] = ["comp.test", "comp.misc", "comp.a", "comp.b", SHORT];
/// The group whose articles expire.
pub const SHORT: &str = "comp.short";
pub const ACTIVE: &str = "comp.test 0 1 y\ncomp.misc 0 1 y\ncomp.a 0 1 y\ncomp.b 0 1 y\ncomp.short 0 1 y\ncontrol 0 1 y\ncontrol.cancel 0 1 y\njunk 0 1 y\n";

/// Articles of so many numbers know the same group of those that administrators make.
pub const MADE_EVERY: u64 = 250;

/// An article.
pub struct Article {
    pub id: String,
    /// In native form.
    pub bytes: Vec<u8>,
    /// Its groups, as places in [`GROUPS`]. Empty: every site must refuse it.
    pub groups: Vec<usize>,
    /// The number of the article that it cancels.
    pub cancels: Option<u64>,
    /// A group that an administrator may have made, in which it is, too.
    pub made: Option<u64>,
}

impl Article {
    /// The article of this number.
    pub fn of(seed: u64, number: u64) -> Article {
        let mut dice = Dice::new(seed ^ number.wrapping_mul(0x1_0000_0001));
        let id = id(seed, number);
        let mut groups: Vec<usize> = (0..GROUPS.len()).filter(|_| dice.chance(35)).collect();
        if groups.is_empty() {
            groups.push(dice.below(GROUPS.len() as u64) as usize);
        }
        let (mut names, mut header, mut cancels) = (list(&groups), String::new(), None);
        let mut made = None;
        match dice.below(100) {
            0..=2 => (groups, names) = (Vec::new(), "no.such.group".to_owned()),
            // Cancels of later articles wait for them.
            3..=4 => {
                let cancelled = (number + dice.below(20)).saturating_sub(10);
                header = format!("Control: cancel {}\n", self::id(seed, cancelled));
                (groups, names) = (Vec::new(), GROUPS[0].to_owned());
                cancels = Some(cancelled);
            }
            5..=24 => {
                made = Some(number / MADE_EVERY);
                names = format!("{names},{}", self::made(number / MADE_EVERY));
            }
            _ => {}
        }
        let length = match dice.below(200) {
            0 => 400_000 + dice.below(400_000),
            1..=5 => dice.below(60_000),
            _ => 100 + dice.below(2_000),
        };
        let line = format!("..{number} {:x} of an article\n", dice.next());
        let body = line.repeat(length as usize / line.len() + 1);
        Article {
            bytes: with(&id, &names, &header, body.as_bytes()),
            id,
            groups,
            cancels,
            made,
        }
    }

    /// Whether a site may file it.
    pub fn is_good(&self) -> bool {
        !self.groups.is_empty() || self.cancels.is_some()
    }

    /// The article as a poster gives it to his server, which adds what is missing.
    pub fn post(&self) -> Vec<u8> {
        let lines = self.bytes.split_inclusive(|byte| *byte == b'\n');
        let is_ours = |line: &&[u8]| !line.starts_with(b"Path:") && !line.starts_with(b"Date:");
        lines.filter(is_ours).flatten().copied().collect()
    }

    /// Its body in wire form.
    pub fn body(&self) -> Vec<u8> {
        let at = self.bytes.windows(2).position(|two| two == b"\n\n");
        let body = &self.bytes[at.map_or(0, |at| at + 2)..];
        let mut wire = crate::program::nntp::wire(body);
        wire.truncate(wire.len() - b".\r\n".len());
        wire
    }
}

/// The id of the article of this number.
pub fn id(seed: u64, number: u64) -> String {
    format!("<{number}.{seed:x}@example.org>")
}

/// The name of a group that an administrator may make.
pub fn made(number: u64) -> String {
    format!("comp.made{number}")
}

/// Whether another article cancels this one, if it comes.
pub fn is_cancelled(seed: u64, number: u64) -> bool {
    let around = number.saturating_sub(10)..=number + 10;
    around
        .map(|other| Article::of(seed, other))
        .any(|other| other.cancels == Some(number))
}

/// The number of the article with this id.
pub fn number_of(id: &str) -> Option<u64> {
    let (number, _) = id.strip_prefix('<')?.split_once('.')?;
    number.parse().ok()
}

fn list(groups: &[usize]) -> String {
    let names: Vec<&str> = groups.iter().map(|group| GROUPS[*group]).collect();
    names.join(",")
}
