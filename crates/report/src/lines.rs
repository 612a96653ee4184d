//! Lines of a file of any size, in bounded memory.

use std::io::{self, BufRead};

/// Calls `each` for every line without its newline; the rest of a line longer than `bytes_max` is skipped. Stops when `each` returns
/// false.
pub fn each_line(
    reader: &mut dyn BufRead,
    bytes_max: usize,
    mut each: impl FnMut(&[u8]) -> bool,
) -> io::Result<()> {
    let mut kept: Vec<u8> = Vec::new();
    loop {
        let buffer = match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            filled => filled?,
        };
        if buffer.is_empty() {
            if !kept.is_empty() {
                each(&kept);
            }
            return Ok(());
        }
        let end = memchr::memchr(b'\n', buffer);
        let part = buffer
            .get(..end.unwrap_or(buffer.len()))
            .unwrap_or_default();
        let used = part.len() + usize::from(end.is_some());
        let goes_on = match end {
            // The usual case: a line in the buffer is not copied.
            Some(_) if kept.is_empty() => each(part.get(..bytes_max).unwrap_or(part)),
            _ => {
                let room = bytes_max.saturating_sub(kept.len());
                kept.extend_from_slice(part.get(..room).unwrap_or(part));
                let goes_on = end.is_none() || each(&kept);
                if end.is_some() {
                    kept.clear();
                }
                goes_on
            }
        };
        reader.consume(used);
        if !goes_on {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_buffer_gives_the_same_lines(lines: Vec<String>, size in 1..9usize) {
            let text: String = lines.iter().map(|line| line.replace('\n', "") + "\n").collect();
            let mut reader = io::BufReader::with_capacity(size, text.as_bytes());
            let mut found = Vec::new();
            each_line(&mut reader, 5, |line| {
                found.push(line.to_vec());
                true
            }).unwrap();
            let short = |line: &str| line.as_bytes().get(..5).unwrap_or(line.as_bytes()).to_vec();
            let expected: Vec<Vec<u8>> = text.lines().map(short).collect();
            // `lines` drops a carriage return at the end.
            prop_assume!(!text.contains('\r'));
            prop_assert_eq!(found, expected);
        }
    }
}
