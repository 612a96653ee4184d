//! Fetching articles: by their message-ids, and by their numbers where the server does not have them so.

use std::borrow::Cow;
use std::collections::VecDeque;

use article::path::Path as ArticlePath;
use article::wire::push_native;
use article::{Article, Form, Header, newsgroups};
use groups::wildmat::Wildmat;
use memchr::memmem;

use crate::by_number::select;
use crate::connection::{Text, words};
use crate::error::Error;
use crate::leafnode;
use crate::marks::{Mark, REMEMBERED_MAX};
use crate::news::SHOWN;
use crate::run::{BATCH_BYTES, Visit, clock};

/// Most bytes of requests for articles in flight: they fit the buffers of both sockets, so that neither side waits for the other to read.
pub const WINDOW_BYTES_MAX: usize = 32 << 10;

/// How long the server may refuse an article until the mark of its group passes it, seconds: a week.
const REFUSED_SECONDS: i64 = 7 * 86_400;

/// A row of an overview.
pub(crate) struct Row {
    pub(crate) number: u64,
    pub(crate) id: Box<[u8]>,
}

impl Row {
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            number: self.number,
            id: Some(self.id.clone()),
        }
    }
}

/// How an article is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// `ARTICLE <id>`.
    Id,
    /// `ARTICLE number` in its group.
    Number,
}

/// An article to fetch.
struct Wanted<'r> {
    /// Empty: NEWNEWS listed it, and the row has no number.
    group: &'r [u8],
    row: &'r Row,
    state: State,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    /// Not asked for yet.
    Waits,
    /// The server does not have it by its message-id; its words, if it refused the command.
    Missing(Option<String>),
    /// Known, in the batch, gone, or refused.
    Settled,
}

/// The reply to a request for an article.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    /// It came.
    Came,
    /// The server does not have it; its words, if it refused the command.
    Missing(Option<String>),
}

/// Articles to fetch, in the order in which the marks pass them.
struct List<'r> {
    all: Vec<Wanted<'r>>,
    /// The marks have passed this number of articles.
    passed: usize,
}

/// Whether an article has the id, and one of the groups, for which the server was asked, and does not look as if it was posted here: the
/// server may file nothing else. What has no Message-ID or Newsgroups is refused as from anywhere.
fn is_asked_for(wire: &[u8], id: &[u8], wanted: &Wildmat) -> bool {
    let article = Article::parse(wire, Form::Wire);
    let is_in_group = |names| newsgroups::split(names).any(|name| wanted.matches(name));
    article.value(Header::MessageId).is_none_or(|own| own == id)
        && article.value(Header::Newsgroups).is_none_or(is_in_group)
        && !article
            .value(Header::Path)
            .is_some_and(ArticlePath::is_of_injection)
}

/// A text in wire form without the dots that begin a line and are not doubled: a reader disregards the first dot of each line (RFC 3977, 3.1.1), but
/// [`push_native`] keeps one that no correct server sends.
fn without_single_dots(wire: &[u8]) -> Cow<'_, [u8]> {
    let after_line_ends = memmem::find_iter(wire, b"\r\n.").map(|at| at + 2);
    let is_single = |at: &usize| {
        let line = wire.get(*at..).and_then(|line| line.strip_prefix(b"."));
        line.is_some_and(|rest| !rest.starts_with(b".") && !rest.starts_with(b"\r\n"))
    };
    let dots: Vec<usize> = std::iter::once(0)
        .chain(after_line_ends)
        .filter(is_single)
        .collect();
    if dots.is_empty() {
        return Cow::Borrowed(wire);
    }
    let mut text = Vec::with_capacity(wire.len());
    let mut from = 0;
    for dot in dots {
        text.extend_from_slice(wire.get(from..dot).unwrap_or_default());
        from = dot + 1;
    }
    text.extend_from_slice(wire.get(from..).unwrap_or_default());
    Cow::Owned(text)
}

/// The requests of a list on their way.
struct Requests<'r> {
    by: By,
    /// The lengths of those in flight, bytes.
    lengths: VecDeque<usize>,
    in_flight_bytes: usize,
    /// The group that is selected behind the last request that was sent.
    asked_in: &'r [u8],
    /// The group whose reply has come last, and whether the server selected it.
    selected: (&'r [u8], bool),
}

impl<'r> Requests<'r> {
    fn new(by: By) -> Requests<'r> {
        Requests {
            by,
            lengths: VecDeque::new(),
            in_flight_bytes: 0,
            asked_in: b"",
            selected: (b"", true),
        }
    }

    /// Appends the request for an article, if it fits into the window. One request always fits.
    fn push(&mut self, one: &Wanted<'r>, window: usize, out: &mut Vec<u8>) -> bool {
        let mut command = Vec::new();
        match self.by {
            By::Id => command.extend_from_slice(&[b"ARTICLE ", &*one.row.id, b"\r\n"].concat()),
            By::Number => {
                if self.asked_in != one.group {
                    select(&mut command, one.group);
                }
                command.extend_from_slice(format!("ARTICLE {}\r\n", one.row.number).as_bytes());
            }
        }
        if self.in_flight_bytes > 0 && self.in_flight_bytes + command.len() > window {
            return false;
        }
        self.asked_in = one.group;
        self.in_flight_bytes += command.len();
        self.lengths.push_back(command.len());
        out.append(&mut command);
        true
    }

    /// The oldest request has its reply.
    fn pop(&mut self) {
        self.in_flight_bytes -= self.lengths.pop_front().unwrap_or(0);
    }
}

