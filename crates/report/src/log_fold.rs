//! The lines of the file `log` of one day, counted by neighbour, reason and hour.
//!
//! The lines have no year. A file that is never renamed has the same day of several years; the last of them counts.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use relay::log::COUNT_DIGITS;
use relay::reason::RefusalKind;

use crate::day::Day;
use crate::lines::each_line;
use crate::ranking::Ranking;

/// The file.
pub const LOG: &str = "log";
/// Renamed files `log.*` and `log-*` that a report reads at most, the newest first.
pub const FILES_MAX: usize = 400;
/// Longest part of a line that is read, bytes.
pub const LINE_BYTES_MAX: usize = 2 << 10;
/// Other days between two parts of a file after which they are of different years.
const OTHER_DAYS: usize = 200;
/// Hours of a day.
pub const HOURS: usize = 24;

/// The fate of an article.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Filed in a group of theirs.
    Filed,
    /// Filed in `junk`.
    Junked,
    /// Refused: known already.
    Duplicate,
    /// Refused: none of the groups.
    Groups,
    /// Refused: its date.
    Date,
    /// Refused: its size.
    Size,
    /// Refused: a moderated group.
    Unapproved,
    /// Refused: its header.
    Malformed,
    /// Refused: no permission.
    NotPermitted,
    /// Refused for another reason.
    Other,
}

impl Fate {
    /// All, in the order of the columns.
    pub const ALL: [Fate; 10] = [
        Fate::Filed,
        Fate::Junked,
        Fate::Duplicate,
        Fate::Groups,
        Fate::Date,
        Fate::Size,
        Fate::Unapproved,
        Fate::Malformed,
        Fate::NotPermitted,
        Fate::Other,
    ];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Fate::Filed => "filed",
            Fate::Junked => "junked",
            Fate::Duplicate => "duplicate",
            Fate::Groups => "groups",
            Fate::Date => "date",
            Fate::Size => "size",
            Fate::Unapproved => "unapproved",
            Fate::Malformed => "malformed",
            Fate::NotPermitted => "not_allowed",
            Fate::Other => "other",
        }
    }

    /// The fate that a line tells: its code and text. `None` for lines about something else.
    fn of(code: u8, text: &[u8]) -> Option<Fate> {
        match code {
            b'+' => return Some(Fate::Filed),
            b'j' => return Some(Fate::Junked),
            b'-' => {}
            _ => return None,
        }
        if text == b"duplicate" {
            return Some(Fate::Duplicate);
        }
        Some(match RefusalKind::of_text(text) {
            RefusalKind::Groups => Fate::Groups,
            RefusalKind::Date => Fate::Date,
            RefusalKind::Size => Fate::Size,
            RefusalKind::Unapproved => Fate::Unapproved,
            RefusalKind::Malformed => Fate::Malformed,
            RefusalKind::NotPermitted => Fate::NotPermitted,
            RefusalKind::Other => Fate::Other,
        })
    }
}

/// All articles, and then one count for each [`Fate`].
pub const FATES: usize = Fate::ALL.len() + 1;

/// The counts of a log for a day.
#[derive(Debug, Clone, Default)]
pub struct LogFold {
    /// Articles by neighbour: all, and by fate.
    pub neighbours: Ranking<FATES>,
    /// Filed, junked ones included, and refused articles of each hour.
    pub hours: [[u64; 2]; HOURS],
    /// The same of each day.
    pub days: Vec<[u64; 2]>,
    /// Refused articles by reason, with the quoted parts left out; without duplicates.
    pub reasons: Ranking<1>,
    /// Number of files read.
    pub files: usize,
}

/// A line of the log about an article.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// Its time as written, `Nov 22 04:39:21.045`.
    pub time: String,
    /// The neighbour from which the article came, or `(local)`.
    pub site: Vec<u8>,
    /// Its letter.
    pub code: u8,
    /// The rest.
    pub text: Vec<u8>,
    /// The sender of the article. `None`: the log does not name it.
    pub sender: Option<LogSender>,
}

/// The sender of the articles of some lines of the log: an entry of `[[access]]` and an address, or `rnews` and the file of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSender {
    /// The entry, or `rnews`.
    pub name: Vec<u8>,
    /// The address, or the file.
    pub from: Vec<u8>,
}

/// Lines about one article that are kept at most, the first ones.
pub const LINES_ABOUT_MAX: usize = 1000;

