//! The log in real NATS servers: three of them on this machine.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use cluster::entry::{Entry, Kind};
use cluster::jetstream::{Log, announce, announce_stop, append, begin, find, leave, members};
use cluster::log::{Bytes, LogError, LogEvent, LogIdentity, LogOptions, WAITING_BYTES_MAX};
use cluster::members::{Mark, Members, StopMark};

use crate::servers::Servers;

const BYTES_MAX: i64 = 1 << 30;

fn log() -> LogIdentity {
    LogIdentity {
        name: "l1".to_owned(),
        base: "copy".to_owned(),
    }
}

/// The clock of the lease: this machine does not sleep while it tests.
fn clock() -> Duration {
    static BEGAN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    BEGAN.get_or_init(std::time::Instant::now).elapsed()
}

fn spawn(work: Box<dyn FnOnce() + Send>) -> std::io::Result<()> {
    std::thread::Builder::new().spawn(work).map(drop)
}

struct Node {
    log: Log,
    events: Receiver<LogEvent>,
    next: u64,
}

impl Node {
    fn open(options: &LogOptions, after: u64) -> Node {
        let (sender, events) = channel();
        let tell = move |event| drop(sender.send(event));
        Node {
            log: Log::open(options.clone(), after, (1, clock), tell, &spawn).unwrap(),
            events,
            next: after + 1,
        }
    }

    fn event(&self) -> LogEvent {
        self.events.recv_timeout(Duration::from_secs(60)).unwrap()
    }

    /// The next entry; others are checked, and passed over.
    fn entry(&mut self) -> Bytes {
        loop {
            match self.event() {
                LogEvent::Entry(sequence, bytes) => {
                    assert_eq!(sequence, self.next);
                    self.next += 1;
                    self.log.applied(bytes.len());
                    return bytes;
                }
                LogEvent::Stopped(why) => panic!("{why}"),
                _ => {}
            }
        }
    }

    fn stopped(&self) -> String {
        loop {
            if let LogEvent::Stopped(why) = self.event() {
                return why;
            }
        }
    }

    /// The members, after a mark of this node.
    fn members_after(&self, mark: Mark) -> Members {
        self.log.mark(mark);
        self.members()
    }

    fn members(&self) -> Members {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            assert!(Instant::now() < until, "no members");
            match self.event() {
                LogEvent::Members(members) => return members,
                LogEvent::Entry(_, bytes) => self.log.applied(bytes.len()),
                LogEvent::Stopped(why) => panic!("{why}"),
                _ => {}
            }
        }
    }

    /// The next warning, or the next reason why the log is not reachable, with these words.
    fn told(&self, words: &str) -> String {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            assert!(Instant::now() < until, "the log never said `{words}'");
            match self.event() {
                LogEvent::Warning(why) | LogEvent::Down(why) if why.contains(words) => return why,
                LogEvent::Entry(_, bytes) => self.log.applied(bytes.len()),
                LogEvent::Stopped(why) => panic!("{why}"),
                _ => {}
            }
        }
    }

    fn append(&self, origin: u64, counter: u64) {
        let payload = vec![b'x'; 3000];
        let entry = Entry {
            kind: Kind::Articles,
            origin,
            counter,
            arrival: 0,
            rules: 0,
            payload: &payload,
        };
        let id = format!("{origin:x}-{counter}");
        self.log.append(counter, id, entry.to_bytes().into());
    }
}

fn mark(process: u64, durable: u64) -> Mark {
    Mark {
        process,
        durable,
        ..Mark::default()
    }
}

/// An entry of 60 KB.
fn entry(counter: u64) -> (String, Bytes) {
    (format!("e-{counter}"), Bytes::from(vec![7; 60_000]))
}

/// One server, and the options of a node of this name.
fn alone(servers: &Servers, node: &str) -> LogOptions {
    LogOptions {
        replicas: 1,
        node: node.to_owned(),
        ..servers.options()
    }
}

/// Puts bytes into the place of the list of the nodes.
fn put_list(options: &LogOptions, value: &'static [u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let login = options.login.clone().unwrap();
        let connect = async_nats::ConnectOptions::with_nkey(login);
        let client = connect.connect(options.servers[0].as_str()).await.unwrap();
        let bucket = format!("{}-nodes", options.stream);
        let context = async_nats::jetstream::new(client);
        let store = context.get_key_value(bucket).await.unwrap();
        store.put("nodes", value.into()).await.unwrap();
    });
}

