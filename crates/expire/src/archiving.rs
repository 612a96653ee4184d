//! Archiving: what goes from a group whose rule names an archive is copied there first.
//!
//! As C News: the copy is on the disk before the original may go; an original that is missing is no fault; a copy that fails
//! keeps its article; after [`COPY_FAILURES_MAX`] failures nothing more is archived in the run, and all that should have
//! been stays. A run may be killed at any moment: the next one finds what was copied, and goes on.

mod fault;
mod files;
mod going;
pub mod index_line;
mod place;
mod second_news;
mod stay;

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use groups::GroupId;
use store::{HistoryLine, Options, Reader, StoredRecord, Survey};

use crate::decide::Plan;
use crate::failure::Failure;
use crate::policy::Policy;

pub use fault::CopyFault;
pub use second_news::Make;

use going::{Leaving, Link};
use place::Place;
use stay::Stay;

/// After so many failed copies a run archives nothing more, as C News.
pub const COPY_FAILURES_MAX: u64 = 3;

/// What is wanted of archiving, besides the policy.
pub struct Archiving<'a> {
    /// Hold what should be archived: nothing is copied, and nothing of it goes.
    pub hold: bool,
    /// Makes a news directory for [`crate::Layout::Segments`].
    pub make: &'a Make<'a>,
    /// Where the line for each copy goes (`-p`).
    pub index: Option<&'a mut dyn Write>,
}

impl Default for Archiving<'_> {
    /// Copies to directories; makes no news directory.
    fn default() -> Self {
        Archiving {
            hold: false,
            make: &|_, _| Err("nobody said how".into()),
            index: None,
        }
    }
}

/// What was archived, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Archived {
    /// Links (an article in a group) whose copy is in the archive.
    pub copies: u64,
    /// Links that had to be archived and went, but of whose article nothing was left to copy.
    pub missing: u64,
    /// Copies that failed; the articles stay.
    pub failed: u64,
    /// Links that should be archived and stay, because archiving is held.
    pub held: u64,
    /// What went wrong, in sentences for the administrator.
    pub faults: Vec<String>,
}

/// Tells of each archive of a policy that cannot be used.
pub fn unusable(policy: &Policy, news: &Path) -> Vec<String> {
    let archives = place::archives(policy).into_iter();
    archives
        .filter_map(|archive| place::fault_of(archive, news))
        .collect()
}

/// One run's archiving.
pub(crate) struct Run<'r, 'a> {
    reader: &'r Reader,
    places: Vec<Place<'a>>,
    place_of_rule: HashMap<usize, usize>,
    told: Archived,
}

