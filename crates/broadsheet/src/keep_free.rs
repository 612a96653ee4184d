//! `[expiry] keep_free` of a new news directory: the free disk space below which articles expire earlier.

use std::path::Path;

use daemon::reopens_at;
use groups::size;
use settings::{Settings, quoted};

/// The begin of the section of expire in the template, which is an example.
const EXAMPLE: &str = "\n# [expiry]\n# keep_free = \"20 GiB\" ";

/// The disk of a directory that is to be made.
pub struct Disk<'p> {
    /// The nearest directory that exists.
    pub place: &'p Path,
    /// Its size, bytes; 0 if the file system does not report it.
    pub whole: u64,
    /// Its free bytes; `None` if the file system does not report them.
    pub free: Option<u64>,
}

impl<'p> Disk<'p> {
    /// Asks the system about the disk of a directory.
    pub fn of(root: &'p Path) -> Disk<'p> {
        let place = existing(root);
        let facts = rustix::fs::statvfs(place);
        Disk {
            place,
            whole: facts.map_or(0, |disk| disk.f_blocks.saturating_mul(disk.f_frsize)),
            free: store::free_bytes(place).unwrap_or_default(),
        }
    }

    /// A tenth of the disk, in whole GiB if that is possible, and at most half of its free space; at least what the intake needs, if so much
    /// is free, and 1 MiB.
    pub fn usual(&self) -> u64 {
        let wanted = (self.whole / 10).min(self.free.unwrap_or(self.whole) / 2);
        let unit = if wanted >= 1 << 30 { 1 << 30 } else { 1 << 20 };
        let least = match intake_needs() {
            needed if self.free.is_none_or(|free| needed < free) => needed,
            _ => 1 << 20,
        };
        (wanted / unit * unit).max(least)
    }

    /// Reads a size that is less than the free space, and enough for the intake; or 0 for no limit.
    ///
    /// # Errors
    /// The text is not such a size.
    pub fn parse(&self, text: &str) -> Result<u64, String> {
        let bytes = size::parse(text)
            .ok_or_else(|| format!("`{text}' is not a size with a unit ({})", size::UNITS))?;
        let needed = intake_needs();
        if bytes > 0 && bytes < needed {
            return Err(format!(
                "below {} the server would take no articles any more once the disk is full ([nntp] keep_free): leave at least that, or 0 for no limit",
                size::bytes(needed)
            ));
        }
        match self.free {
            Some(free) if bytes >= free => Err(format!(
                "only {} are free: leave less, or choose another disk with --dir",
                size::rough_bytes(free)
            )),
            _ => Ok(bytes),
        }
    }
}

/// The free space that a new server needs to take articles again on a disk that was full, bytes.
fn intake_needs() -> u64 {
    let settings = Settings::default();
    reopens_at(settings.nntp.keep_free).max(settings.incoming.keep_free)
}

/// Sets it in settings that have the example of the template. 0 leaves the example.
pub fn set_in(text: &str, bytes: u64) -> String {
    if bytes == 0 {
        return text.to_owned();
    }
    let section = format!("\n[expiry]\nkeep_free = {} ", quoted(&size::bytes(bytes)));
    text.replacen(EXAMPLE, &section, 1)
}

fn existing(path: &Path) -> &Path {
    let mut places = path.ancestors().filter(|place| place.is_dir());
    places.next().unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use settings::template;

    use super::*;

    #[test]
    fn space_to_leave_is_less_than_what_is_free() {
        let disk = |whole, free| Disk {
            place: Path::new("/"),
            whole,
            free,
        };
        assert_eq!(disk(100 << 30, Some(90 << 30)).usual(), 10 << 30);
        assert_eq!(disk(100 << 30, Some(3 << 20)).usual(), 1 << 20);
        assert_eq!(disk(100 << 30, None).usual(), 10 << 30);
        // The intake opens at 136 MiB.
        assert_eq!(disk(1 << 30, Some(900 << 20)).usual(), 136 << 20);
        let whole = disk(100 << 30, Some(90 << 30));
        assert_eq!(whole.parse("136 MiB"), Ok(136 << 20));
        assert_eq!(whole.parse("0"), Ok(0));
        let told = whole.parse("135 MiB").unwrap_err();
        assert!(told.starts_with("below 136 MiB"), "{told}");
        let small = disk(100 << 30, Some(3 << 30));
        assert!(small.parse("2 GiB").is_ok() && small.parse("3 GiB").is_err());
        assert!(small.parse("many").is_err() && disk(0, None).parse("9 GiB").is_ok());
    }

    #[test]
    fn the_example_of_the_template_is_replaced() {
        let text = template(&Settings::default());
        assert_eq!(set_in(&text, 0), text);
        let set = set_in(&text, 10 << 30);
        assert!(set.contains("\n[expiry]\nkeep_free = \"10 GiB\" "), "{set}");
        assert!(!set.contains("[expiry]\n# keep_free"), "{set}");
    }
}
