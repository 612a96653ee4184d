//! The answers of a site to offers of articles, in the file `answers` beside its cursor (docs/formats/feeds.md).
//!
//! The file is for `article show` only: its loss costs nothing else. Answers in the order of the log are a run, one line for many articles; the
//! line of a run that goes on is rewritten in its place, at most once a second and without a sync.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use store::Position;

use crate::site_directory::directory;

/// The names of the file and of the one before it.
const FILE: &str = "answers";
const FILE_BEFORE: &str = "answers.old";
/// Size at which the file is renamed to `answers.old`, bytes.
pub const ANSWERS_BYTES_MAX: u64 = 16 << 20;
/// Longest text of an answer that is kept, bytes.
pub const ANSWER_TEXT_BYTES_MAX: usize = 256;
/// A run has the answers of at most this many seconds, so their times are exact to so many.
const RUN_SECONDS: i64 = 60;
/// Longest list of other answers in a run, bytes.
const RUN_OTHERS_BYTES: usize = 1 << 10;
/// Interval between two writes.
const WRITE_EVERY: Duration = Duration::from_secs(1);
/// Runs at a time: of the new articles, and of a backlog.
const RUNS: usize = 2;

/// The answer of a site to the offer of an article.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It took the article (235, 239).
    Accepted,
    /// It did not want the article (435, 438).
    NotWanted,
    /// It refused the article when it had it (437, 439), or its offer by a general error.
    Refused,
    /// It wanted the article later (431, 436), or connections broke at it.
    Deferred,
    /// It deferred the article too often.
    GivenUp,
    /// The article was not offered: it had expired, or was cancelled.
    Gone,
    /// No answer yet.
    None,
}

impl Answer {
    const ALL: [Answer; 7] = [
        Answer::Accepted,
        Answer::NotWanted,
        Answer::Refused,
        Answer::Deferred,
        Answer::GivenUp,
        Answer::Gone,
        Answer::None,
    ];

    /// A word for programs, as in the file.
    pub fn word(self) -> &'static str {
        match self {
            Answer::Accepted => "accepted",
            Answer::NotWanted => "not_wanted",
            Answer::Refused => "refused",
            Answer::Deferred => "deferred",
            Answer::GivenUp => "given_up",
            Answer::Gone => "gone",
            Answer::None => "-",
        }
    }

    /// The first letter of the word.
    fn letter(self) -> u8 {
        match self {
            Answer::GivenUp => b'v',
            answer => answer.word().as_bytes().first().copied().unwrap_or(b'-'),
        }
    }

    fn of_word(word: &[u8]) -> Option<Answer> {
        let mut all = Answer::ALL.into_iter();
        all.find(|answer| answer.word().as_bytes() == word)
    }

    fn of_letter(letter: u8) -> Option<Answer> {
        let mut all = Answer::ALL.into_iter();
        all.find(|answer| answer.letter() == letter)
    }
}

/// An answer of a site, as its file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteAnswer {
    /// The time of the answer, seconds since 1970; of an answer without a text, exact to a minute.
    pub time: i64,
    /// The answer.
    pub answer: Answer,
    /// The text of the site's reply, if it is kept.
    pub text: Vec<u8>,
}

/// The answers of a site about the article at a position that its record names for it, the oldest first; those that are lost are left out.
pub fn about(news: &Path, site: &[u8], position: Position) -> Vec<SiteAnswer> {
    let mut found: Vec<SiteAnswer> = Vec::new();
    let Ok(dir) = directory(news, site) else {
        return found;
    };
    for name in [FILE_BEFORE, FILE] {
        let text = store::regular::read(&dir.join(name)).unwrap_or_default();
        for line in text.split(|&byte| byte == b'\n') {
            let answer = answer_in(line, position);
            // The line with its text comes before the run.
            let is_known = |one: &SiteAnswer| {
                answer.as_ref().is_some_and(|answer| {
                    answer.text.is_empty() && !one.text.is_empty() && one.answer == answer.answer
                })
            };
            if !found.last().is_some_and(is_known) {
                found.extend(answer.filter(|answer| answer.answer != Answer::None));
            }
        }
    }
    found
}

