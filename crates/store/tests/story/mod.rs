//! What was done to a news directory, and what must be true of it afterwards.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use groups::Flag;
use store::disk::Disk;
use store::{
    Expires, Filing, Options, OverviewFields, PendingCancel, Piece, Position, Snapshot, Spool,
};

use crate::double::dice::Dice;
use crate::news;

/// Groups that are there from the beginning and stay.
pub const GROUPS: [&str; 4] = ["a.b", "c", "d.e.f", "junk"];
/// Groups that come and go.
pub const GUESTS: [&str; 3] = ["new.one", "new.two", "zz"];

/// Small segments and frequent checkpoints, so that a short story meets them all.
pub fn small() -> Options {
    Options {
        segment_bytes: 1 << 20,
        checkpoint_bytes: 200 << 10,
        // No limit to the wait for the lock: a program that another test starts has it too, between fork and exec.
        patience: None,
        ..Options::default()
    }
}

/// Larger segments, for commits that are written out piece by piece before they are due.
pub fn large() -> Options {
    Options {
        segment_bytes: 6 << 20,
        checkpoint_bytes: 2 << 20,
        ..small()
    }
}

#[derive(Debug, Clone)]
pub struct Filed {
    pub id: String,
    pub text: String,
    pub position: Position,
    pub links: Vec<(String, u64)>,
}

#[derive(Debug, Clone)]
pub enum Deed {
    Article(Filed),
    Seen(String),
    Cancel(Position, String),
    Low(String, u64),
    Group(String, bool),
    Pending(String),
}

/// All that was done, in order; the first `reported` deeds were reported as committed.
#[derive(Debug, Default)]
pub struct Story {
    pub deeds: Vec<Deed>,
    pub reported: usize,
    pub next_id: u64,
    /// Commits are rare.
    pub is_patient: bool,
}

impl Story {
    /// A step by chance. Errors are the store's.
    pub fn step(&mut self, spool: &mut Spool, dice: &mut Dice) -> Result<(), store::Error> {
        match dice.below(100) {
            0..70 => self.file(spool, dice),
            70..74 => self.remember(spool),
            74..79 => self.cancel(spool, dice),
            79..82 => self.raise_low(spool, dice),
            82..86 => self.change_group(spool, dice),
            86..88 => self.cancel_in_advance(spool, dice),
            _ if self.is_patient && dice.chance(85) => self.file(spool, dice),
            _ => self.commit(spool),
        }
    }

    pub fn commit(&mut self, spool: &mut Spool) -> Result<(), store::Error> {
        spool.commit()?;
        self.reported = self.deeds.len();
        Ok(())
    }

    fn fresh_id(&mut self) -> String {
        self.next_id += 1;
        format!("<{}.story@example.org>", self.next_id)
    }

    /// Files a new article of some size in some groups.
    pub fn file(&mut self, spool: &mut Spool, dice: &mut Dice) -> Result<(), store::Error> {
        let id = self.fresh_id();
        let bytes = *dice
            .pick(&[0, 10, 300, 300, 2000, 2000, 20_000, 150_000])
            .unwrap();
        self.file_id(spool, dice, id, bytes)
    }

    pub fn file_id(
        &mut self,
        spool: &mut Spool,
        dice: &mut Dice,
        id: String,
        bytes: u64,
    ) -> Result<(), store::Error> {
        let mut text = news::article(&id);
        let some: String = (0..200)
            .map(|_| char::from(b" \n.abcdefgh"[dice.below(11) as usize]))
            .collect();
        let more = dice.below(bytes + 1) as usize;
        text.extend(some.chars().cycle().take(more));
        let (mut links, mut is_late) = (Vec::<(String, u64)>::new(), false);
        for _ in 0..=dice.below(3) {
            let name = *dice.pick(&[&GROUPS[..], &GUESTS[..]].concat()).unwrap();
            if spool.active().find(name.as_bytes()).is_none() {
                continue;
            }
            if links.iter().all(|(known, _)| known != name) {
                let (number, late) = take_number(spool, name)?;
                is_late |= late;
                links.push((name.to_owned(), number));
            }
        }
        if links.is_empty() {
            let group = spool.active().find(b"junk").unwrap();
            let number = spool.active_mut().take_number(group).unwrap();
            links.push(("junk".to_owned(), number));
        }
        let position = append(spool, &id, &text, (&links, is_late))?;
        self.deeds.push(Deed::Article(Filed {
            id,
            text,
            position,
            links,
        }));
        Ok(())
    }

