//! What the other crates are started with.

use std::path::Path;
use std::time::Duration;

use crate::{Settings, Sync};

impl Settings {
    /// What an article must keep to.
    pub fn rules(&self) -> relay::Rules {
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let seconds = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let age = self.limits.article_age_days_max;
        relay::Rules {
            article_bytes_max: count(self.limits.article_bytes_max),
            header_bytes_max: count(self.limits.header_bytes_max),
            groups_max: count(self.limits.groups_per_article_max),
            message_id_bytes_max: count(self.limits.message_id_bytes_max),
            future_seconds_max: seconds(self.limits.clock_skew_seconds),
            age_seconds_max: (age > 0).then(|| seconds(age.saturating_mul(86_400))),
            ..relay::Rules::new(self.name.as_bytes())
        }
    }

    /// How articles are filed, besides the rules.
    pub fn filer_options(&self) -> relay::FilerOptions {
        relay::FilerOptions {
            cancel: self.control.cancel,
            processor: self.control_options(),
            ..relay::FilerOptions::default()
        }
    }

    /// About control messages that make and remove groups.
    pub fn control_options(&self) -> relay::control::processor::ControlOptions {
        let days = self.control.age_days_max;
        let seconds = i64::try_from(days.saturating_mul(86_400)).unwrap_or(i64::MAX);
        relay::control::processor::ControlOptions {
            age_seconds_max: (days > 0).then_some(seconds),
            name_part_bytes_max: usize::try_from(self.control.name_part_bytes_max)
                .unwrap_or(usize::MAX),
        }
    }

    /// Who may read, post and send, in a news directory.
    pub fn access(&self, news: &Path) -> access::Access {
        let time_max = Duration::from_secs(self.auth.program_seconds);
        let program = self.auth.command().and_then(Result::ok);
        let login = access::Login {
            users: access::UsersFile::of(news),
            program: program.map(|line| access::Authenticator::new(line, news, time_max)),
            plaintext_passwords: self.nntp.plaintext_passwords,
        };
        access::Access::new(&self.access, login)
    }

    /// How far a wrapped batch may grow.
    pub fn wrap_limits(&self) -> article::wrap::WrapLimits {
        article::wrap::WrapLimits {
            expanded_bytes_max: self.limits.expansion_bytes_max,
            ratio_max: self.limits.expansion_ratio_max,
            ..article::wrap::WrapLimits::default()
        }
    }

    /// What the store is to be opened with.
    pub fn store_options(&self) -> store::Options {
        store::Options {
            durability: match self.store.sync {
                Sync::Each => store::Durability::Each,
                Sync::Commit => store::Durability::Commit,
                Sync::None => store::Durability::None,
            },
            segment_bytes: self.store.segment_bytes,
            checkpoint_bytes: self.store.checkpoint_bytes,
            ..store::Options::default()
        }
    }

    /// How batches are filed.
    pub fn rnews_options(&self) -> relay::rnews::Options {
        relay::rnews::Options {
            commit_bytes: usize::try_from(self.store.commit_bytes).unwrap_or(usize::MAX),
            sync_each: self.store.sync == Sync::Each,
            wrap: self.wrap_limits(),
            ..relay::rnews::Options::default()
        }
    }
}
