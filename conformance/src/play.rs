//! Plays a case against a subject.

use std::time::{Duration, Instant};

use crate::case::{Act, BlockLine, Case, Need, Step};
use crate::fixture;
use crate::line::{Connection, REPLY_TIMEOUT, block_line, initial_line};
use crate::pattern::{self, Variables};
use crate::subject::Subject;

/// How long `C?:` repeats its line.
const REPEAT_TIMEOUT: Duration = Duration::from_secs(20);

/// Pause between two repetitions of `C?:`.
const REPEAT_PAUSE: Duration = Duration::from_millis(50);

/// The result of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaseResult {
    /// Every reply conformed to the RFC.
    Passed,
    /// The subject does not support this: the reason.
    Skipped(String),
    /// A reply violated the RFC: the violation, and the transcript.
    Failed(String),
}

/// The reason for stopping a case.
enum Stop {
    Skip(String),
    Fail(String),
    /// The case has passed early.
    Done,
}

type StepResult = Result<(), Stop>;

fn failed<T>(why: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Fail(why.into()))
}

/// Plays `case` to its end, or to the first violation.
pub fn play(case: &Case, subject: &Subject) -> CaseResult {
    let mut player = Player {
        subject,
        connection: None,
        beside: Vec::new(),
        variables: predefined_variables(case, subject),
        waiting: Vec::new(),
        again: None,
        log: Vec::new(),
    };
    match player.all(case) {
        Ok(()) | Err(Stop::Done) => CaseResult::Passed,
        Err(Stop::Skip(why)) => CaseResult::Skipped(why),
        Err(Stop::Fail(why)) => {
            let about = case.about.join(" ");
            CaseResult::Failed(format!("{about}\n{}\n--> {why}", player.log.join("\n")))
        }
    }
}

/// The predefined variables of a case.
fn predefined_variables(case: &Case, subject: &Subject) -> Variables {
    let mut variables = Variables::new();
    let own = case.name.replace(['/', '.'], "-");
    let run = subject.run();
    for number in 1..=5 {
        let id = format!("<{own}.{number}.{run}@conformance.example>");
        variables.insert(format!("new{number}"), id);
    }
    for sent in fixture::articles() {
        let name = sent.id.trim_start_matches('<');
        let name = name.split('@').next().unwrap_or(name).to_owned();
        variables.insert(name, sent.id);
    }
    let now = fixture::now();
    for (name, text) in [
        ("date", fixture::date(now)),
        ("yesterday", fixture::date(now - 86_400)),
        ("stamp", fixture::stamp(now)),
        ("hourago", fixture::stamp(now - 3600)),
        ("dayago", fixture::stamp(now - 86_400)),
        ("tomorrow", fixture::stamp(now + 86_400)),
        ("run", run.to_owned()),
        ("user", fixture::USER.to_owned()),
        ("password", fixture::PASSWORD.to_owned()),
        ("plain", sasl_plain()),
    ] {
        variables.insert(name.to_owned(), text);
    }
    variables
}

/// Name and password for SASL PLAIN (RFC 4616, 2), in base64.
fn sasl_plain() -> String {
    base64(format!("\0{}\0{}", fixture::USER, fixture::PASSWORD).as_bytes())
}

fn base64(octets: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in octets.chunks(3) {
        let bits = (0..3).fold(0_usize, |bits, at| {
            bits << 8 | usize::from(three.get(at).copied().unwrap_or(0))
        });
        for at in 0..4 {
            let letter = LETTERS.get(bits >> (18 - 6 * at) & 63).copied();
            let letter = letter.filter(|_| at <= three.len());
            text.push(char::from(letter.unwrap_or(b'=')));
        }
    }
    text
}

struct Player<'a> {
    subject: &'a Subject,
    connection: Option<Connection>,
    /// Other connections, which stay open to the end.
    beside: Vec<Connection>,
    variables: Variables,
    /// Octets to send in one write before the next reply is read.
    waiting: Vec<u8>,
    /// The line of `C?:`, until its reply matches.
    again: Option<Vec<u8>>,
    log: Vec<String>,
}