    fn remember(&mut self, spool: &mut Spool) -> Result<(), store::Error> {
        let id = self.fresh_id();
        spool.remember(id.as_bytes(), 77, None.into())?;
        self.deeds.push(Deed::Seen(id));
        Ok(())
    }

    fn cancel(&mut self, spool: &mut Spool, dice: &mut Dice) -> Result<(), store::Error> {
        let articles: Vec<&Filed> = self.articles().collect();
        if let Some(filed) = dice.pick(&articles) {
            let (position, id) = (filed.position, filed.id.clone());
            spool.cancel(position, id.as_bytes())?;
            self.deeds.push(Deed::Cancel(position, id));
        }
        Ok(())
    }

    fn cancel_in_advance(
        &mut self,
        spool: &mut Spool,
        dice: &mut Dice,
    ) -> Result<(), store::Error> {
        let id = format!("<{}.absent@example.org>", dice.below(1000));
        let cancel = PendingCancel {
            seconds: 1000,
            id: id.clone().into_bytes(),
            by: self.fresh_id().into_bytes(),
            keys: vec![format!("sha1:{}", dice.below(3)).into_bytes()],
        };
        if spool.add_pending_cancel(&cancel)?.is_none() {
            self.deeds.push(Deed::Pending(id));
        }
        Ok(())
    }

    fn raise_low(&mut self, spool: &mut Spool, dice: &mut Dice) -> Result<(), store::Error> {
        let name = *dice.pick(&GROUPS).unwrap();
        let group = spool.active().find(name.as_bytes()).unwrap();
        let low = spool.active().low(group) + dice.below(3);
        spool.set_low_marks(&[(name.as_bytes(), low)])?;
        self.deeds.push(Deed::Low(name.to_owned(), low));
        Ok(())
    }

    fn change_group(&mut self, spool: &mut Spool, dice: &mut Dice) -> Result<(), store::Error> {
        let name = *dice.pick(&GUESTS).unwrap();
        let there = spool.active().find(name.as_bytes()).is_some();
        if there && dice.chance(50) {
            spool.remove_group(name.as_bytes())?;
            self.deeds.push(Deed::Group(name.to_owned(), false));
        } else {
            spool.set_group(name.as_bytes(), Flag::parse(b"y").unwrap())?;
            self.deeds.push(Deed::Group(name.to_owned(), true));
        }
        Ok(())
    }

    pub fn articles(&self) -> impl Iterator<Item = &Filed> {
        self.deeds.iter().filter_map(|deed| match deed {
            Deed::Article(filed) => Some(filed),
            _ => None,
        })
    }

    /// After an interruption: unreported articles that are not there never came to be; those that are will
    /// be refused as duplicates from now on, which is as good as a report.
    pub fn look_what_is_left(&mut self, spool: &Spool) -> Result<(), store::Error> {
        let mut kept = self.deeds[..self.reported].to_vec();
        for deed in &self.deeds[self.reported..] {
            let id = match deed {
                Deed::Article(filed) => &filed.id,
                Deed::Seen(id) => id,
                Deed::Low(name, low) => {
                    let group = spool.active().find(name.as_bytes()).unwrap();
                    if spool.active().low(group) >= *low {
                        kept.push(deed.clone());
                    }
                    continue;
                }
                Deed::Cancel(position, _) => {
                    if spool.cancelled().contains(*position) {
                        kept.push(deed.clone());
                    }
                    continue;
                }
                Deed::Pending(id) => {
                    // The power may go here as well.
                    if is_pending(spool, id)? {
                        kept.push(deed.clone());
                    }
                    continue;
                }
                Deed::Group(..) => continue,
            };
            if spool.find(id.as_bytes())?.is_some() {
                kept.push(deed.clone());
            }
        }
        self.deeds = kept;
        self.note_guests(spool);
        self.reported = self.deeds.len();
        Ok(())
    }

