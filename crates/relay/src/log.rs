//! The classic log: `Mon dd hh:mm:ss.mmm SITE CODE MSGID text`, a line for each decision.
//!
//! Lines are collected in memory and written once a commit, in one write and without a sync: the log is for people. The lines of an
//! article are written after the article is durable.
//!
//! The time is UTC unless the caller uses [`Log::with_zone`]. C News wrote local time, which needs a time zone database; logs in UTC are
//! easier to compare between sites.

use std::io::{self, Write};
use std::path::Path;

use article::scan::has_control;
use groups::{is_terminal_control, push_hexadecimal};
use std::time::{SystemTime, UNIX_EPOCH};

/// A time in seconds since 1970 and milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Now {
    /// Seconds since 1970-01-01 00:00:00 UTC.
    pub seconds: i64,
    /// Milliseconds into the second, 0 to 999.
    pub millis: u16,
}

impl Now {
    /// The system's clock.
    pub fn read() -> Now {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Now {
            seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
            millis: u16::try_from(since.subsec_millis()).unwrap_or(999),
        }
    }
}

/// Longest text of a log line, bytes; a longer one is truncated and ends in `...`.
pub const TEXT_BYTES_MAX: usize = 2048;
/// Longest SITE or MSGID in a log line, bytes.
pub const FIELD_BYTES_MAX: usize = 512;

/// Offset of local time from UTC in seconds, given the time in epoch seconds.
pub type ZoneOffset = fn(i64) -> i64;

/// The type of a line, with the letters of C News.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// `+`: filed; the text is the sites that get it.
    Filed,
    /// `-`: refused; the text is the reason.
    Refused,
    /// `j`: filed in the group `junk`.
    Junked,
    /// `a`: a comment on the active file, such as an x'ed group.
    Active,
    /// `c`: about a control message.
    Control,
    /// `b`: bad input.
    BadInput,
    /// `s`: the sender of the articles of the following lines; the text is the number of these lines, six digits, and where the articles came from.
    Sender,
    /// `m`: about a post to a moderated group: its mail to the moderator was queued, sent or dropped, or it was approved.
    Moderated,
}

impl Code {
    /// The letter in the log.
    pub fn letter(self) -> u8 {
        match self {
            Code::Filed => b'+',
            Code::Refused => b'-',
            Code::Junked => b'j',
            Code::Active => b'a',
            Code::Control => b'c',
            Code::BadInput => b'b',
            Code::Moderated => b'm',
            Code::Sender => b's',
        }
    }
}

/// SITE of a line about a local article.
pub const LOCAL: &[u8] = b"(local)";
/// MSGID of a line about an article without one, to keep the columns.
pub const NO_ID: &[u8] = b"<>";

/// Pending lines of the file `log`.
#[derive(Debug)]
pub struct Log {
    buffer: Vec<u8>,
    /// The second of `stamp`.
    second: Option<i64>,
    /// `Mon dd hh:mm:ss.`
    stamp: [u8; STAMP_BYTES],
    zone: Option<ZoneOffset>,
    /// The name of the sender of the next articles, and where they come from; empty: unknown.
    sender: (Vec<u8>, Vec<u8>),
    /// Where the count of the last line about a sender begins in `buffer`, and its value.
    counted: Option<(usize, u32)>,
}

/// Digits of the count in a line about a sender, and the greatest count.
pub const COUNT_DIGITS: usize = 6;
const COUNT_MAX: u32 = 999_999;

const STAMP_BYTES: usize = 16;

impl Default for Log {
    fn default() -> Log {
        Log::new()
    }
}

impl Log {
    /// An empty log in UTC.
    pub fn new() -> Log {
        Log {
            buffer: Vec::new(),
            second: None,
            stamp: *b"Jan  1 00:00:00.",
            zone: None,
            sender: (Vec::new(), Vec::new()),
            counted: None,
        }
    }

    /// An empty log in the local time of `zone`, which is called once a second at most.
    pub fn with_zone(zone: ZoneOffset) -> Log {
        Log {
            zone: Some(zone),
            ..Log::new()
        }
    }

