//! Explains what rnews would do with an article. It changes nothing.

use article::{Article, Form, Header, crlf, date, newsgroups, old};
use groups::Sites;
use groups::active::Flag;
use groups::wildmat::WildmatResult;

use crate::control::{ControlMessage, ids};
use crate::decide::{Arrival, Decision, Scratch, State, decide, hop_count};
use crate::file::site;
use crate::headers_only::left_out;
use crate::reason::Reason;
use crate::rules::Rules;
use crate::sites::Subscribers;

/// One group of the Newsgroups header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupExplained {
    /// Its name in the article.
    pub name: Vec<u8>,
    /// Its flag in active (`y`, `m`, `=other` …); `None` if it is unknown.
    pub flag: Option<Vec<u8>>,
    /// The group in which its articles are filed; `None` if it is unknown, x'ed, or for junk.
    pub filed_as: Option<Vec<u8>>,
    /// Whether our own subscription has it.
    pub subscribed: bool,
}

/// The expected result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedResult {
    /// It would be filed in its groups.
    Accept,
    /// It would be filed in `control` only.
    Control,
    /// It would be filed in `junk` only.
    Junk,
    /// It would be refused.
    Refuse,
}

/// The explanation of an article.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// Its message-id; empty if it has none.
    pub message_id: Vec<u8>,
    /// Its Date, seconds since 1970, if valid.
    pub date: Option<i64>,
    /// Its explicit expiry date, seconds since 1970, if valid.
    pub expires: Option<i64>,
    /// The groups in Newsgroups, in order.
    pub groups: Vec<GroupExplained>,
    /// Number of hops in Path; 0 for a local article.
    pub hops: usize,
    /// SITE of its log line.
    pub site: Vec<u8>,
    /// The expected result.
    pub expected_result: ExpectedResult,
    /// The text of the log line after MSGID: the sites, or the reason.
    pub text: Vec<u8>,
    /// Of a duplicate: the reason for which it would be refused if its id were not known. `None`: it would be filed, or is no duplicate.
    pub otherwise: Option<Vec<u8>>,
    /// Whether the id of a refused article would be remembered.
    pub remembered: bool,
    /// Where it would be filed, by name.
    pub filed_in: Vec<Vec<u8>>,
    /// The x'ed groups, each of which gives an `a` line.
    pub excluded: Vec<Vec<u8>>,
    /// The sites that would get it.
    pub sites: Vec<Vec<u8>>,
    /// The feeds that do not get it for a group that is poison for them (`@`), and that group.
    pub poisoned: Vec<(Vec<u8>, Vec<u8>)>,
    /// The ids it would cancel.
    pub cancels: Vec<Vec<u8>>,
    /// Its Path as it would be filed.
    pub path: Vec<u8>,
}

/// Explains a received article; `headers_only`: that of a header-only feed, as [`crate::FilerOptions::headers_only`].
///
/// # Errors
/// Those of `seen`.
pub fn explain<E>(
    (bytes, form, headers_only): (&[u8], Form, bool),
    arrival: Arrival,
    state: &mut State<'_>,
    sys: &Sites,
    rules: &Rules,
    seen: impl Fn(&[u8]) -> Result<bool, E>,
) -> Result<Explanation, E> {
    let mut converted = Vec::new();
    // As `rnews` does.
    let native = match form {
        Form::Native => crlf::to_native(bytes),
        Form::Wire => None,
    };
    let mut article = Article::parse(native.as_deref().unwrap_or(bytes), form);
    if old::convert(&article, &mut converted) {
        article = Article::parse(&converted, form);
    }
    explain_article((&article, headers_only), arrival, state, sys, rules, seen)
}