    fn note_guests(&mut self, spool: &Spool) {
        for name in GUESTS {
            let there = spool.active().find(name.as_bytes()).is_some();
            self.deeds.push(Deed::Group(name.to_owned(), there));
        }
    }

    /// What must hold of the reported deeds. Panics where it does not.
    pub fn check(&mut self, disk: &Arc<dyn Disk>, dir: &Path, what: &str) {
        let mut spool = Spool::open_on(disk.clone(), dir, small())
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        for notice in spool.notices() {
            assert!(!notice.contains("is damaged at byte"), "{what}: {notice}");
        }
        self.check_marks(&spool, what);
        self.refile(&mut spool, what);
        drop(spool);
        let report = store::fsck::fsck_on(disk.clone(), dir, false)
            .unwrap_or_else(|e| panic!("{what}: {e}"));
        assert!(report.is_clean(), "{what}: {report:?}");
        self.check_articles(disk, dir, what);
    }

    fn check_marks(&self, spool: &Spool, what: &str) {
        let mut guests = HashMap::new();
        for (place, deed) in self.deeds.iter().enumerate() {
            match deed {
                Deed::Low(name, low) if place < self.reported => {
                    let group = spool.active().find(name.as_bytes()).unwrap();
                    assert!(spool.active().low(group) >= *low, "{what}: low of {name}");
                }
                Deed::Pending(id) if place < self.reported => {
                    let pending = is_pending(spool, id).unwrap();
                    assert!(pending, "{what}: {id} is not pending");
                }
                Deed::Group(name, there) if place < self.reported => {
                    guests.insert(name, Some(*there));
                }
                Deed::Group(name, _) => {
                    guests.insert(name, None);
                }
                _ => {}
            }
        }
        for (name, there) in guests {
            let now = spool.active().find(name.as_bytes()).is_some();
            assert!(
                there.is_none_or(|there| there == now),
                "{what}: {name} {now}"
            );
        }
    }

    /// The whole feed comes again: what was reported is refused, the rest is filed now.
    fn refile(&mut self, spool: &mut Spool, what: &str) {
        let mut again = Vec::new();
        for (place, deed) in self.deeds.iter().enumerate() {
            let (Deed::Article(Filed { id, .. }) | Deed::Seen(id)) = deed else {
                continue;
            };
            let found = spool
                .find(id.as_bytes())
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(
                place >= self.reported || found.is_some(),
                "{what}: {id}, deed {place}, is lost"
            );
            match (found, deed) {
                (Some(line), Deed::Article(filed)) => {
                    assert_eq!(line.position, Some(filed.position), "{what}: {id}");
                }
                (None, _) => again.push(id.clone()),
                _ => {}
            }
        }
        let mut place = 0;
        self.deeds.retain(|deed| {
            place += 1;
            match deed {
                _ if place <= self.reported => true,
                Deed::Article(filed) => !again.contains(&filed.id),
                Deed::Cancel(position, _) => spool.cancelled().contains(*position),
                Deed::Low(name, low) => spool
                    .active()
                    .find(name.as_bytes())
                    .is_some_and(|group| spool.active().low(group) >= *low),
                Deed::Pending(id) => is_pending(spool, id).unwrap(),
                Deed::Group(..) => false,
                Deed::Seen(_) => true,
            }
        });
        self.note_guests(spool);
        let mut dice = Dice::new(1);
        for id in again {
            self.file_id(spool, &mut dice, id, 500)
                .unwrap_or_else(|error| panic!("{what}: {error}"));
        }
        self.commit(spool)
            .unwrap_or_else(|error| panic!("{what}: {error}"));
    }

