//! The number of articles in flight to a peer that answers late.

use super::*;

/// Reads so many commands, with the articles behind TAKETHIS; returns how many of them are CHECK.
fn commands(input: &mut impl BufRead, count: usize, ids: &mut Vec<String>) -> Option<usize> {
    let mut checks = 0;
    for _ in 0..count {
        let mut line = String::new();
        input.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let (command, id) = line.trim_end().split_once(' ')?;
        ids.push(id.to_owned());
        if command == "CHECK" {
            checks += 1;
            continue;
        }
        while line.trim_end() != "." {
            line.clear();
            input.read_line(&mut line).ok().filter(|read| *read > 0)?;
        }
    }
    Some(checks)
}

/// Until now 1,000 articles were in flight at first, and replies to CHECK did not add to them.
#[test]
fn the_window_doubles_with_each_round_trip() {
    let (sender, received) = std::sync::mpsc::channel();
    let (port, _) = peer(move |_, stream| {
        let mut input = BufReader::new(&stream);
        let mut out = &stream;
        let mut say = |text: String| out.write_all(text.as_bytes()).ok();
        let mut line = String::new();
        _ = say("200 ready\r\n".to_owned());
        _ = input.read_line(&mut line);
        _ = say("101 list\r\nVERSION 2\r\nSTREAMING\r\n.\r\n".to_owned());
        let mut ids = Vec::new();
        let asked = commands(&mut input, 4_000, &mut ids);
        let wanted = ids.iter().map(|id| format!("238 {id}\r\n"));
        _ = say(wanted.collect());
        // None of these is answered.
        ids.clear();
        let asked_again = commands(&mut input, 8_000, &mut ids);
        _ = sender.send((asked, asked_again));
        _ = input.read_line(&mut line);
    });
    let mut fixture = Fixture::new(news(), via(port));
    fixture.file(9_000);
    let mut counts = None;
    fixture.until("the commands have come", |_| {
        counts = received.try_recv().ok();
        counts.is_some()
    });
    let (asked, asked_again) = counts.unwrap();
    assert_eq!(asked, Some(4_000), "the peer is asked first");
    assert_eq!(
        asked_again,
        Some(0),
        "and then, since it wants all, not any more"
    );
}