/// The answer about the article at a position, if a line has it and is whole.
fn answer_in(line: &[u8], position: Position) -> Option<SiteAnswer> {
    let mut words = line.splitn(4, |&byte| byte == b' ');
    let time = number(words.next()?)?;
    let from = number(words.next()?)?;
    let third = words.next()?;
    let to = number(third);
    // Most lines are about other articles.
    if position.0 < from || position.0 > to.unwrap_or(from) {
        return None;
    }
    let (text, sum) = line.split_at_checked(memchr::memrchr(b' ', line)?)?;
    if number(sum.get(1..)?)? != u64::from(crc32c::crc32c(text)) {
        return None;
    }
    let mut words = text.splitn(4, |&byte| byte == b' ').skip(2);
    let answer = |answer, text: &[u8]| {
        Some(SiteAnswer {
            time: i64::try_from(time).ok()?,
            answer,
            text: text.to_vec(),
        })
    };
    if to.is_none() {
        let word = Answer::of_word(words.next()?)?;
        return answer(word, words.next().unwrap_or_default());
    }
    let mut words = words.nth(1)?.split(|&byte| byte == b' ');
    let usual = Answer::of_word(words.next()?)?;
    let mut at = from;
    for word in words {
        let (letter, distance) = word.split_first()?;
        let distance = std::str::from_utf8(distance).ok()?;
        at = at.checked_add(u64::from_str_radix(distance, 16).ok()?)?;
        if at == position.0 {
            return answer(Answer::of_letter(*letter)?, b"");
        }
    }
    answer(usual, b"")
}

fn number(word: &[u8]) -> Option<u64> {
    article::decimal::parse(word)
}

/// Answers in the order of the log.
#[derive(Debug)]
struct Run {
    time: i64,
    from: Position,
    to: Position,
    answer: Answer,
    /// The other answers: a letter and the distance from the one before, hexadecimal, with a blank before each.
    others: Vec<u8>,
    /// The position of the last of them, or `from`.
    last_other: Position,
    /// The answers of all articles before it are known.
    reached: Position,
}

impl Run {
    fn push_line(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        let _ = write!(
            out,
            "{} {} {} {}",
            self.time,
            self.from.0,
            self.to.0,
            self.answer.word()
        );
        out.extend_from_slice(&self.others);
        end_line(out, begin);
    }
}

/// Ends a line with its checksum.
fn end_line(out: &mut Vec<u8>, begin: usize) {
    let sum = crc32c::crc32c(out.get(begin..).unwrap_or_default());
    // Ten digits: a line that is rewritten never gets shorter.
    let _ = writeln!(out, " {sum:010}");
}

/// Answers that are not written yet.
#[derive(Debug, Default)]
pub struct AnswerNotes {
    /// Lines that are final.
    lines: Vec<u8>,
    runs: [Option<Run>; RUNS],
    /// Whether there is something to write.
    has_news: bool,
    written: Option<Instant>,
}

impl AnswerNotes {
    /// Notes an answer about one article, with the text of the reply.
    pub fn note(&mut self, position: Position, answer: Answer, text: &str, time: i64) {
        let begin = self.lines.len();
        let _ = write!(self.lines, "{time} {} {}", position.0, answer.word());
        let text = text.as_bytes();
        let text = text.get(..ANSWER_TEXT_BYTES_MAX).unwrap_or(text);
        if !text.is_empty() {
            self.lines.push(b' ');
            let visible = |byte: &u8| if byte.is_ascii_control() { b' ' } else { *byte };
            self.lines.extend(text.iter().map(visible));
        }
        end_line(&mut self.lines, begin);
        self.has_news = true;
    }