    /// Adds a line. ASCII control characters become `^X`, so that it stays a single line, and the bytes of others that act on a terminal
    /// ([`is_terminal_control`]) `\xNN`; an empty `id` becomes [`NO_ID`].
    pub fn line(&mut self, now: Now, site: &[u8], code: Code, id: &[u8], text: &[u8]) {
        if !self.sender.0.is_empty() {
            self.count_line(now);
        }
        self.push_line(now, site, code, id, text);
    }

    /// Sets the sender of the next articles, a name without blanks, and `from` where they come: their Path is what the sender wrote.
    /// Their lines follow a line about the sender. An empty name: the sender is unknown.
    pub fn sent_by(&mut self, name: &[u8], from: &[u8]) {
        if self.sender.0 != name || self.sender.1 != from {
            self.end_count();
            self.sender = (name.to_vec(), from.to_vec());
        }
    }

    /// Counts a line of the sender, behind the line about the sender.
    fn count_line(&mut self, now: Now) {
        if self.counted.is_none_or(|(_, count)| count >= COUNT_MAX) {
            self.end_count();
            let (name, from) = std::mem::take(&mut self.sender);
            let text = [&[b'0'; COUNT_DIGITS][..], b" ", &from].concat();
            let line = self.buffer.len();
            self.push_line(now, &name, Code::Sender, b"", &text);
            // The name as it is shown may be longer, or cut.
            let shown = self.buffer.get(line..).unwrap_or_default();
            let begin = memchr::memmem::find(shown, b" s <> 000000 ");
            self.counted = begin.map(|begin| (line + begin + b" s <> ".len(), 0));
            self.sender = (name, from);
        }
        if let Some((_, count)) = &mut self.counted {
            *count += 1;
        }
    }

    /// Writes the count of the last line about a sender.
    fn end_count(&mut self) {
        let Some((begin, count)) = self.counted.take() else {
            return;
        };
        let digits = format!("{count:0COUNT_DIGITS$}");
        if let Some(place) = self.buffer.get_mut(begin..begin + COUNT_DIGITS) {
            place.copy_from_slice(digits.as_bytes());
        }
    }

    fn push_line(&mut self, now: Now, site: &[u8], code: Code, id: &[u8], text: &[u8]) {
        if self.second != Some(now.seconds) {
            let offset = self.zone.map_or(0, |zone| zone(now.seconds));
            self.stamp = stamp(now.seconds.saturating_add(offset));
            self.second = Some(now.seconds);
        }
        let out = &mut self.buffer;
        out.extend_from_slice(&self.stamp);
        let millis = now.millis.min(999);
        let digit = |value: u16| b'0' + u8::try_from(value % 10).unwrap_or(0);
        out.extend_from_slice(&[digit(millis / 100), digit(millis / 10), digit(millis), b' ']);
        push_visible(out, site, FIELD_BYTES_MAX);
        out.extend_from_slice(&[b' ', code.letter(), b' ']);
        push_visible(out, if id.is_empty() { NO_ID } else { id }, FIELD_BYTES_MAX);
        if !text.is_empty() {
            out.push(b' ');
            push_visible(out, text, TEXT_BYTES_MAX);
        }
        out.push(b'\n');
    }

    /// The pending lines.
    pub fn pending(&self) -> &[u8] {
        &self.buffer
    }

    /// Discards the pending lines after a failed commit.
    pub fn clear(&mut self) {
        self.counted = None;
        self.buffer.clear();
    }