fn explain_article<E>(
    (article, headers_only): (&Article<'_>, bool),
    arrival: Arrival,
    state: &mut State<'_>,
    sys: &Sites,
    rules: &Rules,
    seen: impl Fn(&[u8]) -> Result<bool, E>,
) -> Result<Explanation, E> {
    let mut scratch = Scratch::default();
    // As rnews does with a batch: `Filer::file_from_batch`.
    let is_known = seen(article.value(Header::MessageId).unwrap_or_default())?;
    // As `Filer` does with what `decide` accepts.
    let left_out = left_out(article, headers_only);
    let mut otherwise = None;
    let decision = match is_known {
        true => {
            // The id of a refused article is known, too.
            let unknown = |_: &[u8]| Ok::<_, E>(false);
            let mut scratch = Scratch::default();
            otherwise = match decide(article, arrival, state, rules, unknown, &mut scratch)? {
                Decision::Refuse { reason, .. } => Some(reason.text()),
                Decision::Accept { .. } => left_out.err().map(|text| text.as_bytes().to_vec()),
            };
            Decision::Refuse {
                reason: Reason::Duplicate,
                remember: false,
            }
        }
        false => decide(article, arrival, state, rules, seen, &mut scratch)?,
    };
    let active = state.active;
    let names = |groups: &[groups::active::GroupId]| -> Vec<Vec<u8>> {
        groups.iter().map(|id| active.name(*id).to_vec()).collect()
    };
    let mut sites = Vec::new();
    let (expected_result, text, remembered) = match (decision, left_out) {
        (Decision::Refuse { reason, remember }, _) => {
            (ExpectedResult::Refuse, reason.text(), remember)
        }
        (Decision::Accept { .. }, Err(text)) => {
            scratch = Scratch::default();
            (ExpectedResult::Refuse, text.as_bytes().to_vec(), false)
        }
        (Decision::Accept { control, junk }, Ok(left_out)) => {
            let path = article::path::Path::of(article);
            Subscribers::new(sys).push_feeds(
                path.as_ref(),
                state.is_announced,
                sys,
                scratch.selected(),
                || match left_out {
                    Some(left_out) => left_out.bytes,
                    None => bytes_as_filed(article, active, scratch.filed(), rules),
                },
                &mut sites,
            );
            let expected_result = match (control, junk) {
                (_, true) => ExpectedResult::Junk,
                (true, _) => ExpectedResult::Control,
                _ => ExpectedResult::Accept,
            };
            (expected_result, sites.clone(), false)
        }
    };
    let accepted = expected_result != ExpectedResult::Refuse;
    let value = |header| article.value(header).unwrap_or_default();
    let cancels = match ControlMessage::of(article) {
        Some(ControlMessage::Cancel(value)) if accepted => ids(value).map(<[u8]>::to_vec).collect(),
        _ => Vec::new(),
    };
    let when = |header| {
        article
            .value(header)
            .and_then(|value| date::parse(value, state.zone))
    };
    Ok(Explanation {
        message_id: value(Header::MessageId).to_vec(),
        date: when(Header::Date),
        expires: when(Header::Expires),
        groups: groups_explained(article, state),
        hops: hop_count(article, state.is_announced),
        site: site(article).to_vec(),
        expected_result,
        text,
        otherwise,
        remembered,
        filed_in: names(scratch.filed()),
        excluded: names(scratch.excluded()),
        sites: sites
            .split(|byte| *byte == b' ')
            .filter(|site| !site.is_empty())
            .map(<[u8]>::to_vec)
            .collect(),
        poisoned: if accepted {
            poisoned(article, sys)
        } else {
            Vec::new()
        },
        cancels,
        path: [&rules.host, &b"!"[..], value(Header::Path)].concat(),
    })
}

/// Its size as filed, bytes: with our name in Path and our Xref.
fn bytes_as_filed(
    article: &Article<'_>,
    active: &groups::Active,
    filed: &[groups::active::GroupId],
    rules: &Rules,
) -> u64 {
    let host = rules.host.len() + 1;
    let links: usize = filed
        .iter()
        .map(|id| {
            let number = active.high(*id).saturating_add(1).to_string();
            active.name(*id).len() + number.len() + 2
        })
        .sum();
    let with_xref = rules.xref_single || filed.len() > 1;
    let xref = if with_xref {
        "Xref: ".len() + host + links
    } else {
        0
    };
    let old_xref = article.line(Header::Xref).map_or(0, |line| line.len());
    (article.bytes().len() + host + xref).saturating_sub(old_xref) as u64
}

/// The feeds that want one of the groups, and for which another one is poison; with that group.
fn poisoned(article: &Article<'_>, sys: &Sites) -> Vec<(Vec<u8>, Vec<u8>)> {
    let newsgroups = article.value(Header::Newsgroups).unwrap_or_default();
    let poison = |site: &groups::Site| {
        let is_wanted = newsgroups::split(newsgroups).any(|group| site.subs.matches(group));
        let mut groups = newsgroups::split(newsgroups).filter(|_| is_wanted);
        groups.find(|group| site.subs.result(group) == WildmatResult::Poison)
    };
    let feeds = sys.feeds();
    feeds
        .filter_map(|(feed, site)| Some((feed.to_vec(), poison(site)?.to_vec())))
        .collect()
}

fn groups_explained(article: &Article<'_>, state: &mut State<'_>) -> Vec<GroupExplained> {
    let newsgroups = article.value(Header::Newsgroups).unwrap_or_default();
    let active = state.active;
    newsgroups::split(newsgroups)
        .map(|name| {
            let id = active.find(name);
            let resolved = id
                .and_then(|id| active.resolve(id))
                .filter(|id| !matches!(active.flag(*id), Flag::Excluded | Flag::Junked));
            GroupExplained {
                name: name.to_vec(),
                flag: id.map(|id| {
                    let mut flag = Vec::new();
                    active.flag(id).push(&mut flag);
                    flag
                }),
                filed_as: resolved.map(|id| active.name(id).to_vec()),
                subscribed: match id {
                    Some(id) => state.matrix.accepts(active, id),
                    None => state.matrix.accepts_unknown(name),
                },
            }
        })
        .collect()
}