#[test]
fn all_nodes_hear_the_same_through_the_death_of_servers() {
    let Some(mut servers) = Servers::start(3) else {
        return;
    };
    let options = servers.options();
    assert_eq!(begin(&options, BYTES_MAX, &log()).unwrap(), (log(), true));
    let again = LogIdentity {
        name: "other".to_owned(),
        ..log()
    };
    assert_eq!(begin(&options, BYTES_MAX, &again).unwrap(), (log(), false));
    assert_eq!(find(&options).unwrap(), log());
    let mut nodes: Vec<Node> = (0..3).map(|_| Node::open(&options, 0)).collect();
    const EACH: u64 = 60;
    let mut heard = vec![Vec::new(); 3];
    for counter in 1..=EACH {
        for (origin, node) in nodes.iter().enumerate() {
            node.append(origin as u64, counter);
        }
        match counter {
            20 => servers.kill(0),
            40 => servers.restart(0),
            // Now another one may be away.
            45 => {
                servers.until_whole(&options);
                servers.kill(1);
            }
            _ => {}
        }
    }
    for (place, node) in nodes.iter_mut().enumerate() {
        for _ in 0..3 * EACH {
            heard[place].push(node.entry());
        }
    }
    assert!(heard[0] == heard[1] && heard[1] == heard[2]);
    let mut told: Vec<(u64, u64)> = heard[0]
        .iter()
        .map(|bytes| Entry::parse(bytes).unwrap())
        .map(|entry| (entry.origin, entry.counter))
        .collect();
    told.sort_unstable();
    let expected: Vec<(u64, u64)> = (0..3)
        .flat_map(|origin| (1..=EACH).map(move |counter| (origin, counter)))
        .collect();
    assert_eq!(told, expected, "each once");
    // A node that was away goes on where it was.
    let mut late = Node::open(&options, 100);
    assert!(late.entry() == heard[0][100]);
    // One that has more than the log has must not go on.
    let why = Node::open(&options, 1000).stopped();
    assert!(why.contains("has applied entry 1000"), "{why}");
    // Nor one that followed a stream that was removed.
    let other = LogOptions {
        log: "l0".to_owned(),
        ..options
    };
    let why = Node::open(&other, 1).stopped();
    assert!(why.contains("another log"), "{why}");
}

#[test]
fn servers_without_room_are_told_with_the_remedy() {
    for count in [1, 3] {
        let Some(servers) = Servers::start(count) else {
            return;
        };
        let options = LogOptions {
            replicas: count,
            ..servers.options()
        };
        // Each offers 4 GiB.
        let error = begin(&options, 8 << 30, &log()).unwrap_err().to_string();
        assert!(error.contains("a log of 8192 MiB"), "{error}");
        assert!(error.contains("--log-bytes"), "{error}");
        assert!(begin(&options, BYTES_MAX, &log()).unwrap().1);
    }
}

#[test]
fn a_server_that_does_not_sync_is_refused() {
    let Some(mut servers) = Servers::start_with(1, "2m") else {
        return;
    };
    let options = LogOptions {
        replicas: 1,
        ..servers.options()
    };
    // Nothing is made: when the servers are mended, the same command succeeds.
    for _ in 0..2 {
        match begin(&options, BYTES_MAX, &log()).unwrap_err() {
            LogError::Stopped(why) => assert!(why.contains("sync_interval: always"), "{why}"),
            other => panic!("{other}"),
        }
    }
    match find(&options).unwrap_err() {
        LogError::Down(why) => assert!(why.contains("cannot open the stream"), "{why}"),
        other => panic!("{other}"),
    }
    servers.restart_with(0, "always");
    assert!(begin(&options, BYTES_MAX, &log()).unwrap().1);
    // Nor does a node work with it, when it was changed later.
    servers.restart_with(0, "2m");
    let why = Node::open(&options, 0).stopped();
    assert!(why.contains("sync_interval: always"), "{why}");
}

#[test]
fn a_log_that_is_down_is_told() {
    let Some(mut servers) = Servers::start(1) else {
        return;
    };
    let options = LogOptions {
        replicas: 1,
        ..servers.options()
    };
    begin(&options, BYTES_MAX, &log()).unwrap();
    let mut node = Node::open(&options, 0);
    node.append(1, 1);
    node.entry();
    servers.kill(0);
    node.append(1, 2);
    while !matches!(node.event(), LogEvent::Down(_)) {}
    servers.restart(0);
    let bytes = node.entry();
    assert_eq!(Entry::parse(&bytes).unwrap().counter, 2);
}