    /// Writes the pending lines with one call.
    ///
    /// # Errors
    /// An error of the writer. The lines stay pending.
    pub fn write_to(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.end_count();
        if !self.buffer.is_empty() {
            out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }
}

/// Appends one line to the log of a news directory, for programs without a filer.
///
/// # Errors
/// The file cannot be opened or written.
pub fn append(
    news: &Path,
    now: Now,
    site: &[u8],
    code: Code,
    (id, text): (&[u8], &[u8]),
) -> io::Result<()> {
    let mut log = Log::new();
    log.line(now, site, code, id, text);
    log.write_to(&mut store::regular::append(&news.join(crate::file::LOG))?)
}

/// Appends `bytes`, truncated to `bytes_max`, with ASCII control characters as `^X` (DEL as `^?`), and others that act on a terminal as `\xNN`.
#[inline(always)]
fn push_visible(out: &mut Vec<u8>, bytes: &[u8], bytes_max: usize) {
    let (shown, cut) = match bytes.split_at_checked(bytes_max) {
        Some((shown, rest)) => (shown, !rest.is_empty()),
        None => (bytes, false),
    };
    if has_control(shown) || !shown.is_ascii() {
        push_controls(out, shown);
    } else {
        out.extend_from_slice(shown);
    }
    if cut {
        out.extend_from_slice(b"...");
    }
}

#[cold]
fn push_controls(out: &mut Vec<u8>, shown: &[u8]) {
    for chunk in shown.utf8_chunks() {
        for character in chunk.valid().chars() {
            let bytes = &mut [0; 4];
            let bytes = character.encode_utf8(bytes).as_bytes();
            match bytes {
                [byte] if byte.is_ascii_control() => out.extend_from_slice(&[b'^', byte ^ 0x40]),
                _ if is_terminal_control(character) => push_hexadecimal(out, bytes),
                _ => out.extend_from_slice(bytes),
            }
        }
        for byte in chunk.invalid() {
            match byte {
                // C1 in the character sets of one byte.
                0x80..=0x9f => push_hexadecimal(out, &[*byte]),
                _ => out.push(*byte),
            }
        }
    }
}

/// `Mon dd hh:mm:ss.` of a time in epoch seconds, the day padded with a blank as ctime(3) does.
fn stamp(seconds: i64) -> [u8; STAMP_BYTES] {
    const MONTHS: [&[u8; 3]; 12] = [
        b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov",
        b"Dec",
    ];
    let (month, day) = month_and_day(seconds.div_euclid(86_400));
    let second = seconds.rem_euclid(86_400);
    let [m, o, n] = usize::try_from(month)
        .ok()
        .and_then(|month| MONTHS.get(month))
        .map_or(*b"???", |name| **name);
    let digit = |value: i64| b'0' + u8::try_from(value.rem_euclid(10)).unwrap_or(0);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let tens = if day < 10 { b' ' } else { digit(day / 10) };
    [
        m,
        o,
        n,
        b' ',
        tens,
        digit(day),
        b' ',
        digit(hour / 10),
        digit(hour),
        b':',
        digit(minute / 10),
        digit(minute),
        b':',
        digit(second / 10),
        digit(second),
        b'.',
    ]
}

/// Month (0 is January) and day (from 1) of a day counted from the epoch, Gregorian calendar.
///
/// Counts in years that start on the first of March, so that the leap day is the last of a year and
/// the months before it follow one rule: (153 month + 2) / 5 days lie before a month.
fn month_and_day(days_since_epoch: i64) -> (i64, i64) {
    // 719,468 days lie between 1 March of the year 0 and the epoch; 400 years have 146,097 days.
    let day_of_era = days_since_epoch.saturating_add(719_468).rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    ((month_from_march + 2) % 12, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(log: &Log) -> String {
        String::from_utf8(log.pending().to_vec()).unwrap()
    }

    const NOW: Now = Now {
        seconds: 756_362_361,
        millis: 45,
    };

    #[test]
    fn a_line_has_the_classic_columns() {
        let mut log = Log::new();
        log.line(NOW, b"utzoo", Code::Filed, b"<1@a>", b"mnetor gpu");
        log.line(NOW, LOCAL, Code::Filed, b"<2@a>", b"");
        log.line(NOW, b"utzoo", Code::Refused, b"", b"duplicate");
        assert_eq!(
            text(&log),
            "Dec 20 04:39:21.045 utzoo + <1@a> mnetor gpu\n\
             Dec 20 04:39:21.045 (local) + <2@a>\n\
             Dec 20 04:39:21.045 utzoo - <> duplicate\n"
        );
    }

    #[test]
    fn a_line_about_the_sender_counts_those_behind_it() {
        let mut log = Log::new();
        let line = |log: &mut Log, id: &[u8]| log.line(NOW, b"forged", Code::Filed, id, b"");
        log.sent_by(b"our_peers", b"192.0.2.1");
        line(&mut log, b"<1@a>");
        log.sent_by(b"our_peers", b"192.0.2.1");
        line(&mut log, b"<2@a>");
        log.sent_by(b"", b"");
        line(&mut log, b"<3@a>");
        // Nothing is said of a sender without articles.
        log.sent_by(b"x", b"1");
        log.sent_by(b"y", b"2");
        let mut file = Vec::new();
        log.write_to(&mut file).unwrap();
        line(&mut log, b"<4@a>");
        log.clear();
        line(&mut log, b"<5@a>");
        log.write_to(&mut file).unwrap();
        let file = String::from_utf8(file).unwrap();
        let lines: Vec<&str> = file.lines().map(|line| &line[20..]).collect();
        assert_eq!(
            lines,
            [
                "our_peers s <> 000002 192.0.2.1",
                "forged + <1@a>",
                "forged + <2@a>",
                "forged + <3@a>",
                "y s <> 000001 2",
                "forged + <5@a>",
            ]
        );
    }

    #[test]
    fn control_characters_do_not_break_a_line() {
        let mut log = Log::new();
        log.line(NOW, b"a\nb", Code::Refused, b"<\0@a>", b"x\ty\x7f\r\n\xe9");
        let line = log.pending();
        assert!(line.ends_with(b" a^Jb - <^@@a> x^Iy^?^M^J\xe9\n"));
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
    }

    #[test]
    fn what_acts_on_a_terminal_is_visible() {
        let mut log = Log::new();
        let text = "\u{9b}31m \u{202e}gpj \u{fc}e\u{301}".as_bytes();
        log.line(NOW, b"a", Code::Refused, b"<\x9b@a>", text);
        let line = log.pending();
        let wanted = " a - <\\x9b@a> \\xc2\\x9b31m \\xe2\\x80\\xaegpj \u{fc}e\u{301}\n";
        assert!(line.ends_with(wanted.as_bytes()), "{}", line.escape_ascii());
        // Names in Latin-1 stay.
        log.line(NOW, b"a", Code::Refused, b"<1@a>", b"\xfcber");
        assert!(log.pending().ends_with(b"\xfcber\n"));
    }

    #[test]
    fn long_texts_are_cut() {
        let mut log = Log::new();
        log.line(
            NOW,
            b"a",
            Code::Refused,
            b"<1@a>",
            &[b'x'; TEXT_BYTES_MAX + 1],
        );
        assert!(log.pending().ends_with(b"x...\n"));
        assert!(log.pending().len() < TEXT_BYTES_MAX + 64);
    }

    #[test]
    fn a_zone_moves_the_clock() {
        let mut log = Log::with_zone(|_| -5 * 3600);
        log.line(NOW, b"a", Code::Filed, b"<1@a>", b"");
        assert!(text(&log).starts_with("Dec 19 23:39:21.045 a"));
    }

    #[test]
    fn calendar() {
        for (seconds, wanted) in [
            (0, "Jan  1 00:00:00."),
            (951_782_399, "Feb 28 23:59:59."),
            (951_782_400, "Feb 29 00:00:00."),
            (951_868_800, "Mar  1 00:00:00."),
            (1_709_251_199, "Feb 29 23:59:59."),
            (4_107_542_400, "Mar  1 00:00:00."),
            (-1, "Dec 31 23:59:59."),
        ] {
            assert_eq!(std::str::from_utf8(&stamp(seconds)).unwrap(), wanted);
        }
        // Nothing overflows at the ends of time.
        let _ = (stamp(i64::MIN), stamp(i64::MAX));
    }

    #[test]
    fn written_once() {
        let mut log = Log::new();
        log.line(NOW, b"a", Code::Filed, b"<1@a>", b"");
        let mut file = Vec::new();
        log.write_to(&mut file).unwrap();
        assert_eq!(file, b"Dec 20 04:39:21.045 a + <1@a>\n");
        assert!(log.pending().is_empty());
    }
}
