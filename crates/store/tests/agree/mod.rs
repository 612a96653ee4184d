//! Whether live reading tells the same as a reader opened now.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::ops::ControlFlow;

use store::Snapshot;

/// Asks both for everything. The reader is the model: it looks for each thing anew.
pub fn agree(live: &mut Snapshot, reader: &Snapshot, what: &str) {
    let names: Vec<Vec<u8>> = {
        let active = live.active();
        active.ids().map(|id| active.name(id).to_vec()).collect()
    };
    for name in names {
        agree_in(live, reader, &name, what);
    }
    let mut lines = Vec::new();
    reader
        .each_history_line(|line| {
            lines.push(line.to_vec());
            Ok(())
        })
        .unwrap();
    let mut living = Vec::new();
    for text in &lines {
        let line = store::HistoryLine::parse(text).unwrap();
        assert!(live.has(line.id).unwrap(), "{what}");
        let found = live.find(line.id).unwrap();
        assert_eq!(found.is_some(), reader.is_alive(&line), "{what}");
        if let Some(found) = found {
            assert_eq!(Some(found.position), line.position);
            assert_eq!(found.line, line);
            living.push(text.clone());
        }
    }
    assert_eq!(lines_since(live, i64::MIN), living, "{what}");
}

/// The history lines from a time on, fetched in pieces.
pub fn lines_since(live: &Snapshot, seconds: i64) -> Vec<Vec<u8>> {
    let mut told = Vec::new();
    let mut from = None;
    loop {
        let each = |found: store::Found<'_>| {
            told.push(found.line.text.to_vec());
            ControlFlow::Continue(())
        };
        from = live.filed_since(seconds, from, 7, each).unwrap();
        if from.is_none() {
            return told;
        }
    }
}

/// All rows of a group, fetched in pieces.
pub fn rows(live: &mut Snapshot, group: &[u8], bytes_max: usize) -> Vec<u8> {
    let (mut text, mut from) = (Vec::new(), Some(1));
    while let Some(low) = from {
        let before = text.len();
        let range = (low, u64::MAX);
        let add = |run: store::Run| text.extend_from_slice(run.bytes());
        from = live.rows(group, range, bytes_max, add).unwrap().next;
        let got = text.len() - before;
        assert!(got <= bytes_max || text[before..].iter().filter(|&&b| b == b'\n').count() == 1);
    }
    text
}

/// The numbers of a group and the ids there, as history tells them.
fn told_by_history(reader: &Snapshot, group: &[u8]) -> Vec<(u64, String)> {
    let mut told = Vec::new();
    reader
        .each_history_line(|text| {
            let line = store::HistoryLine::parse(text).unwrap();
            let links = line.links().filter(|(name, _)| *name == group);
            for (_, number) in links {
                if reader.is_alive_in(group, number, line.position.unwrap()) {
                    told.push((number, String::from_utf8(line.id.to_vec()).unwrap()));
                }
            }
            Ok(())
        })
        .unwrap();
    told.sort();
    told
}

fn agree_in(live: &mut Snapshot, reader: &Snapshot, group: &[u8], what: &str) {
    let (mut numbers, mut text) = (Vec::new(), Vec::new());
    reader
        .overview(group, (1, u64::MAX), |row| {
            numbers.push(row.number);
            text.extend_from_slice(row.text);
            Ok(())
        })
        .unwrap();
    let rows_told: Vec<(u64, String)> = String::from_utf8(text.clone())
        .unwrap()
        .lines()
        .map(|row| {
            let fields: Vec<&str> = row.split('\t').collect();
            (fields[0].parse().unwrap(), fields[4].to_owned())
        })
        .collect();
    assert_eq!(rows_told, told_by_history(reader, group), "{what}");
    for bytes_max in [0, 100, 1000, usize::MAX] {
        assert_eq!(rows(live, group, bytes_max), text, "{what}");
    }
    let (mut told, mut from) = (Vec::new(), Some(1));
    while let Some(low) = from {
        let range = (low, u64::MAX);
        from = live.numbers(group, range, 3, &mut told).unwrap();
    }
    assert_eq!(told, numbers, "{what}");
    let mut after = 0;
    for &number in &numbers {
        let (next, position) = live.next(group, after, u64::MAX).unwrap().unwrap();
        assert_eq!(next, number, "{what}");
        assert_eq!(live.position(group, number).unwrap(), Some(position));
        let (mut one, mut other) = (Vec::new(), Vec::new());
        let stored = reader.article_by_number(group, number, &mut one).unwrap();
        let wire = stored.unwrap().wire();
        let record = live.record(position, &mut other).unwrap();
        assert_eq!(record.unwrap().wire(), wire, "{what}");
        if number % 8 == 1 {
            let stretch = live.stretch(position).unwrap().unwrap();
            assert_eq!(stretch.bytes(), wire, "{what}");
            assert!(stretch.is_still_there());
        }
        after = number;
    }
    assert_eq!(live.next(group, after, u64::MAX).unwrap(), None, "{what}");
    let mut before = u64::MAX;
    for &number in numbers.iter().rev() {
        let (last, _) = live.previous(group, before, 1).unwrap().unwrap();
        assert_eq!(last, number, "{what}");
        before = number;
    }
    assert_eq!(live.previous(group, before, 0).unwrap(), None, "{what}");
    let last = numbers.last().copied().unwrap_or(0);
    for number in 1..last {
        let is_there = numbers.binary_search(&number).is_ok();
        let position = live.position(group, number).unwrap();
        assert_eq!(position.is_some(), is_there, "{what}: {number}");
    }
    let id = live.active().find(group).unwrap();
    let count = live.count(id).unwrap();
    assert!(count >= numbers.len() as u64, "{what}");
    assert_eq!(count == 0, numbers.is_empty(), "{what}");
    let (low, high) = live.marks(id);
    assert!(high >= last && low <= high + 1, "{what}");
    assert!(
        numbers.first().is_none_or(|first| low <= *first),
        "{what}: {low}"
    );
}
