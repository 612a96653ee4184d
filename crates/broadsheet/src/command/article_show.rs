//! `broadsheet article show`

use std::io::{self, Write};
use std::path::Path;

use article::{Article, Form, Header};
use feed::answers::{self, Answer as Reply, SiteAnswer};
use feed::site_state;
use groups::Sites;
use groups::sites::Via;
use inject::{mail_queue, posts_log};
use report::log_fold::{self, LogLine, LogSender};
use serde_json::{Value, json};
use store::{HistoryLine, Position, Snapshot};

use crate::answer::Answer;
use crate::command::history_find;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::removed::{self, RemovedArticle};
use crate::text;

/// The table.
pub static COMMAND: Command = Command {
    words: &["article", "show"],
    also: &[],
    summary: "tell what happened to an article",
    about: "\
Prints when and from which site an article came, where it was filed, which sites got it or will get
it and what they answered, and what removed it; of one that was refused, or went to a moderator,
when and why. It also reads the lines about it in log and its renamed files, and who posted it in
posts.log. Give a Message-ID (quoted for the shell), or GROUP/NUMBER.",
    operands: Operands {
        shown: "ID|GROUP/NUMBER...",
        least: 1,
        most: usize::MAX,
    },
    flags: &[DIR, JSON],
    exits: &[Meaning {
        status: Status::NO,
        when: "nothing is known of an article",
    }],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let snapshot = directory.snapshot()?;
    let removed = removed::all(&snapshot)?;
    // Without valid settings, the story does not tell how a site is fed.
    let sites = directory.settings().ok();
    let sites = sites.and_then(|read| directory.sys(&read.settings).ok());
    let mut status = Status::OK;
    for name in &given.operands {
        let id = removed::id_of(&snapshot, name.as_encoded_bytes())?.unwrap_or_default();
        let (lines, problems) = log_fold::lines_about(directory.root(), &id);
        for problem in problems {
            eprintln!("broadsheet: cannot read {problem}");
        }
        let mut story = match snapshot.history_line(&id)? {
            Some(line) => {
                let mut story = Story::of(&snapshot, &line, &removed)?;
                story.tell_sites((&directory, sites.as_ref()), line.position, &lines);
                story
            }
            None if !lines.is_empty() => {
                let seen = history_find::seen_elsewhere(&snapshot, &id)?;
                Story::without_history(&id, format!("not here: not in history{seen}"))
            }
            None => {
                let name = groups::shown(name.as_encoded_bytes());
                let seen = history_find::seen_elsewhere(&snapshot, &id)?;
                match seen {
                    "" => eprintln!(
                        "broadsheet: nothing is known of {name}: it never came, or its id and the lines about it in log are gone"
                    ),
                    seen => eprintln!("broadsheet: {name} is not in history{seen}"),
                }
                status = Status::NO;
                continue;
            }
        };
        story.lines = lines;
        story.posted_by = posted_by(directory.root(), &id, story.arrival.is_some());
        if story.lines.iter().any(|line| line.code == b'm') {
            story.waiting_mail = waiting_mail(directory.root(), &id);
        }
        given.print(&story, out)?;
    }
    Ok(status)
}

/// The story of an article.
struct Story {
    id: String,
    arrival: Option<i64>,
    from_site: Option<String>,
    poster: Option<String>,
    subject: Option<String>,
    bytes: Option<u64>,
    links: Vec<String>,
    /// The sites that were chosen for it.
    sites: Vec<SiteStory>,
    /// Their names, as the record has them.
    site_names: Vec<Vec<u8>>,
    state: String,
    /// The address in Approved.
    approved: Option<String>,
    /// The name of its mail to the moderator, if that waits.
    waiting_mail: Option<String>,
    removed: Option<Value>,
    /// The lines of the log about it.
    lines: Vec<LogLine>,
    /// The login or account and the address that posted it here, if `posts.log` has them.
    posted_by: Option<String>,
}

impl Story {
    /// Of an article that history does not know.
    fn without_history(id: &[u8], state: String) -> Story {
        Story {
            id: groups::shown(id),
            arrival: None,
            from_site: None,
            poster: None,
            subject: None,
            bytes: None,
            links: Vec::new(),
            sites: Vec::new(),
            site_names: Vec::new(),
            state,
            approved: None,
            waiting_mail: None,
            removed: None,
            lines: Vec::new(),
            posted_by: None,
        }
    }