#[test]
fn a_log_is_trimmed_as_far_as_all_nodes_have_it() {
    let Some(servers) = Servers::start_with(1, "always") else {
        return;
    };
    let options = |node: &str| alone(&servers, node);
    assert!(begin(&options("a"), 1 << 20, &log()).unwrap().1);
    announce(&options("b"), &mark(2, 0)).unwrap();
    announce(&options("c"), &mark(3, 12)).unwrap();
    let mut node = Node::open(&options("a"), 0);
    let members_after = |durable| node.members_after(mark(1, durable));
    assert_eq!(
        append(&options("a"), (1..13).map(entry).collect()).unwrap(),
        12
    );
    // Repeated entries are dropped.
    assert_eq!(append(&options("a"), vec![entry(12)]).unwrap(), 12);
    // The other node has nothing yet.
    assert_eq!(members_after(12).nodes.len(), 3);
    assert_eq!(members(&options("a")).unwrap().1.first, 1);
    announce(&options("b"), &mark(2, 2)).unwrap();
    members_after(12);
    assert_eq!(members(&options("a")).unwrap().1.first, 3);
    // Before the log runs full it waits no more: 900,000 of 1,048,576 bytes.
    assert_eq!(
        append(&options("a"), (13..18).map(entry).collect()).unwrap(),
        17
    );
    announce(&options("c"), &mark(3, 17)).unwrap();
    let left = members_after(17);
    assert_eq!(left.nodes.keys().collect::<Vec<_>>(), ["a", "c"]);
    let (_, extent) = members(&options("a")).unwrap();
    assert!(extent.bytes <= extent.bytes_max / 2 + 60_100, "{extent:?}");
    assert_eq!(extent.last, 17);
    // That node comes back too late.
    let why = Node::open(&options("b"), 2).stopped();
    assert!(why.contains("the log begins with entry"), "{why}");
    assert!(leave(&options("a"), "a").unwrap());
    assert!(!leave(&options("a"), "a").unwrap());
    // Two of one name: the first one says so.
    node.log.mark(mark(1, 17));
    let mut other = Node::open(&options("a"), 17);
    other.log.mark(mark(9, 17));
    let until_members = |node: &mut Node| loop {
        match node.event() {
            LogEvent::Members(_) => return,
            LogEvent::Entry(_, bytes) => node.log.applied(bytes.len()),
            LogEvent::Ready(_) | LogEvent::End(_) | LogEvent::Feeds(_) => {}
            other => panic!("{other:?}"),
        }
    };
    until_members(&mut node);
    until_members(&mut other);
    node.log.mark(mark(1, 17));
    let why = node.stopped();
    assert!(why.contains("another node has the name a"), "{why}");
}

#[test]
fn an_outcome_that_comes_later_is_told_without_another_entry() {
    let Some(servers) = Servers::start_with(1, "always") else {
        return;
    };
    let options = |node: &str| LogOptions {
        replicas: 1,
        node: node.to_owned(),
        ..servers.options()
    };
    assert!(begin(&options("a"), 1 << 30, &log()).unwrap().1);
    let with_outcome = |process, told: &str| Mark {
        outcomes: [(64, told.to_owned())].into(),
        ..mark(process, 64)
    };
    announce(&options("b"), &mark(2, 63)).unwrap();
    let node = Node::open(&options("a"), 0);
    let told = node.members_after(with_outcome(1, "one"));
    assert!(told.nodes["b"].outcomes.is_empty(), "{told:?}");
    announce(&options("b"), &with_outcome(2, "other")).unwrap();
    while node.members().nodes["b"].outcomes.is_empty() {}
}

#[test]
fn a_node_that_applies_slowly_knows_the_end_of_the_log() {
    let Some(servers) = Servers::start_with(1, "always") else {
        return;
    };
    let options = LogOptions {
        replicas: 1,
        node: "a".to_owned(),
        ..servers.options()
    };
    assert!(begin(&options, 1 << 30, &log()).unwrap().1);
    let entries = (WAITING_BYTES_MAX / 500_000) as u64 + 20;
    let entry = |counter: u64| (format!("e-{counter}"), Bytes::from(vec![7; 500_000]));
    let appended = append(&options, (0..entries).map(entry).collect()).unwrap();
    assert_eq!(appended, entries);
    // It applies nothing: the thread holds the entries for which there is room.
    let node = Node::open(&options, 0);
    while !matches!(node.event(), LogEvent::Entry(..)) {}
    assert_eq!(append(&options, vec![entry(entries)]).unwrap(), entries + 1);
    while !matches!(node.event(), LogEvent::End(last) if last == entries + 1) {}
    // Marks and entries of this node go on meanwhile.
    node.log.mark(Mark {
        process: 1,
        ..Mark::default()
    });
    while !matches!(node.event(), LogEvent::Members(_)) {}
    assert_eq!(members(&options).unwrap().0.nodes["a"].stopped, None);
    let stop = StopMark {
        why: "entry 1 of the log is damaged".to_owned(),
        ..StopMark::default()
    };
    announce_stop(&options, (1, 0), &stop).unwrap();
    let (told, _) = members(&options).unwrap();
    assert_eq!(told.nodes["a"].stopped, Some(stop.clone()));
    // One that filed otherwise does so after a restart, too.
    let differs = StopMark {
        differs: Some((1, 64)),
        ..stop
    };
    announce_stop(&options, (1, 64), &differs).unwrap();
    let node = Node::open(&options, 64);
    node.log.mark(Mark {
        process: 2,
        durable: 64,
        ..Mark::default()
    });
    let told = loop {
        if let LogEvent::Outvoted(stop) = node.event() {
            break stop;
        }
    };
    assert_eq!(told, differs);
}

