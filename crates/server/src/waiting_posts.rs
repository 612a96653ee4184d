//! Bounds the memory of complete posts that wait for their commit, which takes long while another program holds the lock or the disk is slow: a
//! poster whose address has used its share is asked to retry. Articles of peers count apart (`Shared::in_flight`), so posts do not keep peers out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::owner::Owner;

/// Posts that wait for their commit, of all connections, bytes: 64 MiB. Above it, posters are asked to retry.
pub const POSTS_BYTES_MAX: usize = 64 << 20;
/// Posts that wait for their commit, of one address, bytes: 16 MiB.
pub const POSTS_ADDRESS_BYTES_MAX: usize = 16 << 20;
/// Reply text to a post above these.
pub(crate) const TOO_MANY_POSTS: &str = "Too many posts wait to be written";

/// The posts that wait for their commit.
#[derive(Debug, Default)]
pub(crate) struct WaitingPosts {
    sizes: Mutex<Sizes>,
}

#[derive(Debug, Default)]
struct Sizes {
    owners: HashMap<Owner, usize>,
    bytes: usize,
}

/// A post that waits for its commit. Dropped with its batch.
#[derive(Debug)]
pub(crate) struct WaitingPost {
    posts: Arc<WaitingPosts>,
    owner: Owner,
    bytes: usize,
}

impl WaitingPosts {
    /// Whether an owner may post now.
    pub fn has_room(&self, owner: &Owner) -> bool {
        self.lock().has_room(owner)
    }

    /// Adds a post of this size, bytes. `None`: the poster has to retry.
    pub fn add(self: &Arc<Self>, owner: Owner, bytes: usize) -> Option<WaitingPost> {
        let mut sizes = self.lock();
        if !sizes.has_room(&owner) {
            return None;
        }
        sizes.bytes += bytes;
        *sizes.owners.entry(owner.clone()).or_default() += bytes;
        Some(WaitingPost {
            posts: self.clone(),
            owner,
            bytes,
        })
    }

    /// Size of all, bytes.
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    fn lock(&self) -> MutexGuard<'_, Sizes> {
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sizes {
    /// The post that reaches a bound is taken, whatever its size: so a large one can be posted, and the next poster hears it before he sends.
    fn has_room(&self, owner: &Owner) -> bool {
        let own = self.owners.get(owner).copied().unwrap_or(0);
        own < POSTS_ADDRESS_BYTES_MAX && self.bytes < POSTS_BYTES_MAX
    }
}

impl Drop for WaitingPost {
    fn drop(&mut self) {
        let mut sizes = self.posts.lock();
        sizes.bytes -= self.bytes;
        if let Some(own) = sizes.owners.get_mut(&self.owner) {
            *own -= self.bytes;
            if *own == 0 {
                sizes.owners.remove(&self.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    const MIB: usize = 1 << 20;

    fn owner(number: u8) -> Owner {
        let address = Ipv4Addr::new(192, 0, 2, number);
        ("x".to_owned(), Some(IpAddr::from(address)))
    }

    #[test]
    fn an_address_has_its_share() {
        let posts = Arc::new(WaitingPosts::default());
        let mut waiting: Vec<_> = (0..2).map(|_| posts.add(owner(1), 8 * MIB)).collect();
        assert!(waiting.iter().all(Option::is_some));
        assert!(posts.add(owner(1), 1).is_none() && !posts.has_room(&owner(1)));
        for number in 2..8 {
            assert!(posts.has_room(&owner(number)));
            waiting.push(posts.add(owner(number), 8 * MIB));
        }
        assert_eq!(posts.bytes(), POSTS_BYTES_MAX);
        // No address has room now.
        assert!(posts.add(owner(9), 1).is_none() && !posts.has_room(&owner(2)));
        waiting.truncate(1);
        assert_eq!(posts.bytes(), 8 * MIB);
        assert!(posts.has_room(&owner(1)) && posts.has_room(&owner(9)));
        waiting.clear();
        assert_eq!(posts.bytes(), 0);
        assert!(posts.lock().owners.is_empty());
    }

    #[test]
    fn a_large_post_is_taken_within_the_bounds() {
        let posts = Arc::new(WaitingPosts::default());
        let small = posts.add(owner(2), 1);
        let large = posts.add(owner(1), 100 * MIB);
        assert!(small.is_some() && large.is_some());
        assert!(posts.add(owner(2), 1).is_none());
        drop(large);
        assert!(posts.add(owner(2), 1).is_some());
    }
}
