//! Locks and keys are those that INN makes and accepts (RFC 8315).

use std::path::PathBuf;

use relay::cancel_lock::{Holder, Secret, matches, withdrawn};
use serde_json::Value;

/// The facts observed from INN; `None` where they are not at hand.
fn facts() -> Option<Value> {
    let shared = std::env::var_os("BROADSHEET_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let path = shared.join("cases/inn/cancel-lock.json");
    match std::fs::read(&path) {
        Ok(text) => Some(serde_json::from_slice(&text).expect("JSON")),
        Err(error) => {
            println!("skipped: {}: {error}", path.display());
            None
        }
    }
}

fn text<'a>(of: &'a Value, key: &str) -> &'a str {
    of[key].as_str().expect(key)
}

#[test]
fn keys_and_locks_are_made_alike() {
    let Some(facts) = facts() else { return };
    let id = text(&facts, "message_id").as_bytes();
    let of_site = Secret::new(text(&facts, "admin_secret").as_bytes());
    let of_user = Secret::new(text(&facts, "user_secret").as_bytes());
    let user = Holder::User(text(&facts, "user").as_bytes());
    let strong = |name: &str| facts[name][1].as_str().unwrap().to_owned();
    assert_eq!(of_site.key(Holder::Site, id), Some(strong("admin_key")));
    assert_eq!(of_site.lock(Holder::Site, id), Some(strong("admin_lock")));
    assert_eq!(of_user.key(user, id), Some(strong("user_key")));
    assert_eq!(of_user.lock(user, id), Some(strong("user_lock")));
}

#[test]
fn keys_fit_locks_as_there() {
    let Some(facts) = facts() else { return };
    for case in facts["verify"].as_array().unwrap() {
        assert_eq!(
            matches(text(case, "lock").as_bytes(), text(case, "key").as_bytes()),
            case["match"].as_bool().unwrap(),
            "{case}"
        );
    }
    // What INN makes with SHA-1 is taken, too.
    for (lock, key) in [("admin_lock", "admin_key"), ("user_lock", "user_key")] {
        let (lock, key) = (
            facts[lock][0].as_str().unwrap(),
            facts[key][0].as_str().unwrap(),
        );
        assert!(matches(lock.as_bytes(), key.as_bytes()));
    }
}

#[test]
fn what_is_withdrawn() {
    let Some(facts) = facts() else { return };
    let id = text(&facts, "message_id").as_bytes();
    for case in facts["gen_key"].as_array().unwrap() {
        let value = |name: &str| case[name].as_str().map(str::as_bytes);
        let found = withdrawn(value("control"), value("supersedes"));
        let wanted = case["ok"].as_bool().unwrap().then_some(id);
        assert_eq!(found, wanted, "{case}");
    }
}
