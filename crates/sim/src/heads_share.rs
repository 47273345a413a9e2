//! The share of a link that heads of cut packets get while other frames wait for it.

/// Heads go first while they have had no more than their share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeadsShare {
    /// The position of their queue.
    pub(crate) position: usize,
    /// In thousandths.
    share: i64,
    /// Octets, in thousandths, that heads may still send before others: their share of what others sent while heads waited,
    /// less what others could have sent in place of heads.
    credit: i64,
}

const WHOLE: i64 = 1000;

impl HeadsShare {
    /// `share` in thousandths; `None` where heads go before all.
    pub(crate) fn new(position: usize, share: u16) -> Option<HeadsShare> {
        (i64::from(share) < WHOLE).then_some(HeadsShare { position, share: i64::from(share), credit: 0 })
    }

    /// Whether a head goes next, where others wait, too.
    pub(crate) fn go_first(&self) -> bool {
        self.credit >= 0
    }

    /// A frame of `octets` goes, of the heads or of others, while the other kind waits.
    pub(crate) fn count(&mut self, of_heads: bool, octets: u64) {
        let octets = octets as i64;
        self.credit += if of_heads { -octets * (WHOLE - self.share) } else { octets * self.share };
    }

    /// One of the two kinds does not wait: nothing is kept for later.
    pub(crate) fn alone(&mut self) {
        self.credit = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Octets of heads and of others when both always wait, after so many frames.
    fn octets(share: u16, head: u64, other: u64, frames: usize) -> (u64, u64) {
        let mut heads = HeadsShare::new(0, share).unwrap();
        let mut sent = (0, 0);
        for _ in 0..frames {
            let first = heads.go_first();
            heads.count(first, if first { head } else { other });
            if first { sent.0 += head } else { sent.1 += other }
        }
        sent
    }

    /// A quarter of the link in heads of 64 octets beside packets of 1048: one packet for 5.46 heads. By the octet: of
    /// 1048 x 100 + h x 64 octets a quarter are heads, h = 545.8.
    #[test]
    fn heads_get_their_share_of_the_octets() {
        let (heads, others) = octets(250, 64, 1048, 646);
        assert_eq!((heads / 64, others / 1048), (546, 100));
        for (share, head, other) in
            [(1, 64, 9000), (100, 128, 1500), (500, 64, 64), (999, 300, 1048), (333, 1047, 1048)]
        {
            let (heads, others) = octets(share, head, other, 200_000);
            let had = heads as f64 / (heads + others) as f64;
            assert!((had - f64::from(share) / 1000.0).abs() < 1e-3, "{share}: {had}");
        }
        assert_eq!(HeadsShare::new(0, 1000), None);
    }
}