    fn of(
        snapshot: &Snapshot,
        line: &HistoryLine<'_>,
        removed: &[RemovedArticle],
    ) -> anyhow::Result<Story> {
        let now = relay::Now::read().seconds;
        let links = line.links();
        let mut story = Story {
            arrival: line.arrival,
            bytes: line.size,
            links: links
                .map(|(group, number)| format!("{}/{number}", groups::shown(group)))
                .collect(),
            ..Story::without_history(line.id, String::new())
        };
        let mut buffer = Vec::new();
        let record = match line.position {
            Some(position) => snapshot.record(position, &mut buffer).ok().flatten(),
            None => None,
        };
        if let Some(record) = record {
            let parsed = Article::parse(record.wire_article(), Form::Wire);
            story.from_site = Some(sender_of(&parsed));
            story.poster = parsed.value(Header::From).map(groups::shown);
            story.approved = parsed.value(Header::Approved).map(groups::shown);
            story.subject = parsed.value(Header::Subject).map(groups::shown);
            story.site_names = words(record.sites());
        }
        let mut all = removed.iter();
        let removal = all.find(|article| Some(article.position) == line.position);
        story.removed = removal.map(|article| article.json(now));
        story.state = match (removal, line.is_filed()) {
            (Some(article), _) if article.is_restorable(now) => format!(
                "{}; `article restore' can bring it back until {}",
                article.told(),
                text::utc(article.until)
            ),
            (Some(article), _) => article.told(),
            (None, false) => {
                "not here: it was refused, or cancelled in advance; its id is remembered".to_owned()
            }
            (None, true) if snapshot.is_alive(line) => "here".to_owned(),
            (None, true) => "expired; its id is remembered".to_owned(),
        };
        Ok(story)
    }

    /// Adds the fate of the article at each site. Where its record is gone, the log names the sites.
    fn tell_sites(
        &mut self,
        (directory, sites): (&NewsDirectory, Option<&Sites>),
        position: Option<Position>,
        lines: &[LogLine],
    ) {
        let Some(position) = position else { return };
        let mut names = std::mem::take(&mut self.site_names);
        if names.is_empty() {
            let mut filed = lines.iter().filter(|line| line.code == b'+');
            names = filed.next_back().map_or(names, |line| words(&line.text));
        }
        let arrival = self.arrival.unwrap_or(i64::MIN);
        self.sites = names
            .iter()
            .map(|name| SiteStory::of((directory, sites), name, position, arrival))
            .collect();
    }
}

/// The fate of an article at a site that was chosen for it.
struct SiteStory {
    name: String,
    state: &'static str,
    /// Its transport returns answers.
    has_answers: bool,
    answers: Vec<SiteAnswer>,
}

impl SiteStory {
    fn of(
        (directory, sites): (&NewsDirectory, Option<&Sites>),
        name: &[u8],
        position: Position,
        arrival: i64,
    ) -> SiteStory {
        let mut answers = answers::about(directory.root(), name, position);
        for answer in &mut answers {
            answer.time = answer.time.max(arrival);
        }
        let feed = sites.and_then(|sites| sites.feed(name));
        SiteStory {
            name: groups::shown(name),
            state: site_got(directory, name, position),
            has_answers: feed.is_some_and(|feed| matches!(feed.via, Via::Nntp(_))),
            answers,
        }
    }

    /// The fate as a text for people.
    fn text(&self) -> String {
        let mut parts: Vec<String> = self.answers.iter().map(reply).collect();
        match self.state {
            "passed" if !parts.is_empty() => {}
            "passed" if self.has_answers => {
                parts.push("passed; no answer is recorded".to_owned());
            }
            "passed" => parts.push("passed to its transport".to_owned()),
            "deferred" if !parts.is_empty() => parts.push("it is offered again".to_owned()),
            "deferred" => parts.push("did not want it yet; it is offered again".to_owned()),
            "waits" => parts.push("it waits to be sent".to_owned()),
            _ => parts.push("there is no feed to it any more".to_owned()),
        }
        parts.join("; ")
    }

    fn json(&self) -> Value {
        let answers = self.answers.iter();
        let answers: Vec<Value> = answers
            .map(|answer| {
                json!({
                    "time": answer.time,
                    "answer": answer.answer.word(),
                    "text": groups::escaped(&answer.text),
                })
            })
            .collect();
        json!({"site": self.name, "state": self.state, "answers": answers})
    }
}

/// The text of an answer of a site.
fn reply(answer: &SiteAnswer) -> String {
    let time = text::utc(answer.time);
    let meaning = match answer.answer {
        Reply::Accepted => "accepted it",
        Reply::NotWanted => "did not want it",
        Reply::Refused => "refused it",
        Reply::Deferred | Reply::None => "deferred it",
        Reply::GivenUp => "given up: it deferred it too often",
        Reply::Gone => "was not offered it: it was gone",
    };
    match groups::shown(&answer.text).as_str() {
        "" => format!("{meaning}, {time}"),
        text => format!("{meaning}, {time}: {text}"),
    }
}

/// The words of a list.
fn words(list: &[u8]) -> Vec<Vec<u8>> {
    let words = list.split(|&byte| byte == b' ');
    let words = words.filter(|word| !word.is_empty());
    words.map(<[u8]>::to_vec).collect()
}