impl Player<'_> {
    fn all(&mut self, case: &Case) -> StepResult {
        if case.needs.contains(&Need::Fixture) && !self.subject.is_prepared() {
            return Err(Stop::Skip(
                "the server does not have the groups of the suite".to_owned(),
            ));
        }
        if case.needs.contains(&Need::User) && !self.subject.knows_user() {
            return Err(Stop::Skip(
                "the server does not have the user of the suite".to_owned(),
            ));
        }
        if case.needs.contains(&Need::SaslUser) && !self.subject.knows_sasl_user() {
            return Err(Stop::Skip(
                "the server's SASL does not have the user of the suite".to_owned(),
            ));
        }
        let way = case
            .needs
            .iter()
            .find(|need| matches!(need, Need::Raw | Need::Transit | Need::Tls | Need::TlsPort));
        let way = way.cloned().unwrap_or(Need::Reader);
        self.connect(&way)?;
        for need in &case.needs {
            self.need(need, &way)?;
        }
        for step in &case.steps {
            self.step(step).map_err(|stop| match stop {
                Stop::Fail(why) => Stop::Fail(format!("line {}: {why}", step.line)),
                skip => skip,
            })?;
        }
        self.flush()
    }

    /// Opens a connection in the state that `way` names.
    fn connect(&mut self, way: &Need) -> StepResult {
        self.flush()?;
        self.connection = None;
        let address = match (way, self.subject.tls_address()) {
            (Need::TlsPort, Some(address)) => address,
            (Need::TlsPort, None) => {
                return Err(Stop::Skip(
                    "the server has no port with implicit TLS".to_owned(),
                ));
            }
            _ => self.subject.address(),
        };
        let open = Connection::open(address);
        self.connection = Some(open.map_err(|error| Stop::Fail(format!("connecting: {error}")))?);
        match way {
            Need::Raw | Need::TlsPort => Ok(()),
            Need::Transit => self.greeted(),
            _ => {
                self.greeted()?;
                self.enter_reader_mode()?;
                match way {
                    Need::Tls => self.begin_tls(),
                    _ => Ok(()),
                }
            }
        }
    }

    fn greeted(&mut self) -> StepResult {
        let greeting = self.initial()?;
        match greeting.starts_with(b"200") || greeting.starts_with(b"201") {
            true => Ok(()),
            false => Err(Stop::Skip(format!(
                "the server greets with {}",
                shown(&greeting)
            ))),
        }
    }

    /// Sends MODE READER if the server requires it (RFC 3977, 3.4.2).
    fn enter_reader_mode(&mut self) -> StepResult {
        if !self
            .subject
            .capabilities(&Need::Transit)?
            .have("MODE-READER", None)
        {
            return Ok(());
        }
        self.put(b"MODE READER\r\n");
        let answer = self.initial()?;
        match answer.starts_with(b"200") || answer.starts_with(b"201") {
            true => Ok(()),
            false => Err(Stop::Skip(format!(
                "MODE READER is answered with {}",
                shown(&answer)
            ))),
        }
    }

    fn begin_tls(&mut self) -> StepResult {
        if !self
            .subject
            .capabilities(&Need::Reader)?
            .have("STARTTLS", None)
        {
            return Err(Stop::Skip(
                "STARTTLS is not in the capability list".to_owned(),
            ));
        }
        self.put(b"STARTTLS\r\n");
        let answer = self.initial()?;
        if !answer.starts_with(b"382") {
            return failed("STARTTLS is not answered with 382");
        }
        self.start_tls()
    }

    fn start_tls(&mut self) -> StepResult {
        self.flush()?;
        self.log.push("-- TLS begins".to_owned());
        let connection = self.connection()?;
        connection
            .start_tls()
            .or_else(|error| failed(format!("TLS: {error}")))
    }

    /// Skips the case if the server lacks a requirement.
    fn need(&mut self, need: &Need, way: &Need) -> StepResult {
        match need {
            Need::Capability(label, argument) | Need::Without(label, argument) => {
                // A case that begins before the greeting and needs a capability concerns reading.
                let asked = match (way, label.as_str()) {
                    (Need::Raw, "MODE-READER") => &Need::Transit,
                    (Need::Raw, _) => &Need::Reader,
                    _ => way,
                };
                let is = self
                    .subject
                    .capabilities(asked)?
                    .have(label, argument.as_deref());
                let words = [Some(label.as_str()), argument.as_deref()];
                let words = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
                match (is, need) {
                    (true, Need::Without(..)) => {
                        Err(Stop::Skip(format!("{words} is in the capability list")))
                    }
                    (false, Need::Capability(..)) => {
                        Err(Stop::Skip(format!("{words} is not in the capability list")))
                    }
                    _ => Ok(()),
                }
            }
            Need::Command(command) => {
                self.put(format!("{command}\r\n").as_bytes());
                let answer = self.initial()?;
                match answer.starts_with(b"500") {
                    true => Err(Stop::Skip(format!("the server has no {command}"))),
                    false if answer.starts_with(b"2") => self.rest_of_block(),
                    false => Ok(()),
                }
            }
            Need::Reader
                if !self
                    .subject
                    .capabilities(&Need::Reader)?
                    .have("READER", None) =>
            {
                Err(Stop::Skip(
                    "READER is not in the capability list".to_owned(),
                ))
            }
            Need::Transit
                if !self
                    .subject
                    .capabilities(&Need::Transit)?
                    .have("IHAVE", None) =>
            {
                Err(Stop::Skip("IHAVE is not in the capability list".to_owned()))
            }
            _ => Ok(()),
        }
    }

    fn rest_of_block(&mut self) -> StepResult {
        while self.block()?.is_some() {}
        Ok(())
    }

    fn step(&mut self, step: &Step) -> StepResult {
        match &step.act {
            Act::Send(text) => {
                let mut line = self.expand(text);
                line.extend_from_slice(b"\r\n");
                self.put(&line);
                Ok(())
            }
            Act::SendUntil(text) => {
                let mut line = self.expand(text);
                line.extend_from_slice(b"\r\n");
                self.put(&line);
                self.again = Some(line);
                Ok(())
            }
            Act::SendRaw(text) => {
                let octets = self.expand(text);
                self.put(&octets);
                Ok(())
            }
            Act::SendBlock(lines) => {
                self.send_block(lines);
                Ok(())
            }
            Act::Expect(count, pattern) => (0..*count).try_for_each(|_| self.expect(pattern)),
            Act::ExpectBlock(lines) => self.expect_block(lines),
            Act::Unless(pattern, reason) => self.unless(pattern, reason),
            Act::Check(text) => self.check(text),
            Act::Close => self.expect_close(),
            Act::Connect(way) => self.connect(way),
            Act::ConnectBeside(way) => {
                self.flush()?;
                self.beside.extend(self.connection.take());
                self.connect(way)
            }
            Act::Hangup => self.expect_hangup(),
            Act::StartTls { or_close } => match self.start_tls() {
                Err(Stop::Fail(_)) if *or_close => Err(Stop::Done),
                other => other,
            },
            Act::Deflate => {
                self.flush()?;
                self.log.push("-- compression begins".to_owned());
                let connection = self.connection()?;
                connection
                    .start_deflate()
                    .or_else(|error| failed(format!("COMPRESS: {error}")))
            }
        }
    }

    fn connection(&mut self) -> Result<&mut Connection, Stop> {
        match &mut self.connection {
            Some(connection) => Ok(connection),
            None => failed("there is no connection"),
        }
    }

    fn put(&mut self, octets: &[u8]) {
        for line in octets.split_inclusive(|&octet| octet == b'\n') {
            self.log.push(format!("C: {}", shown(line)));
        }
        self.waiting.extend_from_slice(octets);
    }

    fn send_block(&mut self, lines: &[String]) {
        let mut block = Vec::new();
        for line in lines {
            let line = self.expand(line);
            if line.starts_with(b".") {
                block.push(b'.');
            }
            block.extend_from_slice(&line);
            block.extend_from_slice(b"\r\n");
        }
        block.extend_from_slice(b".\r\n");
        self.put(&block);
    }

    fn flush(&mut self) -> StepResult {
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.is_empty() {
            return Ok(());
        }
        let sent = self.connection()?.send(&waiting);
        sent.or_else(|error| failed(format!("sending: {error}")))
    }

    /// Expands a text of the case: variables, then escapes and `\(500*x)`.
    fn expand(&self, text: &str) -> Vec<u8> {
        let mut named = text.to_owned();
        for (name, value) in &self.variables {
            named = named.replace(&format!("{{{name}}}"), value);
        }
        let mut out = Vec::new();
        let mut rest = named.as_str();
        while let Some(letter) = rest.chars().next() {
            let used = if let Some((octets, used)) = repeated(rest) {
                out.extend_from_slice(&octets);
                used
            } else if let Some((octet, used)) = pattern::escape(rest) {
                out.push(octet);
                used
            } else {
                out.extend_from_slice(letter.to_string().as_bytes());
                letter.len_utf8()
            };
            rest = rest.get(used..).unwrap_or_default();
        }
        out
    }

    /// Reads the next line unchanged.
    fn read_line(&mut self) -> Result<Vec<u8>, Stop> {
        self.flush()?;
        match self.connection()?.line() {
            Ok(Some(line)) => {
                self.log.push(format!("S: {}", shown(&line)));
                Ok(line)
            }
            Ok(None) => failed("the server closed the connection"),
            Err(error) => failed(error.to_string()),
        }
    }

    fn initial(&mut self) -> Result<Vec<u8>, Stop> {
        let line = self.read_line()?;
        match initial_line(&line) {
            Ok(text) => Ok(text.to_vec()),
            Err(why) => failed(why),
        }
    }

    fn block(&mut self) -> Result<Option<Vec<u8>>, Stop> {
        let line = self.read_line()?;
        match block_line(&line) {
            Ok(text) => Ok(text.map(<[u8]>::to_vec)),
            Err(why) => failed(why),
        }
    }

    fn expect(&mut self, pattern: &str) -> StepResult {
        let begin = Instant::now();
        loop {
            let line = self.initial()?;
            if pattern::matches(pattern, &without_zeros(&line), &mut self.variables) {
                self.again = None;
                return Ok(());
            }
            match self.again.clone() {
                Some(question) if begin.elapsed() < REPEAT_TIMEOUT => {
                    self.log.truncate(self.log.len().saturating_sub(2));
                    std::thread::sleep(REPEAT_PAUSE);
                    self.put(&question);
                }
                _ => return failed(format!("expected: {}", self.expanded(pattern))),
            }
        }
    }

    /// A pattern with the known variables replaced.
    fn expanded(&self, pattern: &str) -> String {
        let mut text = pattern.to_owned();
        for (name, value) in &self.variables {
            text = text.replace(&format!("{{{name}}}"), value);
        }
        text
    }

    fn unless(&mut self, pattern: &str, reason: &str) -> StepResult {
        let line = self.initial()?;
        let mut aside = self.variables.clone();
        if pattern::matches(pattern, &without_zeros(&line), &mut aside) {
            return Err(Stop::Skip(reason.to_owned()));
        }
        self.log.pop();
        let mut again = line;
        again.extend_from_slice(b"\r\n");
        self.connection()?.unread(&again);
        Ok(())
    }

    fn expect_block(&mut self, expected: &[BlockLine]) -> StepResult {
        let mut lines = Vec::new();
        while let Some(line) = self.block()? {
            lines.push(line);
        }
        let octets: usize = lines.iter().map(|line| line.len() + 2).sum();
        self.variables
            .insert("octets".to_owned(), octets.to_string());
        self.variables
            .insert("lines".to_owned(), lines.len().to_string());
        let next: Vec<&str> = expected
            .iter()
            .filter_map(|one| match one {
                BlockLine::Next(pattern) => Some(pattern.as_str()),
                _ => None,
            })
            .collect();
        // A block without expectations must be empty; one with only `S~`, `S^`, `S=` or `S#` may contain other lines.
        if (expected.is_empty() || !next.is_empty())
            && !in_order(&next, &lines, &mut self.variables)
        {
            let next = next.join("\n              ");
            return failed(format!(
                "expected these lines and no others:\n              {next}"
            ));
        }
        for one in expected {
            self.one_of_block(one, &lines)?;
        }
        Ok(())
    }

    fn one_of_block(&mut self, expected: &BlockLine, lines: &[Vec<u8>]) -> StepResult {
        let variables = &mut self.variables;
        let (is, what, pattern) = match expected {
            BlockLine::Next(_) => return Ok(()),
            BlockLine::Distinct => {
                let mut firsts: Vec<&[u8]> = lines
                    .iter()
                    .filter_map(|line| line.split(|octet| matches!(octet, b' ' | b'\t')).next())
                    .collect();
                firsts.sort_unstable();
                return match firsts.windows(2).find(|two| two.first() == two.last()) {
                    Some(two) => failed(format!("twice: {}", shown(&two.concat()))),
                    None => Ok(()),
                };
            }
            BlockLine::Some(pattern) => {
                let is = lines
                    .iter()
                    .any(|line| pattern::matches(pattern, line, variables));
                (is, "some line that is", pattern)
            }
            BlockLine::None(pattern) => {
                let is = lines
                    .iter()
                    .any(|line| pattern::matches(pattern, line, &mut variables.clone()));
                (!is, "no line that is", pattern)
            }
            BlockLine::All(pattern) => {
                let is = lines
                    .iter()
                    .all(|line| pattern::matches(pattern, line, &mut variables.clone()));
                (is, "only lines that are", pattern)
            }
            BlockLine::Count(count) if lines.len() == *count => return Ok(()),
            BlockLine::Count(count) => {
                return failed(format!("expected {count} lines, not {}", lines.len()));
            }
        };
        match is {
            true => Ok(()),
            false => failed(format!("expected {what}: {}", self.expanded(pattern))),
        }
    }

    fn expect_close(&mut self) -> StepResult {
        self.flush()?;
        match self.connection()?.line() {
            Ok(None) => Ok(()),
            Ok(Some(line)) => failed(format!(
                "expected the end of the connection, not: {}",
                shown(&line)
            )),
            Err(error) => failed(format!(
                "expected the end of the connection in {REPLY_TIMEOUT:?}: {error}"
            )),
        }
    }

    fn expect_hangup(&mut self) -> StepResult {
        self.flush()?;
        let connection = self.connection()?;
        // The server may send anything before the end; only a timeout is an error.
        while let Ok(Some(_)) = connection.line() {}
        match connection.has_ended() {
            true => Ok(()),
            false => failed(format!(
                "the server does not close the connection in {REPLY_TIMEOUT:?}"
            )),
        }
    }

    fn check(&mut self, text: &str) -> StepResult {
        match checked(text, &self.variables) {
            Some(true) => {
                self.log.push(format!("-- {text}"));
                Ok(())
            }
            Some(false) => failed(format!(
                "false: {text}, which is {}",
                self.expanded_sum(text)
            )),
            None => failed(format!("cannot be computed: {text}")),
        }
    }

    fn expanded_sum(&self, text: &str) -> String {
        let value = |word| self.variables.get(word).map_or(word, String::as_str);
        let words: Vec<_> = text.split_whitespace().map(value).collect();
        words.join(" ")
    }
}

