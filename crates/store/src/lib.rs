//! The store: segments as the one truth, and everything derived from them.
//!
//! Everything that arrives is appended to the current segment's `.art`; `.his`, `.ovr`, the index, `active` and
//! `cancels` hold nothing that cannot be made again from there. See docs/formats/.
//!
//! | folder | contents |
//! |---|---|
//! | `io` | the disk, maps of files, atomic replacement, the lock |
//! | `log` | segments, records, positions, relocation |
//! | `index` | message-id to history line |
//! | `history` | history lines of the current and of sealed segments, cancels, explicit Expires |
//! | `overview` | overview rows, by group and number |
//! | `expiry` | the decisions of expire, and the rule that an article is visible |
//! | `reclaim` | giving back the space of dead articles |
//! | `read` | snapshots: reading without the lock, following the log |
//! | `offload` | articles of sealed segments in an object store, and their local cache |
//! | `check` | fsck, repair, rebuilding derived files |
//! | [`reseed`] | the segments of a node, for another one of its cluster |
//! | `spool` | the one writer, and recovery when it opens |
//! | `state` | the states that control messages leave |

mod check;
mod error;
mod expiry;
pub mod history;
mod index;
mod io;
mod log;
mod notice;
pub mod offload;
mod overview;
pub mod progress;
mod read;
mod reclaim;
mod report;
pub mod reseed;
mod segment_repair;
mod spool;
pub mod state;

pub use check::fsck::{self, fsck};
pub use check::rebuild::{Rebuilt, rebuild};
pub use error::{Error, MAKE_ROOM, permission_hint};
pub use expiry::decision::ExpiryDecision;
pub use expiry::state::{EXPIRES_REMEMBERED_SECONDS_MAX, ExpiryState};
pub use expiry::survey::{Boundary, Survey};
pub use history::HistoryLine;
pub use history::cancels::{CancelLine, Cancels, REMOVAL_TEXT_BYTES_MAX, RemovalNote, RemovedBy};
pub use history::expires_header;
pub use history::expires_header::Expires;
pub use history::seen_hashes;
pub use index::key as hash_key;
pub use index::{IdHash, LOAD_PERCENT_MAX as INDEX_LOAD_PERCENT_MAX};
pub use io::directories::{make_directories, sync_directory};
pub use io::free_space::{free_bytes, free_bytes_for, is_mounted_read_only};
pub use io::lock::Lock;
pub use io::map::{MAPS_MAX, MapRef, can_be_read, unreadable_pages};
pub use io::replace::{fresh_path, read_whole, replace, replace_as, replace_private, sync_parent};
pub use io::reserve::{NODE_RESERVE_BYTES_MAX, Reserve};
pub use io::salvage::PASSED_BYTES_MAX;
pub use io::zeros::parts_without_zeros;
pub use io::{control_socket, disk, regular};
pub use log::art::PAD_BYTES_MAX;
pub use log::position::{POSITION_MAX, Position};
pub use log::record::{Head, Kind, Record};
pub use log::repack_reserve::NAME as REPACK_RESERVE;
pub use log::segment::{SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN};
pub use log::segments::{SegmentFile, is_news_directory};
pub use overview::row::{OverviewFields, push_row_of};
pub use overview::{GroupRows, Row};
pub use read::entry_places::EntryEnd;
pub use read::follow::{Logged, Met};
pub use read::histogram;
pub use read::histogram::{Histogram, Spread};
pub use read::low_marks::LowMark;
pub use read::numbered::RowsRead;
pub use read::open_segments::UNREADABLE_KEPT;
pub use read::published::{Commits, Published};
pub use read::removed_since::Removals;
pub use read::snapshot::catch_up::Change;
pub use read::snapshot::{Found, Snapshot};
pub use read::stretch::Stretch;
pub use read::visible_rows::Run;
pub use reclaim::{ReclaimPolicy, Reclaimed, SEAL_BYTES_MIN, is_unreclaimed, reclaim, reclaim_on};
pub use spool::edited_active::check_active;
pub use spool::erase::Erased;
pub use spool::filing::{Filing, Piece};
pub use spool::free_numbers::UsedByGroup;
pub use spool::options::{Durability, Options};
pub use spool::{Committed, Spool};
pub use state::applied_entry::AppliedEntry;
pub use state::checkgroups_serials::{Serial, Serials};
pub use state::group_files::GroupEdits;
pub use state::pending_cancels::{NotKept, PendingCancel, PendingCancels};

/// Seconds since 1970.
pub(crate) fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    })
}