/// The site from which an article came: the first one in Path behind ours, or this one.
fn sender_of(article: &Article<'_>) -> String {
    let path = article.value(Header::Path).unwrap_or_default();
    let mut hosts = path.split(|&byte| byte == b'!').skip(1);
    match hosts.next() {
        Some(host) if host.starts_with(b".POSTED") => "posted here".to_owned(),
        Some(host) if hosts.next().is_some() => groups::shown(host),
        _ => "posted here".to_owned(),
    }
}

/// The login or account and the address that posted an article here, by `posts.log`. Of an id that was refused and never filed, those of the
/// refused post: an article with the id of a refused post is another one.
fn posted_by(root: &Path, id: &[u8], is_filed: bool) -> Option<String> {
    let mut filed = None;
    let mut refused = None;
    // Only the owner can read it.
    let _ = posts_log::each_line(root, |line| {
        if line.id.as_bytes() == id {
            let words = [line.account, line.host].into_iter();
            let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
            let post = if line.is_refused {
                &mut refused
            } else {
                &mut filed
            };
            *post = Some(words.join(" from "));
        }
    });
    filed.or(refused.filter(|_| !is_filed))
}

/// The name of the mail to the moderator that has the post with this id, if it waits.
fn waiting_mail(root: &Path, id: &[u8]) -> Option<String> {
    let waiting = mail_queue::list(root).ok()?;
    let mut waiting = waiting.iter();
    let mail = waiting.find(|mail| mail.post_id().as_deref() == Some(id))?;
    Some(mail.name())
}

/// The sender of an article, for the end of the text of a line of the log.
fn sent_by(sender: &LogSender) -> String {
    let (name, from) = (groups::shown(&sender.name), groups::shown(&sender.from));
    format!(" (sent by {name}, {from})")
}

/// The meaning of a line of the log.
fn event(line: &LogLine) -> String {
    let text = groups::shown(&line.text);
    match (line.code, text.as_str()) {
        (b'+', "") => "filed; no site gets it".to_owned(),
        (b'+', sites) => format!("filed, for {sites}"),
        (b'j', _) => "filed in junk".to_owned(),
        (b'-', text) => format!("refused: {text}"),
        (_, text) => text.to_owned(),
    }
}

/// Whether a site got the article at a position.
fn site_got(directory: &NewsDirectory, site: &[u8], position: Position) -> &'static str {
    match site_state::look(directory.root(), site) {
        Ok(Some(look)) if look.deferred.iter().any(|item| item.position == position) => "deferred",
        Ok(Some(look)) if look.cursor.has_passed(position) => "passed",
        Ok(Some(_)) => "waits",
        Ok(None) | Err(_) => "no feed",
    }
}

impl Answer for Story {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut row = |name: &str, value: &str| match value {
            "" => Ok(()),
            value => writeln!(out, "{name:10} {value}"),
        };
        row("id", &self.id)?;
        row("subject", self.subject.as_deref().unwrap_or_default())?;
        row("from", self.poster.as_deref().unwrap_or_default())?;
        row("arrived", &self.arrival.map(text::utc).unwrap_or_default())?;
        row("came from", self.from_site.as_deref().unwrap_or_default())?;
        let bytes = self.bytes.map(|bytes| format!("{bytes} bytes"));
        row("size", &bytes.unwrap_or_default())?;
        row("approved", self.approved.as_deref().unwrap_or_default())?;
        row("filed in", &self.links.join(" "))?;
        for site in &self.sites {
            row("site", &format!("{}: {}", site.name, site.text()))?;
        }
        row("posted by", self.posted_by.as_deref().unwrap_or_default())?;
        for line in &self.lines {
            let site = groups::shown(&line.site);
            let by = line.sender.as_ref().map_or_else(String::new, sent_by);
            row("log", &format!("{} {site}: {}{by}", line.time, event(line)))?;
        }
        if let Some(name) = &self.waiting_mail {
            let text =
                format!("{name} waits to be mailed to the moderator: see `broadsheet mail list'");
            row("mail", &text)?;
        }
        row("state", &self.state)
    }

    fn json(&self) -> Value {
        let sites: Vec<Value> = self.sites.iter().map(SiteStory::json).collect();
        let lines = self.lines.iter();
        let lines: Vec<Value> = lines
            .map(|line| {
                json!({
                    "time": line.time,
                    "site": groups::escaped(&line.site),
                    "code": char::from(line.code).to_string(),
                    "text": groups::escaped(&line.text),
                    "sender": line.sender.as_ref().map(|sender| groups::escaped(&sender.name)),
                    "from": line.sender.as_ref().map(|sender| groups::escaped(&sender.from)),
                })
            })
            .collect();
        json!({
            "id": self.id,
            "subject": self.subject,
            "from": self.poster,
            "arrived": self.arrival,
            "came_from": self.from_site,
            "bytes": self.bytes,
            "links": self.links,
            "sites": sites,
            "state": self.state,
            "removed": self.removed,
            "posted_by": self.posted_by,
            "approved": self.approved,
            "waiting_mail": self.waiting_mail,
            "log": lines,
        })
    }
}
