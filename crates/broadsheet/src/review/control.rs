//! The review of the permissions to make and remove groups: control.ctl, controlperm and the keys.

use settings::Finding;

use super::{Content, Context, Errors, FINDINGS_SHOWN_MAX, counted};

/// The rules in short, and those that probably do not do what their author meant.
pub fn review(on: &Context<'_>) -> Result<Content, Errors> {
    let policy = relay::control::policy::Policy::read(on.root());
    let policy = policy.map_err(|error| error.to_string())?;
    let keyring = relay::Keyring::read(on.root()).map_err(|fault| fault.to_string())?;
    let keys = counted(keyring.keys.len(), "key");
    let summary = format!("{}; {keys} trusted", policy.summary()?);
    let doubts = policy.doubts(&keyring).into_iter();
    let doubts = doubts.take(FINDINGS_SHOWN_MAX).map(Finding::warning);
    Ok(Content::new(summary).with(doubts))
}
