//! Rebuilds all derived files from `.art`.

use std::path::Path;
use std::sync::Arc;

use crate::check::empty_tails::cut_empty_tails;
use crate::check::kept_histories::check_kept_histories;
use crate::history::HistoryLine;
use crate::history::compacted::History;
use crate::index::removal::remove_index;
use crate::io::disk::RealDisk;
use crate::io::lock::Lock;
use crate::io::replace::map_whole;
use crate::io::salvage::Salvage;
use crate::log::segments::{SegmentFile, Segments};
use crate::notice::Notice;
use crate::progress::Work;
use crate::report::Report;
use crate::segment_repair::derived_files::{Removals, rebuild_derived};
use crate::spool::follow_log::is_of_cluster;
use crate::spool::options::Options;
use crate::spool::recover;
use crate::{Error, check::repair, overview};

/// The result of a rebuild.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rebuilt {
    /// Number of segments.
    pub segments: u64,
    /// Number of articles in the sealed ones.
    pub articles: u64,
    /// Number of ids in the new index.
    pub ids: u64,
    /// Errors found and repaired, as messages for the administrator.
    pub notices: Vec<String>,
    /// Places with damaged or unreadable articles, which are not in the new history; and segments whose articles the object store did not
    /// give, whose history stays as it was.
    pub damaged: u64,
}

impl Rebuilt {
    /// Adds what a check has found.
    fn add(&mut self, report: &Report) {
        self.notices.extend(report.told());
        self.damaged += report.lost;
    }

    /// Adds what an opening has found, once. That the index is missing, and the last segment was replayed, is this rebuild's own doing.
    fn tell(&mut self, notices: &[Notice]) {
        for notice in notices {
            let is_own = matches!(notice, Notice::IndexRebuilt | Notice::Recovered(_));
            let text = notice.to_string();
            if !is_own && !self.notices.contains(&text) {
                self.notices.push(text);
            }
        }
    }
}

/// Rebuilds `.his` and `.ovr` of every segment, and the index, from the articles; holds the lock meanwhile. A segment whose articles the object
/// store does not give keeps the files that it has.
pub fn rebuild(dir: &Path) -> Result<Rebuilt, Error> {
    let options = Options {
        repair: true,
        follows_log: is_of_cluster(dir),
        ..Options::default()
    };
    let disk = Salvage::of(Arc::new(RealDisk));
    // Expire reclaims space without the lock of the store.
    let _no_expire = Lock::take_named(dir, "lock.expire", options.patience.is_none())?;
    let segments = Segments::find(&disk, dir)?;
    let lock = Lock::take(dir, options.patience)?;
    let mut report = Report::default();
    repair::check_segments(&segments, dir)?;
    repair::lost_segments(&segments, dir, &mut report)?;
    // A rebuild that is interrupted, or one after it, finds them no more.
    report.list_lost(&*disk, dir)?;
    repair::repair_headers(&segments, &mut report)?;
    cut_empty_tails(&segments, dir, &mut report)?;
    let spool = recover::open(&segments, dir, options, lock)?;
    remove_index(&*disk, dir)?;
    let mut told = Rebuilt::default();
    told.add(&report);
    let mut kept = Report::default();
    let histories = check_kept_histories(&segments, spool.visibility()?, &mut kept, true)?;
    kept.list_lost(&*disk, dir)?;
    repair::write_histories(&*disk, &histories)?;
    told.add(&kept);
    let removals = Removals::of_file(&*disk, dir)?;
    let mut work = Work::begin("rebuilding", || segments.log_bytes());
    for base in segments.bases()? {
        told.segments += 1;
        if base != spool.current_base() {
            let (articles, damaged) = match rebuild_derived(&segments, dir, base, &removals) {
                Err(error) if error.is_of_object_store() => {
                    let Some(articles) = articles_of_whole_files(&segments, base) else {
                        return Err(error);
                    };
                    let path = segments.path(base, SegmentFile::Art);
                    let notice = format!(
                        "{}: its articles cannot be reached, and its history and overview stay as they were: {error}",
                        path.display()
                    );
                    (articles, vec![Notice::Other(notice)])
                }
                rebuilt => rebuilt?,
            };
            told.articles += articles;
            told.damaged += damaged.len() as u64;
            told.notices.extend(damaged.iter().map(Notice::to_string));
        }
        work.advance(segments.art_length(base).unwrap_or(0));
    }
    drop(work);
    // Without an index, opening replays the last segment completely. The lock is kept: a daemon would replay it, and print its damage.
    told.tell(spool.notice_values());
    let whole = spool.log_end();
    let (_, _, options, lock) = spool.close();
    let segments = Segments::find(&disk, dir)?;
    let mut spool = recover::open_known(&segments, dir, options, lock, Some(whole))?;
    spool.try_to_finish_erasures();
    told.articles += spool.taken_up();
    let damaged = spool.notice_values().iter();
    told.damaged += damaged.filter(|notice| notice.is_damage()).count() as u64;
    told.tell(spool.notice_values());
    told.ids = spool.index_size().0;
    Ok(told)
}

/// The number of articles in the history of a segment; `None` if its history or its overview is missing or damaged.
fn articles_of_whole_files(segments: &Segments, base: u64) -> Option<u64> {
    let map = |file| map_whole(&**segments.disk(), &segments.path(base, file));
    let (his, ovr) = (map(SegmentFile::His)?, map(SegmentFile::Ovr)?);
    let history = History::of_map(&his);
    let blocks: Vec<_> = overview::blocks(ovr.bytes()).collect();
    let is_whole = history.is_sound()
        && blocks.iter().all(|block| block.is_sound())
        && blocks.iter().map(|block| block.bytes.len()).sum::<usize>() == ovr.bytes().len();
    let lines = history.lines();
    let articles = lines.filter_map(|(_, line)| HistoryLine::parse(line)?.position);
    is_whole.then(|| articles.count() as u64)
}
