//! The review of the feeds that cannot be served.

use daemon::FailingFeed;
use settings::Finding;
use store::Snapshot;

use super::{Content, Context, FINDINGS_SHOWN_MAX, counted};

/// The failing feeds. None: there are none, or the files cannot be read, which other reviews report. On the other nodes of a cluster the files
/// are of an earlier time.
pub fn review(on: &Context<'_>) -> Option<Content> {
    if is_fed_elsewhere(on) {
        return None;
    }
    let sites = on.directory.sys(on.settings()).ok()?;
    let snapshot = Snapshot::open(on.root()).ok()?;
    let names = feed::feeds::names(&sites);
    let failing = FailingFeed::all(on.root(), &sites, &snapshot, &names);
    let findings = failing.iter().take(FINDINGS_SHOWN_MAX).map(|feed| {
        Finding::warning(feed.state())
            .at(feed.site.clone())
            .remedy(';', feed.remedy.clone())
    });
    let content = Content::new(counted(failing.len(), "failing feed")).with(findings);
    (!failing.is_empty()).then_some(content)
}

/// Whether another node of a cluster feeds the sites, or none does.
pub fn is_fed_elsewhere(on: &Context<'_>) -> bool {
    on.settings().is_node() && {
        let daemon = daemon::client::status(on.root());
        let feeds = daemon.and_then(|daemon| daemon.status.cluster_feeds);
        feeds.is_none_or(|feeds| !feeds.is_here)
    }
}
