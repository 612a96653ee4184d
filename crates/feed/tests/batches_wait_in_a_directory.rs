//! Batches dropped into another news system's in.coming, and queues that are full.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use crate::waiting;

use std::io::Read;

use article::wrap::{self, Compression, WrapFormat, WrapLimits};
use feed::{BatchParms, Stopped, Transport, waiting_in_directory, waiting_in_uucp};
use groups::sites::{Queue, To};
use waiting::{Waiting, by_command, in_shell};

const BODIES: &[usize] = &[100, 200, 300, 5000, 10, 20];

fn to_directory(word: &str, queue: Queue) -> BatchParms {
    BatchParms {
        to: To::Directory("in.coming".into()),
        packing: WrapFormat::of(word).unwrap(),
        queue,
        ..by_command(600, "x")
    }
}

fn names(waiting: &Waiting) -> Vec<String> {
    let entries = std::fs::read_dir(waiting.path("in.coming")).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn each_batch_is_a_file_with_its_classic_name() {
    for (word, suffix) in [("none", ".t"), ("compress", ".Z"), ("zstd", ".zst")] {
        let mut waiting = Waiting::new(BODIES);
        std::fs::create_dir(waiting.path("in.coming")).unwrap();
        let sent = waiting.send(&to_directory(word, Queue::Unlimited));
        assert_eq!((sent.batches, waiting.delivered), (4, 6), "{sent:?}");
        let names = names(&waiting);
        assert_eq!(names.len(), 4, "{names:?}");
        let mut all = Vec::new();
        for name in &names {
            let (stem, end) = name.split_at(name.find('.').unwrap());
            let (seconds, letter) = stem.split_at(stem.len() - 1);
            assert_eq!(end, suffix, "{name}");
            assert!(seconds.parse::<u64>().unwrap() > 1_600_000_000, "{name}");
            assert!(letter.bytes().all(|b| b.is_ascii_alphanumeric()), "{name}");
            let bytes = waiting.read(&format!("in.coming/{name}"));
            wrap::open(bytes.as_slice(), WrapLimits::default())
                .unwrap()
                .read_to_end(&mut all)
                .unwrap();
            if word == "compress" {
                assert!(bytes.starts_with(&[0x1f, 0x9d]), "no line in front of it");
            }
        }
        assert_eq!(all, waiting.batch(BODIES, 0), "in the order of their names");
    }
}

#[test]
fn more_than_a_second_has_letters_for_keep_their_order() {
    let room = tempfile::tempdir().unwrap();
    let transport = Transport::Directory(room.path().to_owned());
    for number in 0..150 {
        transport.send(format!("{number:05}").as_bytes()).unwrap();
    }
    let mut paths: Vec<_> = std::fs::read_dir(room.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let texts: Vec<_> = paths
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let expected: Vec<_> = (0..150).map(|number| format!("{number:05}")).collect();
    assert_eq!(texts, expected);
}

#[test]
fn a_missing_directory_leaves_the_batch() {
    let mut waiting = Waiting::new(BODIES);
    let sent = waiting.send(&to_directory("none", Queue::Unlimited));
    let Stopped::Failed(error) = &sent.stopped else {
        panic!("{sent:?}");
    };
    assert!(error.to_string().contains("in.coming"), "{error}");
    assert_eq!(waiting.delivered, 0);
}

#[test]
fn a_full_directory_takes_no_more() {
    let mut waiting = Waiting::new(BODIES);
    std::fs::create_dir(waiting.path("in.coming")).unwrap();
    for name in ["stop", "nspool.1", "nntp.2", ".hidden", "1a.t"] {
        waiting.write(&format!("in.coming/{name}"), "x");
    }
    assert_eq!(waiting_in_directory(&waiting.path("in.coming")).unwrap(), 1);
    let sent = waiting.send(&to_directory("none", Queue::Batches(3)));
    assert!(
        matches!(sent.stopped, Stopped::QueueFull { waiting: 3 }),
        "{sent:?}"
    );
    assert_eq!((sent.batches, waiting.delivered), (2, 3));
    assert_eq!(waiting_in_directory(&waiting.path("nowhere")).unwrap(), 0);
}

#[test]
fn a_full_uucp_queue_takes_no_more() {
    let mut waiting = Waiting::new(BODIES);
    let spool = waiting.path("uucp");
    assert_eq!(waiting_in_uucp(&spool, b"north").unwrap(), 0);
    std::fs::create_dir_all(spool.join("north/C.")).unwrap();
    std::fs::create_dir_all(spool.join("north/D.")).unwrap();
    for name in [
        "C./C.northN1",
        "C./C.northN2",
        "D./D.0001",
        "C.northA3",
        "X.x",
    ] {
        waiting.write(&format!("uucp/north/{name}"), "x");
    }
    assert_eq!(waiting_in_uucp(&spool, b"north").unwrap(), 3);
    assert_eq!(waiting_in_uucp(&spool, b"south").unwrap(), 0);
    assert!(waiting_in_uucp(&spool, b"../north").is_err());
    let script = "cat >> ROOM/out; > ROOM/uucp/north/C./C.new";
    let mut parms = in_shell(600, script, &waiting.path(""));
    parms.queue = Queue::Batches(4);
    let sent = waiting.send(&parms);
    assert!(
        matches!(sent.stopped, Stopped::QueueFull { waiting: 4 }),
        "{sent:?}"
    );
    assert_eq!((sent.batches, sent.articles), (1, 2));
    parms.queue = Queue::Unlimited;
    parms.packing = WrapFormat::new(Some(Compression::Gzip));
    let sent = waiting.send(&parms);
    assert_eq!(sent.batches, 3);
    assert!(sent.packed_bytes < sent.bytes);
}
