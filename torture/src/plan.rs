//! The workload of a news directory: the same seed gives the same articles and steps.

use bench::generate::{Articles, Kind, Random, mix};

/// Number of groups. The first has whole segments of its own.
const GROUPS: usize = 12;
/// How often a segment is filled, expired and removed.
const ROUNDS: u64 = 2;
/// Largest number of bytes added to a few articles, so that some exceed a block, and some a hundred blocks.
const LARGE_BYTES_MAX: u64 = 300_000;

/// An article of the workload.
#[derive(Clone, Debug)]
pub struct Article {
    pub id: String,
    pub bytes: Vec<u8>,
    /// The article that this one cancels, as an index.
    pub cancels: Option<usize>,
    /// Whether its header has an Expires, so that any expire may remove it.
    pub expires: bool,
}

/// One step. Articles are indexes into the plan.
#[derive(Clone, Debug)]
pub enum Step {
    /// `rnews` files a batch.
    Rnews { articles: Vec<usize>, each: bool },
    /// A daemon accepts articles by TAKETHIS; the client sends this number before it waits for replies.
    Takethis { articles: Vec<usize>, window: usize },
    /// `expire` removes all articles of these groups.
    Expire { groups: Vec<String> },
    /// `group add`.
    AddGroup(String),
    /// `segments offload` moves about this share of the sealed segments, percent.
    Offload { percent: u64, seed: u64 },
    /// `segments fetch` brings all segments back.
    Fetch,
}

/// A whole workload.
#[derive(Clone, Debug)]
pub struct Plan {
    pub active: Vec<u8>,
    pub articles: Vec<Article>,
    pub steps: Vec<Step>,
}

impl Plan {
    /// Makes the plan of a seed. `size` 100 makes about a thousand articles.
    pub fn new(seed: u64, size: u64) -> Plan {
        let mut random = Random::new(seed);
        let mut plan = Plan {
            active: bench::generate::active(Kind::Like {
                articles: 1,
                groups: GROUPS,
            }),
            articles: Vec::new(),
            steps: Vec::new(),
        };
        let groups: Vec<String> = String::from_utf8_lossy(&plan.active)
            .lines()
            .filter_map(|line| line.split(' ').next())
            .filter(|name| !["control", "junk"].contains(name))
            .map(str::to_owned)
            .collect();
        let alone = groups.first().cloned().unwrap_or_default();
        for round in 0..ROUNDS {
            let seed = mix(seed ^ round);
            // Segments of one group alone, which expire removes completely, with their cancels.
            let kind = |articles, groups| Kind::Like { articles, groups };
            let first = plan.add(Articles::new(kind(380 * size / 100, 1), seed), &mut random);
            plan.file(first.clone(), &mut random);
            // More than of the others, so that expire rewrites the table of cancels.
            for _ in 0..6 + random.below(5) {
                plan.cancel(&first, &mut random);
            }
            let mixed = Articles::new(kind(120 * size / 100, GROUPS), !seed);
            let mixed = plan.add(mixed, &mut random);
            let (before, after) = mixed.split_at(mixed.len() / 2);
            // Cancels and expires then meet articles that are away.
            plan.offload(60, &mut random);
            plan.mix(before, &groups, &mut random);
            plan.steps.push(Step::Expire {
                groups: vec![alone.clone()],
            });
            plan.offload(80, &mut random);
            plan.cancel(before, &mut random);
            if round == 0 {
                plan.steps.push(Step::Fetch);
            }
            plan.mix(after, &groups, &mut random);
        }
        plan
    }

