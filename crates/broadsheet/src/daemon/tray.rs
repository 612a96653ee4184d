//! Articles that come over NNTP wait here for the newsroom.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use server::{Intake, Outcome, Parcel};

use super::room::lock;

/// After filing was stopped it is tried again with what comes after a second, and after twice as long each time, at most a minute.
const TRY_AGAIN_FIRST: Duration = Duration::from_secs(1);
const TRY_AGAIN_LAST: Duration = Duration::from_secs(60);

/// What waits, and whether more is taken.
#[derive(Debug, Default)]
pub struct Tray {
    parcels: Mutex<VecDeque<Parcel>>,
    came: Condvar,
    shut: Mutex<Shut>,
}

#[derive(Debug, Default)]
struct Shut {
    /// By an administrator, and why.
    paused: Option<Arc<str>>,
    /// By a fault: why, until when, and how long it was then.
    fault: Option<(Arc<str>, Instant, Duration)>,
}

impl Tray {
    /// Puts a parcel in. True: the newsroom has to be told, since nothing waited before.
    pub fn put(&self, parcel: Parcel) -> bool {
        let mut parcels = lock(&self.parcels);
        let was_empty = parcels.is_empty();
        parcels.push_back(parcel);
        self.came.notify_one();
        was_empty
    }

    /// True when nothing waits.
    pub fn is_empty(&self) -> bool {
        lock(&self.parcels).is_empty()
    }

    /// The oldest; waits so long for one.
    pub fn take(&self, patience: Duration) -> Option<Parcel> {
        let mut parcels = lock(&self.parcels);
        if parcels.is_empty() && !patience.is_zero() {
            let waited = self
                .came
                .wait_timeout_while(parcels, patience, |parcels| parcels.is_empty());
            parcels = waited.map_or_else(|error| error.into_inner().0, |(parcels, _)| parcels);
        }
        parcels.pop_front()
    }

    /// None of what waits is taken, for this reason.
    pub fn send_all_back(&self, why: &str) {
        let outcome = Outcome::TryLater(why.as_bytes().to_vec());
        let waiting = std::mem::take(&mut *lock(&self.parcels));
        for mut parcel in waiting {
            parcel.judge_rest(&outcome);
            parcel.send_back();
        }
    }

    /// Whether articles are taken.
    pub fn intake(&self) -> Intake {
        let shut = lock(&self.shut);
        if let Some(why) = &shut.paused {
            return Intake::Closed(why.clone());
        }
        match &shut.fault {
            Some((why, until, _)) if Instant::now() < *until => Intake::Closed(why.clone()),
            _ => Intake::Open,
        }
    }

    /// Filing was stopped, for this reason.
    pub fn stopped(&self, why: &str) {
        let mut shut = lock(&self.shut);
        let pause = match &shut.fault {
            Some((_, _, before)) => (*before * 2).min(TRY_AGAIN_LAST),
            None => TRY_AGAIN_FIRST,
        };
        shut.fault = Some((why.into(), Instant::now() + pause, pause));
    }

    /// Filing goes well.
    pub fn went_well(&self) {
        let mut shut = lock(&self.shut);
        if shut.fault.is_some() {
            shut.fault = None;
        }
    }

    /// An administrator wants no articles taken, and says why; or wants them taken again.
    pub fn pause(&self, why: Option<&str>) {
        lock(&self.shut).paused = why.map(Arc::from);
    }
}
