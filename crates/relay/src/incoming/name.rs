//! Names of waiting batches: `[GRADE.]TIMEu.SUFFIX`, as in C News.
//!
//! TIME is the arrival in seconds since 1970, `u` a letter or digit that distinguishes the batches of one second. The order of names is
//! the order of filing: by grade, those without one last, then by time.

use std::fmt;

use article::wrap::Compression;

/// The characters that distinguish the batches of one second, in their order, which is that of `ls`.
pub const UNIQUE: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Longest suffix of a name, bytes.
pub const SUFFIX_BYTES_MAX: usize = 8;

/// The priority of a batch: 0 is first; batches without a grade are last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Grade(u8);

impl Grade {
    /// The first grade, which `stop` does not suspend.
    pub const FIRST: Grade = Grade(0);
    /// Without a grade.
    pub const NONE: Grade = Grade(10);

    /// Parses a digit.
    pub fn of(digit: u8) -> Option<Grade> {
        digit.is_ascii_digit().then(|| Grade(digit - b'0'))
    }
}

/// A set of grades.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grades(u16);

impl Grades {
    /// All grades, and batches without one.
    pub const ALL: Grades = Grades(u16::MAX);

    /// Parses a set of digits; `None` if it is empty or has other characters.
    pub fn of(digits: &[u8]) -> Option<Grades> {
        let add = |set: u16, digit: &u8| Some(set | 1 << Grade::of(*digit)?.0);
        let set = digits.iter().try_fold(0, add)?;
        (set != 0).then_some(Grades(set))
    }

    /// Whether the set contains a grade.
    pub fn has(self, grade: Grade) -> bool {
        self.0 & (1 << grade.0) != 0
    }
}

/// The name of a waiting batch. Its order is the order of filing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// Its grade.
    pub grade: Grade,
    /// Time of arrival, seconds since 1970.
    pub time: u64,
    /// Its number in that second: an index into [`UNIQUE`].
    pub unique: u8,
    /// The suffix, which shows the compression.
    pub suffix: String,
}

impl Name {
    /// Parses a name; `None` for other files, such as `stop`, `nspool.12` or `README`.
    pub fn parse(name: &[u8]) -> Option<Name> {
        let name = std::str::from_utf8(name).ok()?;
        let (stem, suffix) = name.rsplit_once('.')?;
        let is_suffix = (1..=SUFFIX_BYTES_MAX).contains(&suffix.len())
            && suffix.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let (grade, stem) = match stem.as_bytes() {
            [digit, b'.', ..] => (Grade::of(*digit)?, stem.get(2..)?),
            _ => (Grade::NONE, stem),
        };
        let (last, digits) = stem.as_bytes().split_last()?;
        let unique = UNIQUE.iter().position(|known| known == last)?;
        // A parsed name must format to the same name, so leading zeros are invalid.
        let is_plain = digits.iter().all(u8::is_ascii_digit) && digits.first() != Some(&b'0');
        (is_suffix && is_plain).then_some(())?;
        Some(Name {
            grade,
            time: std::str::from_utf8(digits).ok()?.parse().ok()?,
            unique: u8::try_from(unique).ok()?,
            suffix: suffix.to_owned(),
        })
    }

    /// The name to try if this one exists: the next of the second, or the first of the next second.
    pub fn next(self) -> Name {
        let unique = self.unique.saturating_add(1);
        let is_full = usize::from(unique) >= UNIQUE.len();
        Name {
            time: self.time.saturating_add(u64::from(is_full)),
            unique: if is_full { 0 } else { unique },
            ..self
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.grade != Grade::NONE {
            write!(f, "{}.", self.grade.0)?;
        }
        let unique = UNIQUE.get(usize::from(self.unique)).copied();
        let unique = char::from(unique.unwrap_or(b'0'));
        write!(f, "{}{unique}.{}", self.time, self.suffix)
    }
}

/// The suffix of a batch compressed by `kind`; `None` is plain.
pub fn suffix(kind: Option<Compression>) -> &'static str {
    match kind {
        None => "t",
        Some(Compression::Compress) => "Z",
        Some(Compression::C7) => "7",
        Some(Compression::Gzip) => "gz",
        Some(Compression::Zstd) => "zst",
        Some(Compression::Bzip2) => "bz2",
        Some(Compression::Xz) => "xz",
        Some(Compression::Lzma) => "lzma",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written_alike() {
        for name in [
            "7501234560.t",
            "750123456a.Z",
            "4.750123456Z.7",
            "0.10.zst",
            "9.75012345612345678900.gz",
        ] {
            let read = Name::parse(name.as_bytes()).expect(name);
            assert_eq!(read.to_string(), name);
        }
    }

    #[test]
    fn other_files_are_not_batches() {
        for name in [
            "stop",
            "nspool.12",
            "nntp.123456",
            "README",
            "7.t",
            ".t",
            "7501234560.",
            "7501234560",
            "07501234560.t",
            "44.7501234560.t",
            "x.7501234560.t",
            "750123456-.t",
            "7501234560.t/",
            "../7501234560.t",
            "7501234560.toolongasuffix",
            "999999999999999999999990.t",
            "7501234560.\u{e9}",
            "",
        ] {
            assert_eq!(Name::parse(name.as_bytes()), None, "{name}");
        }
        assert_eq!(Name::parse(b"7501234560.\xff"), None);
    }

    #[test]
    fn the_order_is_grade_then_time_then_turn() {
        let right = [
            "0.7501234569.t",
            "4.7501234560.Z",
            "4.750123456A.t",
            "4.750123456a.t",
            "4.7501234570.t",
            "7501234560.t",
            "75012345670.t",
        ];
        let mut names: Vec<Name> = right
            .iter()
            .rev()
            .map(|name| Name::parse(name.as_bytes()).unwrap())
            .collect();
        names.sort();
        let sorted: Vec<String> = names.iter().map(Name::to_string).collect();
        assert_eq!(sorted, right);
    }

    #[test]
    fn after_sixty_two_comes_the_next_second() {
        let mut name = Name::parse(b"3.750123450.t").unwrap();
        for _ in 0..62 {
            name = name.next();
        }
        assert_eq!(name.to_string(), "3.750123460.t");
        assert_eq!(
            Name::parse(b"75012345y.t").unwrap().next().to_string(),
            "75012345z.t"
        );
    }

    #[test]
    fn grades_are_told_by_digits() {
        let some = Grades::of(b"04").unwrap();
        assert!(some.has(Grade::FIRST) && some.has(Grade(4)));
        assert!(!some.has(Grade(1)) && !some.has(Grade::NONE));
        assert!(Grades::ALL.has(Grade::NONE));
        assert_eq!(Grades::of(b"4x"), None);
        assert_eq!(Grades::of(b""), None);
    }
}
