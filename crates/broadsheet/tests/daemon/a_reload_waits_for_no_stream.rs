//! Peers that stream without a pause leave room for a reload, and for whoever borrows the lock.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;

use program::Program;
use program::articles::{id, many};
use program::daemon::{Over, until};
use program::nntp::{ALL_MAY, Client, Served, listen, take_this};

const PEERS: usize = 3;
const ARTICLES: usize = 2_000;

#[test]
fn streams_go_on_around_it() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    let served = Served::start(&program);
    let (taken, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for peer in 0..PEERS {
            let (address, taken, is_over) = (&served.address, &taken, &is_over);
            scope.spawn(move || stream(address, peer, taken, is_over));
        }
        let over = Over(&is_over);
        until("streaming", || taken.load(Ordering::SeqCst) > 1_000);
        for words in [["reload", "--dir", "news"], ["fsck", "--dir", "news"]] {
            let told = program.run(&words);
            assert_eq!(told.status, 0, "{told:?}");
        }
        // They were at it all the time, and are.
        let before = taken.load(Ordering::SeqCst);
        until("more", || taken.load(Ordering::SeqCst) > before + 1_000);
        drop(over);
    });
    served.daemon.stop();
    program.assert_clean();
}

/// Sends articles until it is over: while the answers to some are read, more are on their way.
fn stream(address: &str, peer: usize, taken: &AtomicUsize, is_over: &AtomicBool) {
    let mut client = Client::greeted(address);
    let mut socket = client.socket().try_clone().unwrap();
    let (begun, rounds) = sync_channel(1);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for round in 0.. {
                let prefix = format!("p{peer}r{round}");
                let articles = many(&prefix, ARTICLES, "comp.test", 100);
                let is_last = is_over.load(Ordering::SeqCst);
                let stream = articles.iter().zip(1..);
                let stream = stream.flat_map(|(article, n)| take_this(&id(&prefix, n), article));
                let stream: Vec<u8> = stream.collect();
                begun.send(prefix).unwrap();
                socket.write_all(&stream).unwrap();
                if is_last {
                    return;
                }
            }
        });
        for prefix in rounds {
            for number in 1..=ARTICLES {
                assert_eq!(client.line(), format!("239 {}", id(&prefix, number)));
                taken.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
}