#[test]
fn a_log_keeps_what_only_one_node_has_until_the_others_leave() {
    let Some(servers) = Servers::start(1) else {
        return;
    };
    let options = |node: &str| alone(&servers, node);
    begin(&options("a"), 1 << 20, &log()).unwrap();
    announce(&options("b"), &mark(2, 2)).unwrap();
    announce(&options("c"), &mark(3, 1)).unwrap();
    append(&options("a"), (1..18).map(entry).collect()).unwrap();
    // 1,020,000 of 1,048,576 bytes; two of three nodes are away.
    let node = Node::open(&options("a"), 0);
    let left = node.members_after(mark(1, 17));
    assert_eq!(left.nodes.keys().collect::<Vec<_>>(), ["a", "b"]);
    let why = node.told("fewer than two nodes");
    assert!(why.contains("`broadsheet cluster leave b'"), "{why}");
    assert_eq!(members(&options("a")).unwrap().1.first, 3);
    // It runs full, and says what to do.
    for counter in 18..22 {
        let (id, bytes) = entry(counter);
        node.log.append(counter, id, bytes);
    }
    let why = node.told("cannot append to the log");
    assert!(why.contains("`broadsheet cluster leave b'"), "{why}");
    assert_eq!(members(&options("a")).unwrap().1.first, 3);
    // That helps without another entry, and so without another mark.
    assert!(leave(&options("a"), "b").unwrap());
    let mut appended = 0;
    let until = Instant::now() + Duration::from_secs(60);
    while appended < 21 {
        assert!(Instant::now() < until);
        match node.event() {
            LogEvent::Appended(counter) => appended = appended.max(counter),
            LogEvent::Stopped(why) => panic!("{why}"),
            _ => {}
        }
    }
}

#[test]
fn a_mark_that_failed_is_put_again() {
    let Some(mut servers) = Servers::start(1) else {
        return;
    };
    let options = alone(&servers, "a");
    begin(&options, BYTES_MAX, &log()).unwrap();
    let node = Node::open(&options, 0);
    assert_eq!(node.members_after(mark(1, 0)).lowest(), Some(0));
    servers.kill(0);
    // The thread tries at once, in vain.
    node.log.mark(mark(1, 7));
    std::thread::sleep(Duration::from_secs(6));
    servers.restart(0);
    assert_eq!(node.members().lowest(), Some(7));
}

#[test]
fn a_lost_list_of_nodes_trims_nothing() {
    let Some(servers) = Servers::start(1) else {
        return;
    };
    let options = |node: &str| alone(&servers, node);
    begin(&options("a"), 1 << 20, &log()).unwrap();
    announce(&options("b"), &mark(2, 2)).unwrap();
    append(&options("a"), (1..13).map(entry).collect()).unwrap();
    let node = Node::open(&options("a"), 0);
    for (damage, is_told) in [(&b"{\"nodes\":"[..], true), (b"", false)] {
        put_list(&options("a"), damage);
        assert_eq!(node.members_after(mark(1, 12)).lowest(), Some(12));
        if is_told {
            node.told("the list of its nodes was lost");
        }
        assert_eq!(members(&options("a")).unwrap().1.first, 1);
        // The other one is back.
        announce(&options("b"), &mark(2, 2)).unwrap();
        assert_eq!(node.members_after(mark(1, 12)).lowest(), Some(2));
        assert_eq!(members(&options("a")).unwrap().1.first, 1);
    }
}

#[test]
fn a_server_that_comes_back_without_sync_stops_the_nodes() {
    let Some(mut servers) = Servers::start(3) else {
        return;
    };
    let options = servers.options();
    begin(&options, BYTES_MAX, &log()).unwrap();
    let mut node = Node::open(&options, 0);
    node.append(1, 1);
    node.entry();
    // One to which the node has no connection, perhaps.
    servers.restart_with(2, "2m");
    let why = node.stopped();
    assert!(why.contains("s2"), "{why}");
    assert!(why.contains("sync_interval: always"), "{why}");
}
