//! The review of the scheduled tasks.

use report::failed_tasks::{self, FailedTask};
use settings::Finding;

use super::{Content, Context, counted};
use crate::text;

/// The tasks whose last run failed. None: there are none.
pub fn review(on: &Context<'_>) -> Option<Content> {
    let failed = failed_tasks::read(on.root());
    let findings = failed.iter().map(|FailedTask { task, at, how }| {
        let at = text::utc(*at);
        Finding::warning(format!(
            "the scheduled run of {task} failed at {at}: {how}; the journal has its messages"
        ))
    });
    let content = Content::new(counted(failed.len(), "task")).with(findings);
    (!failed.is_empty()).then_some(content)
}
