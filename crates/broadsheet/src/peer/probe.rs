//! The test of a connection to a peer, from its name to an article.

use std::net::ToSocketAddrs;
use std::path::Path;
use std::time::{Duration, Instant};

use article::date::{Utc, parse_nntp};
use feed::{BlockingConnection, ConnectionError, Remote};
use groups::nntp_server::{NntpServer, Tls};
use nntp::client::{Event, Offers, Outcome, PeerError, Reply, Sends, Step};
use relay::Now;

use crate::text;

use super::checks::{Checks, Over};

/// Most seconds for a connection, and for each answer.
pub const ANSWER_SECONDS_MAX: u64 = 8;
/// The port for TLS from the first byte (RFC 8143).
const TLS_PORT: u16 = 563;
/// Difference of the clocks above which the test fails, seconds: sites refuse articles of the future.
const CLOCK_SECONDS: i64 = 300;
/// Time to the end of a certificate below which the test fails, seconds.
const CERTIFICATE_SECONDS: i64 = 7 * 86_400;
/// How long the test article may take until the peer shows it, and the pause between two looks.
const ARRIVAL: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(200);

const ASK_THEM: &str = "the peer has to know our address: in INN an entry of incoming.conf, in Broadsheet an [[access]] with send; \
                        `broadsheet peer show' prints the lines";

/// The news directory and the peer of a test.
pub struct Probe<'a> {
    /// The news directory.
    pub news: &'a Path,
    /// Our name in Path.
    pub own: &'a str,
    /// Sends an article to this group.
    pub group: Option<&'a str>,
    /// When the peer took an article last, seconds since 1970.
    pub fed_at: Option<i64>,
}

/// When a site got an article last, for [`Probe::fed_at`].
pub fn fed_at(news: &Path, site: &[u8]) -> Option<i64> {
    let known = feed::site_state::look(news, site).ok().flatten()?;
    let at = i64::try_from(known.cursor.sent_at).ok();
    at.filter(|at| *at > 0)
}

/// Tests the connection to a server.
pub fn probe(server: &NntpServer, with: &Probe<'_>) -> Checks {
    let mut checks = Checks::default();
    // The checks tell how far it came.
    let _ = all(&mut checks, server, with);
    checks
}

fn all(checks: &mut Checks, server: &NntpServer, with: &Probe<'_>) -> Result<(), Over> {
    let &Probe {
        news,
        own,
        group,
        fed_at,
    } = with;
    let remote = Remote::open(news, server)
        .map_err(|error| checks.failed("settings", error.to_string(), ""))?;
    let mut call = connect(checks, (server, fed_at), &remote)?;
    let sends = open(checks, (server, fed_at), &remote, &mut call)?;
    // Each of these is of use without the others.
    let _ = clock(checks, &mut call);
    let _ = offer(checks, &mut call, (own, sends));
    if let Some(group) = group {
        article(checks, &mut call, sends, (own, group))?;
    }
    let _ = call.send(b"QUIT\r\n").and_then(|()| call.reply_line());
    Ok(())
}

fn connect(
    checks: &mut Checks,
    (server, fed_at): (&NntpServer, Option<i64>),
    remote: &Remote,
) -> Result<BlockingConnection, Over> {
    let host = (server.host.as_str(), server.port);
    let addresses: Vec<_> = match host.to_socket_addrs() {
        Ok(addresses) => addresses.collect(),
        Err(error) => {
            let found = format!("{} has no address: {error}", server.host);
            let advice = "check the name, and the name servers of this machine (/etc/resolv.conf)";
            return Err(checks.failed("name", found, advice));
        }
    };
    let shown: Vec<_> = addresses.iter().map(|to| to.ip().to_string()).collect();
    checks.ok("name", format!("{} is {}", server.host, shown.join(", ")));
    let mut faults = Vec::new();
    for to in addresses {
        let began = Instant::now();
        let times = (Duration::from_secs(ANSWER_SECONDS_MAX), ANSWER_SECONDS_MAX);
        match BlockingConnection::open(remote, to, times) {
            Err(ConnectionError::Connect(error)) => faults.push(format!("{to}: {error}")),
            opened => {
                let found = match server.tls {
                    Tls::Implicit => format!("{to} accepted the connection"),
                    _ => {
                        let ms = began.elapsed().as_millis();
                        format!("{to} accepted the connection in {ms} ms")
                    }
                };
                checks.ok("port", found);
                return opened.map_err(|error| {
                    let advice = match &error {
                        ConnectionError::Silent(..) => silence(server, fed_at),
                        _ => "see the keys tls, tls_ca, tls_name and tls_fingerprint of via"
                            .to_owned(),
                    };
                    checks.failed("tls", error.to_string(), &advice)
                });
            }
        }
    }
    let advice = match fed_at {
        Some(at) => format!(
            "the peer took articles here until {}: its server does not run, or a firewall has changed: ask its administrator",
            text::utc(at)
        ),
        None => "check the port, whether the peer's server runs, and the firewalls of both sites"
            .to_owned(),
    };
    Err(checks.failed("port", faults.join("; "), &advice))
}