impl From<String> for Stop {
    fn from(why: String) -> Stop {
        Stop::Fail(why)
    }
}

/// Parses `\(500*x)` at the start of a text.
fn repeated(text: &str) -> Option<(Vec<u8>, usize)> {
    let inside = text.strip_prefix("\\(")?;
    let inside = inside.get(..inside.find(')')?)?;
    let (count, what) = inside.split_once('*')?;
    let mut out = Vec::new();
    let mut rest = what;
    while let Some(letter) = rest.chars().next() {
        let used = match pattern::escape(rest) {
            Some((octet, used)) => {
                out.push(octet);
                used
            }
            None => {
                out.extend_from_slice(letter.to_string().as_bytes());
                letter.len_utf8()
            }
        };
        rest = rest.get(used..).unwrap_or_default();
    }
    Some((out.repeat(count.parse().ok()?), inside.len() + 3))
}

/// Removes leading zeros, which numbers of a reply may have (RFC 3977, 3.2).
fn without_zeros(line: &[u8]) -> Vec<u8> {
    let words = line.split(|&octet| octet == b' ').map(|word| {
        let digits = !word.is_empty() && word.iter().all(u8::is_ascii_digit);
        let zeros = word.iter().take_while(|&&octet| octet == b'0').count();
        let zeros = if digits { zeros.min(word.len() - 1) } else { 0 };
        word.get(zeros..).unwrap_or_default()
    });
    words.collect::<Vec<_>>().join(&b' ')
}