    /// Every article byte for byte; no id and no number twice.
    fn check_articles(&self, disk: &Arc<dyn Disk>, dir: &Path, what: &str) {
        let reader = Snapshot::open_on(disk.clone(), dir).unwrap();
        let (mut ids, mut numbers) = (HashSet::new(), BTreeSet::new());
        reader
            .each_history_line(|line| {
                let line = store::HistoryLine::parse(line).unwrap();
                assert!(ids.insert(line.id.to_vec()), "{what}: twice {line:?}");
                for (group, number) in line.links() {
                    assert!(
                        numbers.insert((group.to_vec(), number)),
                        "{what}: number twice {line:?}"
                    );
                }
                Ok(())
            })
            .unwrap();
        let mut lows: BTreeMap<&str, u64> = BTreeMap::new();
        let mut cancelled = HashSet::new();
        for deed in &self.deeds {
            match deed {
                Deed::Low(name, low) => {
                    let known = lows.entry(name).or_default();
                    *known = (*known).max(*low);
                }
                Deed::Cancel(position, _) => {
                    cancelled.insert(*position);
                }
                _ => {}
            }
        }
        for filed in self.articles() {
            check_article(&reader, filed, what);
            let in_reach = |(name, number): &&(String, u64)| {
                reader.active().find(name.as_bytes()).is_some()
                    && *number >= lows.get(name.as_str()).copied().unwrap_or(0)
            };
            let alive = reader
                .article(filed.id.as_bytes(), &mut Vec::new())
                .unwrap()
                .is_some();
            if cancelled.contains(&filed.position) {
                assert!(!alive, "{what}: {} was cancelled", filed.id);
                continue;
            }
            for (name, number) in filed.links.iter().filter(in_reach) {
                assert!(alive, "{what}: {}", filed.id);
                let mut buffer = Vec::new();
                let stored = reader
                    .article_by_number(name.as_bytes(), *number, &mut buffer)
                    .unwrap();
                assert_eq!(
                    native(&stored.unwrap_or_else(|| panic!("{what}: {name}/{number}"))),
                    filed.text
                );
            }
        }
    }
}

fn is_pending(spool: &Spool, id: &str) -> Result<bool, store::Error> {
    let pending = spool.pending_cancels()?;
    Ok(pending.find(id.as_bytes(), 1000).is_some())
}

/// The article of a deed is in its place, byte for byte.
pub fn check_article(reader: &Snapshot, filed: &Filed, what: &str) {
    let mut buffer = Vec::new();
    let stored = reader
        .record(filed.position, &mut buffer)
        .unwrap_or_else(|error| panic!("{what}: {} {error}", filed.id))
        .unwrap_or_else(|| panic!("{what}: {} is gone", filed.id));
    assert!(native(&stored) == filed.text, "{what}: {}", filed.id);
}

pub fn native(stored: &store::Record<'_>) -> String {
    let mut native = Vec::new();
    stored.push_native(&mut native);
    String::from_utf8(native).unwrap()
}

/// Takes a number in a group: usually the next one, now and then a later one, or one that was left free. Also returns whether it is late.
pub fn take_number(spool: &mut Spool, name: &str) -> Result<(u64, bool), store::Error> {
    let group = spool.active().find(name.as_bytes()).unwrap();
    let high = spool.active().high(group);
    let mut dice = Dice::new(high + name.len() as u64);
    if dice.chance(10) {
        assert!(spool.active_mut().set_high(group, high + dice.below(5)));
    } else if dice.chance(20) {
        let number = high.saturating_sub(dice.below(20));
        if spool.is_free(name.as_bytes(), number)? {
            return Ok((number, number <= high));
        }
    }
    Ok((spool.active_mut().take_number(group).unwrap(), false))
}

pub fn append(
    spool: &mut Spool,
    id: &str,
    text: &str,
    (links, is_late): (&[(String, u64)], bool),
) -> Result<Position, store::Error> {
    let links: Vec<(&[u8], u64)> = links
        .iter()
        .map(|(name, number)| (name.as_bytes(), *number))
        .collect();
    let (header, body) = text.split_at(text.find("\n\n").unwrap() + 2);
    let (first, second) = header.split_at(header.find('\n').unwrap() + 1);
    let subject = format!("subject {id}");
    spool.append(&Filing {
        id: id.as_bytes(),
        arrival: 1000,
        expires: match id.contains('7') {
            true => Expires::Unreadable(b"when\tit~rains"),
            false => Expires::Absent,
        },
        is_late,
        links: &links,
        sites: b"one two",
        header: &[
            Piece::Native(first.as_bytes()),
            Piece::Native(second.as_bytes()),
        ],
        body: Piece::Native(body.as_bytes()),
        left_out: None,
        overview: OverviewFields {
            subject: subject.as_bytes(),
            from: b"u@x",
            date: b"then",
            id: id.as_bytes(),
            references: b"",
            xref: b"",
        },
    })
}