/// From the greeting until articles may be sent.
fn open(
    checks: &mut Checks,
    (server, fed_at): (&NntpServer, Option<i64>),
    remote: &Remote,
    call: &mut BlockingConnection,
) -> Result<Sends, Over> {
    if server.tls == Tls::None {
        checks.skipped(
            "tls",
            "the settings have no tls: everybody on the way can read",
        );
    } else if server.tls == Tls::Implicit {
        tls(checks, server, call);
    }
    let mut opening = remote.opening();
    let mut what = "greeting";
    let mut capabilities = None;
    loop {
        let line = call
            .reply_line()
            .map_err(|error| {
                let advice = match (&error, what) {
                    (ConnectionError::Silent(..), _) => silence(server, fed_at),
                    (ConnectionError::Closed, "greeting") => ASK_THEM.to_owned(),
                    _ => advice(what, None).to_owned(),
                };
                checks.failed(what, error.to_string(), &advice)
            })?
            .to_vec();
        let shown = String::from_utf8_lossy(&line).into_owned();
        let mut out = Vec::new();
        let mut step = opening
            .receive(&line, &mut out)
            .map_err(|error| checks.failed(what, error.to_string(), advice(what, Some(&error))))?;
        match what {
            "capabilities" => match &mut capabilities {
                None if shown.starts_with("101") => capabilities = Some(Vec::new()),
                // A server from before RFC 3977.
                None => checks.ok(what, shown),
                Some(lines) if shown != "." => lines.push(shown),
                Some(lines) => {
                    checks.ok(what, lines.join(", "));
                    capabilities = None;
                }
            },
            "login" if shown.starts_with("381") => {}
            _ => checks.ok(what, shown),
        }
        if step == Step::BeginDeflate {
            call.begin_deflate();
            let next = opening.deflate_began(&mut out);
            step = next.map_err(|error| checks.failed(what, error.to_string(), ""))?;
        }
        match step {
            Step::GoOn | Step::BeginDeflate => {}
            Step::BeginTls => {
                call.begin_tls(remote).map_err(|error| {
                    let advice = "see the keys tls_ca, tls_name and tls_fingerprint of via";
                    checks.failed("tls", error.to_string(), advice)
                })?;
                tls(checks, server, call);
                opening.tls_began(&mut out);
            }
            Step::Ready(ready) => {
                match ready.sends {
                    Sends::Streaming => checks.ok("streaming", "CHECK and TAKETHIS"),
                    Sends::Ihave => checks.ok("streaming", "none: IHAVE, one article at a time"),
                }
                return Ok(ready.sends);
            }
        }
        if out.is_empty() {
            continue;
        }
        what = match out.split(u8::is_ascii_whitespace).next() {
            Some(b"CAPABILITIES") => "capabilities",
            Some(b"STARTTLS") => "starttls",
            Some(b"AUTHINFO") => "login",
            Some(b"COMPRESS") => "compression",
            _ => "streaming",
        };
        call.send(&out)
            .map_err(|error| checks.failed(what, error.to_string(), ""))?;
    }
}

/// TLS is complete, so the certificate is right; looks when it ends.
fn tls(checks: &mut Checks, server: &NntpServer, call: &BlockingConnection) {
    checks.ok("tls", call.layers().description());
    let Some(facts) = call.layers().certificate() else {
        return;
    };
    let end = facts.expires.filter(|_| server.tls_fingerprint.is_none());
    let Some(end) = end else {
        // With a fingerprint its dates do not matter.
        checks.ok("certificate", facts.to_string());
        return;
    };
    let found = format!("{facts}; it ends on {}", text::utc(end));
    if end - Now::read().seconds < CERTIFICATE_SECONDS {
        let advice = "the peer needs a new certificate soon: then TLS fails";
        checks.failed("certificate", found, advice);
    } else {
        checks.ok("certificate", found);
    }
}

