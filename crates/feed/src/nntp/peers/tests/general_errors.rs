//! A peer that replies to an offer with an error that any command may get (RFC 3977, 3.2.1.1).

use super::*;

/// Takes all articles but those of which `is_refused` gets the id; their offers get `error`. `capability`: STREAMING or IHAVE.
fn refuse_by_error(
    stream: &TcpStream,
    (capability, error): (&str, &str),
    is_refused: impl Fn(&str) -> bool,
) -> Option<()> {
    let mut input = BufReader::new(stream);
    let mut out = stream;
    let mut say = |text: &str| out.write_all(format!("{text}\r\n").as_bytes()).ok();
    say("200 ready")?;
    loop {
        let mut line = String::new();
        input.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let (command, id) = line.trim_end().split_once(' ').unwrap_or((&line, ""));
        let command = command.trim_end();
        match command {
            "CAPABILITIES" => say(&format!("101 list\r\nVERSION 2\r\n{capability}\r\n."))?,
            "CHECK" | "IHAVE" if is_refused(id) => say(error)?,
            "CHECK" => say(&format!("238 {id}"))?,
            "IHAVE" | "TAKETHIS" => {
                if command == "IHAVE" {
                    say("335 send it")?;
                }
                let mut text = String::new();
                while !text.ends_with("\r\n.\r\n") {
                    input.read_line(&mut text).ok().filter(|read| *read > 0)?;
                }
                match command {
                    "IHAVE" => say("235 thanks")?,
                    _ => say(&format!("239 {id}"))?,
                }
            }
            _ => return say("205 bye"),
        }
    }
}

fn number(id: &str) -> u64 {
    let digits = id.strip_prefix('<').and_then(|id| id.strip_suffix("@x>"));
    digits.unwrap().parse().unwrap()
}

/// Each such reply broke the connection, five times for each of these articles.
#[test]
fn one_article_that_gets_an_error_is_refused() {
    for (capability, error) in [
        ("STREAMING", "500 what?"),
        ("STREAMING", "501 bad id"),
        ("STREAMING", "503 not supported"),
        ("IHAVE", "501 bad id"),
    ] {
        let (port, calls) = peer(move |_, stream| {
            let is_refused = |id: &str| (6..=10).contains(&number(id));
            refuse_by_error(&stream, (capability, error), is_refused);
        });
        let mut fixture = Fixture::new(news(), via(port));
        fixture.file(15);
        let end = fixture.news.spool.end();
        let dir = fixture.news.dir().join("feeds/one");
        fixture.until("the cursor is at the end", |_| {
            CursorFile::read(&dir).unwrap().unwrap().position == end
        });
        let counts = fixture.counts();
        let of = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
        assert_eq!(
            (
                of(&counts.accepted),
                of(&counts.refused),
                of(&counts.offered)
            ),
            (10, 5, 15),
            "{error}"
        );
        assert_eq!(calls.load(Ordering::SeqCst), 1, "{error}");
        assert!(deferred::read(&dir).unwrap().is_empty());
        let told = fixture.told.lock().unwrap();
        let said = format!("one: the peer refused an article: {error}");
        assert_eq!(*told, [said]);
    }
}

/// A peer that fails at all commands has refused no article.
#[test]
fn a_peer_that_replies_with_errors_only_loses_nothing() {
    let is_well = Arc::new(AtomicUsize::new(0));
    let seen = is_well.clone();
    let (port, _) = peer(move |_, stream| {
        let is_refused = |_: &str| seen.load(Ordering::SeqCst) == 0;
        refuse_by_error(&stream, ("STREAMING", "500 what?"), is_refused);
    });
    let mut fixture = Fixture::new(news(), via(port));
    fixture.file(20);
    let dir = fixture.news.dir().join("feeds/one");
    fixture.until("all are deferred", |_| {
        deferred::read(&dir).unwrap().len() == 20
    });
    assert_eq!(fixture.counts().refused.load(Ordering::Relaxed), 0);
    is_well.store(1, Ordering::SeqCst);
    fixture.peers.mailbox.call(None);
    fixture.until("all are there", |fixture| fixture.accepted() == 20);
}
