//! The review of `[backup]`.

use std::path::Path;

use settings::Finding;

use super::{Content, Context};

/// Where backups go, and what keeps them from it. None: nowhere.
pub fn review(on: &Context<'_>) -> Option<Content> {
    let settings = on.settings();
    let to = Path::new(&settings.backup.to);
    let shown = to.display().to_string();
    let content = Content::new(format!("{shown}, {}", settings.schedule.backup));
    let warning = unusable(to, on.root()).map(|warning| warning.at(shown));
    (!settings.backup.to.is_empty()).then(|| content.with(warning))
}

fn unusable(to: &Path, news: &Path) -> Option<Finding> {
    let above = to.parent().unwrap_or(to);
    if !to.is_absolute() {
        return Some(Finding::warning("it is not a path from `/' on"));
    }
    if to.starts_with(news) {
        let warning = Finding::warning("it is in the news directory");
        return Some(warning.remedy(':', "choose a directory on another disk"));
    }
    let is_missing = !to.exists() && !above.is_dir();
    is_missing.then(|| {
        Finding::warning(format!("{} does not exist", above.display())).remedy(
            ':',
            "mount the disk of the backups, or create the directory",
        )
    })
}