    /// Files articles in different ways, with cancels, expires and new groups in between.
    fn mix(&mut self, articles: &[usize], groups: &[String], random: &mut Random) {
        let mut rest = articles.to_vec();
        let mut filed = Vec::new();
        while !rest.is_empty() {
            match random.below(100) {
                0..45 => {
                    let batch = draw(&mut rest, &[1, 1, 3, 10, 40], random);
                    filed.extend(&batch);
                    let each = random.chance(10);
                    self.steps.push(Step::Rnews {
                        articles: batch,
                        each,
                    });
                }
                45..60 => {
                    let articles = draw(&mut rest, &[2, 20, 50], random);
                    filed.extend(&articles);
                    let window = 1 + random.position(20);
                    self.steps.push(Step::Takethis { articles, window });
                }
                60..85 if !filed.is_empty() => self.cancel(&filed, random),
                85..93 => {
                    let going = groups.get(random.position(groups.len())).cloned();
                    let groups = going.into_iter().collect();
                    self.steps.push(Step::Expire { groups });
                }
                93..97 => {
                    let name = format!("local.added{}", self.steps.len());
                    self.steps.push(Step::AddGroup(name));
                }
                _ => {}
            }
        }
    }

    fn offload(&mut self, percent: u64, random: &mut Random) {
        let seed = random.word();
        self.steps.push(Step::Offload { percent, seed });
    }

    /// Adds articles; returns their indexes, in order.
    fn add(&mut self, articles: Articles, random: &mut Random) -> Vec<usize> {
        let first = self.articles.len();
        for mut article in articles {
            if random.chance(1) {
                let filler = format!("Line of {}.\n", article.id).into_bytes();
                let bytes = random.below(LARGE_BYTES_MAX) as usize;
                let end = article.bytes.len() + bytes;
                while article.bytes.len() < end {
                    article.bytes.extend_from_slice(&filler);
                }
            }
            self.articles.push(Article {
                id: article.id,
                expires: has_expires(&article.bytes),
                bytes: article.bytes,
                cancels: None,
            });
        }
        (first..self.articles.len()).collect()
    }

    /// Files articles in batches of several sizes.
    fn file(&mut self, mut articles: Vec<usize>, random: &mut Random) {
        while !articles.is_empty() {
            let batch = draw(&mut articles, &[5, 40, 250], random);
            self.steps.push(Step::Rnews {
                articles: batch,
                each: false,
            });
        }
    }

    /// Cancels a few of the filed articles, in one batch.
    fn cancel(&mut self, filed: &[usize], random: &mut Random) {
        let mut batch = Vec::new();
        for _ in 0..=random.below(4) {
            let Some(&target) = filed.get(random.position(filed.len())) else {
                return;
            };
            let Some(cancelled) = self.articles.get(target) else {
                return;
            };
            let slot = self.articles.len();
            let id = format!("<cancel.{slot}@desk.example>");
            let text = format!(
                "Path: desk.example!not-for-mail\nFrom: desk@desk.example\nNewsgroups: {}\nSubject: cmsg cancel {target_id}\n\
                 Control: cancel {target_id}\nMessage-ID: {id}\nDate: Wed, 31 Dec 2003 19:00:00 -0500\n\nCancelled.\n",
                newsgroups(&cancelled.bytes),
                target_id = cancelled.id,
            );
            self.articles.push(Article {
                id,
                bytes: text.into_bytes(),
                cancels: Some(target),
                expires: false,
            });
            batch.push(slot);
        }
        self.steps.push(Step::Rnews {
            articles: batch,
            each: false,
        });
    }

    /// Makes a batch of these articles for rnews.
    pub fn batch(&self, articles: impl IntoIterator<Item = usize>) -> Vec<u8> {
        let mut batch = Vec::new();
        for article in articles
            .into_iter()
            .filter_map(|slot| self.articles.get(slot))
        {
            batch.extend_from_slice(format!("#! rnews {}\n", article.bytes.len()).as_bytes());
            batch.extend_from_slice(&article.bytes);
        }
        batch
    }
}

fn draw(from: &mut Vec<usize>, sizes: &[usize], random: &mut Random) -> Vec<usize> {
    let size = sizes
        .get(random.position(sizes.len()))
        .copied()
        .unwrap_or(1);
    from.drain(..size.min(from.len())).collect()
}

fn has_expires(article: &[u8]) -> bool {
    let text = String::from_utf8_lossy(article);
    let mut header = text.lines().take_while(|line| !line.is_empty());
    header.any(|line| line.starts_with("Expires:"))
}

fn newsgroups(article: &[u8]) -> String {
    let text = String::from_utf8_lossy(article);
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Newsgroups: "));
    line.unwrap_or_default().to_owned()
}
