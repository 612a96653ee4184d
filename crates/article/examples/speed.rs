//! Measures the functions that run for every article: `cargo run --release -p article --example speed`.
//!
//! The article is synthetic: 14 header lines, 3 KB, lines of ordinary length.

use std::hint::black_box;
use std::time::Instant;

use article::path::Path;
use article::wire::{native_len, push_native, push_wire};
use article::{Article, Form, Header, message_id};

/// Rounds of each measurement; the best one is printed.
const ROUNDS: usize = 15;
const REPEATS: u32 = 20_000;

fn main() {
    let native = sample();
    println!(
        "article: {} bytes, {} lines",
        native.len(),
        native.iter().filter(|&&b| b == b'\n').count()
    );
    measure("parse, native", native.len(), || {
        let article = Article::parse(black_box(&native), Form::Native);
        black_box(article.body())
    });
    measure("parse and read ten values", native.len(), || {
        let article = Article::parse(black_box(&native), Form::Native);
        let lengths = Header::ALL
            .iter()
            .take(10)
            .filter_map(|&h| article.value(h))
            .map(<[u8]>::len);
        black_box(lengths.sum::<usize>() + usize::from(article.required().is_ok()))
    });
    let mut out = Vec::with_capacity(8192);
    push_wire(&mut out, &native);
    let on_the_wire = out.clone();
    measure("parse, wire", on_the_wire.len(), || {
        Article::parse(black_box(&on_the_wire), Form::Wire).body()
    });
    measure("native to wire", native.len(), || {
        out.clear();
        push_wire(&mut out, black_box(&native)) as usize
    });
    measure("wire to native", on_the_wire.len(), || {
        out.clear();
        push_native(&mut out, black_box(&on_the_wire));
        out.len()
    });
    measure("length of the native form", on_the_wire.len(), || {
        native_len(black_box(&on_the_wire))
    });
    let article = Article::parse(&native, Form::Native);
    let id = article.value(Header::MessageId).unwrap_or_default();
    let key = message_id::HashKey::new([7; message_id::HashKey::BYTES]);
    measure("hash of the id", id.len(), || {
        key.hash(black_box(id)) as usize
    });
    let path = article.value(Header::Path).unwrap_or_default();
    measure("hops, and a walk along Path", path.len(), || {
        let path = Path::new(black_box(path), None);
        path.hop_count() + path.sites().map(<[u8]>::len).sum::<usize>()
    });
    measure("hops, and five sites in the Path", path.len(), || {
        let path = Path::new(black_box(path), None);
        let sites = [
            "a.example",
            "b.example",
            "cc.example",
            "site",
            "relay.example.com",
        ];
        path.hop_count()
            + sites
                .iter()
                .filter(|site| path.contains_site(site.as_bytes()))
                .count()
    });
    measure("copy (for comparison)", native.len(), || {
        out.clear();
        out.extend_from_slice(black_box(&native));
        out.len()
    });
}

fn measure(what: &str, bytes: usize, mut work: impl FnMut() -> usize) {
    let mut best = f64::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..REPEATS {
            black_box(work());
        }
        best = best.min(start.elapsed().as_secs_f64() / f64::from(REPEATS));
    }
    println!(
        "{what:32} {:8.1} ns {:8.2} GB/s",
        best * 1e9,
        bytes as f64 / best / 1e9
    );
}

fn sample() -> Vec<u8> {
    let mut text =
        b"Path: news.example.org!relay.example.net!feeder.example.com!host.example.edu!someone\n\
From: someone@host.example.edu (Some One)\nNewsgroups: comp.lang.example,comp.misc\n\
Subject: Re: the cost of an article\nMessage-ID: <1990Jan1.123456.7890@host.example.edu>\n\
Date: 1 Jan 90 12:34:56 GMT\nReferences: <1@a.example.com> <22@b.example.com>\n\
Organization: Example University, Department of Samples\nLines: 48\n\
Sender: news@host.example.edu (News system)\nReply-To: someone@host.example.edu\n\
NNTP-Posting-Host: machine.host.example.edu\nX-Newsreader: example 1.0\nDistribution: world\n\n"
            .to_vec();
    let mut state = 1u32;
    while text.len() < 3000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let len = 20 + (state >> 26) as usize;
        let line: Vec<u8> = (0..len)
            .map(|at| {
                if at % 6 == 5 {
                    b' '
                } else {
                    b'a' + (at % 26) as u8
                }
            })
            .collect();
        text.extend_from_slice(&line);
        text.push(b'\n');
    }
    text
}
