//! The permissions of a client.

use std::sync::Arc;

use groups::wildmat::{self, WildmatResult};
use groups::{Destination, Sender, Wildmat};

use crate::tables::{Entry, Feature, Limits};

/// The permissions of a client. Cheap to clone, and to evaluate for every group of `active`.
#[derive(Debug, Clone)]
pub struct Rights {
    rule: Arc<Rule>,
    login: LoginAvailability,
    could_post: bool,
}

/// Whether a login may grant more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoginAvailability {
    Never,
    Now,
    /// After the start of TLS.
    AfterTls,
}

/// An entry with its patterns compiled.
#[derive(Debug)]
pub(crate) struct Rule {
    pub entry: Entry,
    read: Groups,
    post: Groups,
    send: Groups,
}

/// A wildmat with fast paths for the usual ones.
#[derive(Debug)]
enum Groups {
    None,
    All,
    Fit(Wildmat),
}

impl Groups {
    fn new(list: &[u8], wildmat: fn(&[u8]) -> Wildmat) -> Groups {
        match list {
            b"" => Groups::None,
            b"*" => Groups::All,
            list => Groups::Fit(wildmat(list)),
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

/// Groups whose articles have other groups in Newsgroups, each with the patterns that close it.
const COLLECTING: [(&[u8], &[u8]); 2] =
    [(b"control", b",!control,!control.*"), (b"junk", b",!junk")];

/// The wildmat of `read`, in which only `*` alone, or a pattern that begins with its name, opens `control`, `control.*` or `junk`: control
/// messages for closed groups are filed there.
fn read_list(list: &str) -> Vec<u8> {
    let list = list.as_bytes();
    if matches!(list, b"" | b"*") {
        return list.to_vec();
    }
    let mut all = Vec::new();
    for pattern in wildmat::patterns(list) {
        if !all.is_empty() {
            all.push(b',');
        }
        all.extend_from_slice(pattern);
        let is_wild = |byte: &u8| b"*?[\\".contains(byte);
        let plain = pattern.iter().position(is_wild);
        let plain = pattern
            .get(..plain.unwrap_or(pattern.len()))
            .unwrap_or(pattern);
        // An exclusion opens nothing, and a longer beginning names the group or something else.
        for (group, closing) in COLLECTING {
            if !pattern.is_empty() && plain.len() < group.len() && group.starts_with(plain) {
                all.extend_from_slice(closing);
            }
        }
    }
    all
}

impl Rule {
    pub(crate) fn new(entry: Entry) -> Rule {
        Rule {
            read: Groups::new(&read_list(&entry.read), Wildmat::parse),
            post: Groups::new(entry.post.as_bytes(), Wildmat::parse_poison),
            send: Groups::new(entry.send.as_bytes(), Wildmat::parse_poison),
            entry,
        }
    }
}

impl Rights {
    pub(crate) fn new(rule: Arc<Rule>, login: LoginAvailability, could_post: bool) -> Rights {
        Rights {
            rule,
            login,
            could_post,
        }
    }

    /// The name of the matching entry, for logs and metrics; for a peer, the site's name. Empty if no entry matches.
    pub fn name(&self) -> &str {
        &self.rule.entry.name
    }

    /// The matching entry.
    pub fn entry(&self) -> &Entry {
        &self.rule.entry
    }

    /// Whether the client may read or post.
    pub fn is_reader(&self) -> bool {
        !self.reads_none() || !self.posts_none()
    }

    /// Whether the client may send articles as a peer: IHAVE, CHECK, TAKETHIS.
    pub fn is_peer(&self) -> bool {
        !matches!(self.rule.send, Groups::None)
    }

    /// Whether the client may send articles without their bodies (MODE HEADFEED).
    pub fn has_headfeed(&self) -> bool {
        self.is_peer() && self.rule.entry.headfeed
    }

    /// Whether the client may neither read nor post nor send. If it cannot log in either, it gets 502.
    pub fn is_nothing(&self) -> bool {
        !self.is_reader() && !self.is_peer()
    }

    /// Whether logging in may grant more: denied commands get 480, otherwise 502 (RFC 4643, 2.1). False after a login.
    pub fn can_log_in(&self) -> bool {
        self.login == LoginAvailability::Now && self.has(Feature::AuthInfo)
    }

    /// Whether logging in may grant more, but only after the start of TLS: denied commands get 483 (RFC 3977, 3.2.1).
    pub fn needs_tls_to_log_in(&self) -> bool {
        self.login == LoginAvailability::AfterTls && self.has(Feature::AuthInfo)
    }

    /// Whether logging in may grant more, now or after the start of TLS.
    pub fn could_log_in(&self) -> bool {
        self.can_log_in() || self.needs_tls_to_log_in()
    }

    /// Whether some user may post after a login from here, perhaps after the start of TLS: the greeting is then 200.
    pub fn could_post(&self) -> bool {
        self.could_post && self.could_log_in()
    }

    /// Whether the client may read a group, and learn that it exists.
    pub fn may_read(&self, group: &[u8]) -> bool {
        self.rule.read.outcome(group) == WildmatResult::Match
    }

    /// Whether this peer may send articles of a group.
    pub fn may_send(&self, group: &[u8]) -> bool {
        self.rule.send.outcome(group) == WildmatResult::Match
    }

    /// Whether the client may read no group.
    pub fn reads_none(&self) -> bool {
        matches!(self.rule.read, Groups::None)
    }

    /// Whether the client may post to a group. All groups of an article must be such groups.
    fn may_post(&self, group: &[u8]) -> bool {
        self.rule.post.outcome(group) == WildmatResult::Match
    }

    /// Whether the client may post to no group (201 instead of 200).
    pub fn posts_none(&self) -> bool {
        matches!(self.rule.post, Groups::None)
    }

    /// Whether this peer may send articles of every group.
    pub fn takes_all(&self) -> bool {
        matches!(self.rule.send, Groups::All)
    }

    /// Whether the client may post to these destinations: at least one, and each both by its name and by the group it is an alias of.
    fn may_post_to(&self, destinations: &[Destination<'_>]) -> bool {
        let may = |to: &Destination<'_>| {
            self.may_post(to.name) && to.filed_in.is_none_or(|group| self.may_post(group))
        };
        !destinations.is_empty() && destinations.iter().all(may)
    }

    /// Whether this peer may send to these destinations: one of them matches, by its name and by the group it is an alias of, and `@`
    /// poisons no name or group. Names without a group here count only if none has one.
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

    /// Whether the client may post with Approved.
    pub fn may_approve(&self) -> bool {
        self.rule.entry.approve
    }

    /// Whether a feature is enabled for the client.
    pub fn has(&self, feature: Feature) -> bool {
        !self.rule.entry.without.contains(&feature)
    }

    /// The client's limits.
    pub fn limits(&self) -> &Limits {
        &self.rule.entry.limits
    }
}

/// The permissions of a client for one article that it sends.
#[derive(Debug, Clone)]
pub enum Grant {
    /// The client posts it.
    Post(Rights),
    /// The client sends it as a peer.
    Send(Rights),
}

impl Grant {
    /// Whether the client posts, whether it may use Approved, and the wildmat of the groups: all that decides about an article.
    pub fn parts(&self) -> (bool, bool, &str) {
        match self {
            Grant::Post(rights) => (true, rights.may_approve(), &rights.rule.entry.post),
            Grant::Send(rights) => (false, true, &rights.rule.entry.send),
        }
    }

    /// The permissions with these [parts](Grant::parts).
    pub fn of_parts(is_post: bool, may_approve: bool, groups: &str) -> Grant {
        let mut entry = Entry::default();
        let groups = groups.to_owned();
        if is_post {
            entry.post = groups;
            entry.approve = may_approve;
        } else {
            entry.send = groups;
        }
        let rights = Rights::new(Arc::new(Rule::new(entry)), LoginAvailability::Never, false);
        if is_post {
            Grant::Post(rights)
        } else {
            Grant::Send(rights)
        }
    }
}

impl Sender for Grant {
    fn may_file_in(&self, destinations: &[Destination<'_>]) -> bool {
        match self {
            Grant::Post(rights) => rights.may_post_to(destinations),
            Grant::Send(rights) => rights.takes(destinations),
        }
    }

    /// A peer relays articles that moderators elsewhere approved.
    fn may_approve(&self) -> bool {
        match self {
            Grant::Post(rights) => rights.may_approve(),
            Grant::Send(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_that_collect_are_opened_by_name_only() {
        let opens = |read: &str, group: &str| {
            let entry = Entry {
                read: read.to_owned(),
                ..Entry::default()
            };
            let read = Rule::new(entry).read;
            read.outcome(group.as_bytes()) == WildmatResult::Match
        };
        for (read, control, cancel, junk) in [
            ("*", true, true, true),
            ("*,!private.*", false, false, false),
            ("c*,[a-k]*,?unk", false, false, false),
            ("*,!private.*,!control", false, false, false),
            ("*,!private.*,control", true, false, false),
            ("*,!private.*,control,control.*", true, true, false),
            ("*,!private.*,control.cancel,junk", false, true, true),
            ("control*,*,!private.*", false, false, false),
            ("[x,y]*,control*,", true, true, false),
        ] {
            assert_eq!(opens(read, "control"), control, "{read}");
            assert_eq!(opens(read, "control.cancel"), cancel, "{read}");
            assert_eq!(opens(read, "junk"), junk, "{read}");
            assert!(!opens(read, "private.a") || read == "*", "{read}");
        }
        assert!(opens("*,!private.*", "comp.a") && opens("c*", "comp.a"));
        assert!(opens("[x,y]*", "x.a") && opens("controllers.*", "controllers.a"));
    }
}
