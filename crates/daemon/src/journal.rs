//! The messages of the daemon on standard error: lines for the journal, which adds the time. The form is text, or JSON for programs.
//!
//! [`note`] reports events that clients can cause, with a maximum number of lines a minute for each kind, so that a flood does not fill the disk.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};

use server::{Counter, Event};

use super::lock::lock;
use super::syslog::{self, Severity};

/// Lines of one kind in a burst.
pub const LINES_AT_ONCE_MAX: u32 = 30;
/// Interval between further lines of that kind.
const LINE_EVERY: Duration = Duration::from_secs(2);
/// Longest value in a line, bytes; longer ones are truncated.
const VALUE_BYTES_MAX: usize = 400;

static IS_JSON: AtomicBool = AtomicBool::new(false);
static IS_JOURNAL: LazyLock<bool> = LazyLock::new(is_journal);
static LIMITS: Mutex<BTreeMap<&'static str, Limit>> = Mutex::new(BTreeMap::new());

/// Sets the format.
pub fn set_format(format: &str) {
    IS_JSON.store(format == "json", Ordering::Relaxed);
}

/// Writes a line of text about the work of the daemon.
pub fn say(text: &str) {
    write_text(Severity::Info, text);
}

/// Writes a line of text about something that an administrator should look at.
pub fn warn(text: &str) {
    write_text(Severity::Warning, text);
}

/// Writes a line of text about something that is well again.
pub fn say_notice(text: &str) {
    write_text(Severity::Notice, text);
}

/// Writes a line of text that is of interest only when something is searched for.
pub fn say_detail(text: &str) {
    write_text(Severity::Debug, text);
}

fn write_text(severity: Severity, text: &str) {
    let line = if IS_JSON.load(Ordering::Relaxed) {
        serde_json::json!({ "message": text }).to_string()
    } else {
        visible(&format!("broadsheet: {text}"))
    };
    write(severity, line);
}

/// Text for people, in which nothing acts on their terminals.
fn visible(text: &str) -> String {
    let mut shown = Vec::new();
    groups::push_for_terminal(&mut shown, text.as_bytes());
    String::from_utf8_lossy(&shown).into_owned()
}

/// Writes each line with one call. A reader that has gone away does not stop the daemon.
fn write(severity: Severity, mut line: String) {
    if syslog::is_in_use() {
        line = syslog::message(severity, &line, std::process::id())
    } else {
        if *IS_JOURNAL {
            line.insert_str(0, &format!("<{}>", severity as u8));
        }
        line.push('\n');
    }
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Whether standard error is the journal, as sd_journal_stream_fd(3) has programs find out: it then takes a severity before each line
/// (sd-daemon(3)).
fn is_journal() -> bool {
    let Some(named) = std::env::var("JOURNAL_STREAM").ok() else {
        return false;
    };
    let Ok(stream) = rustix::fs::fstat(std::io::stderr()) else {
        return false;
    };
    named.split_once(':').is_some_and(|(device, inode)| {
        device.parse() == Ok(stream.st_dev) && inode.parse() == Ok(stream.st_ino)
    })
}

/// A value in a line.
#[derive(Debug, Clone)]
pub enum Value {
    /// A number.
    Number(u64),
    /// A text, possibly from a client.
    Text(String),
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        let fits = |(start, c): &(usize, char)| start + c.len_utf8() <= VALUE_BYTES_MAX;
        let cut = text.char_indices().take_while(fits);
        Value::Text(cut.map(|(_, c)| c).collect())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Number(number)
    }
}

/// Fields of a line, in order.
pub type Fields = Vec<(&'static str, Value)>;

/// Reports an event, unless there were too many of its kind; the next line has the number of omitted ones.
pub fn note(event: &'static str, mut fields: Fields) {
    let limit = lock(&LIMITS)
        .entry(event)
        .or_insert_with(|| Limit::new(Instant::now()))
        .allow(Instant::now());
    let Some(left_out) = limit else {
        return;
    };
    if left_out > 0 {
        fields.push(("left_out", left_out.into()));
    }
    let severity = match event {
        "intake" if fields.iter().any(is_closed_by_error) => Severity::Warning,
        "peer_left" | "intake" => Severity::Info,
        _ => Severity::Warning,
    };
    write(
        severity,
        line(event, &fields, IS_JSON.load(Ordering::Relaxed)),
    );
}

/// Whether it is the state of an intake that no administrator has closed.
fn is_closed_by_error((name, value): &(&str, Value)) -> bool {
    *name == "state" && matches!(value, Value::Text(text) if text == "full" || text == "stopped")
}

fn line(event: &str, fields: &Fields, is_json: bool) -> String {
    if is_json {
        let mut all = serde_json::Map::new();
        all.insert("event".to_owned(), event.into());
        for (name, value) in fields {
            let value = match value {
                Value::Number(number) => (*number).into(),
                Value::Text(text) => text.as_str().into(),
            };
            all.insert((*name).to_owned(), value);
        }
        return serde_json::Value::Object(all).to_string();
    }
    let mut line = format!("broadsheet: {event}");
    for (name, value) in fields {
        let shown = match value {
            Value::Number(number) => number.to_string(),
            Value::Text(text) => quoted(text),
        };
        line.push_str(&format!(" {name}={shown}"));
    }
    line
}

/// A plain word as it is; other values in quotes, with special characters escaped.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '=');
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("{text:?}")
    }
}