impl<'r, 'a> Run<'r, 'a> {
    /// Looks at the archives of the policy; those that cannot be used are held.
    pub(crate) fn new(
        news: &Path,
        (reader, policy): (&'r Reader, &Policy),
        options: Options,
        archiving: &Archiving<'a>,
    ) -> Run<'r, 'a> {
        let mut told = Archived::default();
        let table = (policy, reader.active());
        let archives = place::archives(policy).into_iter();
        let places = archives
            .map(|archive| {
                let mut place = place::open(archive, news, table, options, archiving);
                let fault = place::fault_of(archive, news).filter(|_| !archiving.hold);
                place.held = archiving.hold || fault.is_some();
                let sentence = |fault| format!("{fault}; what should be archived there stays");
                told.faults.extend(fault.map(sentence));
                place
            })
            .collect();
        Run {
            reader,
            places,
            place_of_rule: place::by_rule(policy),
            told,
        }
    }

    /// The groups of which nothing goes, because their archive is held; ascending.
    pub(crate) fn held_groups(&self, policy: &Policy) -> Vec<GroupId> {
        let is_held = |id: &GroupId| {
            let place = policy
                .rule(*id)
                .and_then(|rule| self.place_of_rule.get(&rule.line));
            place.is_some_and(|place| self.places.get(*place).is_none_or(|place| place.held))
        };
        let mut held: Vec<GroupId> = self.reader.active().ids().filter(is_held).collect();
        held.sort_unstable();
        held
    }

    /// Takes what is held out of the plan, and counts what would be copied.
    pub(crate) fn hold(
        &mut self,
        (policy, surveys): (&Policy, &[Survey]),
        plan: &mut Plan,
    ) -> Result<(), Failure> {
        if self.place_of_rule.is_empty() {
            return Ok(());
        }
        (self.told.copies, self.told.missing) = (0, 0);
        let mut stay = Stay::default();
        let (places, told) = (&self.places, &mut self.told);
        each_segment(
            (self.reader, policy, surveys),
            plan,
            &self.place_of_rule,
            |base, links| {
                for link in links {
                    if places.get(link.place).is_none_or(|place| place.held) {
                        stay.from(link, base);
                        told.held += 1;
                    } else if link.cancelled {
                        told.missing += 1;
                    } else {
                        told.copies += 1;
                    }
                }
                Ok(())
            },
        )?;
        stay.change(&mut plan.expiry, self.reader.expired());
        plan.count(self.reader, surveys.iter());
        Ok(())
    }

    /// Copies what the plan takes from groups that archive; what cannot be copied is taken out of it.
    pub(crate) fn copy(
        &mut self,
        (policy, surveys): (&Policy, &[Survey]),
        plan: &mut Plan,
        index: Option<&mut dyn Write>,
    ) -> Result<(), Failure> {
        if self.place_of_rule.is_empty() {
            return Ok(());
        }
        (self.told.copies, self.told.missing) = (0, 0);
        let mut copying = Copying {
            reader: self.reader,
            places: &mut self.places,
            told: &mut self.told,
            stay: Stay::default(),
            index,
        };
        each_segment(
            (self.reader, policy, surveys),
            plan,
            &self.place_of_rule,
            |base, links| copying.segment(base, links),
        )?;
        let stay = copying.finish()?;
        stay.change(&mut plan.expiry, self.reader.expired());
        plan.count(self.reader, surveys.iter());
        Ok(())
    }

    pub(crate) fn finish(self) -> Archived {
        self.told
    }
}

/// Calls `each` with the base of every segment from which something goes that should be archived, and its links.
fn each_segment(
    (reader, policy, surveys): (&Reader, &Policy, &[Survey]),
    plan: &Plan,
    place_of_rule: &HashMap<usize, usize>,
    mut each: impl FnMut(u64, &[Link<'_>]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if place_of_rule.is_empty() || plan.expiry.removes_nothing() {
        return Ok(());
    }
    let mut leaving = Leaving::new(reader, policy, &plan.expiry, place_of_rule);
    for survey in surveys {
        let links = leaving.links(survey);
        if !links.is_empty() {
            each(survey.base(), &links)?;
        }
    }
    Ok(())
}

struct Copying<'c, 'i, 'a> {
    reader: &'c Reader,
    places: &'c mut [Place<'a>],
    told: &'c mut Archived,
    stay: Stay,
    index: Option<&'i mut (dyn Write + 'i)>,
}

/// An article that was read.
struct Opened {
    stored: StoredRecord,
    native: Vec<u8>,
}