/// Whether the lines match the patterns in order. `**` matches any number of lines.
fn in_order(patterns: &[&str], lines: &[Vec<u8>], variables: &mut Variables) -> bool {
    let Some((first, rest)) = patterns.split_first() else {
        return lines.is_empty();
    };
    if *first == "**" {
        return (0..=lines.len()).any(|from| {
            let mut now = variables.clone();
            let is = in_order(rest, lines.get(from..).unwrap_or_default(), &mut now);
            if is {
                *variables = now;
            }
            is
        });
    }
    match lines.split_first() {
        Some((line, after)) => {
            pattern::matches(first, line, variables) && in_order(rest, after, variables)
        }
        None => false,
    }
}

/// Evaluates `A <= B + 1`; words are numbers or variables.
fn checked(text: &str, variables: &Variables) -> Option<bool> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = words
        .iter()
        .position(|word| matches!(*word, "<=" | ">=" | "<" | ">" | "==" | "!="))?;
    let (left, rest) = words.split_at_checked(at)?;
    let (sign, right) = rest.split_first()?;
    let (left, right) = (sum(left, variables)?, sum(right, variables)?);
    Some(match *sign {
        "<=" => left <= right,
        ">=" => left >= right,
        "<" => left < right,
        ">" => left > right,
        "==" => left == right,
        _ => left != right,
    })
}