/// The lines about an article in `log` and in its renamed files, the oldest first, and the files that cannot be read to their end, and why.
pub fn lines_about(dir: &Path, id: &[u8]) -> (Vec<LogLine>, Vec<String>) {
    let mut found = Vec::new();
    let mut errors = Vec::new();
    let finder = memchr::memmem::Finder::new(id);
    for path in files(dir, 0) {
        // The sender, and the number of the lines of its articles that follow.
        let mut sender: Option<LogSender> = None;
        let mut follow = 0;
        let read = read_each_line(&path, |line| {
            // A kill or a full disk may have cut off lines that the last one about a sender counts.
            let named = LogSender::parse(line);
            let is_of_sender = named.is_none() && follow > 0;
            if let Some((named, count)) = named {
                (sender, follow) = (Some(named), count);
            } else if is_of_sender {
                follow -= 1;
            }
            if finder.find(line).is_some()
                && let Some(line) = LogLine::parse(line, id)
            {
                let sender = sender.clone().filter(|_| is_of_sender);
                found.push(LogLine { sender, ..line });
            }
            found.len() < LINES_ABOUT_MAX
        });
        match read {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                errors.push(format!("{}: {error}", path.display()));
            }
            _ => {}
        }
    }
    (found, errors)
}

impl LogLine {
    /// Parses a line; `None` if it is about another article.
    fn parse(line: &[u8], id: &[u8]) -> Option<LogLine> {
        let (time, rest) = line.split_at_checked(19)?;
        let mut fields = rest.strip_prefix(b" ")?.splitn(4, |&byte| byte == b' ');
        let (site, code, found) = (fields.next()?, fields.next()?, fields.next()?);
        Some(LogLine {
            time: String::from_utf8_lossy(time).into_owned(),
            site: site.to_vec(),
            code: *code.first().filter(|_| found == id)?,
            text: fields.next().unwrap_or_default().to_vec(),
            sender: None,
        })
    }
}

impl LogSender {
    /// Parses a line about a sender, with the number of the lines that follow; `None` if it is another one.
    fn parse(line: &[u8]) -> Option<(LogSender, u32)> {
        let rest = line.get(19..)?.strip_prefix(b" ")?;
        let (name, rest) = rest.split_at_checked(memchr::memchr(b' ', rest)?)?;
        let (count, from) = rest
            .strip_prefix(b" s <> ")?
            .split_at_checked(COUNT_DIGITS)?;
        let sender = LogSender {
            name: name.to_vec(),
            from: from.strip_prefix(b" ")?.to_vec(),
        };
        Some((sender, std::str::from_utf8(count).ok()?.parse().ok()?))
    }
}

/// A reason without its quoted parts and numbers, so that equal reasons count together.
pub fn grouped_reason(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let end = match byte {
            b'`' => Some(b'\''),
            b'"' => Some(b'"'),
            b'<' => Some(b'>'),
            _ => None,
        };
        if let Some(end) = end
            && let Some(at) = memchr::memchr(end, rest)
        {
            out.extend_from_slice(&[byte, b'.', b'.', b'.', end]);
            rest = rest.get(at + 1..).unwrap_or_default();
        } else if byte.is_ascii_digit() {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            out.push(b'N');
            rest = rest.get(digits..).unwrap_or_default();
        } else {
            out.push(byte);
        }
    }
    out
}

/// Calls `each` for the lines of a file, which may be compressed with gzip, until it returns false.
fn read_each_line(path: &Path, each: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
    let mut file = BufReader::with_capacity(256 << 10, store::regular::open(path)?);
    if !file.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        return each_line(&mut file, LINE_BYTES_MAX, each);
    }
    let mut plain = BufReader::with_capacity(256 << 10, MultiGzDecoder::new(file));
    each_line(&mut plain, LINE_BYTES_MAX, each)
}

impl LogFold {
    /// Reads what the logs of a news directory have of these days: `log`, and the files `log.*` and `log-*` that were written on the first of them
    /// or later, also those compressed with gzip. Returns it with the files that cannot be read to their end, and why.
    pub fn read(dir: &Path, days: &[Day]) -> (LogFold, Vec<String>) {
        let mut fold = LogFold::default();
        fold.days.resize(days.len(), [0; 2]);
        let mut errors = Vec::new();
        let stamps: Vec<String> = days.iter().map(|day| day.stamp()).collect();
        let first = days.first().map_or(0, |day| day.start());
        for path in files(dir, first) {
            let mut part = LogFold::default();
            match part.read_file(&path, &stamps) {
                Ok(()) => {}
                // Renamed meanwhile: it is there under its new name for the next report.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                // What stands before the damage counts.
                Err(error) => errors.push(format!("{}: {error}", path.display())),
            }
            fold.add(&part);
        }
        (fold, errors)
    }

    fn add(&mut self, part: &LogFold) {
        self.neighbours.merge(&part.neighbours);
        self.reasons.merge(&part.reasons);
        for (hour, more) in self.hours.iter_mut().zip(&part.hours) {
            for (count, more) in hour.iter_mut().zip(more) {
                *count += more;
            }
        }
        for (day, more) in self.days.iter_mut().zip(&part.days) {
            for (count, more) in day.iter_mut().zip(more) {
                *count += more;
            }
        }
        self.files += 1;
    }

