//! The time zone of the system, for dates without a zone.

use std::sync::OnceLock;

use article::date::LocalZone;
use tz::TimeZone;

/// The zone in `TZ`, or else in /etc/localtime, as at the first use; UTC if neither can be read.
#[derive(Debug, Clone, Copy)]
pub struct SystemZone;

static ZONE: OnceLock<Option<TimeZone>> = OnceLock::new();

impl SystemZone {
    /// The zone, read now: confined threads cannot read it.
    pub fn read() -> &'static SystemZone {
        SystemZone.zone();
        &SystemZone
    }

    fn zone(self) -> Option<&'static TimeZone> {
        let read = || {
            let name = std::env::var("TZ").unwrap_or_else(|_| "localtime".to_owned());
            TimeZone::from_posix_tz(&name).ok()
        };
        ZONE.get_or_init(read).as_ref()
    }
}

impl LocalZone for SystemZone {
    fn east_seconds(&self, local: i64) -> i64 {
        let Some(zone) = self.zone() else { return 0 };
        let offset_at = |seconds| {
            let kind = zone.find_local_time_type(seconds);
            kind.map_or(0, |kind| i64::from(kind.ut_offset()))
        };
        // The first offset may be that of the other side of a change of the clock.
        offset_at(local.saturating_sub(offset_at(local)))
    }
}
