//! Removed articles: how commands find and show them.

use std::collections::BTreeMap;

use groups::shown;
use serde_json::{Value, json};
use store::{CancelLine, Position, RemovedBy, Snapshot};

use crate::text;

/// A removed article.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedArticle {
    /// Its position in the log.
    pub position: Position,
    /// Its message-id.
    pub id: Vec<u8>,
    /// The time of the removal, seconds since 1970; `None`: not known.
    pub seconds: Option<i64>,
    /// How it was removed.
    pub by: Option<RemovedBy>,
    /// The reason, or the id of the cancel message.
    pub text: String,
    /// The time until which it can be restored, seconds since 1970.
    pub until: i64,
}

/// All removed articles, by position.
///
/// # Errors
/// The file of cancels cannot be read.
pub fn all(snapshot: &Snapshot) -> Result<Vec<RemovedArticle>, store::Error> {
    let lines = snapshot.removed_lines()?;
    let mut last = BTreeMap::new();
    for line in lines.split(|&byte| byte == b'\n') {
        if let Some(line) = CancelLine::parse(line) {
            last.insert(line.position.0, line);
        }
    }
    let removed = last.into_values().filter(|line| !line.is_restored);
    Ok(removed.map(|line| RemovedArticle::of(&line)).collect())
}

/// The names under which a user may give an article: an id with or without brackets, or group and number.
pub fn id_of(snapshot: &Snapshot, name: &[u8]) -> Result<Option<Vec<u8>>, store::Error> {
    if let Some((group, number)) = crate::command::article::link(name)
        && !name.starts_with(b"<")
        && !name.contains(&b'@')
    {
        let mut buffer = Vec::new();
        let record = snapshot.article_by_number(&group, number, &mut buffer)?;
        let line = record.and_then(|record| store::HistoryLine::parse(record.line()));
        return Ok(line.map(|line| line.id.to_vec()));
    }
    Ok(Some(match name.starts_with(b"<") {
        true => name.to_vec(),
        false => [b"<", name, b">"].concat(),
    }))
}

impl RemovedArticle {
    fn of(line: &CancelLine<'_>) -> RemovedArticle {
        let note = line.note;
        RemovedArticle {
            position: line.position,
            id: line.id.to_vec(),
            seconds: note.map(|note| note.seconds),
            by: note.map(|note| note.by),
            text: note.map_or_else(String::new, |note| shown(note.text)),
            until: note.map_or(i64::MIN, |note| note.until),
        }
    }

    /// Whether it can be restored at a time.
    pub fn is_restorable(&self, now: i64) -> bool {
        self.by != Some(RemovedBy::Erasure) && self.until > now
    }

    /// How and when it was removed, as the rest of a sentence that begins with the article.
    pub fn told(&self) -> String {
        let at = match self.seconds {
            Some(seconds) => format!(" at {}", text::utc(seconds)),
            None => String::new(),
        };
        match self.by {
            Some(RemovedBy::Cancel) => format!("cancelled{at} by {}", self.text),
            Some(RemovedBy::Hand) => format!("removed{at}{}", because(&self.text)),
            Some(RemovedBy::Erasure) => format!("erased{at}{}", because(&self.text)),
            None => "cancelled".to_owned(),
        }
    }

    /// For programs.
    pub fn json(&self, now: i64) -> Value {
        json!({
            "id": shown(&self.id),
            "how": self.by.map_or("cancel", RemovedBy::word),
            "at": self.seconds,
            "text": self.text,
            "restorable_until": (self.is_restorable(now)).then_some(self.until),
        })
    }
}

fn because(text: &str) -> String {
    match text {
        "" => String::new(),
        text => format!(": {text}"),
    }
}