    fn read_file(&mut self, path: &Path, stamps: &[String]) -> io::Result<()> {
        self.days.resize(stamps.len(), [0; 2]);
        let (mut before, mut place) = ([0; 7], None);
        let mut other_days = 0;
        read_each_line(path, |line| {
            let Some((date, rest)) = line.split_first_chunk::<7>() else {
                return true;
            };
            if *date != before {
                before = *date;
                place = stamps.iter().position(|stamp| stamp.as_bytes() == date);
                other_days += 1;
            }
            if let Some(place) = place {
                if other_days > OTHER_DAYS {
                    *self = LogFold::default();
                    self.days.resize(stamps.len(), [0; 2]);
                }
                other_days = 0;
                self.line(rest, place);
            }
            true
        })
    }

    /// Counts a line behind its date: `hh:mm:ss.mmm SITE CODE MSGID text`.
    fn line(&mut self, line: &[u8], day: usize) {
        let parse = || -> Option<(usize, &[u8], Fate, &[u8])> {
            let (time, rest) = line.split_at_checked(12)?;
            let hour: usize = std::str::from_utf8(time.get(..2)?).ok()?.parse().ok()?;
            let rest = rest.strip_prefix(b" ")?;
            let end = memchr::memchr(b' ', rest)?;
            let (site, rest) = rest.split_at_checked(end)?;
            let (code, rest) = rest.get(1..)?.split_first()?;
            let rest = rest.strip_prefix(b" ")?;
            let id = memchr::memchr(b' ', rest).unwrap_or(rest.len());
            let text = rest.get(id + 1..).unwrap_or_default();
            Some((hour, site, Fate::of(*code, text)?, text))
        };
        let Some((hour, site, fate, text)) = parse() else {
            return;
        };
        let mut counts = [0; FATES];
        let [all, fates @ ..] = &mut counts;
        *all = 1;
        if let Some(count) = fates.get_mut(fate as usize) {
            *count = 1;
        }
        self.neighbours.add(site, counts);
        let is_refused = !matches!(fate, Fate::Filed | Fate::Junked);
        if is_refused && fate != Fate::Duplicate {
            self.reasons.add(&grouped_reason(text), [1]);
        }
        let of_its_kind = [self.hours.get_mut(hour), self.days.get_mut(day)];
        for counts in of_its_kind.into_iter().flatten() {
            if let Some(count) = counts.get_mut(usize::from(is_refused)) {
                *count += 1;
            }
        }
    }
}

