//! A short list: stored inline, and on the heap if it grows.

/// A list of up to `N` items without an allocation.
#[derive(Debug)]
pub struct ShortList<T, const N: usize> {
    few: [T; N],
    count: usize,
    many: Vec<T>,
}

impl<T: Copy, const N: usize> ShortList<T, N> {
    /// An empty list; `filler` fills unused elements.
    #[inline]
    pub fn new(filler: T) -> ShortList<T, N> {
        ShortList {
            few: [filler; N],
            count: 0,
            many: Vec::new(),
        }
    }

    /// Appends an item.
    #[inline]
    pub fn push(&mut self, item: T) {
        if self.many.is_empty() {
            if let Some(room) = self.few.get_mut(self.count) {
                *room = item;
                self.count += 1;
                return;
            }
            self.many.extend_from_slice(&self.few);
        }
        self.many.push(item);
    }

    /// The items in order.
    pub fn items(&self) -> &[T] {
        if self.many.is_empty() {
            self.few.get(..self.count).unwrap_or_default()
        } else {
            &self.many
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept_when_it_spills() {
        let mut list = ShortList::<u32, 3>::new(0);
        for wanted in 0..10 {
            assert_eq!(list.items(), (0..wanted).collect::<Vec<_>>());
            list.push(wanted);
        }
    }
}
