//! An article that the peer never answers, while somebody calls the feeds.

use super::*;

/// Answers everything but this TAKETHIS.
fn leave_out(stream: &TcpStream, left_out: &str) -> Option<()> {
    let mut input = BufReader::new(stream);
    let mut out = stream;
    let mut say = |text: &str| out.write_all(format!("{text}\r\n").as_bytes()).ok();
    say("200 ready")?;
    loop {
        let mut line = String::new();
        input.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let (command, id) = line.trim_end().split_once(' ').unwrap_or((&line, ""));
        match command.trim_end() {
            "CAPABILITIES" => say("101 list\r\nVERSION 2\r\nSTREAMING\r\n.")?,
            "CHECK" => say(&format!("238 {id}"))?,
            _ => {
                let mut text = String::new();
                while !text.ends_with("\r\n.\r\n") {
                    input.read_line(&mut text).ok().filter(|read| *read > 0)?;
                }
                if id != left_out {
                    say(&format!("239 {id}"))?;
                }
            }
        }
    }
}

/// Until now nothing was sent after a call before all was answered, and each call was for all peers.
#[test]
fn it_does_not_stop_the_feed() {
    let (port, calls) = peer(|_, stream| _ = leave_out(&stream, "<1@x>"));
    let mut news = news();
    let first = news.file("one");
    news.commit();
    let mut fixture = Fixture::new(news, via(port));
    fixture.file(2);
    fixture.until("the others are there", |fixture| fixture.accepted() == 2);
    fixture.until("nothing is to be done", |fixture| {
        fixture.peers.due.is_empty()
    });
    // Another site is meant.
    fixture.peers.mailbox.call(Some(b"two"));
    fixture.peers.take_messages();
    assert!(fixture.peers.due.is_empty());
    for (count, name) in [(4, Some(&b"one"[..])), (6, None)] {
        fixture.peers.mailbox.call(name);
        fixture.file(2);
        fixture.until("more are there", |fixture| fixture.accepted() == count);
    }
    assert!(fixture.sleeps());
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    let dir = fixture.news.dir().join("feeds/one");
    let cursor = CursorFile::read(&dir).unwrap().unwrap();
    assert!(cursor.position <= first, "the cursor stays behind it");
}