impl Visit<'_> {
    /// Fetches the articles of these groups and rows that are unknown here, and settles the rows in their order. The server is asked by message-id
    /// first, and then by number for what it does not have so: some servers have no index of ids, or a part of one.
    pub(crate) fn fetch(&mut self, lists: &[(&[u8], Vec<Row>)]) -> Result<(), Error> {
        if self.fetched.len() >= REMEMBERED_MAX {
            self.fetched.clear();
        }
        let mut list = List {
            all: Vec::new(),
            passed: 0,
        };
        for (group, rows) in lists {
            for row in rows {
                let is_new = !self.snapshot.has(&row.id)? && self.fetched.insert(row.id.clone());
                let state = if is_new { State::Waits } else { State::Settled };
                if is_new {
                    self.pulled.wanted += 1
                } else {
                    self.pulled.known += 1
                }
                list.all.push(Wanted { group, row, state });
            }
        }
        for by in [By::Id, By::Number] {
            self.ask_for(&mut list, by)?;
        }
        self.pass(&mut list);
        Ok(())
    }

    /// Asks in one way for the articles of a list that have not come.
    fn ask_for<'r>(&mut self, list: &mut List<'r>, by: By) -> Result<(), Error> {
        let is_asked = |one: &Wanted<'r>| match by {
            // A server that had only numbers so far is not asked for each article in vain.
            By::Id => one.group.is_empty() || self.first_came_by != Some(By::Number),
            By::Number => !one.group.is_empty(),
        };
        let all = list.all.iter().enumerate();
        let to_ask = all.filter(|(_, one)| one.state != State::Settled && is_asked(one));
        let places: Vec<usize> = to_ask.map(|(place, _)| place).collect();
        let mut to_ask = places.iter().peekable();
        let mut requests = Requests::new(by);
        for place in &places {
            // After a break one article at a time, until that one has come, so that the right one is blamed: a server that ends a
            // connection may take the articles before with it.
            let window = if self.marks.has_break() {
                0
            } else {
                WINDOW_BYTES_MAX
            };
            if requests.in_flight_bytes <= window / 2 {
                let mut commands = Vec::new();
                while let Some(one) = to_ask.peek().and_then(|next| list.all.get(**next))
                    && requests.push(one, window, &mut commands)
                {
                    to_ask.next();
                }
                self.connection.send(&commands)?;
            }
            let result = self.answer(list, *place, &mut requests);
            self.pass(list);
            result?;
            if self.batch.len() >= BATCH_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Takes the reply to the oldest request, that for the article at this place.
    fn answer<'r>(
        &mut self,
        list: &mut List<'r>,
        place: usize,
        requests: &mut Requests<'r>,
    ) -> Result<(), Error> {
        let Some(one) = list.all.get_mut(place) else {
            return Ok(());
        };
        let (group, row) = (one.group, one.row);
        let id = &row.id;
        let is_selected = match requests.by {
            By::Number if requests.selected.0 != group => {
                requests.selected = (group, self.numbers(group)?.is_some());
                requests.selected.1
            }
            _ => requests.selected.1,
        };
        let answer = match self.article(id, is_selected) {
            Ok(answer) => {
                self.marks.pass_break(id);
                answer
            }
            Err(error @ Error::Endless(_)) => {
                self.marks.pass_break(id);
                one.state = State::Settled;
                // The next run goes on behind it. A server that has it by its message-id would have those before it, too.
                for before in list.all.iter_mut().take(place) {
                    if let State::Missing(words) = &mut before.state {
                        let words = words.take();
                        before.state = State::Settled;
                        self.miss(&before.row.id, words);
                    }
                }
                return Err(error);
            }
            Err(error) if error.is_break() => {
                let count = self.marks.note_break(id);
                return Err(error.at(id, count));
            }
            Err(error) => return Err(error),
        };
        requests.pop();
        match answer {
            Answer::Came => {
                self.first_came_by.get_or_insert(requests.by);
                one.state = State::Settled;
            }
            Answer::Missing(words) if requests.by == By::Id && !group.is_empty() => {
                one.state = State::Missing(words);
            }
            Answer::Missing(_) if group.is_empty() => {
                one.state = State::Settled;
                // If it is in one of the groups, the overview shows its number.
                self.fetched.remove(id);
                self.missing.push(id.clone());
            }
            Answer::Missing(words) => {
                one.state = State::Settled;
                self.miss(id, words);
            }
        }
        Ok(())
    }

    /// Counts the articles that NEWNEWS listed, that the server does not have by their message-ids, and that no overview has shown.
    pub(crate) fn count_missing(&mut self) {
        let missing = std::mem::take(&mut self.missing);
        let are_gone = missing.iter().filter(|id| !self.fetched.contains(*id));
        self.pulled.gone += are_gone.count() as u64;
    }

    /// Counts an article that the server does not have: it is gone, or refused with these words.
    fn miss(&mut self, id: &[u8], words: Option<String>) {
        match words {
            Some(words) => self.refuse(id, &words),
            None => self.pulled.gone += 1,
        }
    }

    /// Moves the marks behind the settled articles at the front of a list. The mark of a group stays before an article that the server refuses.
    fn pass(&mut self, list: &mut List<'_>) {
        let rest = list.all.iter().skip(list.passed);
        for one in rest.take_while(|one| one.state == State::Settled) {
            list.passed += 1;
            if one.group.is_empty() {
                continue;
            }
            if self.refused.contains(&one.row.id) {
                self.held.insert(one.group.to_vec());
            } else if !self.held.contains(one.group) {
                self.marks.set(one.group, one.row.mark());
            }
        }
    }

    /// Notes that the server refuses an article. The mark of its group passes it after [`REFUSED_SECONDS`].
    fn refuse(&mut self, id: &[u8], words: &str) {
        let now = clock();
        let since = self.marks.refuse(id, now);
        let shown = id.escape_ascii();
        if now.saturating_sub(since) >= REFUSED_SECONDS {
            self.pulled.given_up += 1;
            self.news.message(&format!(
                "{shown}: the server has answered `{words}' for a week; the article is given up"
            ));
            return;
        }
        self.refused.insert(id.into());
        self.pulled.refused += 1;
        if self.pulled.refused <= SHOWN {
            self.news.message(&format!(
                "{shown}: the server answers `{words}'; the next run asks for the article again"
            ));
        }
    }

    /// Receives the article with this id, and adds it to the batch. `is_selected`: the server was asked in the right group.
    ///
    /// # Errors
    /// After [`Error::Endless`] the connection cannot be used.
    fn article(&mut self, id: &[u8], is_selected: bool) -> Result<Answer, Error> {
        let mut line = Vec::new();
        let reply = self.connection.reply(&mut line)?;
        match reply.code {
            220 => {}
            423 | 430 if is_selected => return Ok(Answer::Missing(None)),
            // 502 may tell that a quota is used up: then other articles are refused, too.
            502 => return Err(reply.to_error().into()),
            _ if reply.is_refusal() && self.refused.len() < REMEMBERED_MAX => {
                return Ok(Answer::Missing(Some(words(reply))));
            }
            _ => return Err(reply.to_error().into()),
        }
        match self.connection.text(self.article_bytes_max)? {
            Text::TooLarge => self.pulled.too_large += 1,
            Text::Endless(bytes) => {
                self.pulled.too_large += 1;
                // By number the article is settled; NEWNEWS would list it again.
                self.marks.set_newnews(None);
                let id = id.escape_ascii();
                return Err(Error::Endless(format!(
                    "article {id} ({bytes} bytes are read); the next run goes on behind it"
                )));
            }
            // The same number of another group.
            Text::Whole(_) if !is_selected => {
                return Ok(Answer::Missing(Some("no such group any more".to_owned())));
            }
            Text::Whole(text) if leafnode::is_without_body(text) => {
                return Ok(Answer::Missing(Some(leafnode::WITHOUT_BODY.to_owned())));
            }
            Text::Whole(text) if !is_asked_for(text, id, &self.wanted) => {
                self.pulled.not_asked_for += 1;
                if self.pulled.not_asked_for <= SHOWN {
                    let id = id.escape_ascii();
                    self.news.message(&format!("refused for {id}: an article with another Message-ID, in none of the groups, or with .POSTED first in Path"));
                }
            }
            Text::Whole(text) => {
                let mut native = Vec::with_capacity(text.len());
                push_native(&mut native, &without_single_dots(text));
                let heading = format!("#! rnews {}\n", native.len());
                self.batch.extend_from_slice(heading.as_bytes());
                self.batch.append(&mut native);
                self.pulled.fetched += 1;
            }
        }
        self.pulled.bytes = self.connection.received_bytes;
        self.news.progress(self.pulled);
        Ok(Answer::Came)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_dot_before_text_is_disregarded() {
        for (wire, expected) in [
            ("a\r\n.b\r\n..c\r\n.\r\n", "a\r\nb\r\n..c\r\n.\r\n"),
            (".a: b\r\n\r\n.\r\n", "a: b\r\n\r\n.\r\n"),
            ("a\n.b\r\n. \r\n.\r\n", "a\n.b\r\n \r\n.\r\n"),
            ("a.\r\nb\r\n.\r\n", "a.\r\nb\r\n.\r\n"),
        ] {
            let text = without_single_dots(wire.as_bytes());
            assert_eq!(
                text.escape_ascii().to_string(),
                expected.as_bytes().escape_ascii().to_string()
            );
        }
        assert!(matches!(
            without_single_dots(b"a\r\n..b\r\n.\r\n"),
            Cow::Borrowed(_)
        ));
    }
}