fn sum(words: &[&str], variables: &Variables) -> Option<i128> {
    let mut total: i128 = 0;
    let mut sign: i128 = 1;
    for word in words {
        match *word {
            "+" => sign = 1,
            "-" => sign = -1,
            _ => {
                let text = variables.get(*word).map_or(*word, String::as_str);
                total = total.checked_add(sign * text.parse::<i128>().ok()?)?;
            }
        }
    }
    Some(total)
}

/// Formats octets for display.
pub(crate) fn shown(octets: &[u8]) -> String {
    let text = octets.strip_suffix(b"\r\n").unwrap_or(octets);
    let mut shown = text.escape_ascii().to_string();
    shown = shown.replace("\\'", "'").replace("\\\"", "\"");
    if shown.len() > 400 {
        let long = shown.len();
        shown = format!(
            "{}... ({long} letters)",
            shown.chars().take(300).collect::<String>()
        );
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::{Variables, base64, checked, in_order, repeated, without_zeros};

    #[test]
    fn base64_of_every_length() {
        assert_eq!(base64(b"f"), "Zg==");
        assert_eq!(base64(b"fo"), "Zm8=");
        assert_eq!(base64(b"foo"), "Zm9v");
        assert_eq!(base64(b"foobar"), "Zm9vYmFy");
    }

    #[test]
    fn sums() {
        let variables = Variables::from([("low".to_owned(), "2".to_owned())]);
        assert_eq!(checked("3 <= 4 - low + 1", &variables), Some(true));
        assert_eq!(checked("3 == low", &variables), Some(false));
        assert_eq!(checked("3 == high", &variables), None);
    }

    #[test]
    fn small_things() {
        assert_eq!(repeated("\\(3*a\\t)b"), Some((b"a\ta\ta\t".to_vec(), 8)));
        assert_eq!(without_zeros(b"211 003 0 x"), b"211 3 0 x");
        let lines = [b"a".to_vec(), b"b".to_vec()];
        assert!(in_order(&["**", "b"], &lines, &mut Variables::new()));
        assert!(!in_order(&["a"], &lines, &mut Variables::new()));
    }
}
