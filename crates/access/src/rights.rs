//! What a client may do.

use std::sync::Arc;

use groups::wildmat::WildmatResult;
use groups::{Destination, Sender, Wildmat};

use crate::tables::{Entry, Feature, Limits};

/// What a client may do now. Cheap to clone, and to ask about every group of `active`.
#[derive(Debug, Clone)]
pub struct Rights {
    rule: Arc<Rule>,
    can_log_in: bool,
}

/// An entry with its patterns compiled.
#[derive(Debug)]
pub(crate) struct Rule {
    pub entry: Entry,
    read: Groups,
    post: Groups,
    send: Groups,
}

/// A wildmat with short ways for the usual ones.
#[derive(Debug)]
enum Groups {
    None,
    All,
    Fit(Wildmat),
}

impl Groups {
    fn new(list: &str, wildmat: fn(&[u8]) -> Wildmat) -> Groups {
        match list {
            "" => Groups::None,
            "*" => Groups::All,
            list => Groups::Fit(wildmat(list.as_bytes())),
        }
    }

    fn outcome(&self, group: &[u8]) -> WildmatResult {
        match self {
            Groups::None => WildmatResult::Fail,
            Groups::All => WildmatResult::Match,
            Groups::Fit(wildmat) => wildmat.result(group),
        }
    }
}

impl Rule {
    pub(crate) fn new(entry: Entry) -> Rule {
        Rule {
            read: Groups::new(&entry.read, Wildmat::parse),
            post: Groups::new(&entry.post, Wildmat::parse_poison),
            send: Groups::new(&entry.send, Wildmat::parse_poison),
            entry,
        }
    }
}

impl Rights {
    pub(crate) fn new(rule: Arc<Rule>, can_log_in: bool) -> Rights {
        Rights { rule, can_log_in }
    }

    /// The name of the entry that fits, for logs and metrics; of a peer the site's name. Empty where no entry fits.
    pub fn name(&self) -> &str {
        &self.rule.entry.name
    }

    /// The entry that fits.
    pub fn entry(&self) -> &Entry {
        &self.rule.entry
    }

    /// Whether he may read or post as he is now.
    pub fn is_reader(&self) -> bool {
        !self.reads_none() || !self.posts_none()
    }

    /// Whether articles are taken from him as from a peer: IHAVE, CHECK, TAKETHIS.
    pub fn is_peer(&self) -> bool {
        !matches!(self.rule.send, Groups::None)
    }

    /// Whether he may neither read nor post nor send as he is now. Who cannot log in either is sent away (502).
    pub fn is_nothing(&self) -> bool {
        !self.is_reader() && !self.is_peer()
    }

    /// Whether other rights may be his when he logs in: what he may not do is answered with 480, and else with 502
    /// (RFC 4643, 2.1). False once he has logged in.
    pub fn can_log_in(&self) -> bool {
        self.can_log_in && self.has(Feature::AuthInfo)
    }

    /// Whether he may read a group, and see that there is one.
    pub fn may_read(&self, group: &[u8]) -> bool {
        self.rule.read.outcome(group) == WildmatResult::Match
    }

    /// Whether he may read every group.
    pub fn reads_all(&self) -> bool {
        matches!(self.rule.read, Groups::All)
    }

    /// Whether he may read no group at all.
    pub fn reads_none(&self) -> bool {
        matches!(self.rule.read, Groups::None)
    }

    /// Whether he may post to a group. An article must keep to such groups altogether.
    fn may_post(&self, group: &[u8]) -> bool {
        self.rule.post.outcome(group) == WildmatResult::Match
    }

    /// Whether he may post to no group at all (201 instead of 200).
    pub fn posts_none(&self) -> bool {
        matches!(self.rule.post, Groups::None)
    }

    /// Whether articles of every group are taken from this peer.
    pub fn takes_all(&self) -> bool {
        matches!(self.rule.send, Groups::All)
    }

    /// Whether he may post an article to these destinations: at least one, and of each he may post to the name and to the group behind
    /// it.
    fn may_post_to(&self, destinations: &[Destination<'_>]) -> bool {
        let may = |to: &Destination<'_>| {
            self.may_post(to.name) && to.filed_in.is_none_or(|group| self.may_post(group))
        };
        !destinations.is_empty() && destinations.iter().all(may)
    }

    /// Whether an article for these destinations is taken from this peer: one of them fits, by its name and by the group behind it, and
    /// `@` poisons no name and no group. Names that are filed in no group here count only where all are such.
    fn takes(&self, destinations: &[Destination<'_>]) -> bool {
        let outcome = |group: &[u8]| self.rule.send.outcome(group);
        let is_poisoned = |to: &Destination<'_>| {
            let mut both = [Some(to.name), to.filed_in].into_iter().flatten();
            both.any(|group| outcome(group) == WildmatResult::Poison)
        };
        let is_filed = destinations.iter().any(|to| to.filed_in.is_some());
        let fits = |to: &Destination<'_>| {
            let behind = to.filed_in.map(outcome);
            let is_behind = behind.map_or(!is_filed, |outcome| outcome == WildmatResult::Match);
            is_behind && outcome(to.name) == WildmatResult::Match
        };
        destinations.iter().any(fits) && !destinations.iter().any(is_poisoned)
    }

    /// Whether he may post with Approved.
    pub fn may_approve(&self) -> bool {
        self.rule.entry.approve
    }

    /// Whether something is not switched off for him.
    pub fn has(&self, feature: Feature) -> bool {
        !self.rule.entry.without.contains(&feature)
    }

    /// How much he may do.
    pub fn limits(&self) -> &Limits {
        &self.rule.entry.limits
    }
}

/// The permissions of a client for one article that it sends.
#[derive(Debug, Clone)]
pub enum Grant {
    /// He posts it.
    Post(Rights),
    /// He sends it, as a peer.
    Send(Rights),
}

impl Sender for Grant {
    fn may_file_in(&self, destinations: &[Destination<'_>]) -> bool {
        match self {
            Grant::Post(rights) => rights.may_post_to(destinations),
            Grant::Send(rights) => rights.takes(destinations),
        }
    }

    /// A peer passes on what moderators elsewhere approved.
    fn may_approve(&self) -> bool {
        match self {
            Grant::Post(rights) => rights.may_approve(),
            Grant::Send(_) => true,
        }
    }
}