/// The remaining lines of a kind.
#[derive(Debug)]
struct Limit {
    left: u32,
    since: Instant,
    left_out: u64,
}

impl Limit {
    fn new(now: Instant) -> Limit {
        Limit {
            left: LINES_AT_ONCE_MAX,
            since: now,
            left_out: 0,
        }
    }

    /// `None` omits the line. Otherwise returns the number of lines omitted before it.
    fn allow(&mut self, now: Instant) -> Option<u64> {
        let past = now.duration_since(self.since).as_millis() / LINE_EVERY.as_millis();
        let past = u32::try_from(past).unwrap_or(u32::MAX);
        if past > 0 {
            self.left = self.left.saturating_add(past).min(LINES_AT_ONCE_MAX);
            self.since = now;
        }
        match self.left {
            0 => {
                self.left_out += 1;
                None
            }
            _ => {
                self.left -= 1;
                Some(std::mem::take(&mut self.left_out))
            }
        }
    }
}

fn address(address: Option<SocketAddr>) -> Value {
    match address {
        Some(address) => address.to_string().as_str().into(),
        None => "local".into(),
    }
}

/// Reports an event of the server.
pub fn note_event(event: &Event<'_>) {
    match event {
        Event::Rejected { address: from, why } => note(
            "connection_refused",
            vec![("address", address(*from)), ("why", (*why).into())],
        ),
        Event::LoginFailed {
            address: from,
            entry,
            why,
        } => note(
            "login_failed",
            vec![
                ("address", address(*from)),
                ("entry", (*entry).into()),
                ("why", (*why).into()),
            ],
        ),
        Event::TimedOut {
            address: from,
            entry,
            is_receiving,
        } => {
            let at = if *is_receiving { "article" } else { "command" };
            let fields = vec![
                ("address", address(*from)),
                ("entry", (*entry).into()),
                ("waiting_for", at.into()),
            ];
            note("connection_timed_out", fields);
        }
        Event::Discard {
            address: from,
            entry,
            what,
            bytes,
        } => {
            let fields = vec![
                ("address", address(*from)),
                ("entry", (*entry).into()),
                ("what", (*what).into()),
                ("bytes", (*bytes as u64).into()),
            ];
            note("half_sent_dropped", fields);
        }
        Event::TooLarge {
            address: from,
            entry,
            id,
        } => {
            let fields = vec![
                ("address", address(*from)),
                ("entry", (*entry).into()),
                ("id", (&*String::from_utf8_lossy(id)).into()),
            ];
            note("article_too_large", fields);
        }
        Event::PeerLeft {
            address: from,
            entry,
            lasted,
            tally,
        } => {
            let mut fields = vec![
                ("entry", (*entry).into()),
                ("address", address(*from)),
                ("seconds", lasted.as_secs().into()),
            ];
            let all = [
                Counter::Offered,
                Counter::Accepted,
                Counter::Duplicates,
                Counter::Deferred,
                Counter::AcceptedBytes,
                Counter::ReceivedBytes,
                Counter::SentBytes,
            ];
            fields.extend(all.map(|what| (what.name(), tally.read(what).into())));
            fields.push(("refused", tally.refused().into()));
            let reasons = Counter::refusals().filter(|what| tally.read(*what) > 0);
            fields.extend(reasons.map(|what| (what.refusal_name(), tally.read(what).into())));
            note("peer_left", fields);
        }
        Event::ObjectStore { why: Some(why) } => {
            note("object_store_down", vec![("why", (*why).into())])
        }
        Event::ObjectStore { why: None } => note("object_store_up", Vec::new()),
        Event::LookupFailed { why } => note("store_unreadable", vec![("why", (*why).into())]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_counted_and_not_told() {
        let now = Instant::now();
        let mut limit = Limit::new(now);
        let told = (0..1000).filter(|_| limit.allow(now).is_some()).count();
        assert_eq!(told, LINES_AT_ONCE_MAX as usize);
        let left_out = 1000 - u64::from(LINES_AT_ONCE_MAX);
        assert_eq!(limit.allow(now + LINE_EVERY), Some(left_out));
        assert_eq!(limit.allow(now + LINE_EVERY), None);
    }

    #[test]
    fn nothing_from_outside_makes_a_line_of_its_own() {
        let fields = vec![
            ("why", "a\r\nbroadsheet: b=\"c\" \u{1b}[31m".into()),
            ("n", 7.into()),
            ("peer", "a.example".into()),
            ("none", "".into()),
        ];
        let text = line("x", &fields, false);
        assert_eq!(
            text,
            "broadsheet: x why=\"a\\r\\nbroadsheet: b=\\\"c\\\" \\u{1b}[31m\" n=7 peer=a.example none=\"\""
        );
        let json = line("x", &fields, true);
        assert!(!json.contains(['\n', '\r', '\u{1b}']));
        let read: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(read["n"], 7);
        assert_eq!(read["why"], "a\r\nbroadsheet: b=\"c\" \u{1b}[31m");
        assert!(
            matches!(Value::from("é".repeat(900).as_str()), Value::Text(cut) if cut.len() == VALUE_BYTES_MAX)
        );
    }
}
