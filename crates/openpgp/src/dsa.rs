//! DSA signatures (FIPS 186-4, 4.7).

use num_bigint::BigUint;

use crate::Error;

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dsa {
    p: BigUint,
    q: BigUint,
    g: BigUint,
    y: BigUint,
}

impl Dsa {
    /// Makes a key of its four numbers.
    pub fn new([p, q, g, y]: [&[u8]; 4]) -> Result<Dsa, Error> {
        let [p, q, g, y] = [p, q, g, y].map(BigUint::from_bytes_be);
        let one = BigUint::from(1_u8);
        if !matches!(p.bits(), 1000..=4096) || !p.bit(0) {
            return Err(Error::Unsound(
                "its DSA modulus does not have 1000 to 4096 bits",
            ));
        }
        if !matches!(q.bits(), 160..=256) || !q.bit(0) {
            return Err(Error::Unsound(
                "its DSA order does not have 160 to 256 bits",
            ));
        }
        let is_inside = |number: &BigUint| *number > one && *number < p;
        if !is_inside(&g) || !is_inside(&y) || g.modpow(&q, &p) != one || y.modpow(&q, &p) != one {
            return Err(Error::Unsound("its DSA numbers are inconsistent"));
        }
        Ok(Dsa { p, q, g, y })
    }

    /// Length of the modulus, bits.
    pub fn bits(&self) -> u64 {
        self.p.bits()
    }

    /// Whether the two numbers are a signature of this hash, which is cut to the bits of the order.
    pub fn is_signed(&self, hash: &[u8], r: &[u8], s: &[u8]) -> bool {
        let (r, s) = (BigUint::from_bytes_be(r), BigUint::from_bytes_be(s));
        let zero = BigUint::ZERO;
        if r == zero || s == zero || r >= self.q || s >= self.q {
            return false;
        }
        let Some(inverse) = s.modinv(&self.q) else {
            return false;
        };
        let spare = (hash.len() as u64 * 8).saturating_sub(self.q.bits());
        let hash = BigUint::from_bytes_be(hash) >> spare;
        let to_g = hash * &inverse % &self.q;
        let to_y = &r * &inverse % &self.q;
        let product = self.g.modpow(&to_g, &self.p) * self.y.modpow(&to_y, &self.p);
        product % &self.p % &self.q == r
    }
}
