//! The table of nodes: the directories and files that were looked up lately, each in a place with a capability.

use crate::recency::Recency;

/// Default maximum of the table.
pub const NODES_MAX: usize = 1_000;

/// A place in the table and the capability that it had: a reference that dies with its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SoftReference {
    pub(crate) place: u32,
    pub(crate) capability: u32,
}

#[derive(Debug)]
struct Slot<T> {
    capability: u32,
    /// `None` after a removal, until the place is reused.
    content: Option<T>,
}

/// The table. Contents that nobody asked for are dropped first.
#[derive(Debug)]
pub struct Nodes<T> {
    slots: Vec<Slot<T>>,
    recency: Recency,
    most: usize,
    next_capability: u32,
}

impl<T> Nodes<T> {
    /// An empty table for at most `most` nodes, at least one.
    pub fn new(most: usize) -> Nodes<T> {
        Nodes::with_capability(most, 1)
    }

    /// An empty table whose next capability is this one: tests start shortly before the last.
    pub fn with_capability(most: usize, next_capability: u32) -> Nodes<T> {
        Nodes {
            slots: Vec::new(),
            recency: Recency::new(),
            most: most.clamp(1, u32::MAX as usize - 1),
            next_capability: next_capability.max(1),
        }
    }

    /// Whether the capabilities are used up: the table has to be [cleared](Nodes::clear), and every soft reference forgotten.
    pub fn is_used_up(&self) -> bool {
        self.next_capability == u32::MAX
    }

    /// Removes all nodes, and begins with the first capability again. All soft references given so far are void.
    pub fn clear(&mut self) {
        *self = Nodes::new(self.most);
    }

    /// Adds a node. If the table is full, the place that was not used for the longest time gets a new capability and the node.
    pub fn add(&mut self, content: T) -> SoftReference {
        let capability = self.take_capability();
        let slot = Slot {
            capability,
            content: Some(content),
        };
        let oldest = self.recency.oldest();
        let place = match oldest.filter(|_| self.slots.len() >= self.most || self.has_free(oldest))
        {
            Some(place) => {
                self.recency.use_now(place);
                if let Some(old) = self.slots.get_mut(place as usize) {
                    *old = slot;
                }
                place
            }
            None => {
                self.slots.push(slot);
                self.recency.push()
            }
        };
        SoftReference { place, capability }
    }

    /// Whether the oldest place is free after a removal.
    fn has_free(&self, oldest: Option<u32>) -> bool {
        let slot = oldest.and_then(|place| self.slots.get(place as usize));
        slot.is_some_and(|slot| slot.content.is_none())
    }

    /// The node of a reference, unless it died. Counts as a use.
    pub fn get(&mut self, reference: SoftReference) -> Option<&mut T> {
        let slot = self.slots.get_mut(reference.place as usize)?;
        if slot.capability != reference.capability {
            return None;
        }
        self.recency.use_now(reference.place);
        slot.content.as_mut()
    }

    /// Removes a node: its place gets a new capability, and all its names die.
    pub fn remove(&mut self, reference: SoftReference) -> Option<T> {
        self.get(reference)?;
        let capability = self.take_capability();
        let slot = self.slots.get_mut(reference.place as usize)?;
        slot.capability = capability;
        self.recency.use_next(reference.place);
        slot.content.take()
    }

    /// Whether a reference is alive. Does not count as a use.
    pub fn is_alive(&self, reference: SoftReference) -> bool {
        let slot = self.slots.get(reference.place as usize);
        slot.is_some_and(|slot| slot.capability == reference.capability && slot.content.is_some())
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        let is_used = |slot: &&Slot<T>| slot.content.is_some();
        self.slots.iter().filter(is_used).count()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn take_capability(&mut self) -> u32 {
        let capability = self.next_capability;
        self.next_capability = capability.saturating_add(1);
        capability
    }
}