/// The advice about a server that accepts the connection and sends nothing.
fn silence(server: &NntpServer, fed_at: Option<i64>) -> String {
    let known = fed_at.map_or_else(String::new, |at| {
        format!("; it took articles from us until {}", text::utc(at))
    });
    // Such a server waits for us.
    let tls = match (server.tls, server.port, fed_at) {
        (Tls::Implicit, _, _) | (_, _, Some(_)) => "",
        (_, TLS_PORT, None) => {
            "; at this port servers expect TLS from the first byte: tls = \"implicit\""
        }
        _ => "",
    };
    format!(
        "the connection is open, but the server says nothing: it hangs, or has too much to do; ask the peer's administrator{known}{tls}"
    )
}

fn advice(what: &str, error: Option<&PeerError>) -> &'static str {
    match (what, error) {
        ("login", _) => "check user and password_file of via, and what the peer has for them",
        (_, Some(PeerError::NotPermitted(_))) => ASK_THEM,
        (_, Some(PeerError::Unavailable(_))) => "the peer takes nothing now: try again later",
        (_, Some(PeerError::NoTls(_))) => {
            "ask the peer for TLS, or set tls = \"none\" or \"implicit\""
        }
        (_, Some(PeerError::TakesNothing(_))) => ASK_THEM,
        ("greeting", _) => {
            "is it a news server? A server with TLS from the first byte needs tls = \"implicit\""
        }
        _ => "",
    }
}

fn clock(checks: &mut Checks, call: &mut BlockingConnection) -> Result<(), Over> {
    let line = asked(checks, call, "clock", b"DATE\r\n")?;
    let line = String::from_utf8_lossy(&line);
    let Some(there) = line.strip_prefix("111 ").and_then(|text| {
        let (date, time) = text.trim().split_at_checked(8)?;
        parse_nntp(date.as_bytes(), time.as_bytes(), &Utc, Now::read().seconds)
    }) else {
        checks.skipped("clock", format!("the peer does not tell it ({line})"));
        return Ok(());
    };
    let difference = there - Now::read().seconds;
    let found = match difference {
        -1..=1 => "the same as ours".to_owned(),
        2.. => format!("{difference} seconds ahead of ours"),
        _ => format!("{} seconds behind ours", -difference),
    };
    if difference.abs() > CLOCK_SECONDS {
        let advice = "one of the clocks is wrong: keep both right by NTP";
        return Err(checks.failed("clock", found, advice));
    }
    checks.ok("clock", found);
    Ok(())
}

/// Offers an article that nobody has, and does not send it.
fn offer(
    checks: &mut Checks,
    call: &mut BlockingConnection,
    (own, sends): (&str, Sends),
) -> Result<(), Over> {
    if sends == Sends::Ihave {
        checks.skipped(
            "offer",
            "IHAVE cannot be tried without an article: add --article GROUP",
        );
        return Ok(());
    }
    let (line, event) = offered(checks, call, "offer", (sends, &id(own, "check")))?;
    match event {
        Ok(Event::Wanted(_)) => checks.ok("offer", "CHECK: the peer takes articles from us"),
        Ok(Event::Settled(_, Outcome::Deferred)) => checks.ok(
            "offer",
            format!("CHECK: the peer wants articles later ({line})"),
        ),
        Ok(Event::Settled(_, Outcome::NotWanted(_))) => {
            let found = format!("the peer does not want an article that nobody has ({line})");
            return Err(checks.failed("offer", found, "ask the peer why"));
        }
        Ok(Event::Settled(..)) | Err(_) => return Err(unexpected(checks, "offer", &line)),
    }
    Ok(())
}

/// Offers an article as a feed does. Returns the reply, and its meaning for the feed.
fn offered(
    checks: &mut Checks,
    call: &mut BlockingConnection,
    what: &'static str,
    (sends, id): (Sends, &str),
) -> Result<(String, Result<Event<()>, PeerError>), Over> {
    let mut offers = Offers::new(sends, 1);
    let mut command = Vec::new();
    offers.offer(id.as_bytes(), (), &mut command);
    replied(checks, call, what, (&mut offers, &command))
}

