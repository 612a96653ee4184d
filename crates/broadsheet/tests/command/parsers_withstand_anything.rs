//! The fuzz targets, over their kept corpus and over mutations of it made from a seed. (`cargo fuzz`, see
//! fuzz/README.md, goes on from there for as long as one likes.)

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

#[path = "../../../../fuzz/targets.rs"]
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use crate::program::dice::Dice;
use targets::{TARGETS, Target};

/// Mutations of each target; `BROADSHEET_MUTATIONS` in the environment asks for another number.
const MUTATIONS: u32 = 3000;
/// A mutation is cut to this, bytes.
const INPUT_BYTES_MAX: usize = 16 << 10;

fn fuzz() -> PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// The kept inputs of a target, in the order of their names.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = fuzz().join("corpus").join(target);
    let entries =
        std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut inputs: Vec<_> = entries
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(path).unwrap())
        })
        .collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "{target} has a corpus");
    inputs
}

/// Runs a target; if it panics, says with what.
fn run(target: &str, call: Target, from: &str, input: &[u8]) {
    if catch_unwind(AssertUnwindSafe(|| call(input))).is_err() {
        let path = std::env::temp_dir().join(format!("crash-{target}"));
        std::fs::write(&path, input).unwrap();
        panic!(
            "{target} panics over {from}; the input is in {}: put it into fuzz/corpus/{target}/\n{:?}",
            path.display(),
            String::from_utf8_lossy(&input[..input.len().min(300)])
        );
    }
}

/// A number below `end`, as an index.
fn below(dice: &mut Dice, end: usize) -> usize {
    dice.below(end as u64) as usize
}

/// Bytes and words that parsers have opinions on.
const WORDS: &[&[u8]] = &[
    b"\0",
    b"\xff",
    b"\n",
    b"\r\n",
    b"\r",
    b"\t",
    b" ",
    b".",
    b"..",
    b"/",
    b":",
    b",",
    b"!",
    b"@",
    b"<",
    b">",
    b"\\",
    b"*",
    b"[",
    b"]",
    b"^",
    b"-",
    b"~",
    b"=",
    b"%",
    b"#",
    b"\n\n",
    b"\n.\n",
    b"\r\n.\r\n",
    b"#! rnews ",
    b"#! rnews 1\n",
    b"#! cunbatch\n",
    b"Xref: ",
    b"Path: ",
    b"Message-ID: ",
    b"0",
    b"9999999999",
    b"18446744073709551615",
    b"18446744073709551616",
    b"-1",
    b"all",
    b"ME",
    b"never",
    b"\xc3\xa9",
    b"\xf4\x90\x80\x80",
    b"Feb 29",
    b"+9999",
    b"24:00",
];

fn mutate(dice: &mut Dice, input: &mut Vec<u8>, others: &[(String, Vec<u8>)]) {
    for _ in 0..=below(dice, 4) {
        let at = below(dice, input.len() + 1);
        match below(dice, 7) {
            0 if at < input.len() => input[at] ^= 1 << below(dice, 8),
            1 if at < input.len() => input[at] = below(dice, 256) as u8,
            2 => {
                let end = (at + 1 + below(dice, 16)).min(input.len());
                input.drain(at..end);
            }
            3 => {
                let end = (at + 1 + below(dice, 64)).min(input.len());
                let again = input[at..end].to_vec();
                input.splice(at..at, again);
            }
            4 => input.truncate(at),
            5 => {
                let other = &others[below(dice, others.len())].1;
                let from = below(dice, other.len() + 1);
                let to = (from + below(dice, 100)).min(other.len());
                input.splice(at..at, other[from..to].iter().copied());
            }
            _ => {
                let word = WORDS[below(dice, WORDS.len())];
                input.splice(at..at, word.iter().copied());
            }
        }
    }
    input.truncate(INPUT_BYTES_MAX);
}

/// The targets whose place in the table leaves this rest, so that several tests share the work.
fn every_third(rest: usize) {
    let others: Vec<_> = TARGETS
        .iter()
        .flat_map(|(target, _)| corpus(target))
        .collect();
    let mutations = std::env::var("BROADSHEET_MUTATIONS")
        .ok()
        .and_then(|number| number.parse().ok())
        .unwrap_or(MUTATIONS);
    for (target, call) in TARGETS.iter().skip(rest).step_by(3) {
        let kept = corpus(target);
        run(target, *call, "nothing", b"");
        for (name, input) in &kept {
            run(target, *call, name, input);
        }
        let mut dice = Dice::new(0x1987_0b5d + rest as u64);
        for mutation in 0..mutations {
            let (name, input) = &kept[below(&mut dice, kept.len())];
            let mut input = input.clone();
            mutate(&mut dice, &mut input, &others);
            run(
                target,
                *call,
                &format!("mutation {mutation}, of {name}"),
                &input,
            );
        }
    }
}

#[test]
fn a_third_of_them() {
    every_third(0);
}

#[test]
fn another_third() {
    every_third(1);
}

#[test]
fn the_rest() {
    every_third(2);
}

/// `cargo fuzz` finds each target by its file and its entry in the manifest.
#[test]
fn every_target_can_be_run_by_cargo_fuzz() {
    let manifest: toml::Table = std::fs::read_to_string(fuzz().join("Cargo.toml"))
        .unwrap()
        .parse()
        .unwrap();
    let bins: Vec<&str> = manifest["bin"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bin| bin["name"].as_str().unwrap())
        .collect();
    let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(bins, names);
    for name in names {
        let text = std::fs::read_to_string(fuzz().join(format!("fuzz_targets/{name}.rs"))).unwrap();
        assert!(text.contains(&format!("targets::{name}(data)")), "{name}");
    }
}