impl Copying<'_, '_, '_> {
    /// Links are in the order of the log, those of one article together. Copies count when they are sure.
    fn segment(&mut self, base: u64, links: &[Link<'_>]) -> Result<(), Failure> {
        let mut copied = Vec::new();
        for same in links.chunk_by(|a, b| a.position == b.position) {
            let (held, wanted): (Vec<_>, Vec<_>) =
                same.iter().partition(|link| self.is_held(link.place));
            for link in held {
                self.hold(link, base);
            }
            let Some(first) = wanted.first() else {
                continue;
            };
            let opened = match self.open(first) {
                Ok(Some(opened)) => opened,
                Ok(None) => {
                    self.told.missing += wanted.len() as u64;
                    continue;
                }
                Err(fault) => {
                    let fault = CopyFault::from(fault);
                    wanted
                        .iter()
                        .for_each(|link| self.failed(link, base, &fault));
                    continue;
                }
            };
            for link in wanted {
                self.link(link, base, &opened, &mut copied);
            }
        }
        self.settle(base, &copied)
    }

    fn is_held(&self, place: usize) -> bool {
        self.places.get(place).is_none_or(|place| place.held)
    }

    fn hold(&mut self, link: &Link<'_>, base: u64) {
        self.stay.from(link, base);
        self.told.held += 1;
    }

    /// `None`: nothing is left of it.
    fn open(&self, link: &Link<'_>) -> Result<Option<Opened>, store::Error> {
        if link.cancelled {
            return Ok(None);
        }
        let stored = match self.reader.read(link.position) {
            Err(store::Error::NoArticle(_)) => return Ok(None),
            read => read?,
        };
        let mut native = Vec::new();
        stored.record().push_native(&mut native);
        Ok(Some(Opened { stored, native }))
    }

    fn link<'l, 's>(
        &mut self,
        link: &'l Link<'s>,
        base: u64,
        opened: &Opened,
        copied: &mut Vec<(&'l Link<'s>, Vec<u8>)>,
    ) {
        let place = self.places.get_mut(link.place);
        let Some(place) = place.filter(|place| !place.held) else {
            return self.hold(link, base);
        };
        match place.copy(link, &opened.stored.record(), &opened.native) {
            Ok(()) => {
                let line = self.index.as_ref().map(|_| index_line_of(link, opened));
                copied.push((link, line.unwrap_or_default()));
            }
            Err(fault) => self.failed(link, base, &fault),
        }
    }

    fn failed(&mut self, link: &Link<'_>, base: u64, fault: &CopyFault) {
        if self.told.failed >= COPY_FAILURES_MAX {
            return self.hold(link, base);
        }
        self.told.failed += 1;
        self.told.faults.push(format!(
            "cannot archive {}/{}: {fault}; the article stays",
            String::from_utf8_lossy(link.group),
            link.number
        ));
        self.stay.one(link, base);
        if self.told.failed == COPY_FAILURES_MAX {
            let held = format!(
                "{COPY_FAILURES_MAX} copies failed: nothing more is archived in this run, and all that should be stays"
            );
            self.told.faults.push(held);
            self.places.iter_mut().for_each(|place| place.held = true);
        }
    }

    /// Makes the copies of a segment sure. Those of an archive that cannot are as good as not made.
    fn settle(&mut self, base: u64, copied: &[(&Link<'_>, Vec<u8>)]) -> Result<(), Failure> {
        let mut lost = Vec::new();
        for (number, place) in self.places.iter_mut().enumerate() {
            if !copied.iter().any(|(link, _)| link.place == number) {
                continue;
            }
            if let Err(fault) = place.flush() {
                place.held = true;
                lost.push(number);
                self.told.faults.push(format!(
                    "{fault}; nothing more is archived there in this run, and all that should be stays"
                ));
            }
        }
        for (link, line) in copied {
            if lost.contains(&link.place) {
                self.hold(link, base);
                continue;
            }
            self.told.copies += 1;
            if let Some(index) = &mut self.index {
                index.write_all(line).map_err(Failure::Index)?;
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Stay, Failure> {
        if let Some(index) = self.index {
            index.flush().map_err(Failure::Index)?;
        }
        Ok(self.stay)
    }
}

fn index_line_of(link: &Link<'_>, opened: &Opened) -> Vec<u8> {
    let record = opened.stored.record();
    let line = HistoryLine::parse(record.line());
    let id = line.map_or(&b""[..], |line| line.id);
    let arrival = line.and_then(|line| line.arrival).unwrap_or(0);
    let mut out = Vec::new();
    let link = (link.group, link.number);
    index_line::push_index_line(&mut out, link, id, arrival, &opened.native);
    out
}
