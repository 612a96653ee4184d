//! A site for posting.

use article::date::Utc;
use groups::Active;
use inject::{
    Draft, EveryGroup, InjectRules, Injected, InjectionSite, InjectionTime, Moderators, Poster,
    Refusal, Reveal, inject,
};
use relay::Rules;
use relay::cancel_lock::Secret;

/// Mon, 20 Dec 1993 04:39:21 GMT.
pub const NOW: i64 = 756_362_361;

pub struct TestSite {
    pub rules: InjectRules,
    pub active: Active,
    pub moderators: Moderators,
    pub secret: Secret,
    pub random: u64,
}

impl TestSite {
    pub fn new() -> TestSite {
        let mut moderators = Moderators::default();
        let faults = moderators.read_mailpaths(b"all %s@mods.example\n");
        assert!(faults.is_empty());
        let active = b"control 0 1 y\njunk 0 1 y\nmisc.test 0 1 y\nmisc.mod 0 1 m\nmisc.no 0 1 n\nmisc.j 0 1 j\nmisc.x 0 1 x\nold.test 0 1 =misc.test\n";
        TestSite {
            rules: InjectRules {
                limits: Rules::new(b"news.example.org"),
                mailname: b"example.org".to_vec(),
                organization: Vec::new(),
                complaints: Vec::new(),
                reveal: Reveal::default(),
                subject_control: false,
            },
            active: Active::parse(active.to_vec()).expect("an active"),
            moderators,
            secret: Secret::new(b"a secret"),
            random: 1,
        }
    }

    pub fn post(&self, text: &[u8], poster: &Poster<'_>) -> Result<Injected, Refusal> {
        let context = InjectionSite {
            rules: &self.rules,
            active: &self.active,
            moderators: &self.moderators,
            secret: None,
            zone: &Utc,
        };
        self.post_at(text, poster, &context)
    }

    pub fn post_locked(&self, text: &[u8], poster: &Poster<'_>) -> Result<Injected, Refusal> {
        let context = InjectionSite {
            rules: &self.rules,
            active: &self.active,
            moderators: &self.moderators,
            secret: Some(&self.secret),
            zone: &Utc,
        };
        self.post_at(text, poster, &context)
    }

    fn post_at(
        &self,
        text: &[u8],
        poster: &Poster<'_>,
        context: &InjectionSite<'_>,
    ) -> Result<Injected, Refusal> {
        let now = InjectionTime {
            seconds: NOW,
            random: self.random,
        };
        inject(Draft::parse(text)?, poster, context, now)
    }
}

/// An ordinary poster.
pub const JANE: Poster<'static> = Poster {
    account: b"jane",
    from: b"jane@example.org (Jane Doe)",
    host: b"client.example",
    logging_data: b"4711",
    sender: &EveryGroup { may_approve: false },
    is_admin: false,
};