    /// Begins with the articles of a stretch of the log from `passed` on.
    pub(crate) fn begin(&mut self, is_backlog: bool, passed: Position) {
        let run = self.runs.get_mut(usize::from(is_backlog));
        if let Some(run) = run
            && run.as_ref().is_some_and(|run| run.reached != passed)
        {
            close(run, &mut self.lines);
        }
    }

    /// Notes the answer about the next article of the stretch. `is_apart`: articles between the one before and it have none.
    pub(crate) fn next(
        &mut self,
        is_backlog: bool,
        (position, answer): (Position, Answer),
        is_apart: bool,
        time: i64,
    ) {
        let Some(slot) = self.runs.get_mut(usize::from(is_backlog)) else {
            return;
        };
        self.has_news = true;
        let is_over = |run: &Run| {
            is_apart
                || position <= run.to
                || !(run.time..run.time + RUN_SECONDS).contains(&time)
                || run.others.len() > RUN_OTHERS_BYTES
        };
        if slot.as_ref().is_some_and(is_over) {
            close(slot, &mut self.lines);
        }
        let run = slot.get_or_insert_with(|| Run {
            time,
            from: position,
            to: position,
            answer,
            others: Vec::new(),
            last_other: position,
            reached: position,
        });
        (run.to, run.reached) = (position, position);
        if answer != run.answer {
            let distance = position.0 - run.last_other.0;
            run.others.extend_from_slice(&[b' ', answer.letter()]);
            let _ = write!(run.others, "{distance:x}");
            run.last_other = position;
        }
    }

    /// The stretch is settled up to `passed`.
    pub(crate) fn end(&mut self, is_backlog: bool, passed: Position) {
        if let Some(Some(run)) = self.runs.get_mut(usize::from(is_backlog)) {
            run.reached = passed;
        }
    }

    /// When they are to be written, if there are any.
    pub(crate) fn due(&self, now: Instant) -> Option<Instant> {
        self.has_news
            .then(|| self.written.map_or(now, |at| at + WRITE_EVERY))
    }

    fn close_runs(&mut self) {
        for run in &mut self.runs {
            close(run, &mut self.lines);
        }
    }
}

fn close(run: &mut Option<Run>, lines: &mut Vec<u8>) {
    if let Some(run) = run.take() {
        run.push_line(lines);
    }
}

/// The file of a site, open for writing.
#[derive(Debug)]
pub(crate) struct AnswerFile {
    file: File,
    /// The end of the final lines.
    end: u64,
}

impl AnswerFile {
    fn open(dir: &Path) -> io::Result<AnswerFile> {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let file = store::regular::open_with(&dir.join(FILE), options)?;
        let mut end = file.metadata()?.len();
        let mut last = [b'\n'];
        if end > 0 {
            file.read_exact_at(&mut last, end - 1)?;
        }
        if last != *b"\n" {
            // A power cut tore the last line.
            file.write_all_at(b"\n", end)?;
            end += 1;
        }
        Ok(AnswerFile { file, end })
    }
}

/// Writes the answers into the file of a site, which stays open. They are dropped where the disk does not take them.
pub(crate) fn write(
    dir: &Path,
    opened: &mut Option<AnswerFile>,
    notes: &mut AnswerNotes,
    now: Instant,
) {
    notes.written = Some(now);
    if !std::mem::take(&mut notes.has_news) {
        return;
    }
    let file = match opened.take().map_or_else(|| AnswerFile::open(dir), Ok) {
        Ok(file) => opened.insert(file),
        Err(_) => {
            notes.runs = [None, None];
            return notes.lines.clear();
        }
    };
    let is_full = file.end > ANSWERS_BYTES_MAX;
    if is_full {
        notes.close_runs();
    }
    let whole = notes.lines.len();
    let mut text = std::mem::take(&mut notes.lines);
    for run in notes.runs.iter().flatten() {
        run.push_line(&mut text);
    }
    match file.file.write_all_at(&text, file.end) {
        Ok(()) => file.end += whole as u64,
        // A line without an end would hide the next one.
        Err(_) => _ = file.file.set_len(file.end),
    }
    text.clear();
    notes.lines = text;
    if is_full {
        let _ = std::fs::rename(dir.join(FILE), dir.join(FILE_BEFORE));
        *opened = None;
    }
}