/// The files that may have lines of a time, seconds since 1970, or later: `log`, and renamed ones that were not last written before.
fn files(dir: &Path, from: i64) -> Vec<PathBuf> {
    let mut renamed: Vec<(i64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        // `log-20261122` is a name of logrotate with dateext.
        let is_renamed = name.starts_with(b"log.") || name.starts_with(b"log-");
        // A program may write it just now.
        let is_whole = !name.ends_with(b".new");
        if let Ok(told) = entry.metadata()
            && is_renamed
            && is_whole
            && told.is_file()
            && told.mtime() >= from
        {
            renamed.push((told.mtime(), entry.path()));
        }
    }
    renamed.sort();
    // The oldest of them: later ones begin after these days.
    renamed.truncate(FILES_MAX);
    let mut files: Vec<PathBuf> = renamed.into_iter().map(|(_, path)| path).collect();
    if dir.join(LOG).is_file() {
        files.push(dir.join(LOG));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const LINES: &str = "Nov 21 23:59:59.999 utzoo + <0@a> x\n\
        Nov 22 00:00:00.001 utzoo + <1@a> mnetor gpu\n\
        Nov 22 04:39:21.045 utzoo - <1@a> duplicate\n\
        Nov 22 04:39:21.045 utzoo - <2@a> no known groups in `a.b'\n\
        Nov 22 23:59:59.045 (local) j <3@a> x\n\
        Nov 22 23:59:59.045 (local) c <4@a> cancelled\n\
        Nov 22 nonsense\n\
        Nov 23 00:00:00.000 utzoo + <5@a> x\n";

    fn day() -> Day {
        Day::parse("2026-11-22").unwrap()
    }

    fn row(fold: &LogFold, name: &str) -> [u64; FATES] {
        let (rows, _) = fold.neighbours.largest(100);
        rows.iter().find(|row| row.name == name).unwrap().counts
    }

    /// What a log says of the day.
    fn fold_of(text: &str) -> LogFold {
        let room = tempfile::tempdir().unwrap();
        fs::write(room.path().join("log"), text).unwrap();
        LogFold::read(room.path(), &[day()]).0
    }

    #[test]
    fn reasons_count_without_what_they_quote() {
        for (text, grouped) in [
            ("no known groups in `a.b'", "no known groups in `...'"),
            (
                "article too large: 9000 bytes, the limit is 5",
                "article too large: N bytes, the limit is N",
            ),
            ("a \"x\" <1@a> it's `open", "a \"...\" <...> it's `open"),
        ] {
            let found = grouped_reason(text.as_bytes());
            assert_eq!(String::from_utf8_lossy(&found), grouped);
        }
        let line = |group: &str| {
            format!("Nov 22 00:00:00.001 utzoo - <1@a> no known groups in `{group}'\n")
        };
        let text = line("a") + &line("b") + "Nov 22 00:00:00.001 utzoo - <1@a> duplicate\n";
        let fold = fold_of(&text);
        let (rows, _) = fold.reasons.largest(10);
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].counts, [2]);
    }

    #[test]
    fn lines_have_the_sender_that_is_named_before_them() {
        let room = tempfile::tempdir().unwrap();
        let stamp = "Nov 22 00:00:00.001";
        let lines = [
            "forged + <1@a> x",
            "peers s <> 000002 192.0.2.1",
            "forged + <2@a> x",
            "forged - <1@a> duplicate",
            "other + <3@a> x",
            "rnews s <> 000001 in.coming/a b",
            "forged - <1@a> duplicate",
            // A full disk cut the block of this sender off.
            "peers s <> 000050 192.0.2.1",
            "forged + <4@a> x",
            "others s <> 000001 192.0.2.9",
            "forged + <5@a> x",
        ];
        let text: String = lines
            .iter()
            .map(|line| format!("{stamp} {line}\n"))
            .collect();
        fs::write(room.path().join("log"), &text).unwrap();
        let senders = |id: &str| -> Vec<String> {
            let (lines, _) = lines_about(room.path(), id.as_bytes());
            let sender = |line: LogLine| match line.sender {
                Some(sender) => String::from_utf8([sender.name, sender.from].join(&b'@')).unwrap(),
                None => String::new(),
            };
            lines.into_iter().map(sender).collect()
        };
        assert_eq!(
            senders("<1@a>"),
            ["", "peers@192.0.2.1", "rnews@in.coming/a b"]
        );
        assert_eq!(senders("<2@a>"), ["peers@192.0.2.1"]);
        assert_eq!(senders("<3@a>"), [""]);
        assert_eq!(senders("<4@a>"), ["peers@192.0.2.1"]);
        assert_eq!(senders("<5@a>"), ["others@192.0.2.9"]);
        // They are no articles.
        assert_eq!(row(&fold_of(&text), "forged")[0], 6);
        assert_eq!(fold_of(&text).neighbours.total()[0], 7);
    }

    #[test]
    fn lines_of_the_day_count() {
        let fold = fold_of(LINES);
        assert_eq!(row(&fold, "utzoo"), [3, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(row(&fold, "(local)"), [1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(fold.hours.first(), Some(&[1, 0]));
        assert_eq!(fold.hours.get(4), Some(&[0, 2]));
        assert_eq!(fold.hours.get(23), Some(&[1, 0]));
    }

    #[test]
    fn renamed_and_compressed_logs_count_too() {
        let room = tempfile::tempdir().unwrap();
        let dir = room.path();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(LINES.as_bytes()).unwrap();
        fs::write(dir.join("log.2.gz"), gzip.finish().unwrap()).unwrap();
        fs::write(dir.join("log-20261122"), LINES).unwrap();
        fs::write(dir.join("log"), LINES).unwrap();
        fs::write(dir.join("log.gz"), b"\x1f\x8bno gzip").unwrap();
        // Cut off behind the last line.
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(LINES.as_bytes()).unwrap();
        let whole = gzip.finish().unwrap();
        fs::write(dir.join("log.3.gz"), &whole[..whole.len() - 8]).unwrap();
        // Written before the day.
        fs::write(dir.join("log.9"), LINES).unwrap();
        let old = std::fs::File::options()
            .write(true)
            .open(dir.join("log.9"))
            .unwrap();
        old.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000))
            .unwrap();
        let (fold, errors) = LogFold::read(dir, &[day()]);
        assert_eq!(row(&fold, "utzoo")[0], 12);
        let is_told = |name: &str| errors.iter().any(|error| error.contains(name));
        assert!(
            errors.len() == 2 && is_told("/log.gz") && is_told("/log.3.gz"),
            "{errors:?}"
        );
    }

    #[test]
    fn of_several_years_the_last_counts() {
        let mut text = String::new();
        let mut day_of_log = Day::parse("2024-01-01").unwrap();
        while day_of_log <= day() {
            text.push_str(&format!("{}12:00:00.000 a + <x@y> z\n", day_of_log.stamp()));
            day_of_log = day_of_log.plus(1);
        }
        let fold = fold_of(&text);
        assert_eq!(fold.neighbours.total()[0], 1);
    }
}
