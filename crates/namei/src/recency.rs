//! The order of use of the places of a table: which one was not used for the longest time.

/// No place.
const NONE: u32 = u32::MAX;

/// The neighbours of a place in the order of use.
#[derive(Debug, Clone, Copy)]
struct Links {
    older: u32,
    newer: u32,
}

/// The order of use, as a list through an array: every operation takes constant time.
#[derive(Debug)]
pub(crate) struct Recency {
    links: Vec<Links>,
    oldest: u32,
    newest: u32,
}

impl Recency {
    /// Without places.
    pub fn new() -> Recency {
        Recency {
            links: Vec::new(),
            oldest: NONE,
            newest: NONE,
        }
    }

    /// The place that was not used for the longest time.
    pub fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// Adds the next place, as the newest.
    pub fn push(&mut self) -> u32 {
        let place = self.links.len() as u32;
        self.links.push(Links {
            older: NONE,
            newer: NONE,
        });
        self.append(place);
        place
    }

    /// Makes a place the newest.
    pub fn use_now(&mut self, place: u32) {
        if self.newest != place {
            self.detach(place);
            self.append(place);
        }
    }

    /// Makes a place the oldest, so that it is reused next.
    pub fn use_next(&mut self, place: u32) {
        if self.oldest == place {
            return;
        }
        self.detach(place);
        let first = self.oldest;
        if let Some(links) = self.links.get_mut(place as usize) {
            *links = Links {
                older: NONE,
                newer: first,
            };
        }
        match self.links.get_mut(first as usize) {
            Some(links) => links.older = place,
            None => self.newest = place,
        }
        self.oldest = place;
    }

    fn append(&mut self, place: u32) {
        let last = self.newest;
        if let Some(links) = self.links.get_mut(place as usize) {
            *links = Links {
                older: last,
                newer: NONE,
            };
        }
        match self.links.get_mut(last as usize) {
            Some(links) => links.newer = place,
            None => self.oldest = place,
        }
        self.newest = place;
    }

    fn detach(&mut self, place: u32) {
        let Some(Links { older, newer }) = self.links.get(place as usize).copied() else {
            return;
        };
        match self.links.get_mut(older as usize) {
            Some(links) => links.newer = newer,
            None => self.oldest = newer,
        }
        match self.links.get_mut(newer as usize) {
            Some(links) => links.older = older,
            None => self.newest = older,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_order_is_that_of_a_list(uses in prop::collection::vec((0..8u32, any::<bool>()), 0..60)) {
            let mut recency = Recency::new();
            let mut list = Vec::new();
            for _ in 0..8 {
                list.push(recency.push());
            }
            for (place, is_now) in uses {
                list.retain(|&other| other != place);
                if is_now {
                        recency.use_now(place);
                        list.push(place);
                    } else {
                        recency.use_next(place);
                        list.insert(0, place);
                    }
                prop_assert_eq!(recency.oldest(), list.first().copied());
                prop_assert_eq!(recency.newest, *list.last().unwrap());
            }
        }
    }
}