/// As [`write`], and closes the file.
pub(crate) fn write_last(
    dir: &Path,
    mut opened: Option<AnswerFile>,
    notes: &mut AnswerNotes,
    now: Instant,
) {
    // Runs that were written as they are stay so.
    if notes.has_news {
        notes.close_runs();
        write(dir, &mut opened, notes, now);
    }
    notes.runs = [None, None];
}

/// Forgets all answers of a site: the log lost its end, and its positions name other articles.
pub(crate) fn forget(dir: &Path) {
    for name in [FILE, FILE_BEFORE] {
        let _ = std::fs::remove_file(dir.join(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: &[u8] = b"b";

    struct Room {
        news: tempfile::TempDir,
        opened: Option<AnswerFile>,
        notes: AnswerNotes,
    }

    impl Room {
        fn new() -> Room {
            let news = tempfile::tempdir().unwrap();
            std::fs::create_dir_all(directory(news.path(), SITE).unwrap()).unwrap();
            Room {
                news,
                opened: None,
                notes: AnswerNotes::default(),
            }
        }

        fn dir(&self) -> std::path::PathBuf {
            directory(self.news.path(), SITE).unwrap()
        }

        /// Notes answers in the order of the log.
        fn run(&mut self, (from, to): (u64, u64), answers: &[(u64, Answer)], time: i64) {
            self.notes.begin(false, Position(from));
            for (position, answer) in answers {
                let next = (Position(*position), *answer);
                self.notes.next(false, next, false, time);
            }
            self.notes.end(false, Position(to));
        }

        fn write(&mut self) {
            let dir = self.dir();
            write(&dir, &mut self.opened, &mut self.notes, Instant::now());
        }

        fn close(&mut self) {
            let dir = self.dir();
            let opened = self.opened.take();
            write_last(&dir, opened, &mut self.notes, Instant::now());
        }

        fn about(&self, position: u64) -> Vec<(i64, Answer, String)> {
            let all = about(self.news.path(), SITE, Position(position));
            let each = all.into_iter().map(|one| {
                let text = String::from_utf8(one.text).unwrap();
                (one.time, one.answer, text)
            });
            each.collect()
        }

        fn lines(&self) -> usize {
            let text = std::fs::read(self.dir().join(FILE)).unwrap();
            text.split(|&byte| byte == b'\n').count() - 1
        }
    }

    fn plain(time: i64, answer: Answer) -> Vec<(i64, Answer, String)> {
        vec![(time, answer, String::new())]
    }

    #[test]
    fn a_run_is_one_line_that_grows() {
        let mut room = Room::new();
        for number in 0..100 {
            let answer = match number % 10 {
                3 => Answer::NotWanted,
                4 => Answer::Gone,
                _ => Answer::Accepted,
            };
            let at = 1000 + number * 50;
            room.run((at, at + 40), &[(at, answer)], 5000 + number as i64 / 10);
            // The next article for the site begins behind others.
            room.notes.end(false, Position(at + 50));
            room.write();
            assert_eq!(room.lines(), 1, "{number}");
        }
        room.close();
        assert_eq!(room.lines(), 1);
        assert_eq!(room.about(1000), plain(5000, Answer::Accepted));
        assert_eq!(room.about(1150), plain(5000, Answer::NotWanted));
        assert_eq!(room.about(1200), plain(5000, Answer::Gone));
        assert_eq!(room.about(1000 + 93 * 50), plain(5000, Answer::NotWanted));
        assert_eq!(room.about(1000 + 99 * 50), plain(5000, Answer::Accepted));
        assert_eq!(room.about(1000 + 100 * 50), []);
        assert_eq!(room.about(999), []);
    }

    #[test]
    fn a_refusal_keeps_its_text_and_a_deferral_its_end() {
        let mut room = Room::new();
        room.notes.note(
            Position(60),
            Answer::Refused,
            "<1@a> Unwanted\ngroup \"x y\"",
            70,
        );
        let answers = [
            (50, Answer::Accepted),
            (60, Answer::Refused),
            (70, Answer::Deferred),
        ];
        room.run((50, 80), &answers, 100);
        room.close();
        room.notes.note(Position(70), Answer::Accepted, "", 130);
        room.close();
        let text = "<1@a> Unwanted group \"x y\"".to_owned();
        assert_eq!(room.about(60), [(70, Answer::Refused, text)]);
        let ends = [plain(100, Answer::Deferred), plain(130, Answer::Accepted)];
        assert_eq!(room.about(70), ends.concat());
        // A new run of articles that the list of deferred ones has not.
        let answers = [
            (65, Answer::Accepted),
            (70, Answer::None),
            (90, Answer::Accepted),
        ];
        room.run((65, 95), &answers, 200);
        room.close();
        assert_eq!(room.about(70), ends.concat());
        assert_eq!(room.about(90), plain(200, Answer::Accepted));
    }

    #[test]
    fn runs_cover_only_what_was_answered() {
        let mut room = Room::new();
        room.run((100, 120), &[(100, Answer::Accepted)], 1);
        // A stretch between was left to the backlog.
        room.run((200, 220), &[(200, Answer::Accepted)], 1);
        // Articles between had gone.
        room.notes.begin(false, Position(220));
        room.notes
            .next(false, (Position(300), Answer::Accepted), true, 1);
        room.close();
        let known = [100, 150, 200, 250, 300].map(|at| room.about(at).len());
        assert_eq!(known, [1, 0, 1, 0, 1]);
    }

    #[test]
    fn damage_costs_only_its_line() {
        let mut room = Room::new();
        for at in [100, 200, 300] {
            room.run((at, at + 1), &[(at, Answer::Accepted)], 1);
        }
        room.close();
        let path = room.dir().join(FILE);
        let whole = std::fs::read(&path).unwrap();
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &flipped).unwrap();
            let found = [100, 200, 300].map(|at| room.about(at));
            let right = plain(1, Answer::Accepted);
            let lost = found.iter().filter(|one| one.is_empty()).count();
            assert!(found.iter().all(|one| one.is_empty() || *one == right));
            assert!(lost <= 2, "{bit}");
        }
        // A torn line hides no later one.
        std::fs::write(&path, &whole[..whole.len() - 5]).unwrap();
        room.run((400, 401), &[(400, Answer::NotWanted)], 9);
        room.close();
        let found = [100, 200, 300, 400].map(|at| room.about(at).len());
        assert_eq!(found, [1, 1, 0, 1]);
    }

    #[test]
    fn the_file_is_bounded() {
        let mut room = Room::new();
        let path = room.dir().join(FILE);
        let file = File::create(&path).unwrap();
        // Sparse.
        file.set_len(ANSWERS_BYTES_MAX + 1).unwrap();
        room.run((100, 120), &[(100, Answer::Accepted)], 1);
        room.write();
        assert!(!path.exists());
        room.run((120, 140), &[(130, Answer::NotWanted)], 2);
        room.close();
        assert_eq!(room.about(100), plain(1, Answer::Accepted));
        assert_eq!(room.about(130), plain(2, Answer::NotWanted));
        assert!(std::fs::metadata(&path).unwrap().len() < 100);
        forget(&room.dir());
        assert_eq!(room.about(130), []);
    }
}
