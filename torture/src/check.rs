//! What must be true of a news directory after a power cut, and whether it is.

use std::collections::HashSet;
use std::fmt::Write as _;

use anyhow::{Context, Result};
use store::{HistoryLine, Reader};

use crate::news::News;
use crate::plan::{Plan, Step};
use crate::recording::Event;
use crate::workload::{Mark, accepted, links};

/// How far something had come at the cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It had not begun.
    #[default]
    Ahead,
    /// It had begun, and was not acknowledged.
    Begun,
    /// It was acknowledged.
    Done,
}

/// What was known of an article at the cut.
#[derive(Clone, Debug, Default)]
struct Known {
    filed: Stage,
    cancelled: Stage,
    /// Its groups and numbers, and how far an expire of the group had come that began after the article was filed.
    links: Vec<(String, u64, Stage)>,
}

/// What must hold.
#[derive(Clone, Debug)]
pub struct Expectation<'a> {
    plan: &'a Plan,
    articles: Vec<Known>,
    groups: Vec<(String, Stage)>,
}

impl<'a> Expectation<'a> {
    /// After the recording's events `before` the cut; numbers are taken from all of it.
    pub fn new(plan: &'a Plan, recording: &[Event], before: usize) -> Result<Expectation<'a>> {
        let mut steps = vec![Stage::Ahead; plan.steps.len()];
        let mut articles = vec![Known::default(); plan.articles.len()];
        let mut taken = HashSet::new();
        for (place, event) in recording.iter().enumerate() {
            let Event::Mark(line) = event else {
                continue;
            };
            match serde_json::from_slice(line)? {
                Mark::Begin(step) if place < before => set(&mut steps, step, Stage::Begun),
                Mark::Done(step) if place < before => set(&mut steps, step, Stage::Done),
                Mark::Taken(article) if place < before => {
                    taken.insert(article);
                }
                Mark::Numbers(numbers) => {
                    for (article, links) in numbers {
                        if let Some(known) = articles.get_mut(article) {
                            known.links = links
                                .into_iter()
                                .map(|(group, number)| (group, number, Stage::Ahead))
                                .collect();
                        }
                    }
                }
                _ => {}
            }
        }
        let mut expectation = Expectation {
            plan,
            articles,
            groups: Vec::new(),
        };
        for (step, stage) in plan.steps.iter().zip(steps) {
            expectation.note(step, stage, &taken);
        }
        Ok(expectation)
    }

    fn note(&mut self, step: &Step, stage: Stage, taken: &HashSet<usize>) {
        match step {
            Step::Rnews { articles, .. } | Step::Takethis { articles, .. } => {
                for &article in articles {
                    let filed = match taken.contains(&article) {
                        true => Stage::Done,
                        false => stage,
                    };
                    if let Some(known) = self.articles.get_mut(article) {
                        known.filed = filed;
                    }
                    let target = self.plan.articles.get(article).and_then(|it| it.cancels);
                    if let Some(known) = target.and_then(|it| self.articles.get_mut(it)) {
                        known.cancelled = known.cancelled.max(filed);
                    }
                }
            }
            Step::Expire { groups } => {
                // Only what an earlier step filed: later ones have not been noted yet.
                for (article, known) in self.plan.articles.iter().zip(&mut self.articles) {
                    if known.filed == Stage::Ahead {
                        continue;
                    }
                    for (group, _, expired) in &mut known.links {
                        if groups.contains(group) {
                            *expired = (*expired).max(stage);
                        } else if article.expires {
                            *expired = (*expired).max(stage.min(Stage::Begun));
                        }
                    }
                }
            }
            Step::AddGroup(name) => self.groups.push((name.clone(), stage)),
        }
    }

    /// How many articles were acknowledged.
    pub fn acknowledged(&self) -> usize {
        let done = |known: &&Known| known.filed == Stage::Done;
        self.articles.iter().filter(done).count()
    }

    /// After the whole plan was given to rnews once more, and that was cut, too: all has begun.
    pub fn given_again(mut self) -> Self {
        for known in &mut self.articles {
            known.filed = known.filed.max(Stage::Begun);
        }
        for article in &self.plan.articles {
            let target = article.cancels;
            if let Some(known) = target.and_then(|target| self.articles.get_mut(target)) {
                known.cancelled = known.cancelled.max(Stage::Begun);
            }
        }
        self
    }

    /// Lets the real binary recover and looks at everything; returns what is wrong. Files the whole plan again.
    pub fn check(&self, news: &News, first: usize) -> Result<Vec<String>> {
        let mut wrong = Vec::new();
        // The program that meets the crash first: one of several.
        let commands: [&[&str]; 4] = [
            &["history", "find", "<nothing@desk.example>"],
            &["group", "list"],
            &["rnews", "--json"],
            &["status"],
        ];
        if let Some(words) = commands.get(first % commands.len()) {
            let output = news.run(words)?;
            // `history find` finds nothing and ends with 1.
            if output.status.code().is_none_or(|code| code > 1) {
                let error = String::from_utf8_lossy(&output.stderr);
                wrong.push(format!("{} {}: {error}", words.join(" "), output.status));
            }
        }
        let absent = match self.look(news, &mut wrong) {
            Ok(absent) => absent,
            Err(error) => {
                wrong.push(format!("cannot be read: {error:#}"));
                return Ok(wrong);
            }
        };
        let batch = self.plan.batch(0..self.plan.articles.len());
        let output = news.rnews(&batch, &[])?;
        if output.status.success() {
            let accepted = accepted(&output.stdout)?;
            if accepted != absent {
                wrong.push(format!(
                    "{absent} articles were unknown, and {accepted} are accepted now"
                ));
            }
        } else {
            let error = String::from_utf8_lossy(&output.stderr);
            wrong.push(format!("rnews {}: {error}", output.status));
        }
        fsck(news, &mut wrong)?;
        Ok(wrong)
    }

    /// Reads every article; returns how many are unknown.
    pub fn look(&self, news: &News, wrong: &mut Vec<String>) -> Result<usize> {
        let reader = Reader::open(news.dir()).context("opening")?;
        let mut numbers = HashSet::new();
        reader.each_history_line(|line| {
            if let Some(line) = HistoryLine::parse(line) {
                for (group, number) in links(&line) {
                    if !numbers.insert((group.clone(), number)) {
                        wrong.push(format!("{group}/{number} was given twice"));
                    }
                }
            }
            Ok(())
        })?;
        for (name, stage) in &self.groups {
            if *stage == Stage::Done && reader.active().find(name.as_bytes()).is_none() {
                wrong.push(format!("the group {name} is lost"));
            }
        }
        let mut absent = 0;
        for (article, known) in self.plan.articles.iter().zip(&self.articles) {
            let mut faults = String::new();
            let is_there = look_at(&reader, article, known, &mut faults);
            absent += usize::from(!is_there);
            if !faults.is_empty() {
                wrong.push(format!("{}:{faults} ({known:?})", article.id));
            }
        }
        Ok(absent)
    }
}

/// Runs `fsck`, which must be clean.
pub fn fsck(news: &News, wrong: &mut Vec<String>) -> Result<()> {
    let fsck = news.run(&["fsck"])?;
    if !fsck.status.success() {
        let out = String::from_utf8_lossy(&fsck.stdout);
        let error = String::from_utf8_lossy(&fsck.stderr);
        wrong.push(format!("fsck {}: {out}{error}", fsck.status));
    }
    Ok(())
}

fn set(stages: &mut [Stage], place: usize, stage: Stage) {
    if let Some(known) = stages.get_mut(place) {
        *known = stage;
    }
}

/// True when its id is known.
fn look_at(
    reader: &Reader,
    article: &crate::plan::Article,
    known: &Known,
    faults: &mut String,
) -> bool {
    let is_acknowledged = known.filed == Stage::Done;
    let line = match reader.find(article.id.as_bytes()) {
        Ok(line) => line,
        Err(error) => {
            let _ = write!(faults, " its history line cannot be read: {error};");
            return true;
        }
    };
    let Some(line) = line else {
        if is_acknowledged {
            faults.push_str(" acknowledged and lost;");
        }
        return false;
    };
    if known.filed == Stage::Ahead {
        faults.push_str(" known before it came;");
    }
    let numbers = known.links.iter();
    let same = links(&line)
        .iter()
        .map(|(group, number)| (group, number))
        .eq(numbers.map(|(group, number, _)| (group, number)));
    if is_acknowledged && !known.links.is_empty() && !same {
        let _ = write!(faults, " its numbers are {:?};", links(&line));
    }
    let lives = |(_, _, expired): &(String, u64, Stage)| *expired == Stage::Ahead;
    let must_live = is_acknowledged && known.cancelled == Stage::Ahead;
    match reader.article(article.id.as_bytes()) {
        Err(error) => {
            let _ = write!(faults, " cannot be read: {error};");
        }
        Ok(None) if must_live && known.links.iter().any(lives) => faults.push_str(" is dead;"),
        Ok(None) => {}
        Ok(Some(_)) if known.cancelled == Stage::Done => faults.push_str(" came back;"),
        Ok(Some(stored)) => {
            if !is_same(&article.bytes, &stored) {
                faults.push_str(" is not whole;");
            }
        }
    }
    for (group, number, expired) in known.links.iter().filter(|_| is_acknowledged) {
        match reader.article_by_number(group.as_bytes(), *number) {
            Err(error) => {
                let _ = write!(faults, " {group}/{number} cannot be read: {error};");
            }
            Ok(None) if must_live && *expired == Stage::Ahead => {
                let _ = write!(faults, " {group}/{number} is dead;");
            }
            Ok(Some(_)) if known.cancelled == Stage::Done || *expired == Stage::Done => {
                let _ = write!(faults, " {group}/{number} came back;");
            }
            Ok(Some(stored)) if !is_same(&article.bytes, &stored) => {
                let _ = write!(faults, " {group}/{number} is not whole;");
            }
            Ok(_) => {}
        }
    }
    true
}

/// The same bytes but for Path and Xref.
fn is_same(article: &[u8], stored: &store::StoredRecord) -> bool {
    let mut native = Vec::new();
    stored.record().push_native(&mut native);
    without_ours(article).eq(without_ours(&native))
}

fn without_ours(article: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut in_header = true;
    let lines = article.split_inclusive(|&byte| byte == b'\n');
    lines.filter(move |line| {
        in_header &= *line != b"\n";
        !(in_header && (line.starts_with(b"Path:") || line.starts_with(b"Xref:")))
    })
}