fn replied(
    checks: &mut Checks,
    call: &mut BlockingConnection,
    what: &'static str,
    (offers, command): (&mut Offers<()>, &[u8]),
) -> Result<(String, Result<Event<()>, PeerError>), Over> {
    let line = asked(checks, call, what, command)?;
    let event = offers.receive(&line);
    Ok((String::from_utf8_lossy(&line).into_owned(), event))
}

/// A reply with which no feed goes on. It may name another article.
fn unexpected(checks: &mut Checks, what: &'static str, line: &str) -> Over {
    let advice = match Reply::parse(line.as_bytes()).is_ok_and(|reply| reply.code < 400) {
        true => "the reply does not belong to this command and article: the peer has an error",
        false => ASK_THEM,
    };
    checks.failed(what, line, advice)
}

/// Sends an article, and looks whether it is there.
fn article(
    checks: &mut Checks,
    call: &mut BlockingConnection,
    sends: Sends,
    (own, group): (&str, &str),
) -> Result<(), Over> {
    let id = id(own, "article");
    let text = test_article(own, group, &id);
    let what = "article";
    if sends == Sends::Ihave {
        let (line, event) = offered(checks, call, what, (sends, &id))?;
        if event != Ok(Event::Wanted(())) {
            return Err(unexpected(checks, what, &line));
        }
    }
    let mut offers = Offers::new(sends, 1);
    let mut command = Vec::new();
    offers.send(id.as_bytes(), (), &mut command);
    command.extend_from_slice(text.as_bytes());
    let (line, event) = replied(checks, call, what, (&mut offers, &command))?;
    match event {
        Ok(Event::Settled(_, Outcome::Accepted)) => {}
        Ok(_) => {
            let advice = "the peer may not have the group, or not take it from us";
            return Err(checks.failed(what, format!("{id}: {line}"), advice));
        }
        Err(_) => return Err(unexpected(checks, what, &line)),
    }
    checks.ok(what, format!("{id} in {group}: {line}"));
    let began = Instant::now();
    loop {
        let line = asked(checks, call, "arrival", format!("STAT {id}\r\n").as_bytes())?;
        let line = String::from_utf8_lossy(&line);
        let mut words = line.split_ascii_whitespace();
        if words.next() == Some("223") && words.nth(1) == Some(&*id) {
            checks.ok("arrival", "the peer shows the article");
            return Ok(());
        }
        if !line.starts_with("430") || began.elapsed() > ARRIVAL {
            let found = format!("the peer took the article and does not show it to us ({line})");
            checks.skipped("arrival", found);
            return Ok(());
        }
        std::thread::sleep(LOOK);
    }
}

/// Sends a command, with its CRLF, and reads the line that answers.
fn asked(
    checks: &mut Checks,
    call: &mut BlockingConnection,
    what: &'static str,
    command: &[u8],
) -> Result<Vec<u8>, Over> {
    let answer = call.send(command).and_then(|()| call.reply_line());
    answer.map(<[u8]>::to_vec).map_err(|error| {
        let advice = match &error {
            ConnectionError::Silent(..) => {
                format!("it answers within {ANSWER_SECONDS_MAX} seconds where all is well")
            }
            _ => "the peer ends connections: try again, and ask its administrator why".to_owned(),
        };
        checks.failed(what, error.to_string(), &advice)
    })
}

/// A message-id that nobody has.
fn id(own: &str, what: &str) -> String {
    let Now { seconds, millis } = Now::read();
    format!(
        "<peer-test-{what}.{seconds}.{millis}.{}@{own}>",
        std::process::id()
    )
}

/// In wire form, with its end.
fn test_article(own: &str, group: &str, id: &str) -> String {
    let mut date = Vec::new();
    article::date::write_utc(&mut date, Now::read().seconds);
    let date = String::from_utf8_lossy(&date);
    format!(
        "Path: {own}!not-for-mail\r\nFrom: The news administrator <news@{own}>\r\nNewsgroups: {group}\r\n\
         Subject: test of the feed from {own}\r\nMessage-ID: {id}\r\nDate: {date}\r\n\r\n\
         An article of `broadsheet peer test'. Please ignore it.\r\n.\r\n"
    )
}
